"""The columns of a run's tables as cells, equal to those that an export would be read into.

Layout: docs/explanation/trace-bundles.md.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from tracekit.tables.bundle.bundle import BundleRun
from tracekit.tables.bundle.cells.cells import (
    Raw,
    distinct,
    empty,
    nulls_of,
)
from tracekit.tables.bundle.cells.encodings import (
    Encoding,
    EngineeringType,
    Evidence,
    engineering_type,
)
from tracekit.tables.bundle.cells.labels import Labels, Values
from tracekit.tables.bundle.container.store import StoreColumn
from tracekit.tables.xml.node import STACK_TYPES, ColumnCells, ExportColumn

_NARROW, _WIDE = 4, 8
_WIDE_ONES = {Encoding.DECIMAL, Encoding.THREAD_NAME, Encoding.LOCATION, Encoding.RATIO}


class Columns:
    """Turns raw columns of a run into cells."""

    def __init__(self, run: BundleRun) -> None:
        self._run = run
        self._values = Values(run)
        self.labels = Labels(run, self._values)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the cells so far name and nothing in the bundle defines, in words."""
        return self._values.identities.remarks

    def type_of(self, column: StoreColumn) -> EngineeringType:
        """Return what is known of a column's type, stored in a field of that width."""
        kind = engineering_type(column.type_id, self._run.required)
        width = _WIDE if kind.encoding in _WIDE_ONES else _NARROW
        if kind.encoding in {Encoding.INTEGER, Encoding.UNKNOWN} or column.field.width == width:
            return kind
        return replace(kind, encoding=Encoding.UNKNOWN, evidence=Evidence.NONE)

    def cells(self, column: StoreColumn, raw: Raw) -> ColumnCells:
        """Return the cells of a piece of a column that holds neither stacks nor numbers.

        Args:
            column: The column.
            raw: What is stored, which is void afterwards.
        """
        kind = self.type_of(column)
        about = ExportColumn(column.mnemonic, column.title, kind.tag)
        if kind.encoding in {Encoding.LOCATION, Encoding.THREAD_NAME, Encoding.RATIO}:
            return ColumnCells(about, self._halves(kind, raw))
        count = self._count(kind.encoding)
        if count is None:
            return _without_cells(about, kind, raw.size)
        found = distinct(raw, count)
        pids = tids = None
        foreign = frozenset[str]()
        match kind.encoding:
            case Encoding.PROCESS:
                processes = self._values.identities.processes(found.numbers)
                texts, pids = processes.texts, found.spread(processes.pids, processes.known)
            case Encoding.THREAD:
                threads = self._values.identities.threads(found.numbers)
                texts, pids = threads.texts, found.spread(threads.pids, threads.owned)
                tids = found.spread(threads.tids, threads.known)
            case Encoding.ANY:
                texts, tags = self.labels.single(found.numbers)
                foreign = tags - {kind.tag}
            case Encoding.LABEL:
                texts = self.labels.texts(found.numbers)
            case _:
                texts = self._values.named(kind.encoding, found.numbers.view(np.uint64))
        return ColumnCells(about, found.of(texts), pids=pids, tids=tids, foreign=foreign)

    def _count(self, encoding: Encoding) -> int | None:
        """Return how many there are of what cells name; None if it is not known how they do."""
        match encoding:
            case Encoding.STRING:
                return len(self._values.texts)
            case Encoding.LABEL | Encoding.ANY:
                return len(self._run.typed_arrays)
            case Encoding.PROCESS | Encoding.THREAD | Encoding.UUID | Encoding.NUMBERS:
                return len(self._run.arrays)
            case _:
                return None

    def _halves(self, kind: EngineeringType, raw: Raw) -> pa.ChunkedArray:
        """Return cells of 64 bits that hold two things."""
        # A thread's name of which both halves are missing is null, though it is written as two.
        whole = kind.all_ones and kind.encoding is not Encoding.THREAD_NAME
        nulls = None if whole else nulls_of(raw)
        coded = pa.array(raw, mask=nulls).dictionary_encode()
        texts = self._values.worded(kind, coded.dictionary.to_numpy())
        return _chunked(pa.DictionaryArray.from_arrays(coded.indices, texts))


def _without_cells(about: ExportColumn, kind: EngineeringType, rows: int) -> ColumnCells:
    """Return a column of which no cell is known."""
    beside = _chunked(pa.nulls(rows, pa.int64()))
    return ColumnCells(
        about,
        _chunked(empty(kind.tag, rows)),
        pids=beside if kind.tag in {"process", "thread"} else None,
        tids=beside if kind.tag == "thread" else None,
        stacks=beside if kind.tag in STACK_TYPES else None,
    )


def _chunked(array: pa.Array) -> pa.ChunkedArray:
    return pa.chunked_array([array])
