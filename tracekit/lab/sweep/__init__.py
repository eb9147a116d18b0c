"""Sweeps over sizes: their measurement, and the cliffs and crossovers in them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submodules=["cliffs", "measurement", "words"]
)
