"""A direct read held against a real export of the same table, cell by cell."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tracekit.errors import InputError
from tracekit.tables.layout import Layout
from tracekit.tables.reading import read_pieces
from tracekit.tables.xml import STACK_TYPES, ColumnCells, Node
from tracekit.toc import Toc

MOST_ROWS = 50_000
# Names are looked up, not stored: a process that is not in the bundle's list is called otherwise
# than Instruments calls it. What is stored of these cells stands in columns beside them.
_NAMED = STACK_TYPES | {"process", "thread", "thread-name", "core", "text-symbol"}


@dataclass(frozen=True)
class Compared:
    """How many rows were compared, and the first difference in words; empty if there is none."""

    rows: int
    difference: str = ""


def compare(export: Path, table: Path, toc: Toc, most: int = MOST_ROWS) -> Compared:
    """Compare the first rows of a table.

    Args:
        export: What xctrace wrote of it.
        table: The file of its records, in the bundle.
        toc: The table of contents of both.
        most: How many rows.

    Raises:
        InputError: The export cannot be read, so nothing can be compared with it.
    """
    exported = _head(export, toc, most)
    try:
        direct = _head(table, toc, most)
    except InputError as error:
        return Compared(0, f"it cannot be read directly: {error.message.rstrip('.')}")
    named = _looked_up(direct)
    theirs, ours = (_cells(one, most) for one in (exported, direct))
    if theirs.column_names != ours.column_names:
        return Compared(0, f"its columns are {_listed(ours)}, exported {_listed(theirs)}")
    rows = min(len(theirs), len(ours))
    for name in ours.column_names:
        if name not in named and (found := _difference(name, ours, theirs, rows)):
            return Compared(rows, found)
    if len(theirs) != len(ours):
        return Compared(rows, f"it has {len(ours):,} rows, exported {len(theirs):,}")
    return Compared(rows)


class _EnoughError(Exception):
    """As many rows as are compared have been read."""


class _Head:
    """The first pieces of a table."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.pieces: list[Node] = []

    def begin(self) -> None:
        self.pieces = []

    def take(self, piece: Node) -> None:
        self.pieces.append(piece)
        if sum(one.rows for one in self.pieces) > self._most:
            raise _EnoughError


def _head(path: Path, toc: Toc, most: int) -> list[Node]:
    head = _Head(most)
    with suppress(_EnoughError):
        read_pieces(path, head, toc)
    if not head.pieces or head.pieces[-1].damage:
        raise InputError(f"{path.name} is cut or damaged.")
    return head.pieces


def _cells(pieces: list[Node], most: int) -> pa.Table:
    layout = Layout(pieces[0])
    raw = [layout.take(piece) for piece in pieces]
    return layout.converted(pa.concat_tables(raw)).slice(0, most)


def _looked_up(pieces: list[Node]) -> frozenset[str]:
    def names(columns: tuple[ColumnCells, ...]) -> Iterator[str]:
        for one in columns:
            if one.column.engineering_type in _NAMED:
                yield one.column.mnemonic

    return frozenset(names(pieces[0].columns))


def _difference(name: str, ours: pa.Table, theirs: pa.Table, rows: int) -> str:
    left, right = (_plain(one.column(name).slice(0, rows)) for one in (ours, theirs))
    if left.type != right.type:
        left, right = left.cast(pa.string()), right.cast(pa.string())
    same = pc.call_function("equal", [left, right]).fill_null(False)
    nulls = pc.call_function("and", [left.is_null(), right.is_null()])
    place = pc.call_function("or", [same, nulls]).index(False).as_py()
    if place < 0:
        return ""
    told, exported = left[place].as_py(), right[place].as_py()
    return f"row {place + 1}, {name}: {_word(told)} directly, {_word(exported)} exported"


def _plain(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(cells.type):
        return cells.cast(cells.type.value_type)
    return cells


def _word(value: object) -> str:
    return "nothing" if value is None else repr(value)[:80]


def _listed(table: pa.Table) -> str:
    return ", ".join(table.column_names)
