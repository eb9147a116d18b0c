"""Runs for other programs: Perfetto, Chrome's tracing, speedscope, and whatever reads tables."""
