"""The frames of stacks and the arrays of a run, as an export writes them.

Layout: docs/explanation/trace-bundles.md.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from tracekit.tables.bundle.container.uniquer import Arrays
from tracekit.tables.bundle.errors import DamagedCellError
from tracekit.tables.bundle.stacks.frames import NO_BINARY, Frames, Places, names_at
from tracekit.tables.bundle_xml.elements import Meaning, Value

FRAME, BINARY = "frame", "binary"


class FrameMeanings:
    """The frames of one run, and their binaries, by numbers of their own."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._frames = Frames(places)

    def of(self, pids: Sequence[int], addresses: Sequence[int], time: int) -> tuple[Value, ...]:
        """Return the frames of a stack.

        Args:
            pids: The process of each, `NO_PROCESS` where it is not known.
            addresses: As they are stored, the innermost first.
            time: When the stack was taken, in ns of the run.
        """
        count = len(addresses)
        numbers = self._frames.number(
            np.array(addresses, np.uint64),
            np.array(pids, np.int64),
            np.full(count, time, np.int64),
            np.arange(count) == 0,
        )
        return tuple((FRAME, number) for number in numbers.tolist())

    def name(self, pid: int, address: int, time: int) -> str:
        """Return the name of an address that stands for itself: of its symbol, or its digits."""
        here = np.array([pid], np.int64), np.array([address], np.uint64), np.array([time], np.int64)
        (name,) = names_at(self._places, *here)
        return name

    def meaning(self, tag: str, number: int) -> Meaning:
        """Return what the element of a frame or a binary says, by its number."""
        if tag == BINARY:
            binary = self._places.binaries[number]
            load = None if binary.load_address is None else hex(binary.load_address)
            said = {
                "name": binary.name,
                "UUID": binary.uuid,
                "arch": binary.arch,
                "load-addr": load,
                "path": binary.path,
            }
            attributes = tuple((name, value) for name, value in said.items() if value)
            return Meaning(BINARY, attributes=attributes)
        address, of, name = self._frames.keys[number]
        children = () if of == NO_BINARY else ((BINARY, of),)
        return Meaning(
            FRAME, children=children, attributes=(("name", name), ("addr", hex(address)))
        )


_AT_ONCE = 1 << 10
_KEPT = 64  # blocks of so many arrays; what a file asks for lies close together


class Members:
    """The members of arrays by their numbers; neighbours are read together."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays
        self._block = lru_cache(_KEPT)(self._read)

    def of(self, number: int) -> tuple[int, ...]:
        """Return the members of an array; raise DamagedCellError if there is no such array."""
        if number >= len(self._arrays):
            raise DamagedCellError("names an array that the bundle does not hold")
        return self._block(number // _AT_ONCE)[number % _AT_ONCE]

    def of_length(self, number: int, count: int, *, longer: bool = False) -> tuple[int, ...]:
        """Return the members of an array that has `count`, or more if it may be `longer`."""
        members = self.of(number)
        if len(members) != count and not (longer and len(members) > count):
            raise DamagedCellError("names an array of another length than its type has")
        return members

    def _read(self, block: int) -> list[tuple[int, ...]]:
        first = block * _AT_ONCE
        found = self._arrays.take(np.arange(first, min(first + _AT_ONCE, len(self._arrays))))
        values, offsets = found.values.tolist(), found.offsets.tolist()
        return [tuple(values[start:end]) for start, end in pairwise(offsets)]
