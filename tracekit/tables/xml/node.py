"""One table of an export, piece by piece: its columns, what their cells say, its stacks."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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

    `frames` has the columns of `FRAMES`, null where the export does not say. `stacks` has those
    of `STACKS`: the numbers of a stack's frames, the innermost first. Addresses that stand
    without a frame, as in a `kperf-bt`, are frames behind all others, one for each address.
    """

    frames: pa.Table
    stacks: pa.Table


def no_symbols() -> Symbols:
    """Return the symbol table of an export without stacks."""
    return Symbols(FRAMES.empty_table(), STACKS.empty_table())


class SymbolTable:
    """Stacks and frames while they are read, each with the next number."""

    def __init__(self) -> None:
        self._frames: list[tuple[object, ...]] = []
        self._members = array("q")  # of all stacks; below 0 for an address without a frame
        self._ends = array("q")
        self._addresses: dict[int | None, int] = {}  # those without a frame

    def add_frame(self, *cells: object) -> int:
        """Add a frame by its cells, which are those of `FRAMES` behind its number."""
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
        return [
            -1 - address_numbers.setdefault(address, len(address_numbers))
            for address in kept_addresses
        ]

    def sizes(self) -> tuple[int, int, int]:
        """Return how many frames, stacks and addresses there are, for `truncate`."""
        return len(self._frames), len(self._ends), len(self._addresses)

    def truncate(self, sizes: tuple[int, int, int]) -> None:
        """Forget what was added since there were so many."""
        frames, stacks, addresses = sizes
        del self._frames[frames:], self._ends[stacks:]
        del self._members[self._ends[-1] if stacks else 0 :]
        while len(self._addresses) > addresses:
            self._addresses.popitem()

    def symbols(self) -> Symbols:
        """Return what was added so far."""
        if not self._ends and not self._frames:
            return no_symbols()
        members = np.array(self._members, np.int64)
        numbers = np.where(members < 0, len(self._frames) - 1 - members, members)
        offsets = np.concatenate(([0], np.array(self._ends, np.int64)))
        lists = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(numbers))
        numbered = [pa.array(np.arange(len(lists))), lists.cast(STACKS.field("frames").type)]
        frame_columns = {
            field.name: pa.array([frame[place] for frame in self._frames], field.type)
            for place, field in enumerate([*FRAMES][1:])
        }
        address_column = {"address": pa.array([*self._addresses], pa.uint64())}
        frames = pa.concat_tables(
            [pa.table(frame_columns), pa.table(address_column)], promote_options="default"
        )
        rows = pa.array(np.arange(len(frames)))
        frames = frames.add_column(0, FRAMES.field("frame"), rows).combine_chunks()
        return Symbols(frames, pa.table(numbered, schema=STACKS))


@dataclass(frozen=True)
class ExportColumn:
    """A column as the export declares it: its key, its title, the type of its cells."""

    mnemonic: str
    name: str
    engineering_type: str


@dataclass(frozen=True)
class Header:
    """What stands above a table's rows."""

    schema: str
    columns: tuple[ExportColumn, ...]


@dataclass(frozen=True, eq=False)
class ColumnCells:
    """The cells of one column, null where the export has none.

    `cells` are texts, or numbers of the column's form where a reader has converted them.
    `foreign` holds the cells' own types where they differ from the declared one, as they do
    in a column of type `any`. `pids` and `tids` stand beside a process or a thread, as texts
    or as numbers; `stacks` beside a stack, as numbers of `Symbols.stacks`.
    """

    column: ExportColumn
    cells: pa.ChunkedArray
    foreign: frozenset[str] = frozenset()
    pids: pa.ChunkedArray | None = None
    tids: pa.ChunkedArray | None = None
    stacks: pa.ChunkedArray | None = None


@dataclass(frozen=True, eq=False)
class Node:
    """One table of an export, or a piece of one; `damage` says where its rows stop too early.

    The pieces of one table have the same `number`, which counts the tables of a file from 1.
    `losses` are what else is to be known of the rows up to its end.
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
        """Return the stacks that the pieces have named so far."""
        ...
