"""Nights in a database: append-only, SQLite or PostgreSQL."""

import lazy_loader

from tracekit.base import distribution

distribution.require_extra("nightly")

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["place"])
