"""Kernels verified without a Mac: their requirements, and the findings."""
