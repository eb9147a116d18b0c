"""Paged attention for users: the op, its reference, its traffic model."""
