"""Caches of keys and values: growing, sliding, paged; and who holds which block."""

from tracekit.cache.blocks import Blocks, OutOfBlocks

__all__ = ["Blocks", "OutOfBlocks"]
