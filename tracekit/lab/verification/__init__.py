"""Kernels verified without a Mac: what they must do, and what is found of them."""
