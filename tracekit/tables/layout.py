"""The columns of a flat table, and what its pieces have shown of them.

A column for each mnemonic, in order. Beside a process stands `NAME.pid`, beside a thread
`NAME.tid` and `NAME.pid`, beside a stack `NAME.stack`. Where an export has one mnemonic twice,
the second is called `NAME.2`.
"""

from collections.abc import Iterable, Iterator, Sequence

import pandas as pd
import pyarrow as pa

from tracekit.tables.evidence import ColumnEvidence
from tracekit.tables.values import converted, dtype_of, series
from tracekit.tables.xml import ColumnCells, Node


class Layout:
    """One flat table while its pieces come: its columns, and the types that they allow."""

    def __init__(self, first: Node) -> None:
        """Take the columns from the table's first piece; `take` has still to be called with it."""
        self.table = first.schema
        names, taken = list[str](), dict[str, int]()
        self.columns: list[ColumnEvidence] = []
        types: list[pa.DataType] = []
        for name, part, cells in _cells(first):
            declared = part.column.engineering_type if cells is part.cells else None
            names.append(_unused(name, taken))
            types.append(cells.type)
            self.columns.append(ColumnEvidence(name, declared))
        self.raw = pa.schema(list(zip(names, types, strict=True)))

    def take(self, piece: Node) -> pa.Table:
        """Look at a piece; return its cells as they came, with the names of the flat table."""
        arrays: list[pa.ChunkedArray] = []
        for column, (_, part, cells) in zip(self.columns, _cells(piece), strict=True):
            column.take(cells, part.foreign if cells is part.cells else frozenset())
            arrays.append(cells)
        return pa.table(arrays, names=self.raw.names).cast(self.raw)

    @property
    def settled(self) -> bool:
        """Whether no piece to come can change the type of a column."""
        return all(column.settled for column in self.columns)

    @property
    def drift(self) -> tuple[str, ...]:
        """Say where columns break their declared types."""
        return tuple(
            f"{self.table}: {column.drift}" for column in self.columns if column.drift is not None
        )

    @property
    def schema(self) -> pa.Schema:
        """The types that follow from the pieces so far, and the dtypes that pandas has for them."""
        fields = [
            pa.field(name, column.type)
            for name, column in zip(self.raw.names, self.columns, strict=True)
        ]
        return pa.schema(fields, metadata=self.metadata)

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """What tells pandas which dtypes the columns have."""
        dtypes = {
            name: dtype_of(column.type, nulls=column.nulls)
            for name, column in zip(self.raw.names, self.columns, strict=True)
        }
        return pandas_metadata(dtypes)

    def converted(self, raw: pa.Table) -> pa.Table:
        """Turn cells as they came into cells of the types that follow from the pieces so far."""
        return pa.table(dict(self._converted(raw)))

    def frame(self, raw: pa.Table) -> pd.DataFrame:
        """Turn cells as they came into a frame, one column after the other."""
        return frame_of(self._converted(raw), raw.num_rows)

    def _converted(self, raw: pa.Table) -> Iterator[tuple[str, pa.ChunkedArray]]:
        for name, cells, column in zip(raw.column_names, raw.columns, self.columns, strict=True):
            yield name, converted(cells, column.type)


def frame_of(columns: Iterable[tuple[str, pa.ChunkedArray]], rows: int) -> pd.DataFrame:
    """Return typed columns as a frame; a column is nullable where it holds a null."""
    found = {name: series(values) for name, values in columns}
    return pd.DataFrame(found, index=pd.RangeIndex(rows), copy=False)


def header_of(piece: Node) -> Sequence[tuple[str, str]]:
    """Return what tells tables of one name apart: mnemonics and types of the columns."""
    return [(part.column.mnemonic, part.column.engineering_type) for part in piece.columns]


def pandas_metadata(dtypes: dict[str, str]) -> dict[bytes, bytes]:
    """Return what a file says so that pandas reads its columns with these dtypes."""
    frame = pd.DataFrame({name: pd.Series([], dtype=dtype) for name, dtype in dtypes.items()})
    return dict(pa.Schema.from_pandas(frame, preserve_index=False).metadata or {})


def _cells(piece: Node) -> Iterator[tuple[str, ColumnCells, pa.ChunkedArray]]:
    for part in piece.columns:
        name = part.column.mnemonic
        yield name, part, part.cells
        for beside, suffix in ((part.stacks, "stack"), (part.tids, "tid"), (part.pids, "pid")):
            if beside is not None:
                yield f"{name}.{suffix}", part, beside


def _unused(name: str, taken: dict[str, int]) -> str:
    """Return the name, or its next number if it is taken; `taken` counts how far each came."""
    number = taken.get(name, 0) + 1
    candidate = name if number == 1 else f"{name}.{number}"
    while candidate in taken:
        number += 1
        candidate = f"{name}.{number}"
    taken[name] = number
    taken.setdefault(candidate, 1)
    return candidate
