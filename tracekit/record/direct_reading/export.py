"""The tables of a recording of this Mac: read directly where that is known to be right.

Once for each build of Xcode and each form of a table, the table is exported too and compared with
the direct read. Where they are equal, later recordings are not exported; where they differ, the
export is what counts, and a warning says what differs.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Literal

import pyarrow.compute as pc

from tracekit.base import InputError, Recording, ToolError, notes_folder
from tracekit.record.direct_reading.compare import build_of, check, notes_on, recall
from tracekit.record.recorder import Progress
from tracekit.record.xctrace.exporting import GPU_INTERVALS, TIME_INFO, Choose, Seen, lacking, only
from tracekit.record.xctrace.outcome import target_has_rows, without_rows
from tracekit.record.xctrace.recorder import XctraceRecorder
from tracekit.tables import (
    DIRECT_NOTE,
    Bundle,
    BundleReader,
    BundleRun,
    Direct,
    Store,
    TocRun,
    UnknownBundleError,
    note_direct,
    opened,
    own,
    wanted,
    write_toc,
)


def named_directly(bundle: Path, run: TocRun, *, unchecked: bool = False) -> frozenset[int] | None:
    """Return the processes with GPU intervals; None where that is not surely known.

    Args:
        bundle: The bundle.
        run: The run to look at, as the table of contents has it; its build of Instruments counts.
        unchecked: Whether a table may be read that was never compared with an export.
    """
    memory = recall(build_of(run.instruments_version), notes_folder())
    trusted = {"equal", "unchecked"} if unchecked else {"equal"}
    try:
        runs = opened(bundle).runs
        same = next((other for other in runs if other.number == run.number), runs[-1])
        stores = [store for store in same.stores if store.schema == GPU_INTERVALS]
        if not stores or any(memory.standing(store) not in trusted for store in stores):
            return None
        return frozenset(pid for store in stores for pid in _pids(same, store))
    except InputError:
        return None


def rows_of_target(
    recording: Recording, pids: Collection[int]
) -> tuple[bool | None, tuple[str, ...]]:
    """Tell whether the target has GPU work, by its exports or by its bundle; and a warning.

    None where that is not known: there is no target, or no such table.
    """
    found, named = target_has_rows(recording, pids), None
    run = own(recording)
    if found is None and pids and run is not None:
        named = named_directly(recording.bundle, run, unchecked=True)
        found = None if named is None else not named.isdisjoint(pids)
    warnings = (without_rows(recording, pids, named),) if found is False else ()
    return found, warnings


def _pids(run: BundleRun, store: Store) -> Iterator[int]:
    for piece in BundleReader(run, store, "").pieces():
        for column in piece.columns:
            if column.column.mnemonic == "process" and column.pids is not None:
                yield from pc.call_function("unique", [column.pids]).drop_null().to_pylist()


Xml = Literal["asked", "unchecked", "none"]


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
        return (*said, *_unread(error))
    recording.exports.mkdir(parents=True, exist_ok=True)
    if not recording.toc_file.exists():
        write_toc(bundle, recording.toc_file)
    return _Export(recorder, recording, bundle, choose, xml).done(progress)


def _unread(error: InputError) -> tuple[str, ...]:
    """Say why a bundle was exported; that it has no layout at all is no news to anyone."""
    if isinstance(error, UnknownBundleError):
        return (f"{error.message} Its tables were exported instead.",)
    return (f"The bundle could not be read directly, so it was exported: {error.message}",)


class _Export:
    def __init__(
        self,
        recorder: XctraceRecorder,
        recording: Recording,
        bundle: Bundle,
        choose: Choose,
        xml: Xml,
    ) -> None:
        self._recorder = recorder
        self._recording = recording
        self._bundle = bundle
        self._choose, self._xml = choose, xml
        self._toc_run = own(recording) or TocRun(bundle.runs[-1].number)
        same = (run for run in bundle.runs if run.number == self._toc_run.number)
        self._run: BundleRun = next(same, bundle.runs[-1])
        self._memory = recall(build_of(self._toc_run.instruments_version), notes_folder())

    def done(self, progress: Progress) -> tuple[str, ...]:
        asked = self._wanted()
        exported = self._exported(asked)
        said: tuple[str, ...] = ()
        if exported:
            said = self._export(exported, progress)
            progress("comparing exports with the bundle")
            self._memory = check(self._recording, self._run, self._memory, exported)
        differing = self._of_standing("differs", self._schemas())
        self._note(differing)
        files = wanted(self._toc_run, exported)
        there = {file.schema for file in files if (self._recording.exports / file.file).exists()}
        notes = notes_on(self._run, self._memory, asked, there)
        return (*said, *self._absent(), *self._lacking(exported), *notes)

    def _schemas(self) -> frozenset[str]:
        """Return what the TOC lists, and what the bundle holds: a TOC may be xctrace's own."""
        listed = (table.schema for table in self._toc_run.tables)
        return frozenset((*listed, *(table.schema for table in self._run.tables if table.schema)))

    def _wanted(self) -> frozenset[str]:
        there = self._schemas()
        filled = there - self._empty(there)
        return (self._choose(there) | self._choose(filled) | {TIME_INFO}) & there

    def _empty(self, schemas: frozenset[str]) -> frozenset[str]:
        here = frozenset(table.schema for table in self._run.tables)
        filled = {
            table.schema for table in self._run.tables if not isinstance(table, Store) or table.rows
        }
        return (schemas & here) - filled

    def _of_standing(self, standing: str, schemas: frozenset[str]) -> frozenset[str]:
        return frozenset(
            store.schema
            for store in self._run.stores
            if store.schema in schemas and self._memory.standing(store) == standing
        )

    def _exported(self, asked: frozenset[str]) -> frozenset[str]:
        if self._xml == "none":
            return frozenset()
        if self._xml == "asked":
            return asked
        unreadable = {table.schema for table in self._run.tables if not isinstance(table, Store)}
        unequal = self._of_standing("differs", asked) | self._of_standing("unchecked", asked)
        equal = self._of_standing("equal", asked) - unequal - unreadable
        return asked - equal

    def _export(self, schemas: frozenset[str], progress: Progress) -> tuple[str, ...]:
        directly = self._schemas() - schemas
        empty = self._empty(directly)
        seen = Seen(directly - empty, empty)
        try:
            return self._recorder.export(self._recording, progress, choose=only(schemas), seen=seen)
        except ToolError as error:
            if self._xml == "asked":
                raise
            return (f"Nothing was exported; the bundle is read directly: {error.message}",)

    def _note(self, differing: frozenset[str]) -> None:
        schemas = tuple(sorted(self._schemas() - differing)) if differing else None
        bundle = self._recording.bundle
        name = f"../{bundle.name}" if not bundle.is_symlink() else str(bundle.resolve())
        note_direct(self._recording.exports, Direct(name, schemas))

    def _absent(self) -> tuple[str, ...]:
        there = self._schemas()
        missing = sorted(self._choose(there) - there)
        return tuple(f"The recording has no table {name}." for name in missing)

    def _lacking(self, exported: frozenset[str]) -> tuple[str, ...]:
        if exported:  # the export has said it of all tables
            return ()
        there = self._schemas()
        empty = self._empty(there)
        return tuple(lacking(self._toc_run, set(there - empty), set(empty)))
