"""Bundles read without Instruments. Layout: docs/explanation/trace-bundles.md."""
