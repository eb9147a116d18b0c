"""The columns of a table, gathered from the definitions that its cells name."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.tables.values import FORMS, Form
from tracekit.tables.xml.fast.definitions import NUMERIC, Definitions
from tracekit.tables.xml.fast.identities import Identities
from tracekit.tables.xml.fast.stacks import Stacks
from tracekit.tables.xml.node import ColumnCells, ExportColumn
from tracekit.tables.xml.symbols import STACK_TYPES

_DTYPES = {pa.int64(): np.int64, pa.uint64(): np.uint64, pa.float64(): np.float64}

Ids = NDArray[np.int64]
_NONE = np.zeros(0, np.int64)


class ColumnBuilder:
    """One column while its table is read."""

    def __init__(self, column: ExportColumn) -> None:
        """Begin without cells."""
        self._column = column
        self._type = NUMERIC.get(FORMS.get(column.engineering_type, Form.TEXT))
        self._ids: list[Ids] = []

    def add(self, ids: Ids) -> None:
        """Add cells by the ids of their values, 0 for null."""
        self._ids.append(ids)

    def build(
        self, definitions: Definitions, identities: Identities, stacks: Stacks
    ) -> ColumnCells:
        """Return the cells added since the last time."""
        ids = np.concatenate([_NONE, *self._ids])
        self._ids.clear()
        known = ids == 0
        nulls = known if known.any() else None
        values = definitions.values.array.take(ids)
        kind = self._column.engineering_type
        if kind in STACK_TYPES:
            texts, numbers = stacks.cells(ids, nulls, definitions)
            return ColumnCells(self._column, _chunk(texts), stacks=_chunk(numbers))
        if self._type is not None:
            numbers = pa.array(values.view(_DTYPES[self._type]), mask=nulls)
            return ColumnCells(self._column, _chunk(numbers))
        texts = definitions.texts.cells(pa.array(values, mask=nulls))
        if kind == "process":
            pids = pa.array(identities.pids(ids), mask=nulls)
            return ColumnCells(self._column, _chunk(texts), pids=_chunk(pids))
        if kind == "thread":
            pids = pa.array(identities.owners(ids), mask=nulls)
            tids = pa.array(identities.tids(ids), mask=nulls)
            return ColumnCells(self._column, _chunk(texts), pids=_chunk(pids), tids=_chunk(tids))
        return ColumnCells(self._column, _chunk(texts))


def _chunk(array: pa.Array) -> pa.ChunkedArray:
    return pa.chunked_array([array])
