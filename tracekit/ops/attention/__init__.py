"""Paged attention for users: the op, its reference, its traffic model."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submodules=["dense", "metal", "paged", "planning", "tuned"]
)
