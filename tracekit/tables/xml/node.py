"""One table of an export, piece by piece: its columns, what their cells say, its stacks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from tracekit.tables.bundle.cells.encodings import Said

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
    `notes` say what else is to be known of the table.
    """

    schema: str
    xpath: str
    columns: tuple[ColumnCells, ...]
    rows: int
    damage: str = ""
    number: int = 1
    notes: tuple[Said, ...] = ()


class Reader(Protocol):
    """A way to read an export; it is used once."""

    def pieces(self) -> Iterator[Node]:
        """Yield the tables in the order of the file, each in one or more pieces of some rows."""
        ...

    def symbols(self) -> Symbols:
        """Return the stacks that the pieces have named so far."""
        ...
