"""A direct read compared with a real export of the same table, cell by cell, and what came of it.

Names of processes, threads, cores and functions count as well: they are looked up in other parts of
the bundle, and a reader that misses such a part shows it in nothing else.
"""

import logging
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tracekit.base import InputError, Recording, notes_folder, now
from tracekit.record.direct_reading.remembered import Checked, Memory, keep
from tracekit.tables import (
    BundleRun,
    Layout,
    Node,
    Store,
    Stored,
    Symbols,
    Toc,
    TocRun,
    no_symbols,
    places_of,
    read_pieces,
    read_toc,
    wanted,
)

MOST_ROWS = 50_000


@dataclass(frozen=True)
class Compared:
    """How many rows were compared, and the first difference in words; empty if there is none."""

    rows: int
    difference: str = ""


def compare(export: Path, table: Path, toc: Toc, most: int = MOST_ROWS) -> Compared:
    """Compare the first rows of a table.

    Args:
        export: What xctrace wrote of it.
        table: The file of its records, in the bundle.
        toc: The table of contents of both.
        most: How many rows.

    Raises:
        InputError: The export cannot be read, so nothing can be compared with it.
    """
    exported = _head(export, toc, most)
    try:
        direct = _head(table, toc, most)
    except InputError as error:
        return Compared(0, f"it cannot be read directly: {error.message.rstrip('.')}")
    theirs, ours = (_cells(one, most) for one in (exported, direct))
    if theirs.column_names != ours.column_names:
        return Compared(0, f"its columns are {_listed(ours)}, exported {_listed(theirs)}")
    rows = min(len(theirs), len(ours))
    for name in ours.column_names:
        if found := _difference(name, ours, theirs, rows):
            return Compared(rows, found)
    if len(theirs) != len(ours):
        return Compared(rows, f"it has {len(ours):,} rows, exported {len(theirs):,}")
    return Compared(rows)


class _EnoughError(Exception):
    """As many rows as are compared have been read."""


class _Head:
    """The first pieces of a table, and the stacks that they number."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows = 0
        self.pieces: list[Node] = []
        self.symbols = no_symbols()

    def begin(self) -> None:
        self.pieces, self._rows = [], 0

    def take(self, piece: Node) -> None:
        if self._rows <= self._most:
            self.pieces.append(piece)
            self._rows += piece.rows
        # What stacks mean is known at the end of the table only.
        if self._rows > self._most and not any(one.stacks for one in piece.columns):
            raise _EnoughError


def _head(path: Path, toc: Toc, most: int) -> _Head:
    head = _Head(most)
    with suppress(_EnoughError):
        head.symbols = read_pieces(path, head, toc).symbols
    if not head.pieces or head.pieces[-1].damage:
        raise InputError(f"{path.name} is cut or damaged.")
    return head


def _cells(head: _Head, most: int) -> pa.Table:
    layout = Layout(head.pieces[0])
    raw = [layout.take(piece).cast(layout.raw) for piece in head.pieces]
    table = layout.converted(pa.concat_tables(raw)).slice(0, most)
    for place, name in enumerate(table.column_names):
        if name.endswith(".stack"):
            table = table.set_column(place, name, _written_out(table.column(name), head.symbols))
    return table


def _written_out(numbers: pa.ChunkedArray, symbols: Symbols) -> pa.ChunkedArray:
    """Return the frames of stacks in words: two readers may number them otherwise."""
    known = dict[int, str]()
    stacks, frames = symbols.stacks["frames"], symbols.frames.drop_columns(["frame"])
    for number in numbers.unique().drop_null().to_pylist():
        members = frames.take(stacks[number].values)
        known[number] = "; ".join(
            " ".join(map(str, frame.values())) for frame in members.to_pylist()
        )
    return pa.chunked_array([[known.get(one) for one in numbers.to_pylist()]], pa.string())


def _difference(name: str, ours: pa.Table, theirs: pa.Table, rows: int) -> str:
    left, right = (_plain(one.column(name).slice(0, rows)) for one in (ours, theirs))
    if left.type != right.type:
        left, right = left.cast(pa.string()), right.cast(pa.string())
    same = pc.call_function("equal", [left, right]).fill_null(False)
    nulls = pc.call_function("and", [left.is_null(), right.is_null()])
    place = pc.call_function("or", [same, nulls]).index(False).as_py()
    if place < 0:
        return ""
    told, exported = left[place].as_py(), right[place].as_py()
    return f"row {place + 1}, {name}: {_word(told)} directly, {_word(exported)} exported"


def _plain(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(cells.type):
        return cells.cast(cells.type.value_type)
    return cells


def _word(value: object) -> str:
    return "nothing" if value is None else repr(value)[:80]


def _listed(table: pa.Table) -> str:
    return ", ".join(table.column_names)


log = logging.getLogger(__name__)

_REPORT = "`tracekit doctor` shows it again, to be reported with the build of Xcode."


def check(recording: Recording, run: BundleRun, memory: Memory, schemas: frozenset[str]) -> Memory:
    """Compare the tables that were exported and not compared before; remember what came of it.

    Args:
        recording: The recording, with its exports.
        run: The run of its bundle that was exported.
        memory: What is known of its build.
        schemas: What was exported.

    Returns:
        What is known now.
    """
    toc = read_toc(recording.toc_file)
    before = memory
    for store, file in _pairs(run, toc, schemas):
        export = recording.exports / file
        if memory.standing(store) == "unchecked" and export.exists():
            table = Stored(recording.bundle, run.number, store.number).file
            try:
                found = compare(export, table, toc)
            except InputError as error:
                log.info("%s is not compared: %s", export.name, error)
                continue
            checked = Checked(store.schema, found.rows, now(), found.difference)
            memory = memory.learned(store, checked)
    if memory is not before:
        keep(memory, notes_folder())
    return memory


def _pairs(run: BundleRun, toc: Toc, schemas: frozenset[str]) -> Iterator[tuple[Store, str]]:
    """Yield tables of the bundle with the files of their exports, the smallest tables first."""
    of_toc = next((one for one in toc.runs if one.number == run.number), TocRun(run.number))
    files = {one.index: one.file for one in wanted(of_toc, schemas)}
    places = places_of(run, toc)
    # Of tables of one form, one is compared: a small one, but one with rows.
    for store in sorted(run.stores, key=lambda one: (not one.rows, one.rows)):
        index = places[store.number].index if store.number in places else 0
        if store.schema in schemas and index in files:
            yield store, files[index]


def told(
    run: BundleRun, memory: Memory, asked: frozenset[str], exported: Collection[str]
) -> tuple[str, ...]:
    """Say which tables that were asked for differ from exports, and which were never compared.

    Those that were `exported` are told of only where they differ.
    """
    stores = [one for one in run.stores if one.schema in asked]
    differing = {one.schema: memory.difference(one) for one in stores if memory.difference(one)}
    lines = [
        f"{schema} is read otherwise than xctrace exports it ({why}), so its export is used. "
        f"{_REPORT}"
        if schema in exported
        else f"{schema} is left out: it is read otherwise than xctrace exports it ({why}). "
        "`tracekit export` writes its export."
        for schema, why in differing.items()
    ]
    unchecked = sorted(
        {
            one.schema
            for one in stores
            if one.rows and one.schema not in exported and memory.standing(one) == "unchecked"
        }
    )
    if unchecked:
        build = f" of build {memory.build}" if memory.build else ""
        lines.append(
            f"Read directly, and never compared with an export{build}: {', '.join(unchecked)}."
        )
    return tuple(lines)
