"""The tables of a recording of this Mac: read directly where that is known to be right.

Once for each build of Xcode and each form of a table, the table is exported too and compared with
the direct read. Where they are equal, later recordings are not exported; where they differ, the
export is what counts, and a warning says what differs.
"""

import logging
from collections.abc import Collection
from typing import Literal

from tracekit.base import InputError, Recording, ToolError, TracekitError, notes_folder
from tracekit.record.direct_reading.compare import Memory, check, notes_on, recall
from tracekit.record.recorder import Progress
from tracekit.record.xctrace.exporting import (
    GPU_INTERVALS,
    NO_ROWS,
    TIME_INFO,
    Choose,
    Seen,
    lacking,
    only,
)
from tracekit.record.xctrace.recorder import XctraceRecorder
from tracekit.record.xctrace.tool import read_version
from tracekit.tables import (
    DIRECT_NOTE,
    BundleRun,
    Choice,
    Direct,
    Store,
    Tables,
    TocRun,
    note_direct,
    opened,
    own,
    wanted,
    write_toc,
)

log = logging.getLogger(__name__)

Xml = Literal["asked", "unchecked", "none"]


def rows_of_target(
    recording: Recording, pids: Collection[int]
) -> tuple[bool | None, tuple[str, ...]]:
    """Tell whether the target has GPU work, by its exports or by its bundle; and a warning.

    None where that is not known: there is no target, or no such table that can be read.
    """
    targets = frozenset(pids)
    try:
        run = own(recording)
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
        return False, (NO_ROWS,)
    numbers = ", ".join(map(str, sorted(pids)))
    only_others = (
        f"{GPU_INTERVALS} has rows of other processes only: no GPU work of the target (process "
        f"{numbers}) was recorded. See whether the target was awake and used Metal."
    )
    return False, (only_others,)


def export(
    recorder: XctraceRecorder,
    recording: Recording,
    choose: Choose,
    progress: Progress,
    *,
    xml: Xml = "asked",
) -> tuple[str, ...]:
    """Make the tables of a recording readable, by exports or directly; return warnings.

    A bundle of a layout that is not known is exported, whatever was asked for.

    Args:
        recorder: What exports.
        recording: The recording, with its bundle.
        choose: Which tables it is about.
        progress: Is called with what is being done.
        xml: Which of the tables are exported as XML: all of them, those of which it is not known
            that they are read directly as they are exported, or none.

    Raises:
        ToolError: The bundle cannot be exported, and cannot be read directly either.
        RecordingError: The run has no bundle, or its folder cannot be written.
    """
    try:
        bundle = opened(recording.bundle)
    except InputError as error:
        (recording.exports / DIRECT_NOTE).unlink(missing_ok=True)
        said = recorder.export(recording, progress, choose=choose)
        return (*said, f"{error.message} Its tables were exported instead.")
    recording.exports.mkdir(parents=True, exist_ok=True)
    if not recording.toc_file.exists():
        write_toc(bundle, recording.toc_file)
    toc_run = own(recording) or TocRun(bundle.runs[-1].number)
    run = next((run for run in bundle.runs if run.number == toc_run.number), bundle.runs[-1])
    memory = recall(read_version(toc_run.instruments_version).build, notes_folder())
    here = frozenset(table.schema for table in run.tables)
    # What the TOC lists, and what the bundle holds: a TOC may be xctrace's own.
    there = frozenset(table.schema for table in toc_run.tables) | (here - {""})
    filled = {table.schema for table in run.tables if not isinstance(table, Store) or table.rows}
    empty = (there & here) - filled
    asked = (choose(there) | choose(there - empty) | {TIME_INFO}) & there
    exported = _exported(asked, run, memory, xml)
    said: tuple[str, ...] = ()
    if exported:
        directly = there - exported
        seen = Seen(directly - empty, directly & empty)
        try:
            said = recorder.export(recording, progress, choose=only(exported), seen=seen)
        except ToolError as error:
            if xml == "asked":
                raise
            said = (f"Nothing was exported; the bundle is read directly: {error.message}",)
        progress("comparing exports with the bundle")
        memory = check(recording, run, memory, exported)
    _note(recording, there, {store.schema for store in run.stores if memory.difference(store)})
    files = wanted(toc_run, exported)
    written = {file.schema for file in files if (recording.exports / file.file).exists()}
    absent = (f"The recording has no table {name}." for name in sorted(choose(there) - there))
    # An export says itself of all tables what is lacking.
    lack = () if exported else lacking(toc_run, set(there - empty), set(empty))
    return (*said, *absent, *lack, *notes_on(run, memory, asked, written))


def _exported(asked: frozenset[str], run: BundleRun, memory: Memory, xml: Xml) -> frozenset[str]:
    """Return which of the tables that are asked for are exported."""
    if xml != "unchecked":
        return asked if xml == "asked" else frozenset()
    unequal = {
        table.schema
        for table in run.tables
        if not isinstance(table, Store) or (known := memory.of(table)) is None or known.difference
    }
    return asked - ({table.schema for table in run.tables} - unequal)


def _note(recording: Recording, there: frozenset[str], differing: set[str]) -> None:
    """Let the tables be read from the bundle, but for those that are read otherwise."""
    schemas = tuple(sorted(there - differing)) if differing else None
    bundle = recording.bundle
    name = f"../{bundle.name}" if not bundle.is_symlink() else str(bundle.resolve())
    note_direct(recording.exports, Direct(name, schemas))
