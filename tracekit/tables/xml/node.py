"""One table of an export, piece by piece: its columns, their cells, its stacks."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
import pyarrow as pa

from tracekit.tables.losses import Loss

STACK_TYPES = frozenset({"backtrace", "kperf-bt", "tagged-backtrace", "text-backtrace"})
FRAMES = pa.schema(
    [
        ("frame", pa.int64()),
        ("name", pa.string()),
        ("address", pa.uint64()),
        ("binary", pa.string()),
        ("uuid", pa.string()),
        ("arch", pa.string()),
        ("load_address", pa.uint64()),
        ("path", pa.string()),
        ("source", pa.string()),
        ("line", pa.int64()),
    ]
)
STACKS = pa.schema([("stack", pa.int64()), ("frames", pa.list_(pa.int64()))])


@dataclass(frozen=True, eq=False)
class Symbols:
    """Stacks and frames, each numbered from 0 in the order in which the export defines them.

    `frames` has the columns of `FRAMES`; values that the export lacks are null. `stacks` has those
    of `STACKS`: the numbers of the frames of a stack, the innermost first. Addresses without a
    frame, as in a `kperf-bt`, are frames after all others, one for each address.
    """

    frames: pa.Table
    stacks: pa.Table


@cache
def no_symbols() -> Symbols:
    """Return the symbol table of an export without stacks."""
    return Symbols(FRAMES.empty_table(), STACKS.empty_table())


class SymbolTable:
    """Stacks and frames while they are read, each with the next number."""

    def __init__(self) -> None:
        self._frames: list[tuple[object, ...]] = []
        self._members = array("q")  # of all stacks; negative for an address without a frame
        self._ends = array("q")
        self._addresses: dict[int | None, int] = {}  # without a frame, with their numbers

    def add_frame(self, *cells: object) -> int:
        """Add a frame by its cells, which are those of `FRAMES` after its number."""
        self._frames.append(cells)
        return len(self._frames) - 1

    def add(self, frames: Sequence[int]) -> int:
        """Add a stack of frames."""
        self._members.extend(frames)
        self._ends.append(len(self._members))
        return len(self._ends) - 1

    def number_addresses(self, addresses: Iterable[int | None]) -> list[int]:
        """Return the numbers of addresses without frames, up to the zeros that close them."""
        kept_addresses = list(addresses)
        address_numbers = self._addresses
        while kept_addresses and kept_addresses[-1] == 0:
            kept_addresses.pop()
        numbers: list[int] = []
        for address in kept_addresses:
            number = address_numbers.setdefault(address, len(address_numbers))
            numbers.append(-1 - number)
        return numbers

    def sizes(self) -> tuple[int, int, int]:
        """Return the counts of frames, stacks and addresses, for `truncate`."""
        return len(self._frames), len(self._ends), len(self._addresses)

    def truncate(self, sizes: tuple[int, int, int]) -> None:
        """Remove everything that was added since the table had these `sizes`."""
        frames, stacks, addresses = sizes
        del self._frames[frames:]
        del self._ends[stacks:]
        member_count = 0
        if stacks:
            member_count = self._ends[-1]
        del self._members[member_count:]
        while len(self._addresses) > addresses:
            self._addresses.popitem()

    def symbols(self) -> Symbols:
        """Return all stacks and frames that were added so far."""
        if not self._ends and not self._frames:
            return no_symbols()
        members = np.array(self._members, np.int64)
        # The addresses without a frame follow the frames.
        frame_numbers = len(self._frames) - 1 - members
        numbers = np.where(members < 0, frame_numbers, members)
        ends = np.array(self._ends, np.int64)
        offsets = np.concatenate(([0], ends))
        offset_array = pa.array(offsets)
        lists = pa.LargeListArray.from_arrays(offset_array, pa.array(numbers))
        stack_numbers = pa.array(np.arange(len(lists)))
        stack_frames = lists.cast(STACKS.field("frames").type)
        frame_columns: dict[str, pa.Array] = {}
        for place, field in enumerate(list(FRAMES)[1:]):
            cells = [frame[place] for frame in self._frames]
            frame_column = pa.array(cells, field.type)
            frame_columns[field.name] = frame_column
        addresses = pa.array(list(self._addresses), pa.uint64())
        address_column = {"address": addresses}
        parts = [pa.table(frame_columns), pa.table(address_column)]
        frames = pa.concat_tables(parts, promote_options="default")
        rows = pa.array(np.arange(len(frames)))
        frames = frames.add_column(0, FRAMES.field("frame"), rows).combine_chunks()
        stacks = pa.table([stack_numbers, stack_frames], schema=STACKS)
        return Symbols(frames, stacks)


@dataclass(frozen=True)
class ExportColumn:
    """A column as the export declares it: its key, its title, the type of its cells."""

    mnemonic: str
    name: str
    engineering_type: str


@dataclass(frozen=True)
class Header:
    """The header above the rows of a table."""

    schema: str
    columns: tuple[ExportColumn, ...]


@dataclass(frozen=True, eq=False)
class ColumnCells:
    """The cells of one column; cells that the export lacks are null.

    `cells` are texts, or numbers of the form of the column if a reader has converted them.
    `foreign` holds the types of cells that differ from the declared one, as in a column of type
    `any`. `pids` and `tids` belong to processes and threads, as texts or as numbers; `stacks` to
    stacks, as numbers of `Symbols.stacks`.
    """

    column: ExportColumn
    cells: pa.ChunkedArray
    foreign: frozenset[str] = frozenset()
    pids: pa.ChunkedArray | None = None
    tids: pa.ChunkedArray | None = None
    stacks: pa.ChunkedArray | None = None


@dataclass(frozen=True, eq=False)
class Node:
    """One table of an export, or a piece of one; `damage` is the reason why its rows stop early.

    The pieces of one table have the same `number`, which counts the tables of a file from 1.
    `losses` are the other losses of the rows up to its end.
    """

    schema: str
    xpath: str
    columns: tuple[ColumnCells, ...]
    rows: int
    damage: str = ""
    number: int = 1
    losses: tuple[Loss, ...] = ()


class Reader(Protocol):
    """A way to read an export; it is used once."""

    def pieces(self) -> Iterator[Node]:
        """Yield the tables in the order of the file, each in one or more pieces of some rows."""
        ...

    def symbols(self) -> Symbols:
        """Return the stacks that the pieces so far refer to."""
        ...
