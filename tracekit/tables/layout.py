"""The columns of a flat table, and what its pieces have shown of them.

A column for each mnemonic, in order. Beside a process stands `NAME.pid`, beside a thread
`NAME.tid` and `NAME.pid`, beside a stack `NAME.stack`. Where an export has one mnemonic twice,
the second is called `NAME.2`.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec
import pandas as pd
import pyarrow as pa

from tracekit.tables.evidence import ColumnEvidence
from tracekit.tables.long_texts import AT_ONCE, MOST, long_bytes, refused
from tracekit.tables.values import converted, dtype_of, is_coded, series
from tracekit.tables.xml.node import ColumnCells, Node, alike

LONG_TEXTS = b"tracekit.long_texts"
"""Under which name the metadata of a file list the columns of long texts that are repeated."""


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
        self._long = [0] * len(names)  # bytes of long texts, by column

    def take(self, piece: Node) -> pa.Table:
        """Look at a piece; return its cells as they came, with the names of the flat table.

        Texts are numbered in a piece whose long ones are repeated often, even where they are not
        in the others.

        Raises:
            InputError: The texts of the table are too much to hold.
        """
        arrays: list[pa.ChunkedArray] = []
        together = zip(self.columns, self.raw.types, _cells(piece), strict=True)
        for place, (column, kind, (_, part, cells)) in enumerate(together):
            column.take(cells, part.foreign if cells is part.cells else frozenset())
            self._long[place] += long_bytes(cells)
            if is_coded(cells.type) and not is_coded(kind):
                column.coded = None  # of this piece alone, whose long texts are repeated often
            elif cells.type != kind:
                cells = alike(cells.chunks) if is_coded(kind) else cells.cast(kind)  # noqa: PLW2901
            arrays.append(cells)
        if sum(self._long) > MOST:
            raise refused(self.table)
        return pa.table(arrays, names=self.raw.names)

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
        long = [
            name for name, size in zip(self.raw.names, self._long, strict=True) if size > AT_ONCE
        ]
        named = {LONG_TEXTS: msgspec.json.encode(long)} if long else {}
        return pandas_metadata(dtypes) | named

    def converted(self, raw: pa.Table) -> pa.Table:
        """Turn cells as they came into cells of the types that follow from the pieces so far."""
        columns = zip(raw.column_names, raw.columns, self.columns, strict=True)
        return pa.table({name: converted(cells, column.type) for name, cells, column in columns})

    def frame(self, raw: pa.Table) -> pd.DataFrame:
        """Turn cells as they came into a frame, one column after the other."""
        return frame_of(self._typed(raw), raw.num_rows)

    def joined(self, pieces: Sequence[pa.Table]) -> pa.Table:
        """Return the cells of all pieces; texts that some of them number are numbered in all."""
        columns: list[pa.ChunkedArray] = []
        for place, kind in enumerate(self.raw.types):
            chunks = [chunk for piece in pieces for chunk in piece.column(place).chunks]
            coded = any(is_coded(one.type) for one in chunks)
            columns.append(alike(chunks) if coded else pa.chunked_array(chunks, kind))
        return pa.table(columns, names=self.raw.names)

    def _typed(self, raw: pa.Table) -> Iterator[tuple[str, pa.ChunkedArray]]:
        for name, cells, column in zip(raw.column_names, raw.columns, self.columns, strict=True):
            numbered = is_coded(cells.type) and pa.types.is_string(column.type)
            yield name, cells if numbered else converted(cells, column.type)


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
