"""Stacks: their addresses, the binaries at these, and the names of functions."""
