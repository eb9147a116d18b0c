"""Any export as one flat table: a row for a row, a column for each mnemonic, in order.

An export is read by the fast reader, or by the exact one if that gives up; a bundle directly. The
pieces of the fast reader are void once it gives up: `begin` is called again before the exact reader
starts. Of several tables in an export, the chosen one is passed on.

`tracekit.tables.layout` determines the columns, `tracekit.tables.values` their dtypes, and
`tracekit.tables.place` the choice among several tables.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol

import pyarrow as pa

from tracekit.base import InputError, files
from tracekit.tables.bundle.reader import BundleReader
from tracekit.tables.direct import CaptureTable, Stored, TableRef, describe_ref, places_of
from tracekit.tables.drift import DamagedExportWarning, DriftWarning, ExportWarning, ReadNotes
from tracekit.tables.export_files import contents_beside
from tracekit.tables.layout import Layout, frame_of, table_of
from tracekit.tables.lazy import pd
from tracekit.tables.losses import Flaw, Loss, report
from tracekit.tables.place import (
    HOW_TO_CHOOSE,
    OPEN,
    Choice,
    attributes_of,
    describe_table,
    place_of,
    xpath_of,
)
from tracekit.tables.toc import Toc
from tracekit.tables.xml.details import DetailReader, holds_details
from tracekit.tables.xml.fast.reader import FastReader
from tracekit.tables.xml.fast.tokens import IrregularError
from tracekit.tables.xml.node import Node, Reader, Symbols, no_symbols
from tracekit.tables.xml.reader import ExactReader

_log = logging.getLogger(__name__)
_LISTED = 12

ReaderName = Literal["fast", "exact"]


class Taker(Protocol):
    """A receiver of the pieces of an export."""

    def begin(self) -> None:
        """Forget all pieces taken so far; a reader starts."""
        ...

    def take(self, piece: Node) -> None:
        """Take the next piece."""
        ...


def read_pieces(
    ref: TableRef, taker: Taker, toc: Toc | None = None, reader_name: ReaderName | None = None
) -> Symbols:
    """Read all tables of an export, or one of a bundle, into a taker; return their stacks.

    Without the table of contents the exact reader finds no tables without a header, and a bundle
    has no places of its tables. `reader_name` is the only reader of exports to use; the fast one
    raises IrregularError if it cannot read the export. Other failures are an InputError.
    """
    if isinstance(ref, CaptureTable):
        raise TypeError("a table of a GPU frame capture has no pieces")
    if isinstance(ref, Stored):
        run, store = ref.open_table()
        place = ref.place or places_of(run, toc)[store.number]
        xpath = xpath_of(place)
        reader = BundleReader(run, store, xpath)
        return _read(reader, ref.file, taker)
    if reader_name != "exact":
        try:
            return _read(FastReader(ref), ref, taker)
        except IrregularError as error:
            if reader_name == "fast":
                raise
            _log.debug("%s: not read by the fast reader: %s", ref, error)
    exact_reader = DetailReader(ref) if holds_details(ref) else ExactReader(ref, toc)
    return _read(exact_reader, ref, taker)


def _read(reader: Reader, path: Path, taker: Taker) -> Symbols:
    _log.debug("%s: read by %s", path, type(reader).__name__)
    taker.begin()
    pieces = reader.pieces()
    while True:
        try:
            piece = next(pieces, None)
        except OSError as error:  # of the export: the taker is called outside
            raise files.unreadable(path, error) from error
        if piece is None:
            return reader.symbols()
        taker.take(piece)


@dataclass(eq=False)
class _SeenTable:
    """A table of the file, with its rows, losses and damage so far."""

    schema: str
    place: str
    losses: tuple[Loss, ...]
    candidate: bool
    rows: int = 0
    damage: str = ""

    def __str__(self) -> str:
        rows = "1 row" if self.rows == 1 else f"{self.rows:,} rows"
        return f"{self.schema}, {self.place}, with {rows}"


class TableSelection:
    """A taker that passes on the pieces of one table, and remembers the other tables.

    Of several candidates the only one with rows is taken.
    """

    def __init__(
        self, ref: TableRef, sink: Taker, schema: str | None, choice: Choice, toc: Toc | None
    ) -> None:
        self._ref = ref
        self._path = ref if isinstance(ref, Path) else ref.bundle
        self._sink = sink
        self._schema = schema
        self._choice = choice
        self._toc = toc
        self.begin()

    def begin(self) -> None:
        """Forget all pieces taken so far."""
        self._seen: dict[tuple[int, str, str], _SeenTable] = {}
        self._chosen: _SeenTable | None = None
        self._empty: Node | None = None
        self._sink.begin()

    def take(self, piece: Node) -> None:
        """Pass a piece on if its table is the first candidate with rows."""
        key = piece.number, piece.xpath, piece.schema
        seen_table = self._seen.get(key)
        if seen_table is None:
            seen_table = self._see(piece)
            self._seen[key] = seen_table
        seen_table.rows += piece.rows
        seen_table.damage = seen_table.damage or piece.damage
        # The losses of a piece include those of all pieces before it.
        seen_table.losses = piece.losses or seen_table.losses
        if seen_table.candidate and seen_table.rows:
            self._chosen = self._chosen or seen_table
            if seen_table is self._chosen:
                self._sink.take(piece)
        elif seen_table.candidate:
            self._empty = self._empty or piece

    def _see(self, piece: Node) -> _SeenTable:
        """Return the table of its first piece, without the rows."""
        place = place_of(piece.xpath, piece.number)
        attributes = attributes_of(self._toc, place, piece.schema)
        has_schema = self._schema in {None, piece.schema}
        is_candidate = has_schema and self._choice.allows(place, attributes)
        return _SeenTable(piece.schema, describe_table(place, attributes), (), is_candidate)

    def finish(self) -> None:
        """Raise InputError unless exactly one table is chosen; pass it on if it has no rows."""
        if not self._seen:
            raise InputError(
                f"{self._path} holds no table: the trace does not have the requested one.",
                hint="The table of contents (`xctrace export --toc`) lists its tables.",
            )
        candidates = [seen_table for seen_table in self._seen.values() if seen_table.candidate]
        if not candidates:
            raise self._make_absence_error()
        rival_tables = candidates
        schema_words = ""
        if len({seen_table.schema for seen_table in candidates}) == 1:
            rival_tables = [seen_table for seen_table in candidates if seen_table.rows]
            schema_words = f" of {candidates[0].schema}"
        if len(rival_tables) > 1:
            raise InputError(
                f"{self._path} holds {len(rival_tables)} tables{schema_words}: "
                f"{_name_tables(rival_tables)}.",
                hint=f"Name the one to read. {HOW_TO_CHOOSE}",
            )
        if self._chosen is None:
            assert self._empty is not None
            self._chosen = candidates[0]
            self._sink.take(self._empty)

    def _make_absence_error(self) -> InputError:
        """Return the error of a file with tables, none of which is a candidate."""
        all_tables = list(self._seen.values())
        there = [seen_table for seen_table in all_tables if seen_table.schema == self._schema]
        table_words = f"that is {self._choice}"
        if self._schema is not None and not there:
            table_words = self._schema
        return InputError(
            f"{self._path} has no table {table_words}; it holds "
            f"{_name_tables(there or all_tables)}.",
            hint=HOW_TO_CHOOSE,
        )

    def notes(self, drift: Iterable[str]) -> ReadNotes:
        """Return the notes on the table, with the `drift` of its columns; report its losses."""
        name = describe_ref(self._ref)
        losses: list[Loss] = []
        for seen_table in self._seen.values():
            if seen_table.damage:
                text = (
                    f"{name}: {seen_table.schema} is damaged after row {seen_table.rows}: "
                    f"{seen_table.damage}."
                )
                loss = Loss(Flaw.DAMAGED, text, schema=seen_table.schema)
                losses.append(loss)
        schema = ""
        if self._chosen is not None:
            schema = self._chosen.schema
        losses += [Loss(Flaw.CHANGED, f"{name}: {text}", schema=schema) for text in drift]
        if self._chosen is not None:
            losses += self._empty_losses(self._chosen)
            losses += self._reader_losses(self._chosen)
        notes = ReadNotes(tuple(losses))
        report(notes.losses)
        return notes

    def _empty_losses(self, chosen_table: _SeenTable) -> Iterator[Loss]:
        """Yield a loss for each table that was left out because it has no rows."""
        if not chosen_table.rows:
            return
        name = describe_ref(self._ref)
        for seen_table in self._seen.values():
            if seen_table.candidate and seen_table is not chosen_table:
                text = (
                    f"{name}: of the tables of {seen_table.schema}, {seen_table.place} has no rows "
                    "and is left out."
                )
                yield Loss(Flaw.NOTED, text, schema=seen_table.schema)

    def _reader_losses(self, chosen_table: _SeenTable) -> Iterator[Loss]:
        """Yield the losses that the reader noted; those of an export get the name of its file."""
        if not isinstance(self._ref, Path):
            yield from chosen_table.losses
            return
        for loss in chosen_table.losses:
            text = f"{self._path.name}: {loss.text}."
            yield replace(loss, text=text)

    @property
    def rows(self) -> int:
        """The number of rows of the chosen table."""
        if self._chosen:
            return self._chosen.rows
        return 0


def _name_tables(seen_tables: Sequence[_SeenTable]) -> str:
    names = [str(seen_table) for seen_table in seen_tables[:_LISTED]]
    if len(seen_tables) > _LISTED:
        unlisted_count = len(seen_tables) - _LISTED
        names.append(f"and {unlisted_count:,} more")
    return "; ".join(names)


@dataclass(frozen=True, eq=False)
class Flat:
    """A flat table in memory; `symbols` holds the stacks that the columns NAME.stack number."""

    table: pa.Table
    notes: ReadNotes = field(default_factory=ReadNotes)
    symbols: Symbols = field(default_factory=no_symbols)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(self.table.column_names)

    @property
    def frame(self) -> pd.DataFrame:
        """The table as a frame of pandas."""
        return frame_of(self.table)

    def arrow(self, columns: Collection[str]) -> pa.Table:
        """Return some columns, in the order of the table."""
        return self.table.select([name for name in self.names if name in columns])


def read_table(
    path: Path | str,
    schema: str | None = None,
    *,
    table: int | None = None,
    run: int | None = None,
) -> pd.DataFrame:
    """Read one table of an export.

    Args:
        path: A file that `xctrace export --xpath` or the host recorder wrote.
        schema: The schema of the table; needed only if the file has several.
        table: The table's place in the table of contents, if a schema occurs repeatedly.
        run: Its run, if there are several.

    Returns:
        One row for each row; for a damaged export, the rows before the damage.

    Raises:
        InputError: The file is not an export, or has several tables, or not this one.

    Warns:
        DamagedExportWarning: The export is cut or damaged; rows are missing.
        DriftWarning: A column holds values that its declared type does not allow, and is text.
        ExportWarning: Other tables of the schema were left out: they have no rows.
    """
    path = Path(path)
    toc = contents_beside(path)
    flat = read_flat(path, schema, toc, Choice(run, table))
    categories = {Flaw.DAMAGED: DamagedExportWarning, Flaw.CHANGED: DriftWarning}
    for loss in flat.notes.losses:
        category = categories.get(loss.flaw, ExportWarning)
        warnings.warn(str(loss), category, stacklevel=2)
    return flat.frame


def read_flat(
    ref: TableRef,
    schema: str | None = None,
    toc: Toc | None = None,
    choice: Choice = OPEN,
    reader_name: ReaderName | None = None,
) -> Flat:
    """Read one table like `read_table`, and return the warnings instead of issuing them.

    `reader_name` is passed to `read_pieces`.
    """
    if isinstance(ref, CaptureTable):
        frame, losses = ref.read()
        report(losses)
        return Flat(table_of(frame), ReadNotes(losses))
    gathered = _Gathered()
    selection = TableSelection(ref, gathered, schema, choice, toc)
    symbols = read_pieces(ref, selection, toc, reader_name)
    selection.finish()
    layout = gathered.layout
    assert layout is not None
    table = layout.convert_table(pa.concat_tables(gathered.pieces))
    return Flat(table, selection.notes(layout.drift), symbols)


class _Gathered:
    def begin(self) -> None:
        self.layout: Layout | None = None
        self.pieces: list[pa.Table] = []

    def take(self, piece: Node) -> None:
        self.layout = self.layout or Layout(piece)
        self.pieces.append(self.layout.take(piece))
