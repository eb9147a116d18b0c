"""What every way to read must arrive at: one typed Arrow table, its stacks and its frames."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
from lxml import etree

from tracekit.tables.values import FORMS, Form
from tracekit.tables.xml.node import FRAMES as NUMBERED_FRAMES
from tracekit.tables.xml.node import STACK_TYPES

Element: TypeAlias = Any
FRAMES = pa.schema([field for field in NUMBERED_FRAMES if field.name != "frame"])
_TYPES = {
    Form.INTEGER: pa.int64(),
    Form.UNSIGNED: pa.uint64(),
    Form.NUMBER: pa.float64(),
    Form.FLAG: pa.int64(),
    Form.TEXT: pa.string(),
}
_BATCH = 1 << 10


class Column(NamedTuple):
    """A column of an export: its key, and the type of its cells."""

    name: str
    engineering_type: str


class Identity(NamedTuple):
    """A process or a thread."""

    text: str
    pid: int
    tid: int | None = None


@dataclass(frozen=True)
class Decoded:
    """An export as values. Frames and stacks are numbered in the order of their definition.

    A process has a column NAME.pid beside it, a thread NAME.pid and NAME.tid; the column of a
    stack holds the stack's number.
    """

    table: pa.Table
    stacks: pa.Array | pa.ChunkedArray = field(default_factory=lambda: stack_array([]))
    frames: pa.Table = field(default_factory=FRAMES.empty_table)


def arrow_type(engineering_type: str) -> pa.DataType:
    """Return what a column of that type holds; a stack is a number."""
    if engineering_type in STACK_TYPES:
        return pa.int64()
    return _TYPES[FORMS.get(engineering_type, Form.TEXT)]


def is_identity(engineering_type: str) -> bool:
    """Tell whether cells of that type are an `Identity`."""
    return engineering_type in {"process", "thread"}


def fields(columns: Iterable[Column]) -> list[tuple[str, pa.DataType]]:
    """Return the fields of a decoded table, the ids beside processes and threads included."""
    found: list[tuple[str, pa.DataType]] = []
    for name, engineering_type in columns:
        found.append((name, arrow_type(engineering_type)))
        if engineering_type == "thread":
            found.append((f"{name}.tid", pa.int64()))
        if is_identity(engineering_type):
            found.append((f"{name}.pid", pa.int64()))
    return found


def header(path: Path) -> list[Column]:
    """Return the columns that the first table of an export declares."""
    with path.open("rb") as file:
        for _, schema in etree.iterparse(file, tag="schema", huge_tree=True):
            return [
                Column(column.findtext("mnemonic") or "", column.findtext("engineering-type") or "")
                for column in schema.iterfind("col")
            ]
    raise ValueError(f"{path} has no header")


def stack_array(stacks: list[list[int]]) -> pa.Array:
    """Return stacks, each the numbers of its frames, as an array."""
    return pa.array(stacks, pa.list_(pa.int64()))


def frame_table(frames: list[tuple[Any, ...]]) -> pa.Table:
    """Return frames, each with the values of `FRAMES`, as a table."""
    by_column = zip(*frames, strict=True) if frames else ((),) * len(FRAMES)
    arrays = [pa.array(cells, kind) for cells, kind in zip(by_column, FRAMES.types, strict=True)]
    return pa.Table.from_arrays(arrays, schema=FRAMES)


class Batches:
    """Rows of Python values on their way into an Arrow table, some thousands at a time."""

    def __init__(self, columns: list[Column]) -> None:
        self._columns = columns
        self._schema = pa.schema(fields(columns))
        self._rows: list[list[Any]] = []
        self._packed: list[pa.RecordBatch] = []

    def add(self, rows: Iterable[list[Any]]) -> None:
        """Take rows of one value for each column."""
        self._rows.extend(rows)
        if len(self._rows) >= _BATCH:
            self._pack()

    def table(self) -> pa.Table:
        """Return all rows."""
        self._pack()
        return pa.Table.from_batches(self._packed, schema=self._schema)

    def _pack(self) -> None:
        values: list[Iterable[Any]] = []
        by_column = zip(*self._rows, strict=True) if self._rows else ((),) * len(self._columns)
        for (_, engineering_type), cells in zip(self._columns, by_column, strict=True):
            if not is_identity(engineering_type):
                values.append(cells)
                continue
            values.append([cell and cell.text for cell in cells])
            if engineering_type == "thread":
                values.append([cell and cell.tid for cell in cells])
            values.append([cell and cell.pid for cell in cells])
        arrays = [
            pa.array(cells, kind) for cells, kind in zip(values, self._schema.types, strict=True)
        ]
        self._packed.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        self._rows.clear()
