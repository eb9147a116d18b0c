"""Kernels verified without a Mac: their requirements, and the findings."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["shipped", "verify"])
