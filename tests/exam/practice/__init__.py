"""Recordings modelled on public threads, to tune the rules on; the sealed exam is for scoring."""
