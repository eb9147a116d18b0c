"""A direct read compared with a real export of the same table, and what that has shown so far.

Names of processes, threads, cores and functions count as well: they are looked up in other parts of
the bundle, and a reader that misses such a part shows it in nothing else.
"""

import logging
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tracekit.base import InputError, Recording, TracekitError, notes_folder, now, save
from tracekit.record.xctrace.tool import read_version
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

log = logging.getLogger(__name__)

FORMAT = 1
_NOTE = "direct-reading"
_T = TypeVar("_T")
Standing = Literal["equal", "differs", "unchecked"]


@dataclass(frozen=True)
class Checked:
    """A table that was compared."""

    schema: str  # its name
    rows: int  # how many rows were compared
    checked: str  # when
    difference: str = ""  # the first difference in words; empty if there was none


@dataclass(frozen=True)
class Memory:
    """What is known of the bundles of one build of Xcode: tables by `shape`."""

    build: str
    tables: Mapping[str, Checked] = field(default_factory=dict[str, Checked])
    format: int = FORMAT

    def standing(self, store: Store) -> Standing:
        """Tell whether a table was compared, and how that came out.

        A comparison of a table without rows says nothing of one with rows.
        """
        known = self.tables.get(shape(store))
        if known is None or (store.rows and not known.rows and not known.difference):
            return "unchecked"
        return "differs" if known.difference else "equal"

    def difference(self, store: Store) -> str:
        """Return how a direct read differs from an export, empty where it does not."""
        known = self.tables.get(shape(store))
        return known.difference if known else ""

    def learned(self, store: Store, checked: Checked) -> "Memory":
        """Return what is known after one more comparison."""
        return replace(self, tables={**self.tables, shape(store): checked})


def shape(store: Store) -> str:
    """Return a name for a table's schema and the types of its columns, as they are stored."""
    columns = "\n".join(
        f"{column.mnemonic} {column.type_id} {column.field.offset} {column.field.width}"
        for column in store.columns
    )
    return f"{store.schema} {blake2b(columns.encode(), digest_size=8).hexdigest()}"


def build_of(instruments_version: str) -> str:
    """Return the build that a TOC names, such as 17C529; empty where it names none."""
    return read_version(instruments_version).build


def note_file(where: Path, name: str, *parts: str) -> Path:
    """Return the file of a note on the given builds and chip."""
    words = (re.sub(r"[^A-Za-z0-9.]+", "-", part).strip("-.") or "unknown" for part in parts)
    return where / f"{name}-{'_'.join(words)}.json"


def read_note(file: Path, kind: type[_T], consequence: str) -> _T | None:
    """Return what was written down earlier; None where there is nothing that can be read.

    The log says what cannot be read, and the consequence.
    """
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        log.warning("%s cannot be read, so %s: %s", file, consequence, error)
        return None


def recall(build: str, where: Path) -> Memory:
    """Return what is known of a build; what cannot be read, or is of a newer form, is forgotten."""
    file = note_file(where, _NOTE, build)
    found = read_note(file, Memory, "tables will be compared again")
    if found is None or (found.format, found.build) != (FORMAT, build):
        return Memory(build)
    return found


def keep(memory: Memory, where: Path) -> None:
    """Write down what is known; a cache that cannot be written is only a warning in the log."""
    try:
        save(note_file(where, _NOTE, memory.build), memory)
    except TracekitError as error:
        log.warning("tables will be compared again: %s", error.message)


MOST_ROWS = 50_000


def compare(export: Path, table: Stored, toc: Toc, most: int = MOST_ROWS) -> tuple[int, str]:
    """Compare the first rows of a table in a bundle with what xctrace wrote of it.

    Returns how many were compared, and the first difference in words; empty if there was none.

    Raises:
        InputError: The export cannot be read, so nothing can be compared with it.
    """
    exported = _head(export, toc, most)
    try:
        direct = _head(table, toc, most)
    except InputError as error:
        return 0, f"it cannot be read directly: {error.message.rstrip('.')}"
    theirs, ours = (_cells(head, most) for head in (exported, direct))
    if theirs.column_names != ours.column_names:
        left, right = (", ".join(table.column_names) for table in (ours, theirs))
        return 0, f"its columns are {left}, exported {right}"
    rows = min(len(theirs), len(ours))
    for name in ours.column_names:
        if found := _difference(name, ours, theirs, rows):
            return rows, found
    if len(theirs) != len(ours):
        return rows, f"it has {len(ours):,} rows, exported {len(theirs):,}"
    return rows, ""


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
        if self._rows > self._most and not any(column.stacks for column in piece.columns):
            raise _EnoughError


def _head(ref: Path | Stored, toc: Toc, most: int) -> _Head:
    head = _Head(most)
    with suppress(_EnoughError):
        head.symbols = read_pieces(ref, head, toc)
    if not head.pieces or head.pieces[-1].damage:
        raise InputError(f"{ref} is cut or damaged.")
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
    return pa.chunked_array([[known.get(number) for number in numbers.to_pylist()]], pa.string())


def _difference(name: str, ours: pa.Table, theirs: pa.Table, rows: int) -> str:
    left, right = (_plain(table.column(name).slice(0, rows)) for table in (ours, theirs))
    if left.type != right.type:
        left, right = left.cast(pa.string()), right.cast(pa.string())
    same = pc.call_function("equal", [left, right]).fill_null(False)
    nulls = pc.call_function("and", [left.is_null(), right.is_null()])
    place = pc.call_function("or", [same, nulls]).index(False).as_py()
    if place < 0:
        return ""
    direct, exported = left[place].as_py(), right[place].as_py()
    return f"row {place + 1}, {name}: {_word(direct)} directly, {_word(exported)} exported"


def _plain(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(cells.type):
        return cells.cast(cells.type.value_type)
    return cells


def _word(value: object) -> str:
    return "nothing" if value is None else repr(value)[:80]


_REPORT = "`tracekit doctor` shows it again, to be reported with the build of Xcode."


def check(recording: Recording, run: BundleRun, memory: Memory, schemas: frozenset[str]) -> Memory:
    """Compare the tables that were exported and not compared before; return what is known now.

    `memory` is what was known of the build of Xcode that recorded `run`, and is kept.
    """
    toc = read_toc(recording.toc_file)
    before = memory
    for store, file in _pairs(run, toc, schemas):
        export = recording.exports / file
        if memory.standing(store) == "unchecked" and export.exists():
            table = Stored(recording.bundle, run.number, store.number)
            try:
                rows, difference = compare(export, table, toc)
            except InputError as error:
                log.info("%s is not compared: %s", export.name, error)
                continue
            memory = memory.learned(store, Checked(store.schema, rows, now(), difference))
    if memory is not before:
        keep(memory, notes_folder())
    return memory


def _pairs(run: BundleRun, toc: Toc, schemas: frozenset[str]) -> Iterator[tuple[Store, str]]:
    """Yield tables of the bundle with the files of their exports, the smallest tables first."""
    listed = (of_toc for of_toc in toc.runs if of_toc.number == run.number)
    of_toc = next(listed, TocRun(run.number))
    files = {file.index: file.file for file in wanted(of_toc, schemas)}
    places = places_of(run, toc)
    # Of tables of one form, one is compared: a small one, but one with rows.
    for store in sorted(run.stores, key=lambda store: (not store.rows, store.rows)):
        index = places[store.number].index if store.number in places else 0
        if store.schema in schemas and index in files:
            yield store, files[index]


def notes_on(
    run: BundleRun, memory: Memory, asked: frozenset[str], exported: Collection[str]
) -> tuple[str, ...]:
    """Say which tables that were asked for differ from exports, and which were never compared.

    Those that were `exported` are named only where they differ.
    """
    stores = [store for store in run.stores if store.schema in asked]
    differing = {store.schema: why for store in stores if (why := memory.difference(store))}
    lines = [
        f"{schema} is read otherwise than xctrace exports it ({why}), so its export is used. "
        f"{_REPORT}"
        if schema in exported
        else f"{schema} is left out: it is read otherwise than xctrace exports it ({why}). "
        "`tracekit export` writes its export."
        for schema, why in differing.items()
    ]
    unchecked = {
        store.schema
        for store in stores
        if store.rows and store.schema not in exported and memory.standing(store) == "unchecked"
    }
    if unchecked:
        build = f" of build {memory.build}" if memory.build else ""
        names = ", ".join(sorted(unchecked))
        lines.append(f"Read directly, and never compared with an export{build}: {names}.")
    return tuple(lines)
