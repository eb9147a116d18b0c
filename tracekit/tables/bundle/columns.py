"""The columns of a run's tables as cells, equal to those that an export would be read into.

Layout: docs/explanation/trace-bundles.md.
"""

from functools import cached_property

import numpy as np
import pyarrow as pa

from tracekit.tables.bundle.bundle import BundleRun
from tracekit.tables.bundle.cells import (
    TEXTS,
    Flags,
    Raw,
    as_array,
    decimals,
    distinct,
    integers,
    nulls_of,
    signed,
)
from tracekit.tables.bundle.encodings import Encoding, EngineeringType, engineering_type
from tracekit.tables.bundle.identities import Identities
from tracekit.tables.bundle.names import Names
from tracekit.tables.bundle.store import StoreColumn
from tracekit.tables.values import FORMS, Form
from tracekit.tables.xml.node import ColumnCells, ExportColumn
from tracekit.tables.xml.symbols import STACK_TYPES

_NARROW, _WIDE = 4, 8


class Columns:
    """Turns raw columns of a run into cells."""

    def __init__(self, run: BundleRun, names: Names) -> None:
        """Take the run, and the names of its processes and threads."""
        self._run = run
        self._identities = Identities(run, names)

    def type_of(self, column: StoreColumn) -> EngineeringType:
        """Return what is known of a column's type."""
        return engineering_type(column.type_id, self._run.required)

    def cells(self, column: StoreColumn, raw: Raw) -> ColumnCells:
        """Return the cells of a column.

        Args:
            column: The column.
            raw: Its numbers, which are void afterwards.

        Raises:
            BundleError: The texts or arrays of the bundle are damaged.
            OutOfRangeError: A cell names what the bundle does not hold.
            DamagedArrayError: So does one of an array.
        """
        kind = self.type_of(column)
        about = ExportColumn(column.mnemonic, column.title, kind.tag)
        match kind.encoding:
            case Encoding.STRING if raw.itemsize == _NARROW:
                return ColumnCells(about, self._strings(raw))
            case Encoding.PROCESS if raw.itemsize == _NARROW:
                return self._processes(about, raw)
            case Encoding.THREAD if raw.itemsize == _NARROW:
                return self._threads(about, raw)
            case Encoding.SIGNED | Encoding.DECIMAL if raw.itemsize == _WIDE:
                return ColumnCells(about, _biased(kind, raw))
            case Encoding.INTEGER:
                return ColumnCells(about, _integers(kind, raw))
            case _:
                return empty(about, raw.size)

    @cached_property
    def texts(self) -> pa.Array:
        """The texts that cells name by number."""
        return pa.array(self._run.strings, pa.string())

    def _strings(self, raw: Raw) -> pa.ChunkedArray:
        found = distinct(raw, len(self.texts))
        return found.of(self.texts.take(pa.array(found.numbers)))

    def _processes(self, about: ExportColumn, raw: Raw) -> ColumnCells:
        found = distinct(raw, len(self._run.arrays))
        processes = self._identities.processes(found.numbers)
        return ColumnCells(
            about, found.of(processes.texts), pids=found.spread(processes.pids, processes.known)
        )

    def _threads(self, about: ExportColumn, raw: Raw) -> ColumnCells:
        found = distinct(raw, len(self._run.arrays))
        threads = self._identities.threads(found.numbers)
        return ColumnCells(
            about,
            found.of(threads.texts),
            pids=found.spread(threads.pids, threads.owned),
            tids=found.spread(threads.tids, threads.known),
        )


def empty(about: ExportColumn, rows: int) -> ColumnCells:
    """Return a column of which no cell is known."""
    form = FORMS.get(about.engineering_type)
    types = {
        Form.INTEGER: pa.int64(),
        Form.UNSIGNED: pa.uint64(),
        Form.NUMBER: pa.float64(),
        Form.FLAG: pa.bool_(),
    }
    numbers = _nothing(pa.int64(), rows)
    tag = about.engineering_type
    return ColumnCells(
        about,
        _nothing(types.get(form, TEXTS) if form else TEXTS, rows),
        pids=numbers if tag in {"process", "thread"} else None,
        tids=numbers if tag == "thread" else None,
        stacks=numbers if tag in STACK_TYPES else None,
    )


def _nothing(kind: pa.DataType, rows: int) -> pa.ChunkedArray:
    return pa.chunked_array([pa.nulls(rows, kind)])


def _integers(kind: EngineeringType, raw: Raw) -> pa.ChunkedArray:
    form = FORMS.get(kind.tag)
    nulls = None if kind.all_ones else nulls_of(raw)
    if form is Form.FLAG:
        found = as_flags(raw, nulls)
    elif form is None and _all(nulls, raw.size):
        found = pa.nulls(raw.size, TEXTS)  # as of an export, whose type nothing shows
    else:
        found = integers(raw, nulls, unsigned=form is Form.UNSIGNED)
        if form is Form.NUMBER:
            found = found.cast(pa.float64(), safe=False)
        elif form is Form.TEXT:
            found = found.cast(pa.string()).dictionary_encode()
    return pa.chunked_array([found])


def as_flags(raw: Raw, nulls: Flags | None) -> pa.Array:
    """Return whether numbers are not zero."""
    return pa.array(raw != 0, mask=nulls)


def _biased(kind: EngineeringType, raw: Raw) -> pa.ChunkedArray:
    nulls = nulls_of(raw)
    form = FORMS.get(kind.tag)
    if form is None and _all(nulls, raw.size):
        return _nothing(TEXTS, raw.size)
    if kind.encoding is Encoding.SIGNED:
        return pa.chunked_array([as_array(signed(raw), nulls)])
    found = decimals(raw)
    if nulls is not None:
        found[nulls] = np.nan
    return pa.chunked_array([as_array(found, nulls)])


def _all(nulls: Flags | None, rows: int) -> bool:
    return not rows or (nulls is not None and bool(nulls.all()))
