"""A history as other programs read it."""
