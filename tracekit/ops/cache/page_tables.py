"""Which pages hold the tokens of which sequence."""

import numpy as np
from numpy.typing import NDArray

from tracekit.base.errors import UsageError
from tracekit.ops.cache.blocks import Blocks


class PageTables:
    """A table of pages for each of some sequences, over one pool of blocks.

    Token t of a sequence lies in page `table[t // block_size]`, row `t % block_size`.

    Args:
        pool: The blocks, which others may share.
        sequences: How many sequences there can be at a time.
        block_size: Tokens of a block.
        max_blocks: Entries of a table: the blocks that a sequence can have.
    """

    def __init__(self, pool: Blocks, sequences: int, *, block_size: int, max_blocks: int) -> None:
        if min(sequences, block_size, max_blocks) < 1:
            raise UsageError("Tables need at least 1 sequence, 1 token a block and 1 block.")
        self.pool, self.block_size = pool, block_size
        self.tables: NDArray[np.int32] = np.zeros((sequences, max_blocks), np.int32)
        self.lengths: NDArray[np.int32] = np.zeros(sequences, np.int32)
        self._held: list[list[int]] = [[] for _ in range(sequences)]

    def blocks_of(self, sequence: int) -> tuple[int, ...]:
        """Return the blocks that a sequence holds, in the order of its tokens."""
        return tuple(self._held[sequence])

    def extend(self, sequence: int, tokens: int) -> int:
        """Make a sequence longer by so many tokens; return how many blocks it took for them.

        Raises:
            OutOfBlocks: The pool has too few; nothing is changed.
            UsageError: The table has too few entries; nothing is changed.
        """
        taken = self.reserve(sequence, tokens)
        self.lengths[sequence] += tokens
        return taken

    def reserve(self, sequence: int, tokens: int) -> int:
        """Take the blocks that so many more tokens will need; return how many it took.

        Raises:
            OutOfBlocks: The pool has too few; nothing is changed.
            UsageError: The table has too few entries; nothing is changed.
        """
        held = self._held[sequence]
        length = int(self.lengths[sequence]) + tokens
        needed = -(-length // self.block_size)
        if needed > self.tables.shape[1]:
            raise UsageError(
                f"{length} tokens need {needed} blocks of {self.block_size}; "
                f"a table has {self.tables.shape[1]} entries."
            )
        taken = self.pool.allocate(max(0, needed - len(held)))
        self.tables[sequence, len(held) : len(held) + len(taken)] = taken
        held.extend(taken)
        return len(taken)

    def release(self, sequence: int) -> None:
        """Give all blocks of a sequence back; it has no token then."""
        self.pool.free(self._held[sequence])
        self._held[sequence] = []
        self.lengths[sequence] = 0
        self.tables[sequence] = 0
