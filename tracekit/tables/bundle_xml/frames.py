"""The frames of stacks and the arrays of a run, as an export writes them.

Layout: docs/explanation/trace-bundles.md. Where no symbol is known, a frame is named by its address
in hexadecimal: less one, except in the innermost frame.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from tracekit.tables.bundle.container.uniquer import Arrays
from tracekit.tables.bundle.errors import DamagedCellError
from tracekit.tables.bundle.stacks.frames import NO_BINARY, Binary, Places, looked_up, names_at
from tracekit.tables.bundle_xml.elements import Meaning, Value

FRAME, BINARY = "frame", "binary"


class Frames:
    """The frames of one run, and their binaries, by numbers of their own."""

    def __init__(self, places: Places) -> None:
        """Take what lies at the addresses of the run's processes."""
        self._places = places
        self._meanings: list[Meaning] = []
        self._numbers: dict[Meaning, int] = {}

    def of(self, pids: Sequence[int], addresses: Sequence[int], time: int) -> tuple[Value, ...]:
        """Return the frames of a stack.

        Args:
            pids: The process of each, `NO_PROCESS` where it is not known.
            addresses: As they are stored, the innermost first.
            time: When the stack was taken, in ns of the run.
        """
        stored = np.array(addresses, np.uint64)
        looked = looked_up(stored)
        times = np.full(stored.size, time, np.int64)
        binaries = self._places.find(np.array(pids, np.int64), looked, times)
        names = self._places.names(binaries, looked)
        shown = [*addresses[:1], *looked[1:].tolist()]
        known = self._places.binaries
        of = (known[number] if number != NO_BINARY else None for number in binaries.tolist())
        rows = zip(addresses, names, shown, of, strict=True)
        return tuple(
            self._frame(address, name or f"{fallback:#x}", binary)
            for address, name, fallback, binary in rows
        )

    def name(self, pid: int, address: int, time: int) -> str:
        """Return the name of an address that stands for itself: of its symbol, or its digits."""
        here = np.array([pid], np.int64), np.array([address], np.uint64), np.array([time], np.int64)
        (name,) = names_at(self._places, *here)
        return name

    def meaning(self, number: int) -> Meaning:
        """Return what the element of a frame or a binary says, by its number."""
        return self._meanings[number]

    def _frame(self, address: int, name: str, binary: Binary | None) -> Value:
        children = () if binary is None else (self._binary(binary),)
        attributes = (("name", name), ("addr", f"{address:#x}"))
        return self._known(Meaning(FRAME, children=children, attributes=attributes))

    def _binary(self, binary: Binary) -> Value:
        load = None if binary.load_address is None else f"{binary.load_address:#x}"
        said = {
            "name": binary.name,
            "UUID": binary.uuid,
            "arch": binary.arch,
            "load-addr": load,
            "path": binary.path,
        }
        attributes = tuple((name, value) for name, value in said.items() if value)
        return self._known(Meaning(BINARY, attributes=attributes))

    def _known(self, meaning: Meaning) -> Value:
        number = self._numbers.setdefault(meaning, len(self._meanings))
        if number == len(self._meanings):
            self._meanings.append(meaning)
        return meaning.tag, number


_AT_ONCE = 1 << 10
_KEPT = 64  # blocks of so many arrays; what a file asks for lies close together


class Members:
    """The members of arrays by their numbers; neighbours are read together."""

    def __init__(self, arrays: Arrays) -> None:
        """Take the arrays, without reading them."""
        self._arrays = arrays
        self._block = lru_cache(_KEPT)(self._read)

    def of(self, number: int) -> tuple[int, ...]:
        """Return the members of an array.

        Raises:
            DamagedCellError: There is none of that number, or it is damaged.
        """
        block, place = divmod(number, _AT_ONCE)
        return self._block(block)[place] if number < len(self._arrays) else self._one(number)

    def of_length(self, number: int, count: int, *, longer: bool = False) -> tuple[int, ...]:
        """Return the members of an array that has `count`, or more if it may be `longer`.

        Raises:
            DamagedCellError: It has another length, or `of` raises it.
        """
        members = self.of(number)
        if len(members) != count and not (longer and len(members) > count):
            raise DamagedCellError("names an array of another length than its type has")
        return members

    def _read(self, block: int) -> list[tuple[int, ...]]:
        first = block * _AT_ONCE
        ids = np.arange(first, min(first + _AT_ONCE, len(self._arrays)), dtype=np.int64)
        found = self._arrays.take(ids)
        values, offsets = found.values.tolist(), found.offsets.tolist()
        return [tuple(values[start:end]) for start, end in pairwise(offsets)]

    def _one(self, number: int) -> tuple[int, ...]:
        ids = np.array([min(number, np.iinfo(np.int64).max)], dtype=np.int64)
        return tuple(self._arrays.take(ids).values.tolist())
