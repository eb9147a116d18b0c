"""The columns of a flat table, and the types that follow from what their cells have shown.

A column's type follows from all of its cells: one that breaks the declared form makes the
whole column text. It does not matter in how many pieces a table is read.

A column for each mnemonic, in order. Beside a process stands `NAME.pid`, beside a thread
`NAME.tid` and `NAME.pid`, beside a stack `NAME.stack`. Where an export has one mnemonic twice,
the second is called `NAME.2`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd
import pyarrow as pa

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
    """What is known of one column of a flat table.

    `declared` is its engineering type; None for the ids beside a process or a thread, and for
    the numbers of stacks.
    """

    name: str
    declared: str | None
    nulls: bool = False
    foreign: set[str] = field(default_factory=set[str])
    typed: pa.DataType | None = None
    type: pa.DataType = field(default_factory=pa.string)
    broken: bool = False

    def take(self, cells: pa.ChunkedArray, foreign: frozenset[str]) -> None:
        """Look at the cells of one more piece."""
        self.nulls = self.nulls or cells.null_count > 0
        self.foreign |= foreign
        if not (pa.types.is_string(cells.type) or is_coded(cells.type)):
            self.typed = cells.type

    @property
    def is_settled(self) -> bool:
        """Whether no cell to come can change the type."""
        return self.typed is not None or self._form is Form.TEXT

    def convert_cells(self, cells: pa.ChunkedArray) -> pa.ChunkedArray:
        """Turn cells into the type that follows from them; these are all, if it is not settled."""
        arrow_type = self.typed
        if arrow_type is None:
            texts = cells
            if is_coded(cells.type):
                texts = pa.chunked_array([chunk.dictionary for chunk in cells.chunks], pa.string())
            arrow_type = None if self._clashing else type_of(texts, self._effective)
            self.broken = arrow_type is None
            if arrow_type is None or pa.types.is_string(arrow_type):
                arrow_type = cells.type
        elif self._form is Form.FLAG:
            arrow_type = pa.bool_()
        self.type = arrow_type
        return cast_cells(cells, arrow_type)

    @property
    def drift(self) -> str | None:
        """Say how the column breaks its declared type, if it does."""
        if self.typed is not None or not (self._clashing or self.broken):
            return None
        clashing = ", ".join(sorted(self.foreign)) if self._clashing else ""
        actual_content = clashing or f"what is no {self._effective}"
        declared = next(iter(self.foreign)) if self._one_foreign else self.declared or "a number"
        return f"{self.name} is declared as {declared} and holds {actual_content}; it is text"

    @cached_property
    def _form(self) -> Form | None:
        if self.declared is None:
            return Form.INTEGER
        return FORMS.get(self.declared)

    @property
    def _one_foreign(self) -> bool:
        return self.declared == _ANY and len(self.foreign) == 1

    @property
    def _effective(self) -> Form | None:
        """The form that counts: in a column of type `any` that of its cells' one type."""
        if self._one_foreign:
            return FORMS.get(next(iter(self.foreign)))
        return self._form

    @property
    def _clashing(self) -> bool:
        return bool(self.foreign) and self._form is not None


class Layout:
    """One flat table while its pieces come: its columns, and the types that they allow."""

    def __init__(self, first_piece: Node) -> None:
        self.table = first_piece.schema
        names = list[str]()
        name_counts = dict[str, int]()
        self.columns: list[_ColumnLayout] = []
        types: list[pa.DataType] = []
        for name, part, cells in _cells(first_piece):
            declared = part.column.engineering_type if cells is part.cells else None
            names.append(find_unused_name(name, name_counts))
            types.append(cells.type)
            self.columns.append(_ColumnLayout(name, declared))
        self.raw = pa.schema(list(zip(names, types, strict=True)))
        self._long = 0  # bytes of long texts

    def take(self, piece: Node) -> pa.Table:
        """Look at a piece; return its cells as they came, with the names of the flat table."""
        arrays: list[pa.ChunkedArray] = []
        for column, (_, part, cells) in zip(self.columns, _cells(piece), strict=True):
            column.take(cells, part.foreign if cells is part.cells else frozenset())
            self._long += long_bytes(cells)
            arrays.append(cells)
        require_room(self.table, self._long)
        return pa.table(arrays, schema=self.raw)

    @property
    def is_settled(self) -> bool:
        """Whether no piece to come can change the type of a column."""
        return all(column.is_settled for column in self.columns)

    @property
    def drift(self) -> tuple[str, ...]:
        """Say where columns break their declared types, of cells that were converted."""
        return tuple(
            f"{self.table}: {column.drift}" for column in self.columns if column.drift is not None
        )

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """What tells pandas which dtypes the columns have, of cells that were converted."""
        dtypes = {
            name: dtype_of(column.type, nulls=column.nulls)
            for name, column in zip(self.raw.names, self.columns, strict=True)
        }
        frame = pd.DataFrame({name: pd.Series([], dtype=dtype) for name, dtype in dtypes.items()})
        return dict(pa.Schema.from_pandas(frame, preserve_index=False).metadata or {})

    def convert_table(self, raw: pa.Table) -> pa.Table:
        """Turn cells as they came into cells of their types: all cells, where not settled."""
        return pa.table(dict(self._convert_columns(raw)))

    def frame(self, raw: pa.Table) -> pd.DataFrame:
        """Turn all cells as they came into a frame, one column after the other."""
        return frame_of(self._convert_columns(raw), raw.num_rows)

    def _convert_columns(self, raw: pa.Table) -> Iterator[tuple[str, pa.ChunkedArray]]:
        for name, cells, column in zip(raw.column_names, raw.columns, self.columns, strict=True):
            yield name, column.convert_cells(cells)


def frame_of(columns: Iterable[tuple[str, pa.ChunkedArray]], rows: int) -> pd.DataFrame:
    """Return typed columns as a frame; a column is nullable where it holds a null."""
    series_by_name = {name: series(values) for name, values in columns}
    return pd.DataFrame(series_by_name, index=pd.RangeIndex(rows), copy=False)


def _cells(piece: Node) -> Iterator[tuple[str, ColumnCells, pa.ChunkedArray]]:
    for part in piece.columns:
        name = part.column.mnemonic
        yield name, part, part.cells
        for side_cells, suffix in ((part.stacks, "stack"), (part.tids, "tid"), (part.pids, "pid")):
            if side_cells is not None:
                yield f"{name}.{suffix}", part, side_cells


def find_unused_name(name: str, name_counts: dict[str, int], separator: str = ".") -> str:
    """Return the name, with its next number out of `name_counts` if it is taken."""
    number = name_counts.get(name, 0) + 1
    candidate = name if number == 1 else f"{name}{separator}{number}"
    while candidate in name_counts:
        number += 1
        candidate = f"{name}{separator}{number}"
    name_counts[name] = number
    name_counts.setdefault(candidate, 1)
    return candidate
