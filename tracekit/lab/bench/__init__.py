"""Benches: named implementations on one shape, measured in turns, with all that was measured."""
