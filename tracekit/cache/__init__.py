"""Caches of keys and values: growing, sliding, paged; and who holds which block."""

from tracekit.cache.blocks import Blocks, OutOfBlocks
from tracekit.cache.growing import GrowingCache
from tracekit.cache.page_tables import PageTables
from tracekit.cache.sliding import SlidingCache

__all__ = ["Blocks", "GrowingCache", "OutOfBlocks", "PageTables", "SlidingCache"]
