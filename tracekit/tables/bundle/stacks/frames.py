"""The frames of stacks, numbered by first occurrence, and which frames each stack has.

Where no symbol is known, a frame is named by its address
in hexadecimal, as the export does it: less one, except in a leaf.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.tables.bundle.container.uniquer import Numbers, Ragged
from tracekit.tables.bundle.errors import DamagedCellError
from tracekit.tables.xml.fast.definitions import Growing
from tracekit.tables.xml.node import FRAMES, STACKS

if TYPE_CHECKING:
    from tracekit.tables.bundle.stacks.images import RunPlaces

NO_BINARY = -1
Addresses = NDArray[np.uint64]
_Key = TypeVar("_Key")


@dataclass(frozen=True)
class Binary:
    """A binary as a process has it loaded; None is what is not known."""

    name: str
    uuid: str
    arch: str | None
    load_address: int | None
    path: str


class Frames:
    """Frames, each once, numbered in the order of their first occurrence."""

    def __init__(self, places: "RunPlaces") -> None:
        self._places = places
        self._numbers: dict[tuple[int, int, str], int] = {}
        self._bare: dict[int, int] = {}
        self.keys: list[tuple[int, int, str]] = []

    def __len__(self) -> int:
        """Count them, without the bare ones."""
        return len(self.keys)

    def number(
        self, addresses: Addresses, pids: Numbers, times: Numbers, leaves: NDArray[np.bool_]
    ) -> Numbers:
        """Return the number of each frame, its place in `keys`: address, binary, name.

        Addresses are as stacks have them; times are in ns of the run.
        """
        if not addresses.size:
            return np.empty(0, np.int64)
        looked = looked_up(addresses)
        binaries = self._places.find(pids, looked, times)
        codes, _ = in_order(addresses)
        codes, firsts = in_order((codes * (binaries.max() + 2) + binaries + 1) * 2 + leaves)
        addresses, binaries, looked = addresses[firsts], binaries[firsts], looked[firsts]
        names = self._places.names(binaries, looked)
        words = _words(names, np.where(leaves[firsts], addresses, looked))
        numbers = _numbered(
            self._numbers, zip(addresses.tolist(), binaries.tolist(), words, strict=True)
        )
        self.keys += islice(self._numbers, len(self.keys), None)
        return numbers.take(codes)

    def bare(self, addresses: Addresses) -> Numbers:
        """Return the numbers of addresses that stand without a frame: -1, -2 and so on."""
        codes, firsts = in_order(addresses)
        return -1 - _numbered(self._bare, addresses[firsts].tolist()).take(codes)

    def table(self) -> pa.Table:
        """Return the frames as `Symbols` has them, the bare ones behind all others."""
        keys, binaries = self.keys, self._places.binaries
        of = [binaries[number] if number != NO_BINARY else None for _, number, _ in keys]
        named = _frames(
            len(keys),
            frame=range(len(keys)),
            name=[name for _, _, name in keys],
            address=[address for address, _, _ in keys],
            binary=[one and one.name for one in of],
            uuid=[one and one.uuid for one in of],
            arch=[one and one.arch for one in of],
            load_address=[one and one.load_address for one in of],
            path=[one and one.path for one in of],
        )
        numbers = range(len(keys), len(keys) + len(self._bare))
        return pa.concat_tables([named, _frames(len(numbers), frame=numbers, address=self._bare)])


def looked_up(addresses: Addresses) -> Addresses:
    """Return the addresses that have the names of these: one less, 0 that of itself."""
    return addresses - (addresses > 0)


def names_at(places: "RunPlaces", pids: Numbers, addresses: Addresses, times: Numbers) -> list[str]:
    """Return the names of addresses that are no frames of a stack, at those times (ns)."""
    looked = looked_up(addresses)
    names = places.names(places.find(pids, looked, times), looked)
    return _words(names, looked)


def _words(names: Sequence[str | None], addresses: Addresses) -> list[str]:
    return [name or hex(one) for name, one in zip(names, addresses.tolist(), strict=True)]


def _numbered(known: dict[_Key, int], keys: Iterable[_Key]) -> Numbers:
    """Return the number of each key; new ones are numbered on."""
    return np.array([known.setdefault(key, len(known)) for key in keys], np.int64)


def in_order(values: NDArray[np.generic]) -> tuple[Numbers, Numbers]:
    """Number distinct values by first occurrence; return each one's number, and those places."""
    codes = pa.array(values).dictionary_encode().indices.to_numpy().astype(np.int64)
    firsts = np.empty(int(codes.max()) + 1 if codes.size else 0, np.int64)
    firsts[codes[::-1]] = np.arange(codes.size - 1, -1, -1)  # of equal indices the last one stays
    return codes, firsts


def _frames(count: int, **columns: Iterable[object]) -> pa.Table:
    arrays = [
        pa.array(columns[field.name], field.type)
        if field.name in columns
        else pa.nulls(count, field.type)
        for field in FRAMES
    ]
    return pa.table(arrays, schema=FRAMES)


_MOST = 1 << 26


class Members:
    """The frames of stacks, one stack after the other."""

    def __init__(self) -> None:
        self._members: Growing[np.int64] = Growing(np.int64)
        self._ends: Growing[np.int64] = Growing(np.int64)

    def __len__(self) -> int:
        """Count the stacks."""
        return self._ends.size

    def add(
        self,
        lengths: Numbers,
        numbered: NDArray[np.bool_],
        parts: Sequence[tuple[Numbers, Ragged]],
    ) -> None:
        """Add stacks by their lengths; of the values those that are `numbered` are stacks at all.

        `parts` are the places of some values, and their frames; those below zero are bare.
        """
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if ends.size else 0
        if self._members.size + total > _MOST:
            raise DamagedCellError("names more frames than are read of one table")
        members = np.empty(total, np.int64)
        for of, stacks in parts:
            shift = (ends - lengths)[of] - stacks.offsets[:-1]
            places = np.arange(stacks.values.size) + np.repeat(shift, stacks.lengths)
            members[places] = stacks.values.view(np.int64)
        self._ends.extend((self._members.size + ends)[numbered])
        self._members.extend(members)

    def table(self, first_bare: int) -> pa.Table:
        """Return the stacks as `Symbols` has them, bare frames numbered from `first_bare`."""
        members = self._members.array.copy()
        members[members < 0] = first_bare - 1 - members[members < 0]
        offsets = np.concatenate(([0], self._ends.array))
        lists = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(members))
        frames = lists.cast(STACKS.field("frames").type)
        return pa.table([pa.array(np.arange(len(lists))), frames], schema=STACKS)
