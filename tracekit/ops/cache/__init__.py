"""Caches of keys and values: growing, sliding, paged; and who holds which block."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["caches"])
