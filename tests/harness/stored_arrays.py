"""Arrays of a run as literal numbers, and stacks made of them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bundle_writer.uniquing import Arrays as Written
from tracekit.tables.bundle.container.files import Files
from tracekit.tables.bundle.container.uniquer import Arrays, Numbers
from tracekit.tables.bundle.stacks.stacks import NO_BINARY, Addresses, Binary

NULL = (1 << 32) - 1
SESSION = 0
PID = 4711


class StoredArrays:
    """Arrays that are written to a folder when they are first read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written = Written()

    def id(self, *values: int) -> int:
        return self._written.id(values)

    def process(self, pid: int = PID) -> int:
        return self.id(pid, SESSION)

    def chunk(self, *addresses: int, pid: int = PID) -> int:
        return self.process(pid) << 32 | self.id(*addresses)

    def backtrace(self, *addresses: int, pid: int = PID) -> int:
        """Return the number of a backtrace: its leaf in one chunk, the others in another."""
        chunks = [self.chunk(*part, pid=pid) for part in (addresses[:1], addresses[1:]) if part]
        return self.id(*chunks)

    def callstack(self, pc: int, *returns: int, registers: tuple[int, ...] = ()) -> int:
        return self.id(self.id(*returns), pc, self.process(), *registers)

    def read(self) -> Arrays:
        """Return the arrays as the reader has them; there are no more to come."""
        self._written.write(self._folder / "arrayUniquer", 1)
        return Arrays(Files(self._folder), "arrayUniquer")


class NoPlaces:
    """Nothing is known of any address."""

    binaries: Sequence[Binary] = ()

    def find(self, pids: Numbers, addresses: Addresses, times: Numbers) -> Numbers:  # noqa: ARG002
        return np.full(pids.size, NO_BINARY, np.int64)

    def names(self, binaries: Numbers, addresses: Addresses) -> list[str | None]:  # noqa: ARG002
        return [None] * binaries.size
