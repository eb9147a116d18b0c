"""The columns of a flat table, and the types that follow from their cells.

The type of a column follows from all of its cells: one that breaks the declared form makes the
whole column text. The number of pieces in which a table is read does not matter.

There is a column for each mnemonic, in order. A process also has `NAME.pid`, a thread `NAME.tid`
and `NAME.pid`, a stack `NAME.stack`. If an export has one mnemonic twice, the second column is
called `NAME.2`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import pyarrow as pa

from tracekit.tables.lazy import pd
from tracekit.tables.values import (
    FORMS,
    Form,
    cast_cells,
    dtype_of,
    is_coded,
    long_bytes,
    require_room,
    series,
    type_of,
)
from tracekit.tables.xml.node import ColumnCells, Node

_ANY = "any"


@dataclass(eq=False)
class _ColumnLayout:
    """One column of a flat table, and the facts about its cells so far.

    Attributes:
        name: Its name in the flat table.
        declared: Its engineering type; None for the ids of a process or a thread, and for the
            numbers of stacks.
        nulls: Whether a cell was null.
        foreign: The engineering types of cells that are not of the declared one.
        typed: The type of cells that a reader has converted already; None if they are texts.
        type: The type of the converted column.
        broken: Whether the texts of some cells do not fit the form of the column.
    """

    name: str
    declared: str | None
    nulls: bool = False
    foreign: set[str] = field(default_factory=set[str])
    typed: pa.DataType | None = None
    type: pa.DataType = field(default_factory=pa.string)
    broken: bool = False

    def take(self, cells: pa.ChunkedArray, foreign: frozenset[str]) -> None:
        """Note the types and nulls of the cells of one more piece."""
        self.nulls = self.nulls or cells.null_count > 0
        self.foreign |= foreign
        if not (pa.types.is_string(cells.type) or is_coded(cells.type)):
            self.typed = cells.type

    @property
    def is_settled(self) -> bool:
        """Whether no later cell can change the type."""
        return self.typed is not None or self._form is Form.TEXT

    def convert_cells(self, cells: pa.ChunkedArray) -> pa.ChunkedArray:
        """Convert cells to the type that follows from them; these are all, unless it is settled."""
        if self.typed is None:
            self.type = self._infer_type(cells)
        elif self._form is Form.FLAG:
            self.type = pa.bool_()
        else:
            self.type = self.typed
        return cast_cells(cells, self.type)

    def _infer_type(self, cells: pa.ChunkedArray) -> pa.DataType:
        """Return the type that the texts of all cells fit; that of texts if they break the form."""
        inferred_type: pa.DataType | None = None
        if not self._has_foreign_cells:
            texts = cells
            if is_coded(cells.type):
                dictionaries = [chunk.dictionary for chunk in cells.chunks]
                texts = pa.chunked_array(dictionaries, pa.string())
            inferred_type = type_of(texts, self._actual_form)
        self.broken = inferred_type is None
        if inferred_type is None or pa.types.is_string(inferred_type):
            return cells.type
        return inferred_type

    @property
    def drift(self) -> str | None:
        """A sentence on the cells that break the declared type of the column, if any do."""
        if self.typed is not None or not (self._has_foreign_cells or self.broken):
            return None
        content = f"values other than {self._actual_form}"
        if self._has_foreign_cells:
            content = ", ".join(sorted(self.foreign))
        declared = self._only_foreign_type or self.declared or "a number"
        return f"{self.name} is declared as {declared} and holds {content}; it is text"

    @cached_property
    def _form(self) -> Form | None:
        """The form of texts of the declared type; None if it has no known one."""
        if self.declared is None:
            return Form.INTEGER
        return FORMS.get(self.declared)

    @property
    def _only_foreign_type(self) -> str:
        """The type of all cells of a column of type `any`, if they have one; else ""."""
        if self.declared != _ANY or len(self.foreign) != 1:
            return ""
        [foreign_type] = self.foreign
        return foreign_type

    @property
    def _actual_form(self) -> Form | None:
        """The form that texts must have: in a column of type `any`, that of their only type."""
        if self._only_foreign_type:
            return FORMS.get(self._only_foreign_type)
        return self._form

    @property
    def _has_foreign_cells(self) -> bool:
        """Whether cells are of other types than the declared one, which has a form."""
        return bool(self.foreign) and self._form is not None


class Layout:
    """One flat table while its pieces come: its columns, and the types that their cells allow."""

    def __init__(self, first_piece: Node) -> None:
        self.table = first_piece.schema
        names = list[str]()
        name_counts = dict[str, int]()
        self.columns: list[_ColumnLayout] = []
        types: list[pa.DataType] = []
        for name, part, cells in _cells(first_piece):
            declared: str | None = None
            if cells is part.cells:
                declared = part.column.engineering_type
            names.append(find_unused_name(name, name_counts))
            types.append(cells.type)
            self.columns.append(_ColumnLayout(name, declared))
        raw_fields = list(zip(names, types, strict=True))
        self.raw = pa.schema(raw_fields)
        self._long_bytes = 0  # of long texts

    def take(self, piece: Node) -> pa.Table:
        """Take a piece; return its cells unconverted, with the names of the flat table."""
        arrays: list[pa.ChunkedArray] = []
        laid_out_cells = zip(self.columns, _cells(piece), strict=True)
        for column, (_, part, cells) in laid_out_cells:
            foreign = part.foreign if cells is part.cells else frozenset[str]()
            column.take(cells, foreign)
            self._long_bytes += long_bytes(cells)
            arrays.append(cells)
        require_room(self.table, self._long_bytes)
        return pa.table(arrays, schema=self.raw)

    @property
    def is_settled(self) -> bool:
        """Whether no later piece can change the type of a column."""
        return all(column.is_settled for column in self.columns)

    @property
    def drift(self) -> tuple[str, ...]:
        """Sentences on the converted columns that break their declared types."""
        sentences = [column.drift for column in self.columns]
        return tuple([f"{self.table}: {drift}" for drift in sentences if drift is not None])

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """The metadata that give pandas the dtypes of converted columns."""
        columns: list[dict[str, object]] = []
        for name, column in zip(self.raw.names, self.columns, strict=True):
            of_dtype = _metadata_of(dtype_of(column.type, nulls=column.nulls))["columns"][0]
            columns.append({**of_dtype, "name": name, "field_name": name})
        of_text = _metadata_of("string")
        return {b"pandas": json.dumps({**of_text, "columns": columns}).encode()}

    def convert_table(self, raw: pa.Table) -> pa.Table:
        """Convert cells to their types; these are all cells, unless the types are settled."""
        columns: dict[str, pa.ChunkedArray] = {}
        for name, cells, column in zip(raw.column_names, raw.columns, self.columns, strict=True):
            columns[name] = column.convert_cells(cells)
        return pa.table(columns)


@cache
def _metadata_of(dtype: str) -> dict[str, Any]:
    """Return the metadata of pandas for a table with one column of a dtype.

    Making them for a frame of all columns takes as long as writing a small table.
    """
    frame = pd.DataFrame({"name": pd.Series([], dtype=dtype)})
    schema = pa.Schema.from_pandas(frame, preserve_index=False)
    return json.loads((schema.metadata or {})[b"pandas"])


def frame_of(table: pa.Table) -> pd.DataFrame:
    """Return a converted table as a frame; a column is nullable if it holds a null."""
    columns: dict[str, pd.Series] = {}
    for name in table.column_names:
        columns[name] = series(table.column(name))
    return pd.DataFrame(columns, index=pd.RangeIndex(table.num_rows), copy=False)


def table_of(frame: pd.DataFrame) -> pa.Table:
    """Return a frame as a flat table of Arrow, which `frame_of` turns back into equal cells."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    types: dict[str, pa.DataType] = {}
    for name, kind in zip(table.schema.names, table.schema.types, strict=True):
        types[name] = pa.string() if pa.types.is_large_string(kind) else kind
    return table.cast(pa.schema(types))


def _cells(piece: Node) -> Iterator[tuple[str, ColumnCells, pa.ChunkedArray]]:
    """Yield the name, the column of the export, and the cells of each column of the flat table."""
    for part in piece.columns:
        name = part.column.mnemonic
        yield name, part, part.cells
        side_columns = ((part.stacks, "stack"), (part.tids, "tid"), (part.pids, "pid"))
        for side_cells, suffix in side_columns:
            if side_cells is not None:
                yield f"{name}.{suffix}", part, side_cells


def find_unused_name(name: str, name_counts: dict[str, int], separator: str = ".") -> str:
    """Return the name, followed by its next number in `name_counts` if it is taken."""
    number = name_counts.get(name, 0) + 1
    candidate = name if number == 1 else f"{name}{separator}{number}"
    while candidate in name_counts:
        number += 1
        candidate = f"{name}{separator}{number}"
    name_counts[name] = number
    name_counts.setdefault(candidate, 1)
    return candidate
