"""The stacks of a table's cells: their texts, frames, and numbers in the table of symbols.

Stacks and frames are numbered as an export defines them: by first occurrence, row by row and
within a row from the first column to the last, so that all columns of a table are read together.
Where no symbol is known, a frame is named by its address in hexadecimal, as the export does it:
less one, except in a leaf.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.tables.bundle.cells.encodings import ALL_32, ALL_64, Encoding
from tracekit.tables.bundle.container.uniquer import Arrays, Numbers, Ragged
from tracekit.tables.bundle.errors import DamagedCellError
from tracekit.tables.xml.fast.definitions import Growing
from tracekit.tables.xml.node import FRAMES, STACKS, Symbols, no_symbols

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


NO_PROCESS = -1
_DEEPEST = 1 << 14
_LOW = np.uint64(ALL_32)
_ALL_ONES = np.uint64(ALL_64)
_HALF = np.uint64(32)
_KERNEL = np.uint64(1 << 55)  # of an address of arm64: whose half of the address space it is in
_USER = np.uint64((1 << 47) - 1)
_CALLSTACK_PARTS = 3  # fragment, program counter, process; then registers


def callstack_words(pc: int | None, depth: int, registers: int, pid: int) -> str:
    """Return what an export says of a callstack; None and `NO_PROCESS` are left out."""
    at = "" if pc is None else f"PC:{pc:#x}, "
    of = "" if pid == NO_PROCESS else f", pid: {pid}"
    return f"{at}{depth} frames, {registers} regs{of}"


def backtraces(arrays: Arrays, ids: Numbers) -> tuple[Ragged, Numbers]:
    """Return the addresses of backtraces, and beside each its process, `NO_PROCESS` for none.

    A part that is all ones ends a list of chunks.
    """
    chunks = _chunks(arrays.take(ids))
    parts = arrays.take((chunks.values & _LOW).astype(np.int64))
    addresses = Ragged(parts.offsets.take(chunks.offsets), _plain(parts.values))
    _require_depth(addresses)
    owners = _pids(arrays, (chunks.values >> _HALF).astype(np.int64))
    return addresses, np.repeat(owners, parts.lengths)


def untagged(arrays: Arrays, ids: Numbers) -> Numbers:
    """Return the backtraces that tagged ones wrap; raise what `backtraces` raises."""
    inner = _parts(arrays.take(ids), 1, "tagged backtrace")[0]
    if inner.size and int(inner.max()) > int(_LOW):
        raise DamagedCellError("names an array that is no tagged backtrace")
    return inner.astype(np.int64)


def callstacks(arrays: Arrays, ids: Numbers) -> tuple[Ragged, list[str], NDArray[np.bool_]]:
    """Return the stacks that the kernel's profiler took; raise what `backtraces` raises.

    The program counter stands first, and the zeros that close a stack are left out. Beside stand
    what an export says of each, and whether there is a stack at all.
    """
    found = arrays.take(ids)
    fragments, pcs, owners = _parts(found, _CALLSTACK_PARTS, "callstack")
    taken = _taken(arrays, fragments)
    _require_depth(taken)
    has_pc = pcs != _ALL_ONES
    rows = zip(
        pcs.tolist(),
        has_pc.tolist(),
        taken.lengths.tolist(),
        (found.lengths - _CALLSTACK_PARTS).tolist(),
        _pids(arrays, np.minimum(owners, _LOW).astype(np.int64)).tolist(),
        strict=True,
    )
    texts = [
        callstack_words(pc if there else None, depth, registers, pid)
        for pc, there, depth, registers, pid in rows
    ]
    values = np.insert(taken.values, taken.offsets[:-1][has_pc], pcs[has_pc])
    offsets = taken.offsets + np.concatenate(([0], np.cumsum(has_pc)))
    stacks = _without_closing_zeros(Ragged(offsets, values))
    return stacks, texts, has_pc | (taken.lengths > 0)


def text_symbols(arrays: Arrays, ids: Numbers) -> tuple[Numbers, NDArray[np.uint64]]:
    """Return process and address of text symbols; raise what `backtraces` raises."""
    pairs = arrays.take(ids).pairs("text symbol")
    owners = np.minimum(pairs[:, 0], _LOW).astype(np.int64)
    return _pids(arrays, owners), _plain(pairs[:, 1])


def in_kernel(addresses: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Tell which addresses are the kernel's."""
    return (addresses & _KERNEL) != 0


def _parts(found: Ragged, count: int, what: str) -> list[NDArray[np.uint64]]:
    """Return the first numbers of arrays; raise DamagedCellError if one has too few."""
    if bool((found.lengths < count).any()):
        raise DamagedCellError(f"names an array that is no {what}")
    return [found.values[found.offsets[:-1] + part] for part in range(count)]


def _plain(addresses: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return addresses without the bits that authenticate pointers of user space."""
    return np.where(in_kernel(addresses), addresses, addresses & _USER)


def _chunks(found: Ragged) -> Ragged:
    ends = (found.values & _LOW) == _LOW
    if not ends.any():
        return found
    before = np.concatenate(([0], np.cumsum(ends)))
    kept = before[1:] == np.repeat(before.take(found.offsets[:-1]), found.lengths)
    counted = np.concatenate(([0], np.cumsum(kept)))
    return Ragged(counted.take(found.offsets), found.values[kept])


def _taken(arrays: Arrays, fragments: NDArray[np.uint64]) -> Ragged:
    """Return arrays; those whose number is all ones of either width are empty."""
    there = np.flatnonzero((fragments != _ALL_ONES) & (fragments != _LOW))
    wanted = fragments[there]
    if wanted.size and int(wanted.max()) > int(_LOW):
        raise DamagedCellError("names an array that the bundle does not hold")
    taken = arrays.take(wanted.astype(np.int64))
    lengths = np.zeros(fragments.size, np.int64)
    lengths[there] = taken.lengths
    return Ragged(np.concatenate(([0], np.cumsum(lengths))), taken.values)


def _pids(arrays: Arrays, owners: Numbers) -> Numbers:
    distinct, places = np.unique(owners, return_inverse=True)
    there = distinct != int(_LOW)
    taken = arrays.take(distinct[there])
    stored = _parts(taken, 1, "process")[0]
    pids = np.full(distinct.size, NO_PROCESS, np.int64)
    pids[there] = np.where(stored <= _LOW, stored, _LOW).astype(np.int64)
    pids[pids == int(_LOW)] = NO_PROCESS
    return pids.take(places)


def _require_depth(stacks: Ragged) -> None:
    if stacks.lengths.size and int(stacks.lengths.max()) > _DEEPEST:
        raise DamagedCellError(f"names a stack of more than {_DEEPEST:,} frames")


def _without_closing_zeros(stacks: Ragged) -> Ragged:
    filled = np.flatnonzero(stacks.values)
    starts = stacks.offsets[:-1]
    last = np.searchsorted(filled, stacks.offsets[1:]) - 1
    ends = filled[last] + 1 if filled.size else np.zeros(starts.size, np.int64)
    lengths = np.where(last >= 0, np.maximum(ends - starts, 0), 0)
    kept = np.arange(stacks.values.size) < np.repeat(starts + lengths, stacks.lengths)
    return Ragged(np.concatenate(([0], np.cumsum(lengths))), stacks.values[kept])


_KINDS = [Encoding.CALLSTACK, Encoding.BACKTRACE, Encoding.TAGGED_BACKTRACE, Encoding.TEXT_SYMBOL]
_CALLSTACK, _BACKTRACE, _TAGGED, _SYMBOL = range(len(_KINDS))
_AT_ONCE = 1 << 9  # values
_NOTHING = -1


# How a column of stacks is stored, and the numbers of their arrays by row.
StackColumn = tuple[Encoding, NDArray[np.uint32]]
# What cells say, and the numbers of their stacks; null where there is none.
StackCells = tuple[pa.DictionaryArray, pa.Array]
# Places of values, their texts, their frames, and which of them are stacks at all.
_Found = tuple[Numbers, list[str], Ragged, NDArray[np.bool_]]


class Stacks:
    """The stacks of one table."""

    def __init__(self, arrays: Arrays, places: "RunPlaces") -> None:
        self._arrays = arrays
        self._places = places
        self._frames = Frames(places)
        self._values: dict[int, int] = {}  # kind and array, in the order of first occurrence
        self._texts: dict[str, int] = {}
        self._text_of: Growing[np.int64] = Growing(np.int64)
        self._stack_of: Growing[np.int64] = Growing(np.int64)
        self._members = Members()

    def cells(self, columns: Sequence[StackColumn], times: Numbers) -> list[StackCells]:
        """Return the cells of all columns of stacks, for the next rows of the table.

        Arrays of which all bits are set are null; times are in ns of the run.
        """
        ids = np.stack([numbers.astype(np.int64) for _, numbers in columns], axis=1)
        there = np.flatnonzero(ids.ravel() != ALL_32)
        if there.size and int(ids.ravel()[there].max()) >= len(self._arrays):
            raise DamagedCellError("names an array that the bundle does not hold")
        kinds = np.array([_KINDS.index(encoding) for encoding, _ in columns], np.int64)
        keys = (ids | kinds << 32).ravel()[there]
        codes, firsts = in_order(keys)
        distinct = keys[firsts]
        known = self._values
        new = np.flatnonzero([key not in known for key in distinct.tolist()])
        when = times[there[firsts[new]] // len(columns)]
        for first in range(0, new.size, _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            chosen = distinct[new[some]]
            self._define(chosen >> 32, chosen & ALL_32, when[some])
        for key in distinct[new].tolist():
            known[key] = len(known)
        values = np.full(ids.size, _NOTHING, np.int64)
        values[there] = np.array([known[key] for key in distinct.tolist()], np.int64)[codes]
        return [self._cells(column) for column in values.reshape(ids.shape).T]

    def symbols(self) -> Symbols:
        """Return the stacks of the rows so far, and their frames."""
        if not len(self._members):
            return no_symbols()
        return Symbols(self._frames.table(), self._members.table(len(self._frames)))

    def _define(self, kinds: Numbers, ids: Numbers, times: Numbers) -> None:
        """Add new values: their kinds, their arrays, and when they occur first, in ns."""
        texts: list[str] = [""] * ids.size
        lengths = np.zeros(ids.size, np.int64)
        numbered = np.zeros(ids.size, np.bool_)
        parts: list[tuple[Numbers, Ragged]] = []
        for of, words, members, stacks in (
            self._of_backtraces(kinds, ids, times),
            self._of_callstacks(kinds, ids),
            self._of_symbols(kinds, ids, times),
        ):
            lengths[of] = members.lengths
            numbered[of] = stacks
            parts.append((of, members))
            for place, text in zip(of.tolist(), words, strict=True):
                texts[place] = text
        known = self._texts
        text_codes = [known.setdefault(text, len(known)) for text in texts]
        self._text_of.extend(np.array(text_codes, np.int64))
        stacks = len(self._members) + np.cumsum(numbered) - 1
        self._stack_of.extend(np.where(numbered, stacks, _NOTHING))
        self._members.add(lengths, numbered, parts)

    def _of_backtraces(self, kinds: Numbers, ids: Numbers, times: Numbers) -> _Found:
        of = np.flatnonzero((kinds == _BACKTRACE) | (kinds == _TAGGED))
        ids = ids[of]
        tagged = kinds[of] == _TAGGED
        ids[tagged] = untagged(self._arrays, ids[tagged])
        stacks, pids = backtraces(self._arrays, ids)
        leaves = np.zeros(stacks.values.size, np.bool_)
        some = stacks.lengths > 0
        leaves[stacks.offsets[:-1][some]] = True
        moments = np.repeat(times[of], stacks.lengths)
        numbers = self._frames.number(stacks.values, pids, moments, leaves)
        firsts = iter(numbers[leaves].tolist())
        words = [
            f"{self._frames.keys[next(firsts)][2]} ← ({depth - 1} other frames)" if depth else ""
            for depth in stacks.lengths.tolist()
        ]
        return of, words, Ragged(stacks.offsets, numbers.view(np.uint64)), some

    def _of_callstacks(self, kinds: Numbers, ids: Numbers) -> _Found:
        of = np.flatnonzero(kinds == _CALLSTACK)
        stacks, words, there = callstacks(self._arrays, ids[of])
        numbers = self._frames.bare(stacks.values)
        return of, words, Ragged(stacks.offsets, numbers.view(np.uint64)), there

    def _of_symbols(self, kinds: Numbers, ids: Numbers, times: Numbers) -> _Found:
        of = np.flatnonzero(kinds == _SYMBOL)
        pids, addresses = text_symbols(self._arrays, ids[of])
        names = names_at(self._places, pids, addresses, times[of])
        nothing = Ragged(np.zeros(of.size + 1, np.int64), np.empty(0, np.uint64))
        return of, [f"{name}  " for name in names], nothing, np.zeros(of.size, np.bool_)

    def _cells(self, values: Numbers) -> StackCells:
        """Return the cells of values by their numbers, `_NOTHING` for null."""
        nulls = values == _NOTHING
        numbers, stacks = np.zeros((2, values.size), np.int64)
        if self._text_of.size:
            numbers, stacks = self._text_of.array[values], self._stack_of.array[values]
        coded = pa.array(numbers, mask=nulls).dictionary_encode()
        known = [*self._texts]
        words = pa.array([known[number] for number in coded.dictionary.to_pylist()], pa.string())
        texts = pa.DictionaryArray.from_arrays(coded.indices, words)
        return texts, pa.array(stacks, mask=nulls | (stacks == _NOTHING))
