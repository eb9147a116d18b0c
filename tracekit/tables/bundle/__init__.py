"""The reader of `.trace` bundles: their tables and TOC without an export, on any system."""

from tracekit.tables.bundle.bundle import Bundle, BundleRun
from tracekit.tables.bundle.container.store import Store, StoreColumn, Unreadable
from tracekit.tables.bundle.errors import BundleError, UnknownBundleError

__all__ = [
    "Bundle",
    "BundleError",
    "BundleRun",
    "Store",
    "StoreColumn",
    "UnknownBundleError",
    "Unreadable",
]
