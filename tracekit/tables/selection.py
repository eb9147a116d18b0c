"""Of all tables in an export, or of all runs of a trace, those that are meant."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from tracekit.base import InputError, UsageError
from tracekit.tables.bundle.cells.encodings import Said
from tracekit.tables.bundle.errors import called
from tracekit.tables.direct import file_shown, is_bundle, shown
from tracekit.tables.exports import ExportIndex
from tracekit.tables.layout import header_of
from tracekit.tables.place import (
    HOW_TO_CHOOSE,
    Choice,
    Place,
    attributes_of,
    described,
    place_of,
)
from tracekit.tables.toc.read import assumed, listed, required
from tracekit.tables.toc.toc import Toc, TocRun
from tracekit.tables.xml.node import Node

_LISTED = 12


class Sink(Protocol):
    """Where the pieces of one table go."""

    def begin(self) -> None:
        """Forget all that was taken."""
        ...

    def take(self, piece: Node) -> None:
        """Take the next piece of the table."""
        ...


@dataclass(eq=False)
class _Seen:
    """A table of the file: what stands above it, and what is known by now."""

    schema: str
    header: Sequence[tuple[str, str]]
    place: Place
    attributes: Mapping[str, str]
    candidate: bool
    rows: int = 0
    damage: str = ""
    empty: Node | None = None
    notes: tuple[Said, ...] = ()

    def __str__(self) -> str:
        rows = "1 row" if self.rows == 1 else f"{self.rows:,} rows"
        return f"{self.schema}, {described(self.place, self.attributes)}, with {rows}"


class Selection:
    """A taker that passes on the pieces of one table, and knows what else there was.

    Of several tables that may be meant the only one with rows is taken.
    """

    def __init__(
        self, path: Path, sink: Sink, schema: str | None, choice: Choice, toc: Toc | None
    ) -> None:
        self._path = path
        self._sink = sink
        self._schema = schema
        self._choice = choice
        self._toc = toc
        self.begin()

    def begin(self) -> None:
        """Forget all that was taken."""
        self._seen: dict[tuple[int, str, str], _Seen] = {}
        self._chosen: _Seen | None = None
        self._sink.begin()

    def take(self, piece: Node) -> None:
        """Pass a piece on, if its table is the first that may be meant and has rows."""
        seen = self._seen.get(_key(piece)) or self._new(piece)
        seen.rows += piece.rows
        seen.damage = seen.damage or piece.damage
        if not (seen.candidate and seen.rows):
            return
        seen.empty = None
        self._chosen = self._chosen or seen
        if seen is self._chosen:
            self._sink.take(piece)

    def finish(self) -> None:
        """Make sure that one table was meant; raise InputError where it is not clear which."""
        names = list(dict.fromkeys(seen.schema for seen in self._seen.values()))
        self._check_names(names)
        candidates = [seen for seen in self._seen.values() if seen.candidate]
        if not candidates:
            raise self._nothing()
        full = [seen for seen in candidates if seen.rows]
        if len(full) > 1 or (not full and not _alike(candidates)):
            raise self._unclear(full or candidates)
        if not full:
            self._chosen = candidates[0]
            assert self._chosen.empty is not None
            self._sink.take(self._chosen.empty)

    @property
    def damage(self) -> tuple[str, ...]:
        """Say which tables of the file are damaged, and after which row."""
        return tuple(
            f"{shown(self._path)}: {seen.schema} is damaged after row {seen.rows}: {seen.damage}."
            for seen in self._seen.values()
            if seen.damage
        )

    @property
    def remarks(self) -> tuple[Said, ...]:
        """Say which tables were left out because they have no rows, and what a reader noted."""
        others = [s for s in self._seen.values() if s.candidate and s is not self._chosen]
        others = others if self.rows else []
        left_out = tuple(
            f"{shown(self._path)}: of the tables of {seen.schema}, "
            f"{described(seen.place, seen.attributes)} has no rows and is left out."
            for seen in others
        )
        notes = self._chosen.notes if self._chosen else ()
        name = file_shown(self._path)
        named = (
            f"{name}: {note}." if isinstance(note, str) else replace(note, bundle=name)
            for note in notes
        )
        return (*left_out, *named)

    @property
    def rows(self) -> int:
        """How many rows the chosen table has."""
        return self._chosen.rows if self._chosen else 0

    def _new(self, piece: Node) -> _Seen:
        place = place_of(piece.xpath, piece.number)
        attributes = attributes_of(self._toc, place, piece.schema)
        named = self._schema in {None, piece.schema}
        candidate = named and self._choice.allows(place, attributes)
        seen = _Seen(piece.schema, header_of(piece), place, attributes, candidate)
        seen.empty = None if piece.rows else piece
        seen.notes = piece.notes
        self._seen[_key(piece)] = seen
        return seen

    def _check_names(self, names: list[str]) -> None:
        if not names:
            raise InputError(
                f"{self._path} holds no table: what was asked for is not in the trace.",
                hint="The table of contents (`xctrace export --toc`) lists what there is.",
            )
        candidates = {seen.schema for seen in self._seen.values() if seen.candidate}
        if self._schema is None and len(candidates) > 1:
            raise InputError(
                f"{self._path} holds {len(names)} tables: {_first(names)}.",
                hint="Name the one to read.",
            )
        if self._schema is not None and self._schema not in names:
            raise InputError(
                f"{self._path} has no table {self._schema!r}; it holds {_first(names)}."
            )

    def _nothing(self) -> InputError:
        there = [s for s in self._seen.values() if self._schema in {None, s.schema}]
        return InputError(
            f"{self._path} has no table that is {self._choice}; it holds {_listed(there)}.",
            hint=HOW_TO_CHOOSE,
        )

    def _unclear(self, seen: list[_Seen]) -> InputError:
        return InputError(
            f"{self._path} holds {len(seen)} tables of {seen[0].schema}: {_listed(seen)}.",
            hint=HOW_TO_CHOOSE,
        )


def _key(piece: Node) -> tuple[int, str, str]:
    return piece.number, piece.xpath, piece.schema


def _alike(seen: list[_Seen]) -> bool:
    return all(one.header == seen[0].header for one in seen)


def _listed(seen: list[_Seen]) -> str:
    more = len(seen) - _LISTED
    return "; ".join([*map(str, seen[:_LISTED]), *([f"and {more:,} more"] if more > 0 else [])])


def _first(names: list[str]) -> str:
    return ", ".join([*names[:_LISTED], *(["…"] if len(names) > _LISTED else [])])


@dataclass(frozen=True)
class OneRun:
    """The tables of one run.

    Attributes:
        index: The exports of this run, and those that do not say of which run they are.
        run: Its number; None where no export says one.
        said: That it was chosen for being the last one, where nobody named one of several.
    """

    index: ExportIndex
    run: int | None
    said: tuple[str, ...] = ()


def of_one_run(found: ExportIndex, folder: Path, only: Choice) -> OneRun:
    """Leave out what belongs to other runs, or to other places where a place is named.

    Args:
        found: All exports.
        folder: Where they are; for a sentence.
        only: The run, and the place, that someone named; without a run, the last one with tables.
    """
    run, said = meant(found, folder, only.run)
    number = None if run is None else run.number
    kept = Choice(number, only.table)
    tables = {
        schema: own
        for schema, listed in found.tables.items()
        if (own := tuple(one for one in listed if _belongs(one.place.run, one.place.index, kept)))
    }
    if only.table is not None and not tables:
        raise InputError(f"{_called(folder)} has no table that is {kept}.", hint=HOW_TO_CHOOSE)
    others = {text for of, texts in found.of_runs.items() if of != number for text in texts}
    own_lost, own_said = (
        tuple(sentence for sentence in sentences if number is None or sentence not in others)
        for sentences in (found.lost, found.said)
    )
    return OneRun(replace(found, tables=tables, lost=own_lost, said=own_said), number, said)


def meant(
    found: ExportIndex, folder: Path, number: int | None = None, name: str = ""
) -> tuple[TocRun | None, tuple[str, ...]]:
    """Return the run that is meant, and that it was chosen for being the last, where it was.

    Args:
        found: All exports.
        folder: Where they are.
        number: Which run; without it, the last one with tables.
        name: What the trace is called in a sentence, if not as the folder.

    Returns:
        The run as the table of contents has it; None where neither that nor any export says one.

    Raises:
        UsageError: There is no such run, or nothing of it was exported.
    """
    places = [one.place.run for listed in found.tables.values() for one in listed]
    filled = {place for place in places if place is not None}
    toc = {run.number: run for run in (found.toc.runs if found.toc is not None else ())}
    runs = [toc.get(one) or TocRun(one) for one in sorted({*toc, *filled})]
    name = name or _called(folder)
    if number is not None and runs:
        run = required(runs, number, name)
        if filled and run.tables and number not in filled:
            there = listed([one for one in runs if one.number in filled])
            raise UsageError(f"{name} has no export of run {number}.", hint=f"It has {there}.")
        return run, ()
    if number is not None and found.tables:
        raise UsageError(
            f"{name} has no run {number}: nothing says of which run its tables are.",
            hint="Leave --run out.",
        )
    last = next((run for run in reversed(runs) if run.number in filled), runs[-1] if runs else None)
    return last, () if last is None else assumed(runs, last, name)


def _called(folder: Path) -> str:
    return called(folder) if is_bundle(folder) else str(folder)


def _belongs(run: int | None, index: int | None, kept: Choice) -> bool:
    own = kept.run is None or run in {None, kept.run}
    return own and kept.table in {None, index}
