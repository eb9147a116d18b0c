"""All knowledge of Apple's command line; no other package starts it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["templates"])
