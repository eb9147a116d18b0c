"""Any export as one flat table: a row for a row, a column for each mnemonic, in order.

An export is read by the fast reader, and where it gives up by the exact one; a bundle directly.
What the fast reader yielded before it gave up is void: `begin` is called again before the exact
reader begins. Of several tables in an export, the one that is meant is passed on.

`tracekit.tables.layout` says which columns there are, `tracekit.tables.values` which dtypes,
`tracekit.tables.place` which table is taken where there are several.
"""

import logging
import warnings
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol

import pandas as pd
import pyarrow as pa

from tracekit.base import InputError, unreadable
from tracekit.tables.bundle.reader import BundleReader
from tracekit.tables.direct import Stored, TableRef, describe_ref, places_of
from tracekit.tables.drift import DamagedExportWarning, DriftWarning, ExportWarning, ReadNotes
from tracekit.tables.exports import contents_beside
from tracekit.tables.layout import Layout
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
    """Who takes the pieces of an export."""

    def begin(self) -> None:
        """Forget all that was taken; a reader begins."""
        ...

    def take(self, piece: Node) -> None:
        """Take the next piece."""
        ...


def read_pieces(
    ref: TableRef, taker: Taker, toc: Toc | None = None, reader_name: ReaderName | None = None
) -> Symbols:
    """Read all tables of an export, or one of a bundle, into a taker; return their stacks.

    Without the table of contents the exact reader knows no tables without a header, and a
    bundle none of the places of its tables. `reader_name` is the one reader of exports to use; the
    fast one raises IrregularError where the export is none that it reads. Other trouble is an
    InputError.
    """
    if isinstance(ref, Stored):
        run, store = ref.open_table()
        reader = BundleReader(run, store, xpath_of(places_of(run, toc)[store.number]))
        return _read(reader, ref.file, taker)
    if reader_name != "exact":
        try:
            return _read(FastReader(ref), ref, taker)
        except IrregularError as error:
            if reader_name == "fast":
                raise
            _log.debug("%s: not read by the fast reader: %s", ref, error)
    return _read(DetailReader(ref) if holds_details(ref) else ExactReader(ref, toc), ref, taker)


def _read(reader: Reader, path: Path, taker: Taker) -> Symbols:
    _log.debug("%s: read by %s", path, type(reader).__name__)
    taker.begin()
    pieces = reader.pieces()
    while True:
        try:
            piece = next(pieces, None)
        except OSError as error:  # of the export: what takes a piece does so outside
            raise unreadable(path, error) from error
        if piece is None:
            return reader.symbols()
        taker.take(piece)


@dataclass(eq=False)
class _SeenTable:
    """A table of the file, and what is known of it by now."""

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
    """A taker that passes on the pieces of one table, and knows what else there was.

    Of several tables that may be meant the only one with rows is taken.
    """

    def __init__(
        self, ref: TableRef, sink: Taker, schema: str | None, choice: Choice, toc: Toc | None
    ) -> None:
        self._ref = ref
        self._path = ref.bundle if isinstance(ref, Stored) else ref
        self._sink = sink
        self._schema = schema
        self._choice = choice
        self._toc = toc
        self.begin()

    def begin(self) -> None:
        """Forget all that was taken."""
        self._seen: dict[tuple[int, str, str], _SeenTable] = {}
        self._chosen: _SeenTable | None = None
        self._empty: Node | None = None
        self._sink.begin()

    def take(self, piece: Node) -> None:
        """Pass a piece on, if its table is the first that may be meant and has rows."""
        key = piece.number, piece.xpath, piece.schema
        seen_table = self._seen.get(key)
        if seen_table is None:
            place = place_of(piece.xpath, piece.number)
            attributes = attributes_of(self._toc, place, piece.schema)
            is_candidate = self._schema in {None, piece.schema} and self._choice.allows(
                place, attributes
            )
            seen_table = _SeenTable(
                piece.schema, describe_table(place, attributes), (), is_candidate
            )
            self._seen[key] = seen_table
        seen_table.rows += piece.rows
        seen_table.damage = seen_table.damage or piece.damage
        seen_table.losses = (
            piece.losses or seen_table.losses
        )  # each piece tells of all before it, too
        if seen_table.candidate and seen_table.rows:
            self._chosen = self._chosen or seen_table
            if seen_table is self._chosen:
                self._sink.take(piece)
        elif seen_table.candidate:
            self._empty = self._empty or piece

    def finish(self) -> None:
        """Make sure that one table was meant; raise InputError where it is not clear which."""
        if not self._seen:
            raise InputError(
                f"{self._path} holds no table: what was asked for is not in the trace.",
                hint="The table of contents (`xctrace export --toc`) lists what there is.",
            )
        candidates = [seen_table for seen_table in self._seen.values() if seen_table.candidate]
        if not candidates:
            there = [s for s in self._seen.values() if s.schema == self._schema]
            if there or self._schema is None:
                table_words = f"that is {self._choice}"
            else:
                table_words = self._schema
            raise InputError(
                f"{self._path} has no table {table_words}; it holds "
                f"{_name_tables(there or [*self._seen.values()])}.",
                hint=HOW_TO_CHOOSE,
            )
        full = [seen_table for seen_table in candidates if seen_table.rows]
        one_schema = len({seen_table.schema for seen_table in candidates}) == 1
        rival_tables = full if one_schema else candidates
        if len(rival_tables) > 1:
            schema_words = f" of {rival_tables[0].schema}" if one_schema else ""
            raise InputError(
                f"{self._path} holds {len(rival_tables)} tables{schema_words}: "
                f"{_name_tables(rival_tables)}.",
                hint=f"Name the one to read. {HOW_TO_CHOOSE}",
            )
        if self._chosen is None:
            assert self._empty is not None
            self._chosen = candidates[0]
            self._sink.take(self._empty)

    def notes(self, drift: Iterable[str]) -> ReadNotes:
        """Return what is to be said of the table, whose columns have that drift; report it."""
        name = describe_ref(self._ref)
        damage = (
            Loss(
                Flaw.DAMAGED,
                f"{name}: {seen_table.schema} is damaged after row {seen_table.rows}: "
                f"{seen_table.damage}.",
                schema=seen_table.schema,
            )
            for seen_table in self._seen.values()
            if seen_table.damage
        )
        schema = "" if self._chosen is None else self._chosen.schema
        broken = (Loss(Flaw.CHANGED, f"{name}: {text}", schema=schema) for text in drift)
        notes = ReadNotes((*damage, *broken, *self._gather_losses()))
        report(notes.losses)
        return notes

    def _gather_losses(self) -> tuple[Loss, ...]:
        """Tell which tables were left out because they have no rows, and what a reader noted."""
        if self._chosen is None:
            return ()
        empty_tables = [s for s in self._seen.values() if s.candidate and s is not self._chosen]
        empty_losses = tuple(
            Loss(
                Flaw.NOTED,
                f"{describe_ref(self._ref)}: of the tables of {seen_table.schema}, "
                f"{seen_table.place} has no rows "
                "and is left out.",
                schema=seen_table.schema,
            )
            for seen_table in (empty_tables if self.rows else ())
        )
        if isinstance(self._ref, Stored):
            return (*empty_losses, *self._chosen.losses)
        name = self._path.name
        reader_losses = (
            replace(loss, text=f"{name}: {loss.text}.") for loss in self._chosen.losses
        )
        return (*empty_losses, *reader_losses)

    @property
    def rows(self) -> int:
        """How many rows the chosen table has."""
        if self._chosen:
            return self._chosen.rows
        return 0


def _name_tables(seen_tables: Sequence[_SeenTable]) -> str:
    more = [f"and {len(seen_tables) - _LISTED:,} more"] if len(seen_tables) > _LISTED else []
    return "; ".join([*map(str, seen_tables[:_LISTED]), *more])


@dataclass(frozen=True, eq=False)
class Flat:
    """A flat table in memory; `symbols` holds the stacks that the columns NAME.stack number."""

    frame: pd.DataFrame
    notes: ReadNotes = field(default_factory=ReadNotes)
    symbols: Symbols = field(default_factory=no_symbols)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(map(str, self.frame.columns))

    def part(self, columns: Collection[str] | None = None) -> pd.DataFrame:
        """Return some columns, in the table's order; without names all of them."""
        return self.frame[[name for name in self.names if columns is None or name in columns]]


def read_table(
    path: Path | str,
    schema: str | None = None,
    *,
    table: int | None = None,
    run: int | None = None,
) -> pd.DataFrame:
    """Read one table of an export.

    Args:
        path: What `xctrace export --xpath` wrote, or the host recorder.
        schema: Which table; needed only where the file has several.
        table: The table's place in the table of contents, where a schema occurs repeatedly.
        run: Its run, where there are several.

    Returns:
        One row for each row. Of a damaged export the rows before the damage.

    Raises:
        InputError: The file is no export, or has several tables, or not this one.

    Warns:
        DamagedExportWarning: The export is cut or damaged; rows are missing.
        DriftWarning: A column holds what its declared type does not allow, and is text.
        ExportWarning: Other tables of the schema were left out: they have no rows.
    """
    path = Path(path)
    flat = read_flat(path, schema, contents_beside(path), Choice(run, table))
    categories = {Flaw.DAMAGED: DamagedExportWarning, Flaw.CHANGED: DriftWarning}
    for loss in flat.notes.losses:
        warnings.warn(str(loss), categories.get(loss.flaw, ExportWarning), stacklevel=2)
    return flat.frame


def read_flat(
    ref: TableRef,
    schema: str | None = None,
    toc: Toc | None = None,
    choice: Choice = OPEN,
    reader_name: ReaderName | None = None,
) -> Flat:
    """Read one table like `read_table`, and return the warnings instead of issuing them.

    `reader_name` names the one reader to use, as `read_pieces` takes it.
    """
    gathered = _Gathered()
    selection = TableSelection(ref, gathered, schema, choice, toc)
    symbols = read_pieces(ref, selection, toc, reader_name)
    selection.finish()
    layout = gathered.layout
    assert layout is not None
    frame = layout.frame(pa.concat_tables(gathered.pieces))
    return Flat(frame, selection.notes(layout.drift), symbols)


class _Gathered:
    def begin(self) -> None:
        self.layout: Layout | None = None
        self.pieces: list[pa.Table] = []

    def take(self, piece: Node) -> None:
        self.layout = self.layout or Layout(piece)
        self.pieces.append(self.layout.take(piece))
