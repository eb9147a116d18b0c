"""Caches of keys and values: growing, sliding, paged; and who holds which block."""

from tracekit.cache.blocks import Blocks, OutOfBlocks
from tracekit.cache.decoding import Cache, Decoding
from tracekit.cache.growing import GrowingCache
from tracekit.cache.page_tables import PageTables
from tracekit.cache.paged import PagedCache
from tracekit.cache.rows import Rows, Sizes, draw_rows, expected
from tracekit.cache.sliding import SlidingCache

__all__ = [
    "Blocks",
    "Cache",
    "Decoding",
    "GrowingCache",
    "OutOfBlocks",
    "PageTables",
    "PagedCache",
    "Rows",
    "Sizes",
    "SlidingCache",
    "draw_rows",
    "expected",
]
