"""Twelve more problems from public threads, played on the small Mac of the first exam."""
