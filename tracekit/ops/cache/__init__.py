"""Caches of keys and values: growing, sliding, paged; and who holds which block."""

from tracekit.ops.cache.blocks import Blocks, OutOfBlocks
from tracekit.ops.cache.decoding import Cache, Decoding
from tracekit.ops.cache.growing import GrowingCache
from tracekit.ops.cache.page_tables import PageTables
from tracekit.ops.cache.paged import PagedCache
from tracekit.ops.cache.rows import Rows, Sizes, draw_rows, expected
from tracekit.ops.cache.sliding import SlidingCache

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
