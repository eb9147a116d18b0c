"""Of all tables in an export the one that is meant, while the pieces come."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tracekit.base.errors import InputError
from tracekit.tables.layout import header_of
from tracekit.tables.place import (
    HOW_TO_CHOOSE,
    Choice,
    Place,
    attributes_of,
    described,
    place_of,
)
from tracekit.tables.stored import file_shown, shown
from tracekit.tables.toc.toc import Toc
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
    notes: tuple[str, ...] = ()

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
    def remarks(self) -> tuple[str, ...]:
        """Say which tables were left out because they have no rows, and what a reader noted."""
        others = [s for s in self._seen.values() if s.candidate and s is not self._chosen]
        others = others if self.rows else []
        left_out = tuple(
            f"{shown(self._path)}: of the tables of {seen.schema}, "
            f"{described(seen.place, seen.attributes)} has no rows and is left out."
            for seen in others
        )
        notes = self._chosen.notes if self._chosen else ()
        return (*left_out, *(f"{file_shown(self._path)}: {note}." for note in notes))

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
    told = [*map(str, seen[:_LISTED]), *([f"and {more:,} more"] if more > 0 else [])]
    return "; ".join(told)


def _first(names: list[str]) -> str:
    return ", ".join([*names[:_LISTED], *(["…"] if len(names) > _LISTED else [])])
