"""Who holds which block of a pool: the allocator of paged caches."""

from collections.abc import Iterable

from tracekit.base.errors import InputError, TracekitError, UsageError


class OutOfBlocks(TracekitError):  # noqa: N818 - what happened, as the field calls it
    """There are fewer free blocks than were asked for; nothing was allocated."""


class Blocks:
    """The numbers from 0 to `count - 1`, each free or in use.

    What was freed last is given out first: its contents are the likeliest to be in a cache.

    Raises:
        UsageError: There would be no block at all.
    """

    def __init__(self, count: int) -> None:
        if count < 1:
            raise UsageError(f"A pool needs at least 1 block; {count} were asked for.")
        self.count = count
        self._free = list(range(count - 1, -1, -1))
        self._is_free = bytearray(b"\x01") * count

    @property
    def used(self) -> int:
        """Blocks in use."""
        return self.count - len(self._free)

    @property
    def free_count(self) -> int:
        """Blocks that can still be had."""
        return len(self._free)

    def allocate(self, n: int) -> list[int]:
        """Take `n` blocks: all of them, or none.

        Raises:
            OutOfBlocks: Fewer than `n` are free.
            UsageError: `n` is negative.
        """
        if n < 0:
            raise UsageError(f"{n} blocks cannot be allocated.")
        if n > len(self._free):
            raise OutOfBlocks(
                f"{n} blocks are needed; {len(self._free)} of {self.count} are free.",
                hint="Free the blocks of a finished sequence first, or make the pool larger.",
            )
        taken = [self._free.pop() for _ in range(n)]
        for block in taken:
            self._is_free[block] = 0
        return taken

    def free(self, blocks: Iterable[int]) -> None:
        """Give blocks back: all of them, or none.

        Raises:
            InputError: One is not of this pool, is free already, or is named twice.
        """
        returned = list(blocks)
        seen: set[int] = set()
        for block in returned:
            if not 0 <= block < self.count:
                raise InputError(f"Block {block} is not of this pool of {self.count} blocks.")
            if self._is_free[block] or block in seen:
                raise InputError(f"Block {block} is freed twice.")
            seen.add(block)
        for block in reversed(returned):
            self._is_free[block] = 1
            self._free.append(block)
