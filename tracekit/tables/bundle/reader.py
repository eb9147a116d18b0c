"""One table of a bundle, as the readers of exports give it: raw records to cells of Arrow.

A table of ten million rows is several hundred megabytes: numbers are changed in place.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tracekit.tables.bundle.bundle import BundleRun
from tracekit.tables.bundle.cells.encodings import (
    STACKS,
    UNITS,
    Encoding,
    EngineeringType,
    engineering_type,
)
from tracekit.tables.bundle.cells.labels import Labels, Values, blocks, signed
from tracekit.tables.bundle.container.records import TIME, read_records
from tracekit.tables.bundle.container.store import StoreColumn, TableStore
from tracekit.tables.bundle.container.uniquer import Numbers
from tracekit.tables.bundle.errors import ArchiveError, called
from tracekit.tables.bundle.stacks.images import RunPlaces
from tracekit.tables.bundle.stacks.stacks import BundleStacks, StackCells
from tracekit.tables.losses import EncodingEvidence, Flaw, Loss
from tracekit.tables.values import FORMS, Form
from tracekit.tables.xml.node import STACK_TYPES, ColumnCells, ExportColumn, Node, Symbols

Raw = NDArray[np.unsignedinteger[Any]]
Flags = NDArray[np.bool_]

TEXTS = pa.dictionary(pa.int32(), pa.string())
_EXACT = 1 << 53


@dataclass(frozen=True, eq=False)
class Distinct:
    """Which numbers a column holds, and which of these each cell holds, null where it has none."""

    numbers: Numbers
    places: pa.Array

    def of(self, values: pa.Array) -> pa.ChunkedArray:
        """Return cells of a dictionary, from the values of the numbers; null where one is null."""
        places = self.places
        if values.null_count:
            missing = values.is_null().take(places).fill_null(True)
            places = pc.call_function("if_else", [missing, pa.scalar(None, places.type), places])
            values = values.fill_null("")
        return pa.chunked_array([pa.DictionaryArray.from_arrays(places, values)])

    def spread(self, values: pa.Array) -> pa.ChunkedArray:
        """Return cells, from the values of the numbers."""
        return pa.chunked_array([values.take(self.places)])


def distinct(raw: Raw, size: int) -> Distinct:
    """Find the numbers in a column of 32 bits, each below `size`; all ones is null."""
    nulls = nulls_of(raw)
    known = raw if nulls is None else raw[~nulls]
    if known.size and int(known.max()) >= size:
        raise ArchiveError("names what the bundle does not hold")
    used = np.zeros(max(size, 1), np.bool_)
    used[known] = True
    places = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return Distinct(np.flatnonzero(used), as_array(places.take(raw, mode="clip"), nulls))


def nulls_of(raw: Raw) -> Flags | None:
    """Return where a column is all ones; None where it is nowhere."""
    most = np.iinfo(raw.dtype).max
    if not raw.size or int(raw.max()) != most:
        return None
    return raw == most


def as_array(values: NDArray[Any], nulls: Flags | None) -> pa.Array:
    """Return an array of Arrow in the memory of numpy's."""
    valid = None
    if nulls is not None:
        valid = pa.py_buffer(np.packbits(~nulls, bitorder="little"))
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, values.size, [valid, pa.py_buffer(values)])


def decimals(raw: Raw) -> NDArray[np.float64]:
    """Return decimals of nine places, each the float nearest to it; `raw` is void."""
    scaled = signed(raw)
    found = scaled.view(np.float64)
    for block in blocks(scaled.size):
        exact = scaled[block].copy()
        found[block] = exact / UNITS
        large = np.flatnonzero((exact > _EXACT) | (exact < -_EXACT))
        if large.size:  # a division of two floats would round twice
            found[block][large] = [number / UNITS for number in exact[large].tolist()]
    return found


NUMERIC = frozenset({Encoding.INTEGER, Encoding.DECIMAL})
_SIGNED = 1 << 63


def numbers(kind: EngineeringType, raw: Raw) -> pa.Array:
    """Return the cells of a whole column; `raw` is void afterwards."""
    form = FORMS.get(kind.tag)
    nulls = None if kind.all_ones else nulls_of(raw)
    if form is None and (not raw.size or (nulls is not None and nulls.all())):
        return pa.nulls(raw.size, TEXTS)  # as of an export, where nothing shows the type
    if kind.encoding is Encoding.DECIMAL:
        decimal = decimals(raw)
        if nulls is not None:
            decimal[nulls] = np.nan
        return as_array(decimal, nulls)
    if form is Form.FLAG:
        return pa.array(raw != 0, mask=nulls)
    if nulls is not None:
        raw[nulls] = 0
    wide = raw.astype(np.uint64, copy=False)
    unsigned = form is Form.UNSIGNED or int(wide.max(initial=0)) >= _SIGNED
    found = as_array(wide if unsigned else wide.view(np.int64), nulls)
    match form:
        case Form.NUMBER:
            return found.cast(pa.float64(), safe=False)
        case Form.TEXT:
            return found.cast(pa.string()).dictionary_encode()
        case _:
            return found


_NARROW, _WIDE = 4, 8
_WIDE_ONES = {Encoding.DECIMAL, Encoding.THREAD_NAME, Encoding.LOCATION, Encoding.RATIO}


def type_of(column: StoreColumn, run: BundleRun) -> EngineeringType:
    """Return what is known of a column's type, stored in a field of that width."""
    kind = engineering_type(column.type_id, run.required)
    width = _WIDE if kind.encoding in _WIDE_ONES else _NARROW
    if kind.encoding in {Encoding.INTEGER, Encoding.UNKNOWN} or column.field.width == width:
        return kind
    return replace(kind, encoding=Encoding.UNKNOWN, evidence=EncodingEvidence.NONE)


_PIECE = 1 << 19
_FEW = 3  # columns, of which a row may well be 0


class BundleReader:
    """A reader of one table, in the order of an export."""

    def __init__(self, run: BundleRun, store: TableStore, xpath: str) -> None:
        self._files = run.files
        self._store = store
        self._xpath = xpath
        self._run = run
        self._values = Values(run)
        self._labels = Labels(run, self._values)
        self.kinds = [type_of(column, run) for column in store.columns]
        self._places = RunPlaces(run)
        self._stacks = BundleStacks(run.arrays, self._places)

    def pieces(self) -> Iterator[Node]:
        """Yield the table in pieces of some 100,000 rows, in order."""
        store, kinds = self._store, self.kinds
        fields = [column.field for column in store.columns]
        if any(kind.encoding in STACKS for kind in kinds):
            *columns, times = read_records(self._files, store, [*fields, TIME])
        else:
            columns = read_records(self._files, store, fields)
            times = np.empty(store.rows, np.uint64)  # takes no memory until it is looked at
        unwritten = tuple(self._unwritten(columns))
        numeric = {
            place: numbers(kind, columns[place])
            for place, kind in enumerate(kinds)
            if kind.encoding in NUMERIC
        }
        for first in range(0, max(store.rows, 1), _PIECE):
            piece = slice(first, first + _PIECE)
            cells = self._cells(
                [column[piece] for column in columns],
                times[piece],
                {place: column[piece] for place, column in numeric.items()},
            )
            yield Node(
                schema=store.schema,
                xpath=self._xpath,
                columns=tuple(cells),
                rows=times[piece].size,
                losses=(*self.unsure, *unwritten, *self.unnamed),
            )

    def symbols(self) -> Symbols:
        """Return the stacks that the pieces have named so far."""
        return self._stacks.symbols()

    @property
    def unnamed(self) -> tuple[Loss, ...]:
        """Which names of the rows so far are missing, or may differ."""
        return (*self._values.identities.losses, *self._places.losses)

    @cached_property
    def unsure(self) -> tuple[Loss, ...]:
        """The columns that are not surely read; none of a table without rows."""
        if not self._store.rows:
            return ()
        pairs = [*zip(self._store.columns, self.kinds, strict=True)]
        return tuple(
            Loss(
                Flaw.UNSURE,
                schema=self._store.schema,
                columns=columns,
                run=self._run.number,
                evidence=evidence,
                bundle=called(self._files.bundle),
            )
            for evidence in EncodingEvidence
            if evidence is not EncodingEvidence.VERIFIED
            and (
                columns := tuple(
                    column.mnemonic for column, kind in pairs if kind.evidence is evidence
                )
            )
        )

    def _unwritten(self, columns: Sequence[Raw]) -> Iterator[Loss]:
        """Say how many rows look as those do that were allotted and never written."""
        if len(columns) < _FEW:
            return
        pairs = zip(self._store.columns, columns, strict=True)
        first, *others = [raw for _, raw in sorted(pairs, key=lambda pair: pair[0].field != TIME)]
        rows = np.flatnonzero(first == 0)
        for raw in others:
            rows = rows[raw.take(rows) == 0]
        if rows.size:
            yield Loss(
                Flaw.UNSURE,
                f"{called(self._files.bundle)}: {self._store.schema}: {rows.size:,} of its rows "
                "hold zeroes alone, as rows do that were never written.",
                schema=self._store.schema,
                rows=int(rows.size),
                run=self._run.number,
            )

    def _cells(
        self, columns: Sequence[Raw], times: Raw, numeric: Mapping[int, pa.Array]
    ) -> list[ColumnCells]:
        stacks = iter(self._stack_cells(columns, times))
        found: list[ColumnCells] = []
        for place, (column, kind) in enumerate(zip(self._store.columns, self.kinds, strict=True)):
            about = ExportColumn(column.mnemonic, column.title, kind.tag)
            if place in numeric:
                found.append(ColumnCells(about, pa.chunked_array([numeric[place]])))
                continue
            if kind.encoding in STACKS:
                texts, numbered = next(stacks)
                beside = pa.chunked_array([numbered]) if kind.tag in STACK_TYPES else None
                found.append(ColumnCells(about, pa.chunked_array([texts]), stacks=beside))
                continue
            with self._reading(f"its column {column.mnemonic}"):
                found.append(self._others(about, kind, columns[place]))
        return found

    def _others(self, about: ExportColumn, kind: EngineeringType, raw: Raw) -> ColumnCells:
        """Return the cells of a piece of a column that holds neither stacks nor numbers."""
        if kind.encoding in {Encoding.LOCATION, Encoding.THREAD_NAME, Encoding.RATIO}:
            return ColumnCells(about, self._halves(kind, raw))
        count = self._count(kind.encoding)
        if count is None:
            beside = pa.chunked_array([pa.nulls(raw.size, pa.int64())])
            return ColumnCells(
                about,
                pa.chunked_array([pa.nulls(raw.size, TEXTS)]),
                pids=beside if kind.tag in {"process", "thread"} else None,
                tids=beside if kind.tag == "thread" else None,
                stacks=beside if kind.tag in STACK_TYPES else None,
            )
        found = distinct(raw, count)
        pids = tids = None
        foreign = frozenset[str]()
        match kind.encoding:
            case Encoding.PROCESS:
                texts, owners = self._values.identities.processes(found.numbers)
                pids = found.spread(owners)
            case Encoding.THREAD:
                texts, threads, owners = self._values.identities.threads(found.numbers)
                pids, tids = found.spread(owners), found.spread(threads)
            case Encoding.ANY:
                texts, tags = self._labels.single(found.numbers)
                foreign = tags - {kind.tag}
            case Encoding.LABEL:
                texts = self._labels.texts(found.numbers)
            case _:
                texts = self._values.named(kind.encoding, found.numbers.view(np.uint64))
        return ColumnCells(about, found.of(texts), pids=pids, tids=tids, foreign=foreign)

    def _count(self, encoding: Encoding) -> int | None:
        """Return how many there are of what cells name; None if it is not known how they do."""
        if encoding is Encoding.STRING:
            return len(self._values.texts)
        if encoding in {Encoding.LABEL, Encoding.ANY}:
            return len(self._run.typed_arrays)
        named = {Encoding.PROCESS, Encoding.THREAD, Encoding.UUID, Encoding.NUMBERS}
        return len(self._run.arrays) if encoding in named else None

    def _halves(self, kind: EngineeringType, raw: Raw) -> pa.ChunkedArray:
        """Return cells of 64 bits that hold two things."""
        # A thread's name of which both halves are missing is null, though it is written as two.
        whole = kind.all_ones and kind.encoding is not Encoding.THREAD_NAME
        nulls = None if whole else nulls_of(raw)
        coded = pa.array(raw, mask=nulls).dictionary_encode()
        texts = self._values.worded(kind, coded.dictionary.to_numpy())
        return pa.chunked_array([pa.DictionaryArray.from_arrays(coded.indices, texts)])

    def _stack_cells(self, columns: Sequence[Raw], times: Raw) -> list[StackCells]:
        wanted = [
            (kind.encoding, raw.astype(np.uint32, copy=False))
            for kind, raw in zip(self.kinds, columns, strict=True)
            if kind.encoding in STACKS
        ]
        with self._reading("a stack"):
            return self._stacks.cells(wanted, times.astype(np.int64)) if wanted else []

    @contextmanager
    def _reading(self, what: str) -> Generator[None]:
        try:
            yield
        except (ArchiveError, pa.ArrowInvalid) as error:
            why = f"cannot be read: {what} {error}"
            raise self._files.damaged(self._store.bulkstore, why) from error
