"""One table of a bundle, as the readers of exports give it: raw records to cells of Arrow.

A table of ten million rows has several hundred megabytes, so numbers are changed in place.
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
from tracekit.tables.bundle.cells.labels import Labels, Values, blocks, decode_signed
from tracekit.tables.bundle.container.records import TIME, read_records
from tracekit.tables.bundle.container.store import StoreColumn, TableStore
from tracekit.tables.bundle.container.uniquer import Numbers
from tracekit.tables.bundle.errors import ArchiveError, name_bundle
from tracekit.tables.bundle.stacks.images import RunPlaces
from tracekit.tables.bundle.stacks.stacks import BundleStacks, StackCells, StackColumn
from tracekit.tables.losses import EncodingEvidence, Flaw, Loss
from tracekit.tables.values import FORMS, Form
from tracekit.tables.xml.node import STACK_TYPES, ColumnCells, ExportColumn, Node, Symbols

Raw = NDArray[np.unsignedinteger[Any]]
Flags = NDArray[np.bool_]

TEXTS = pa.dictionary(pa.int32(), pa.string())
_EXACT = 1 << 53


@dataclass(frozen=True, eq=False)
class Distinct:
    """The distinct numbers of a column, and for each cell the place of its number, or null."""

    numbers: Numbers
    places: pa.Array

    def make_cells(self, values: pa.Array) -> pa.ChunkedArray:
        """Return cells of a dictionary, from the values of the numbers, which may be null."""
        places = self.places
        if values.null_count:
            missing = values.is_null().take(places).fill_null(True)
            null = pa.scalar(None, places.type)
            places = pc.call_function("if_else", [missing, null, places])
            values = values.fill_null("")
        coded_texts = pa.DictionaryArray.from_arrays(places, values)
        return pa.chunked_array([coded_texts])

    def spread(self, values: pa.Array) -> pa.ChunkedArray:
        """Return cells, from the values of the numbers."""
        return pa.chunked_array([values.take(self.places)])


def distinct(raw: Raw, size: int) -> Distinct:
    """Find the numbers in a column of 32 bits, each below `size`; all ones is null."""
    nulls = nulls_of(raw)
    present_numbers = raw if nulls is None else raw[~nulls]
    if present_numbers.size and int(present_numbers.max()) >= size:
        raise ArchiveError("names a value that the bundle does not hold")
    is_used = np.zeros(max(size, 1), np.bool_)
    is_used[present_numbers] = True
    used_counts = np.cumsum(is_used, dtype=np.int32)
    places = used_counts - np.int32(1)
    cell_places = places.take(raw, mode="clip")
    return Distinct(np.flatnonzero(is_used), as_array(cell_places, nulls))


def nulls_of(raw: Raw) -> Flags | None:
    """Return a mask of the cells of a column that are all ones; None if there are none."""
    all_ones = np.iinfo(raw.dtype).max
    if not raw.size or int(raw.max()) != all_ones:
        return None
    return raw == all_ones


def as_array(values: NDArray[Any], nulls: Flags | None) -> pa.Array:
    """Return an array of Arrow that shares the memory of numpy's."""
    valid = None
    if nulls is not None:
        packed = np.packbits(~nulls, bitorder="little")
        valid = pa.py_buffer(packed)
    kind = pa.from_numpy_dtype(values.dtype)
    buffers = [valid, pa.py_buffer(values)]
    return pa.Array.from_buffers(kind, values.size, buffers)


def decimals(raw: Raw) -> NDArray[np.float64]:
    """Return decimals of nine places, each as the nearest float; `raw` is void afterwards."""
    scaled = decode_signed(raw)
    floats = scaled.view(np.float64)
    for block in blocks(scaled.size):
        exact = scaled[block].copy()
        floats[block] = exact / UNITS
        is_large = (exact > _EXACT) | (exact < -_EXACT)
        large = np.flatnonzero(is_large)
        if large.size:  # a division of two floats would round twice
            large_numbers = exact[large].tolist()
            floats[block][large] = [number / UNITS for number in large_numbers]
    return floats


NUMERIC = frozenset({Encoding.INTEGER, Encoding.DECIMAL})
_SIGNED = 1 << 63


def numbers(kind: EngineeringType, raw: Raw) -> pa.Array:
    """Return the cells of a whole column; `raw` is void afterwards."""
    form = FORMS.get(kind.tag)
    nulls = None
    if not kind.all_ones:
        nulls = nulls_of(raw)
    is_empty = not raw.size or (nulls is not None and bool(nulls.all()))
    if form is None and is_empty:
        return pa.nulls(raw.size, TEXTS)  # as for an export, which does not show the type either
    if kind.encoding is Encoding.DECIMAL:
        decimal = decimals(raw)
        if nulls is not None:
            decimal[nulls] = np.nan
        return as_array(decimal, nulls)
    if form is Form.FLAG:
        return pa.array(raw != 0, mask=nulls)
    is_unsigned = form is Form.UNSIGNED
    cells = _integers(raw, nulls, unsigned=is_unsigned)
    if form is Form.NUMBER:
        return cells.cast(pa.float64(), safe=False)
    if form is Form.TEXT:
        return cells.cast(pa.string()).dictionary_encode()
    return cells


def _integers(raw: Raw, nulls: Flags | None, *, unsigned: bool) -> pa.Array:
    """Return integers of 64 bits, unsigned ones also if a value needs it; `raw` is void."""
    if nulls is not None:
        raw[nulls] = 0
    wide = raw.astype(np.uint64, copy=False)
    largest = int(wide.max(initial=0))
    if unsigned or largest >= _SIGNED:
        return as_array(wide, nulls)
    return as_array(wide.view(np.int64), nulls)


_NARROW = 4
_WIDE = 8
_WIDE_ONES = {Encoding.DECIMAL, Encoding.THREAD_NAME, Encoding.LOCATION, Encoding.RATIO}


def type_of(column: StoreColumn, run: BundleRun) -> EngineeringType:
    """Return the type of a column; its encoding is unknown if the field has another width."""
    kind = engineering_type(column.type_id, run.required)
    width = _WIDE if kind.encoding in _WIDE_ONES else _NARROW
    has_plain_integers = kind.encoding in {Encoding.INTEGER, Encoding.UNKNOWN}
    if has_plain_integers or column.field.width == width:
        return kind
    return replace(kind, encoding=Encoding.UNKNOWN, evidence=EncodingEvidence.NONE)


_PIECE = 1 << 19
_FEW = 3  # columns; in a table with fewer, a row of zeroes is plausible


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
        store = self._store
        kinds = self.kinds
        fields = [column.field for column in store.columns]
        if any(kind.encoding in STACKS for kind in kinds):
            *columns, times = read_records(self._files, store, [*fields, TIME])
        else:
            columns = read_records(self._files, store, fields)
            times = np.empty(store.rows, np.uint64)  # takes no memory until it is looked at
        unwritten = tuple(self._unwritten(columns))
        numeric: dict[int, pa.Array] = {}
        for place, kind in enumerate(kinds):
            if kind.encoding in NUMERIC:
                numeric[place] = numbers(kind, columns[place])
        for start in range(0, max(store.rows, 1), _PIECE):
            piece = slice(start, start + _PIECE)
            raw_piece = [column[piece] for column in columns]
            numeric_piece = {place: column[piece] for place, column in numeric.items()}
            cells = self._cells(raw_piece, times[piece], numeric_piece)
            all_losses = (*self.unsure, *unwritten, *self.name_losses)
            yield Node(
                schema=store.schema,
                xpath=self._xpath,
                columns=tuple(cells),
                rows=times[piece].size,
                losses=all_losses,
            )

    def symbols(self) -> Symbols:
        """Return the stacks that the pieces so far refer to."""
        return self._stacks.symbols()

    @property
    def name_losses(self) -> tuple[Loss, ...]:
        """The losses of names in the rows so far: missing and uncertain ones."""
        return (*self._values.identities.losses, *self._places.losses)

    @cached_property
    def unsure(self) -> tuple[Loss, ...]:
        """A loss for each kind of uncertain encoding of columns; none without rows."""
        if not self._store.rows:
            return ()
        columns_by_evidence: dict[EncodingEvidence, list[str]] = {}
        typed_columns = zip(self._store.columns, self.kinds, strict=True)
        for column, kind in typed_columns:
            columns_of_evidence = columns_by_evidence.setdefault(kind.evidence, [])
            columns_of_evidence.append(column.mnemonic)
        losses: list[Loss] = []
        for evidence in EncodingEvidence:
            columns = columns_by_evidence.get(evidence)
            if columns is None or evidence is EncodingEvidence.VERIFIED:
                continue
            loss = Loss(
                Flaw.UNSURE,
                schema=self._store.schema,
                columns=tuple(columns),
                run=self._run.number,
                evidence=evidence,
                bundle=name_bundle(self._files.bundle),
            )
            losses.append(loss)
        return tuple(losses)

    def _unwritten(self, columns: Sequence[Raw]) -> Iterator[Loss]:
        """Yield a loss for rows of zeroes, which were probably allotted and never written."""
        if len(columns) < _FEW:
            return
        # The time comes first: it is hardly ever 0, so that few rows are left to look at.
        pairs = zip(self._store.columns, columns, strict=True)
        sorted_pairs = sorted(pairs, key=lambda pair: pair[0].field != TIME)
        first_column, *other_columns = [raw for _, raw in sorted_pairs]
        rows = np.flatnonzero(first_column == 0)
        for raw in other_columns:
            rows = rows[raw.take(rows) == 0]
        if rows.size:
            table_name = f"{name_bundle(self._files.bundle)}: {self._store.schema}"
            yield Loss(
                Flaw.UNSURE,
                f"{table_name}: {rows.size:,} of its rows hold zeroes alone, as rows do that were "
                "never written.",
                schema=self._store.schema,
                rows=int(rows.size),
                run=self._run.number,
            )

    def _cells(
        self, columns: Sequence[Raw], times: Raw, numeric: Mapping[int, pa.Array]
    ) -> list[ColumnCells]:
        stacks = iter(self._stack_cells(columns, times))
        cells: list[ColumnCells] = []
        typed_columns = zip(self._store.columns, self.kinds, strict=True)
        for place, (column, kind) in enumerate(typed_columns):
            export_column = ExportColumn(column.mnemonic, column.title, kind.tag)
            if place in numeric:
                chunks = pa.chunked_array([numeric[place]])
                cells.append(ColumnCells(export_column, chunks))
                continue
            if kind.encoding in STACKS:
                texts, numbered = next(stacks)
                column_cells = ColumnCells(export_column, pa.chunked_array([texts]))
                if kind.tag in STACK_TYPES:
                    column_cells = replace(column_cells, stacks=pa.chunked_array([numbered]))
                cells.append(column_cells)
                continue
            with self._reading(f"its column {column.mnemonic}"):
                other_cells = self._make_other_cells(export_column, kind, columns[place])
                cells.append(other_cells)
        return cells

    def _make_other_cells(
        self, export_column: ExportColumn, kind: EngineeringType, raw: Raw
    ) -> ColumnCells:
        """Return the cells of a piece of a column that holds neither stacks nor numbers."""
        if kind.encoding in {Encoding.LOCATION, Encoding.THREAD_NAME, Encoding.RATIO}:
            return ColumnCells(export_column, self._halves(kind, raw))
        count = self._count(kind.encoding)
        if count is None:
            return _make_null_cells(export_column, kind.tag, raw.size)
        distinct_numbers = distinct(raw, count)
        ids = distinct_numbers.numbers
        identities = self._values.identities
        pids: pa.ChunkedArray | None = None
        tids: pa.ChunkedArray | None = None
        foreign = frozenset[str]()
        match kind.encoding:
            case Encoding.PROCESS:
                texts, owners = identities.processes(ids)
                pids = distinct_numbers.spread(owners)
            case Encoding.THREAD:
                texts, threads, owners = identities.threads(ids)
                pids = distinct_numbers.spread(owners)
                tids = distinct_numbers.spread(threads)
            case Encoding.ANY:
                texts, tags = self._labels.single(ids)
                foreign = tags - {kind.tag}
            case Encoding.LABEL:
                texts = self._labels.texts(ids)
            case _:
                texts = self._values.look_up_texts(kind.encoding, ids.view(np.uint64))
        cells = distinct_numbers.make_cells(texts)
        return ColumnCells(export_column, cells, pids=pids, tids=tids, foreign=foreign)

    def _count(self, encoding: Encoding) -> int | None:
        """Return the number of things that cells refer to; None if their encoding is unknown."""
        if encoding is Encoding.STRING:
            return len(self._values.texts)
        if encoding in {Encoding.LABEL, Encoding.ANY}:
            return len(self._run.typed_arrays)
        array_encodings = {Encoding.PROCESS, Encoding.THREAD, Encoding.UUID, Encoding.NUMBERS}
        if encoding in array_encodings:
            return len(self._run.arrays)
        return None

    def _halves(self, kind: EngineeringType, raw: Raw) -> pa.ChunkedArray:
        """Return cells of 64 bits that hold two things."""
        # The name of a thread without either half is null, although it is written as two.
        is_never_null = kind.all_ones and kind.encoding is not Encoding.THREAD_NAME
        nulls = None if is_never_null else nulls_of(raw)
        coded = pa.array(raw, mask=nulls).dictionary_encode()
        distinct_values = coded.dictionary.to_numpy()
        texts = self._values.format_values(kind, distinct_values)
        coded_texts = pa.DictionaryArray.from_arrays(coded.indices, texts)
        return pa.chunked_array([coded_texts])

    def _stack_cells(self, columns: Sequence[Raw], times: Raw) -> list[StackCells]:
        stack_columns: list[StackColumn] = []
        for kind, raw in zip(self.kinds, columns, strict=True):
            if kind.encoding in STACKS:
                stack_ids = raw.astype(np.uint32, copy=False)
                stack_columns.append((kind.encoding, stack_ids))
        if not stack_columns:
            return []
        with self._reading("a stack"):
            return self._stacks.cells(stack_columns, times.astype(np.int64))

    @contextmanager
    def _reading(self, part: str) -> Generator[None]:
        try:
            yield
        except (ArchiveError, pa.ArrowInvalid) as error:
            fault = f"cannot be read: {part} {error}"
            raise self._files.make_damage_error(self._store.bulkstore, fault) from error


def _make_null_cells(export_column: ExportColumn, tag: str, size: int) -> ColumnCells:
    """Return cells of an unknown encoding: all are null."""
    texts = pa.chunked_array([pa.nulls(size, TEXTS)])
    null_column = pa.chunked_array([pa.nulls(size, pa.int64())])
    if tag == "process":
        return ColumnCells(export_column, texts, pids=null_column)
    if tag == "thread":
        return ColumnCells(export_column, texts, pids=null_column, tids=null_column)
    if tag in STACK_TYPES:
        return ColumnCells(export_column, texts, stacks=null_column)
    return ColumnCells(export_column, texts)
