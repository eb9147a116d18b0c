"""A result in, one page out."""
