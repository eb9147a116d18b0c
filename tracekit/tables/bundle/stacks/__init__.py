"""Stacks: their addresses, the binaries that lay there, and the names of functions."""
