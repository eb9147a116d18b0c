"""The tables of a recording of this Mac: read directly where that is known to be right.

Once for each build of Xcode and each form of a table, the table is exported too and compared with
the direct read. Where they are equal, later recordings are not exported; where they differ, the
export is what counts, and a warning says what differs. Names of processes, threads, cores and
functions count as well: they are looked up in other parts of the bundle, and a reader that misses
such a part shows it in nothing else.
"""

import logging
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
import pandas as pd

from tracekit.base import (
    Capabilities,
    InputError,
    Recording,
    ToolError,
    TracekitError,
    make_timestamp,
    notes_folder,
    save,
)
from tracekit.record.recorder import Progress
from tracekit.record.xctrace import exporting
from tracekit.record.xctrace.recorder import XctraceRecorder
from tracekit.record.xctrace.tool import read_version
from tracekit.tables import (
    DIRECT_NOTE,
    BundleRun,
    Choice,
    Direct,
    Flat,
    Stored,
    Tables,
    TableStore,
    Toc,
    TocRun,
    collecting,
    find_recorded_run,
    note_direct,
    open_bundle,
    places_of,
    read_flat,
    read_toc,
    select_tables,
    write_toc,
)

log = logging.getLogger(__name__)

FORMAT = 1
_NOTE = "direct-reading"


@dataclass(frozen=True)
class Checked:
    """A table that was compared."""

    schema: str  # its name
    rows: int  # how many rows were compared
    checked: str  # when
    difference: str = ""  # the first difference in words; empty if there was none


@dataclass(frozen=True)
class KnownBundles:
    """What is known of the bundles of one build of Xcode: tables by `shape`."""

    build: str
    tables: Mapping[str, Checked] = field(default_factory=dict[str, Checked])
    format: int = FORMAT

    def find_checked_table(self, store: TableStore) -> Checked | None:
        """Return how the comparison of a table came out; None where it was not compared.

        A comparison of a table without rows says nothing of one with rows.
        """
        checked_table = self.tables.get(shape(store))
        unknown = checked_table is None or (
            store.rows and not checked_table.rows and not checked_table.difference
        )
        return None if unknown else checked_table

    def difference(self, store: TableStore) -> str:
        """Return how a direct read differs from an export, empty where it does not."""
        checked_table = self.find_checked_table(store)
        return checked_table.difference if checked_table else ""


_Note = TypeVar("_Note", KnownBundles, Capabilities)


def shape(store: TableStore) -> str:
    """Return a name for a table's schema and the types of its columns, as they are stored."""
    columns = "\n".join(
        f"{column.mnemonic} {column.type_id} {column.field.offset} {column.field.width}"
        for column in store.columns
    )
    return f"{store.schema} {blake2b(columns.encode(), digest_size=8).hexdigest()}"


def note_file(folder: Path, name: str, *parts: str) -> Path:
    """Return the file of a note on the given builds and chip."""
    words = (re.sub(r"[^A-Za-z0-9.]+", "-", part).strip("-.") or "unknown" for part in parts)
    return folder / f"{name}-{'_'.join(words)}.json"


def read_note(file: Path, blank: _Note) -> _Note:
    """Return what was written down earlier; `blank` where nothing of its form can be read."""
    try:
        note = msgspec.json.decode(file.read_bytes(), type=type(blank))
    except FileNotFoundError:
        return blank
    except (OSError, msgspec.MsgspecError) as error:
        log.warning("%s cannot be read and is not used: %s", file, error)
        return blank
    return note if note.format == blank.format else blank


def recall(build: str, folder: Path) -> KnownBundles:
    """Return what is known of a build; what cannot be read, or is of a newer form, is forgotten."""
    return read_note(note_file(folder, _NOTE, build), KnownBundles(build))


MOST_ROWS = 50_000


def compare(export: Path, table: Stored, toc: Toc, max_rows: int = MOST_ROWS) -> tuple[int, str]:
    """Compare the first rows of a table in a bundle with what xctrace wrote of it.

    Returns how many were compared, and the first difference in words; empty if there was none.
    Raise InputError where the export cannot be read, so that nothing can be compared with it.
    """
    exported = read_flat(export, toc=toc)
    if exported.notes.damage:
        raise InputError(f"{export} is cut or damaged.")
    try:
        direct = read_flat(table, toc=toc)
    except InputError as error:
        return 0, f"it cannot be read directly: {error.message.rstrip('.')}"
    if direct.notes.damage:
        return 0, f"it cannot be read directly: {direct.notes.damage[0]}"
    theirs, ours = _cells(exported, max_rows), _cells(direct, max_rows)
    if list(theirs) != list(ours):
        left, right = (", ".join(map(str, table)) for table in (ours, theirs))
        return 0, f"its columns are {left}, exported {right}"
    rows = min(len(theirs), len(ours))
    for name in ours:
        left, right = ours[name][:rows], theirs[name][:rows]
        equal_cells = (left == right) | (left.isna() & right.isna())
        if not equal_cells.all():
            place = int(equal_cells.argmin())
            words = f"{_word(left.iloc[place])} directly, {_word(right.iloc[place])} exported"
            return rows, f"row {place + 1}, {name}: {words}"
    if len(theirs) != len(ours):
        return rows, f"it has {len(ours):,} rows, exported {len(theirs):,}"
    return rows, ""


def _cells(flat: Flat, max_rows: int) -> pd.DataFrame:
    """Return the first rows, None where there is nothing; stacks in words, not in numbers.

    Two readers may number stacks otherwise.
    """
    frame = flat.frame[:max_rows].astype(object)
    frame = frame.where(frame.notna(), None)
    stacks, frames = flat.symbols.stacks["frames"], flat.symbols.frames.drop_columns(["frame"])
    for name in filter(lambda name: name.endswith(".stack"), flat.names):
        words: dict[Any, str | None] = {None: None}
        for number in frame[name].dropna().unique():
            members = frames.take(stacks[int(number)].values).to_pylist()
            words[number] = "; ".join(" ".join(map(str, member.values())) for member in members)
        frame[name] = frame[name].map(words)
    return frame


def _word(value: object) -> str:
    return "nothing" if value is None else repr(value)[:80]


_REPORT = "`tracekit doctor` shows it again, to be reported with the build of Xcode."


def check(
    recording: Recording, run: BundleRun, memory: KnownBundles, schemas: frozenset[str]
) -> KnownBundles:
    """Compare the tables that were exported and not compared before; return what is known now.

    `memory` is what was known of the build of Xcode that recorded `run`, and is kept.
    """
    toc = read_toc(recording.toc_file)
    initial_memory = memory
    for store, file in _pairs(run, toc, schemas):
        export = recording.exports / file
        if memory.find_checked_table(store) is None and export.exists():
            table = Stored(recording.bundle, run.number, store.number)
            try:
                with collecting():  # both are read again for what is wanted of them
                    rows, difference = compare(export, table, toc)
            except InputError as error:
                log.info("%s is not compared: %s", export.name, error)
                continue
            checked = Checked(store.schema, rows, make_timestamp(), difference)
            memory = replace(memory, tables={**memory.tables, shape(store): checked})
    if memory is not initial_memory:
        try:
            save(note_file(notes_folder(), _NOTE, memory.build), memory)
        except TracekitError as error:
            log.warning("tables will be compared again: %s", error.message)
    return memory


def _pairs(run: BundleRun, toc: Toc, schemas: frozenset[str]) -> Iterator[tuple[TableStore, str]]:
    """Yield tables of the bundle with the files of their exports, the smallest tables first."""
    listed = (of_toc for of_toc in toc.runs if of_toc.number == run.number)
    of_toc = next(listed, TocRun(run.number))
    files = {file.index: file.file for file in select_tables(of_toc, schemas)}
    places = places_of(run, toc)
    # Of tables of one form, one is compared: a small one, but one with rows.
    for store in sorted(run.stores, key=lambda store: (not store.rows, store.rows)):
        index = places[store.number].index if store.number in places else 0
        if store.schema in schemas and index in files:
            yield store, files[index]


def notes_on(
    run: BundleRun,
    memory: KnownBundles,
    requested_schemas: frozenset[str],
    exported: Collection[str],
) -> tuple[str, ...]:
    """Say which tables that were asked for differ from exports, and which were never compared.

    Those that were `exported` are named only where they differ.
    """
    stores = [store for store in run.stores if store.schema in requested_schemas]
    differing = {
        store.schema: difference for store in stores if (difference := memory.difference(store))
    }
    lines = [
        f"{schema} is read otherwise than xctrace exports it ({difference}): only its export is "
        "used, "
        f"which `tracekit export` writes. {_REPORT}"
        for schema, difference in differing.items()
    ]
    new = {
        store.schema for store in stores if store.rows and memory.find_checked_table(store) is None
    }
    if names := ", ".join(sorted(new.difference(exported))):
        build = f" of build {memory.build}" if memory.build else ""
        lines.append(f"Read directly, and never compared with an export{build}: {names}.")
    return tuple(lines)


Xml = Literal["asked", "unchecked", "none"]


def rows_of_target(
    recording: Recording, pids: Collection[int]
) -> tuple[bool | None, tuple[str, ...]]:
    """Tell whether the target has GPU work, by its exports or by its bundle; and a warning.

    None where that is not known: there is no target, or no such table that can be read.
    """
    targets = frozenset(pids)
    try:
        run = find_recorded_run(recording)
        place = Choice(None if run is None else run.number)
        rows = Tables(recording.exports, targets, recording.tables, place).get("gpu_intervals")
        if rows is None:  # nothing was exported yet
            rows = Tables(recording.bundle, targets, only=place).get("gpu_intervals")
    except TracekitError as error:
        log.info("rows were not looked for: %s", error)
        return None, ()
    if rows is None or not pids:
        return None, ()
    if rows["target"].any():
        return True, ()
    if rows.empty:
        return False, (exporting.NO_ROWS,)
    numbers = ", ".join(map(str, sorted(pids)))
    warning = (
        f"{exporting.GPU_INTERVALS} has rows of other processes only: no GPU work of the target "
        f"(process {numbers}) was recorded. See whether the target was awake and used Metal."
    )
    return False, (warning,)


def export(
    recorder: XctraceRecorder,
    recording: Recording,
    choose: exporting.Choose,
    progress: Progress,
    *,
    xml: Xml = "asked",
) -> tuple[str, ...]:
    """Make the tables of a recording readable, by exports or directly; return warnings.

    `choose` says which tables it is about, `xml` which of them are exported: all that were asked
    for, those of which it is not known that they are read directly as they are exported, or none.
    A bundle of a layout that is not known is exported, whatever was asked for. Raise ToolError
    where it can neither be exported nor be read directly.
    """
    try:
        bundle = open_bundle(recording.bundle)
    except InputError as error:
        (recording.exports / DIRECT_NOTE).unlink(missing_ok=True)
        warnings = recorder.export(recording, progress, choose=choose)
        return (*warnings, f"{error.message} Its tables were exported instead.")
    recording.exports.mkdir(parents=True, exist_ok=True)
    if not recording.toc_file.exists():
        write_toc(bundle, recording.toc_file)
    toc_run = find_recorded_run(recording) or TocRun(bundle.runs[-1].number)
    run = next((run for run in bundle.runs if run.number == toc_run.number), bundle.runs[-1])
    memory = recall(read_version(toc_run.instruments_version).build, notes_folder())
    here = frozenset(table.schema for table in run.tables)
    # What the TOC lists, and what the bundle holds: a TOC may be xctrace's own.
    there = frozenset(table.schema for table in toc_run.tables) | (here - {""})
    filled = {
        table.schema for table in run.tables if not isinstance(table, TableStore) or table.rows
    }
    empty = (there & here) - filled
    requested_schemas = (choose(there) | choose(there - empty) | {exporting.TIME_INFO}) & there
    exported = _choose_exported(requested_schemas, run, memory, xml)
    warnings: tuple[str, ...] = ()
    if exported:
        directly = there - exported
        seen_tables = exporting.SeenTables(directly - empty, directly & empty)
        try:
            warnings = recorder.export(
                recording, progress, choose=exporting.choose_only(exported), seen_tables=seen_tables
            )
        except ToolError as error:
            if xml == "asked":
                raise
            warnings = (f"Nothing was exported; the bundle is read directly: {error.message}",)
        progress("comparing exports with the bundle")
        memory = check(recording, run, memory, exported)
    differing = {store.schema for store in run.stores if memory.difference(store)}
    place = recording.bundle
    name = str(place.resolve()) if place.is_symlink() else f"../{place.name}"
    read = tuple(sorted(there - differing)) if differing else None
    note_direct(recording.exports, Direct(name, read))
    files = select_tables(toc_run, exported)
    exported_schemas = {file.schema for file in files if (recording.exports / file.file).exists()}
    absence_warnings = (
        f"The recording has no table {name}." for name in sorted(choose(there) - there)
    )
    # An export says itself of all tables what is lacking.
    lack = () if exported else exporting.find_missing_data(toc_run, set(there - empty), set(empty))
    return (
        *warnings,
        *absence_warnings,
        *lack,
        *notes_on(run, memory, requested_schemas, exported_schemas),
    )


def _choose_exported(
    requested_schemas: frozenset[str], run: BundleRun, memory: KnownBundles, xml: Xml
) -> frozenset[str]:
    """Return which of the tables that are asked for are exported."""
    if xml != "unchecked":
        return requested_schemas if xml == "asked" else frozenset()
    unequal = {
        table.schema
        for table in run.tables
        if not isinstance(table, TableStore)
        or (checked_table := memory.find_checked_table(table)) is None
        or checked_table.difference
    }
    return requested_schemas - ({table.schema for table in run.tables} - unequal)
