"""The plan of a night, from `tracekit.toml` or `[tool.tracekit.nightly]` of `pyproject.toml`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["document"])
