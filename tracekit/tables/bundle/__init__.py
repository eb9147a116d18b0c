"""The reader of `.trace` bundles: their tables and TOC without an export, on any system."""

from tracekit.tables.bundle.bundle import Bundle, BundleRun
from tracekit.tables.bundle.errors import BundleError, UnknownBundleError
from tracekit.tables.bundle.store import Store, StoreColumn, Unreadable

__all__ = [
    "Bundle",
    "BundleError",
    "BundleRun",
    "Store",
    "StoreColumn",
    "UnknownBundleError",
    "Unreadable",
]
