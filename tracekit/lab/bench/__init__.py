"""Benches: named implementations on one shape, measured in turns, with all that was measured."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["document"])
