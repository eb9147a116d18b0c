"""Candidate and reference, measured in interleaved runs in one session."""
