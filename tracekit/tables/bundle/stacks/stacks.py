"""The stacks of the cells of a table: their texts, frames, and numbers in the table of symbols.

Stacks and frames are numbered as an export defines them: by first occurrence, row by row and
within a row from the first column to the last, so that all columns of a table are read together.
A frame without a symbol has its address in hexadecimal as its name, as in the export: less one,
except in a leaf.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.tables.bundle.cells.encodings import ALL_32, ALL_64, Encoding
from tracekit.tables.bundle.container.uniquer import Arrays, Numbers, Ragged
from tracekit.tables.bundle.errors import ArchiveError
from tracekit.tables.xml.node import Symbols, SymbolTable

if TYPE_CHECKING:
    from tracekit.tables.bundle.stacks.images import RunPlaces


NO_BINARY = -1
Addresses = NDArray[np.uint64]

_NO_PROCESS = -1
_DEEPEST = 1 << 14
_MOST = 1 << 26  # frames of all stacks
_LOW = np.uint64(ALL_32)
_ALL_ONES = np.uint64(ALL_64)
_HALF = np.uint64(32)
_KERNEL = np.uint64(1 << 55)  # selects the half of the address space of arm64
_USER = np.uint64((1 << 47) - 1)
_CALLSTACK_PARTS = 3  # fragment, program counter, process; then registers


@dataclass(frozen=True)
class Binary:
    """A binary as it is loaded in a process; unknown attributes are None."""

    name: str
    uuid: str
    arch: str | None
    load_address: int | None
    path: str


def in_kernel(addresses: Addresses) -> NDArray[np.bool_]:
    """Return a mask of the addresses that belong to the kernel."""
    return (addresses & _KERNEL) != 0


def in_order(values: NDArray[np.generic]) -> tuple[Numbers, Numbers]:
    """Number distinct values by first occurrence; return the number of each, and those places."""
    encoded_values = pa.array(values).dictionary_encode()
    codes = encoded_values.indices.to_numpy().astype(np.int64)
    count = 0
    if codes.size:
        count = int(codes.max()) + 1
    firsts = np.empty(count, np.int64)
    backwards = np.arange(codes.size - 1, -1, -1)
    firsts[codes[::-1]] = backwards  # the last one of equal indices stays
    return codes, firsts


def _backtraces(arrays: Arrays, ids: Numbers) -> tuple[Ragged, Numbers]:
    """Return the addresses of backtraces, and the pid of each address, or `_NO_PROCESS`.

    A backtrace is a list of chunks; a part that is all ones ends it.
    """
    chunks = _chunks(arrays.take(ids))
    part_ids = (chunks.values & _LOW).astype(np.int64)
    parts = arrays.take(part_ids)
    offsets = parts.offsets.take(chunks.offsets)
    addresses = Ragged(offsets, _strip_authentication(parts.values))
    _require_depth(addresses)
    process_ids = (chunks.values >> _HALF).astype(np.int64)
    owners = _pids(arrays, process_ids)
    return addresses, np.repeat(owners, parts.lengths)


def _chunks(arrays: Ragged) -> Ragged:
    ends = (arrays.values & _LOW) == _LOW
    if not ends.any():
        return arrays
    summed_ends = np.cumsum(ends)
    ends_before = np.concatenate(([0], summed_ends))
    ends_before_array = ends_before.take(arrays.offsets[:-1])
    ends_of_arrays = np.repeat(ends_before_array, arrays.lengths)
    is_kept = ends_before[1:] == ends_of_arrays
    summed_kept = np.cumsum(is_kept)
    kept_before = np.concatenate(([0], summed_kept))
    kept_offsets = kept_before.take(arrays.offsets)
    return Ragged(kept_offsets, arrays.values[is_kept])


def _unwrap_tagged(arrays: Arrays, ids: Numbers) -> Numbers:
    """Return the backtraces that tagged ones wrap."""
    [inner] = _parts(arrays.take(ids), 1, "tagged backtrace")
    if inner.size and int(inner.max()) > int(_LOW):
        raise ArchiveError("names an array that is not a tagged backtrace")
    return inner.astype(np.int64)


def _parts(arrays: Ragged, count: int, noun: str) -> list[Addresses]:
    if bool((arrays.lengths < count).any()):
        raise ArchiveError(f"names an array that is not a {noun}")
    starts = arrays.offsets[:-1]
    return [arrays.values[starts + part] for part in range(count)]


def _strip_authentication(addresses: Addresses) -> Addresses:
    """Return addresses without the bits that authenticate pointers of user space."""
    return np.where(in_kernel(addresses), addresses, addresses & _USER)


def _take_arrays(arrays: Arrays, fragments: Addresses) -> Ragged:
    """Return arrays by number; a number with all bits set, of either width, gives an empty one."""
    is_null = (fragments == _ALL_ONES) | (fragments == _LOW)
    there = np.flatnonzero(~is_null)
    array_ids = fragments[there]
    if array_ids.size and int(array_ids.max()) > int(_LOW):
        raise ArchiveError("names an array that the bundle does not hold")
    taken_arrays = arrays.take(array_ids.astype(np.int64))
    lengths = np.zeros(fragments.size, np.int64)
    lengths[there] = taken_arrays.lengths
    summed_lengths = np.cumsum(lengths)
    offsets = np.concatenate(([0], summed_lengths))
    return Ragged(offsets, taken_arrays.values)


def _pids(arrays: Arrays, owners: Numbers) -> Numbers:
    distinct, places = np.unique(owners, return_inverse=True)
    there = distinct != int(_LOW)
    present_arrays = arrays.take(distinct[there])
    [stored] = _parts(present_arrays, 1, "process")
    pids = np.full(distinct.size, _NO_PROCESS, np.int64)
    known_pids = np.where(stored < _LOW, stored, ALL_64)
    pids[there] = known_pids.astype(np.int64)
    return pids.take(places)


def _require_depth(stacks: Ragged) -> None:
    if stacks.lengths.size and int(stacks.lengths.max()) > _DEEPEST:
        raise ArchiveError(f"names a stack of more than {_DEEPEST:,} frames")


_KINDS = [Encoding.CALLSTACK, Encoding.BACKTRACE, Encoding.TAGGED_BACKTRACE, Encoding.TEXT_SYMBOL]
_CALLSTACK, _BACKTRACE, _TAGGED, _SYMBOL = range(len(_KINDS))
_AT_ONCE = 1 << 9  # values
_NOTHING = -1

# The encoding of a column of stacks, and the numbers of their arrays by row.
StackColumn = tuple[Encoding, NDArray[np.uint32]]
# The texts of cells, and the numbers of their stacks, null if there is none.
StackCells = tuple[pa.DictionaryArray, pa.Array]
# The text of a value, and its frames; None if it is not a stack.
_Worded = tuple[str, list[int] | None]


class BundleStacks:
    """The stacks of one table."""

    def __init__(self, arrays: Arrays, places: "RunPlaces") -> None:
        self._arrays = arrays
        self._places = places
        self._table = SymbolTable()
        self._frames: dict[tuple[int, int, str], int] = {}  # by address, binary and name
        self._names: list[str] = []  # of frames
        self._count = 0  # frames of all stacks
        self._values: dict[int, int] = {}  # kind and array, in the order of first occurrence
        self._texts: dict[str, int] = {}
        self._of_value: list[tuple[int, int]] = []  # the numbers of its text and its stack

    def cells(self, columns: Sequence[StackColumn], times: Numbers) -> list[StackCells]:
        """Return the cells of all columns of stacks, for the next rows of the table.

        Array numbers with all bits set are null; times are in ns of the run.
        """
        id_columns = [numbers.astype(np.int64) for _, numbers in columns]
        ids = np.stack(id_columns, axis=1)
        there = np.flatnonzero(ids.ravel() != ALL_32)
        present_ids = ids.ravel()[there]
        if there.size and int(present_ids.max()) >= len(self._arrays):
            raise ArchiveError("names an array that the bundle does not hold")
        kind_numbers = [_KINDS.index(encoding) for encoding, _ in columns]
        kinds = np.array(kind_numbers, np.int64)
        keys = (ids | kinds << 32).ravel()[there]
        codes, firsts = in_order(keys)
        distinct = keys[firsts]
        value_numbers = self._values
        is_new = [key not in value_numbers for key in distinct.tolist()]
        new = np.flatnonzero(is_new)
        first_rows = there[firsts[new]]
        rows = first_rows // len(columns)
        first_times = times[rows]
        for start in range(0, new.size, _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            chosen = distinct[new[some]]
            self._define(chosen >> 32, chosen & ALL_32, first_times[some])
        for key in distinct[new].tolist():
            value_numbers[key] = len(value_numbers)
        distinct_numbers = [value_numbers[key] for key in distinct.tolist()]
        values = np.full(ids.size, _NOTHING, np.int64)
        values[there] = np.array(distinct_numbers, np.int64)[codes]
        value_columns = values.reshape(ids.shape).T
        return [self._cells(column) for column in value_columns]

    def symbols(self) -> Symbols:
        """Return the stacks of the rows so far, and their frames."""
        return self._table.symbols()

    def _define(self, kinds: Numbers, ids: Numbers, times: Numbers) -> None:
        """Add new values: their kinds, their arrays, and the times of first occurrence, in ns."""
        ids = ids.copy()
        is_tagged = kinds == _TAGGED
        tagged_ids = _unwrap_tagged(self._arrays, ids[is_tagged])
        ids[is_tagged] = tagged_ids
        worded: list[_Worded] = [("", None)] * ids.size
        ways: tuple[tuple[tuple[int, ...], Callable[..., Iterator[_Worded]]], ...] = (
            ((_BACKTRACE, _TAGGED), self._of_backtraces),
            ((_CALLSTACK,), self._of_callstacks),
            ((_SYMBOL,), self._of_symbols),
        )
        for of_kinds, way in ways:
            positions = np.flatnonzero(np.isin(kinds, of_kinds))
            values = way(ids[positions], times[positions])
            for place, value in zip(positions.tolist(), values, strict=True):
                worded[place] = value
        for text, frames in worded:
            self._count += len(frames or ())
            if self._count > _MOST:
                raise ArchiveError("names more frames than are read of one table")
            stack = _NOTHING if frames is None else self._table.add(frames)
            next_number = len(self._texts)
            text_number = self._texts.setdefault(text, next_number)
            self._of_value.append((text_number, stack))

    def _of_backtraces(self, ids: Numbers, times: Numbers) -> Iterator[_Worded]:
        stacks, pids = _backtraces(self._arrays, ids)
        starts = stacks.offsets[:-1]
        leaves = np.zeros(stacks.values.size, np.bool_)
        leaves[starts[stacks.lengths > 0]] = True
        frame_times = np.repeat(times, stacks.lengths)
        numbers = self._number_frames(stacks.values, pids, frame_times, leaves)
        numbered_stacks = Ragged(stacks.offsets, numbers.view(np.uint64))
        for frames in numbered_stacks.lists():
            if frames:
                name = self._names[frames[0]]
                yield f"{name} ← ({len(frames) - 1} other frames)", frames
            else:
                yield "", None

    def _of_callstacks(self, ids: Numbers, _: Numbers) -> Iterator[_Worded]:
        """Add stacks of the profiler of the kernel: the program counter comes first."""
        callstacks = self._arrays.take(ids)
        fragments, pcs, owners = _parts(callstacks, _CALLSTACK_PARTS, "callstack")
        fragment_arrays = _take_arrays(self._arrays, fragments)
        _require_depth(fragment_arrays)
        process_ids = np.minimum(owners, _LOW).astype(np.int64)
        pids = _pids(self._arrays, process_ids)
        registers = (callstacks.lengths - _CALLSTACK_PARTS).tolist()
        rows = zip(pcs.tolist(), fragment_arrays.lists(), registers, pids.tolist(), strict=True)
        for pc, addresses, count, pid in rows:
            text = f"{len(addresses)} frames, {count} regs"
            if pid != _NO_PROCESS:
                text += f", pid: {pid}"
            all_addresses = addresses
            if pc != ALL_64:
                text = f"PC:{pc:#x}, {text}"
                all_addresses = [pc, *addresses]
            if all_addresses:
                yield text, self._table.number_addresses(all_addresses)
            else:
                yield text, None

    def _of_symbols(self, ids: Numbers, times: Numbers) -> Iterator[_Worded]:
        pairs = self._arrays.take(ids).pairs("text symbol")
        process_ids = np.minimum(pairs[:, 0], _LOW).astype(np.int64)
        pids = _pids(self._arrays, process_ids)
        looked = _looked_up(_strip_authentication(pairs[:, 1]))
        binaries = self._places.find(pids, looked, times)
        names = self._places.names(binaries, looked)
        for name in _words(names, looked):
            yield f"{name}  ", None

    def _number_frames(
        self, addresses: Addresses, pids: Numbers, times: Numbers, leaves: NDArray[np.bool_]
    ) -> Numbers:
        """Return the number of the frame of each address; new ones are added."""
        if not addresses.size:
            return np.empty(0, np.int64)
        looked = _looked_up(addresses)
        binaries = self._places.find(pids, looked, times)
        # A frame is distinct by its address, its binary, and whether it is a leaf.
        address_codes, _ = in_order(addresses)
        binary_count = binaries.max() + 2
        pair_codes = address_codes * binary_count + binaries + 1
        codes, firsts = in_order(pair_codes * 2 + leaves)
        addresses = addresses[firsts]
        binaries = binaries[firsts]
        looked = looked[firsts]
        names = self._places.names(binaries, looked)
        shown_addresses = np.where(leaves[firsts], addresses, looked)
        words = _words(names, shown_addresses)
        keys = list(zip(addresses.tolist(), binaries.tolist(), words, strict=True))
        all_binaries = self._places.binaries
        for address, number, name in keys:
            if (address, number, name) in self._frames:
                continue
            binary_cells = (None,) * 5
            if number != NO_BINARY:
                binary = all_binaries[number]
                binary_cells = (
                    binary.name,
                    binary.uuid,
                    binary.arch,
                    binary.load_address,
                    binary.path,
                )
            frame = self._table.add_frame(name, address, *binary_cells, None, None)
            self._frames[address, number, name] = frame
            self._names.append(name)
        frames = [self._frames[key] for key in keys]
        return np.array(frames, np.int64).take(codes)

    def _cells(self, values: Numbers) -> StackCells:
        """Return the cells of values by their numbers; `_NOTHING` is null."""
        nulls = values == _NOTHING
        stored_values = self._of_value or [(0, 0)]
        of_value = np.array(stored_values, np.int64)
        known_values = np.maximum(values, 0)
        numbers, stacks = of_value.take(known_values, axis=0).T
        coded = pa.array(numbers, mask=nulls).dictionary_encode()
        all_texts = list(self._texts)
        words = [all_texts[number] for number in coded.dictionary.to_pylist()]
        distinct_texts = pa.array(words, pa.string())
        texts = pa.DictionaryArray.from_arrays(coded.indices, distinct_texts)
        has_no_stack = nulls | (stacks == _NOTHING)
        return texts, pa.array(stacks, mask=has_no_stack)


def _looked_up(addresses: Addresses) -> Addresses:
    """Return the addresses whose symbols name these: one less, but 0 for 0."""
    return addresses - (addresses > 0)


def _words(names: Sequence[str | None], addresses: Addresses) -> list[str]:
    named_addresses = zip(names, addresses.tolist(), strict=True)
    return [name or hex(address) for name, address in named_addresses]
