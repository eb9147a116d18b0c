"""Whether a night's numbers are a regression, and how sure that is."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["gating", "notify"])
