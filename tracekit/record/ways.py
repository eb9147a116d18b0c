"""The choice between two ways to record a workload: launch it, or attach to it.

Neither way is safe: on some machines launching misses most rows of a Python, on others attaching
does. So the rows are counted against the workload's own steps if the user leaves the choice. If few
are there, the workload is recorded once more the other way, and the way that worked is kept for
this machine and this Xcode.
"""

import logging
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tracekit.analysis import count_jobs
from tracekit.base import (
    InputError,
    Recording,
    TracekitError,
    capabilities,
    documents,
    files,
    make_timestamp,
)
from tracekit.record.beliefs import choose_truth
from tracekit.record.doctor.examine import resolve_plan
from tracekit.record.doctor.surroundings import DoctorSurroundings
from tracekit.record.known_bundles import note_file, read_note
from tracekit.record.observe import observe, request_for
from tracekit.record.progress import Progress
from tracekit.record.recorder import FinishedRecording, NoProcessError, Recorder
from tracekit.record.target_rows import read_gpu_intervals
from tracekit.record.xctrace.attached_worker import errors_file
from tracekit.record.xctrace.exporting import GPU_INTERVALS, choose_only
from tracekit.record.xctrace.recorder import XctraceRecorder
from tracekit.record.xctrace.tool import read_version
from tracekit.workload import IDLE, Plan, journal

log = logging.getLogger(__name__)

FORMAT = 1
_NOTE = "way"
_FEW = 0.5  # of the jobs; with fewer, the other way is worth a try
_OTHER: dict[capabilities.Mode, capabilities.Mode] = {"launch": "attach", "attach": "launch"}
_DOING: dict[capabilities.Mode, str] = {"launch": "launching it", "attach": "attaching to it"}


@dataclass(frozen=True)
class KnownWay:
    """The way to record a workload that gave rows on a machine, when the other one did not."""

    identity: capabilities.Identity
    method: str = ""  # launch or attach; empty if none is known
    kept: str = ""  # when it was found, ISO 8601
    format: int = FORMAT


def _identify(recorder: Recorder) -> capabilities.Identity:
    return DoctorSurroundings().identify(read_version(recorder.version()))


def _file(identity: capabilities.Identity, folder: Path) -> Path:
    parts = (identity.system_build, identity.xcode_build, identity.chip)
    return note_file(folder, _NOTE, *parts)


def recall_way(identity: capabilities.Identity, folder: Path) -> KnownWay:
    """Return the way that was kept for this very machine; one without a method if there is none."""
    return read_note(_file(identity, folder), KnownWay(identity))


def choose_way(
    plan: Plan, recorder: Recorder, matrix: capabilities.Capabilities | None
) -> tuple[Plan, tuple[str, ...], bool]:
    """Return the plan with every `auto` that can be decided, notes on that, and whether it is open.

    The way that was kept for this machine decides on the method, unless a probe of it is newer. It
    is open if the user left the way to record a workload to us, so that the other one may follow.
    """
    is_way_open = leaves_way_open(plan, recorder)
    plan, way_notes = _resolve_way(plan, recorder, matrix)
    plan, notes = resolve_plan(plan, matrix)
    return plan, (*way_notes, *notes), is_way_open


def _resolve_way(
    plan: Plan, recorder: Recorder, matrix: capabilities.Capabilities | None
) -> tuple[Plan, tuple[str, ...]]:
    """Return the plan with the way that was kept, if it left the choice, and a note on it."""
    if not leaves_way_open(plan, recorder):
        return plan, ()
    identity = _identify(recorder)
    way = recall_way(identity, files.notes_folder())
    if not way.method and matrix is None and _is_attaching_better(identity):
        return replace(plan, method="attach"), (_LEARNED_WAY,)
    if not way.method or (matrix is not None and matrix.probed > way.kept):
        return plan, ()
    note = (
        f"The workload was recorded by {_DOING[_mode(way.method)]}: the other way missed its work "
        "on this machine with this Xcode. `--method` chooses."
    )
    return replace(plan, method=way.method), (note,)


_LEARNED_WAY = (
    "The workload was recorded by attaching to it: machines with this chip and this Xcode answered "
    "that launching gives no rows. `--method` chooses."
)


def _is_attaching_better(identity: capabilities.Identity) -> bool:
    """Return whether only attaching gives rows, by the beliefs about this chip and Xcode."""
    rows_by_mode: dict[str, bool] = {}
    for mode in ("launch", "attach"):
        belief = f"{mode}-gives-rows"
        rows_by_mode[mode] = choose_truth(belief, identity.xcode_build, identity.chip)
    return rows_by_mode["attach"] and not rows_by_mode["launch"]


def leaves_way_open(plan: Plan, recorder: Recorder) -> bool:
    """Return whether the user left it to us how xctrace records a workload."""
    return recorder.name == "xctrace" and plan.workload is not None and plan.method == "auto"


def _mode(method: str) -> capabilities.Mode:
    return "attach" if method == "attach" else "launch"


@dataclass(frozen=True)
class WayOutcome:
    """The outcome of one way: its recording, or the error that came instead."""

    mode: capabilities.Mode
    recorded: FinishedRecording | None = None
    error: TracekitError | None = None
    # the recorded and the expected GPU jobs of its steady steps; None if they are not known
    jobs: tuple[int, int] | None = None

    @property
    def is_poor(self) -> bool:
        """Whether the other way is worth a try."""
        if self.recorded is None:
            return True
        if self.recorded.interrupted:
            return False
        if self.recorded.is_silent:
            return True
        return 0.0 <= self.worth < _FEW and self.jobs is not None

    @property
    def worth(self) -> float:
        """A number by which two ways are compared: the share of jobs, below 0 without any."""
        if self.recorded is None:
            return -2.0
        if self.recorded.is_silent or self.recorded.failure:
            return -1.0
        if self.jobs is None:
            return 0.0
        recorded, expected = self.jobs
        return recorded / expected

    @property
    def words(self) -> str:
        """The outcome as the end of a sentence."""
        if isinstance(self.error, NoProcessError):
            return "did not find the process"
        if self.recorded is None:
            return "failed"
        if self.recorded.is_silent:
            return "left it idle"
        if self.jobs is None:
            return "gave a recording whose rows cannot be counted"
        recorded, expected = self.jobs
        return f"gave {recorded:,} of {expected:,} GPU jobs"


def record_plan(
    plan: Plan, recorder: Recorder, recording: Recording, progress: Progress, *, is_way_open: bool
) -> FinishedRecording:
    """Record a plan, and a workload once more the other way if the first one missed its work.

    That is so only if the way to record it `is_way_open`. The better of two recordings is the
    run's; the files of the other one are kept in its folder, with the way in their names. Raise the
    error of the recorder if no way gives a recording.
    """
    if not is_way_open:
        request = request_for(plan, recording, recorder)
        return observe(recorder, request, recording, progress, plan.telemetry)
    first_mode = _mode(plan.method)
    first = _try_way(plan, first_mode, recorder, recording, progress)
    if not first.is_poor:
        assert first.recorded is not None
        return first.recorded
    second_mode = _OTHER[first_mode]
    progress(f"{_DOING[first_mode]} {first.words}; recording once more by {_DOING[second_mode]}")
    move_aside(recording, first_mode)
    try:
        second = _try_way(plan, second_mode, recorder, recording, progress)
    except TracekitError as error:
        log.warning("the other way failed: %s", error.message)
        second = WayOutcome(second_mode, error=error)
    if second.worth > first.worth:
        assert second.recorded is not None
        note = _note(first, second)
        if not second.is_poor and not second.recorded.failure:
            note = f"{note} {_keep(recorder, second_mode)}"
        return _with_note(second.recorded, note)
    move_aside(recording, second_mode)
    bring_back(recording, first_mode)
    if first.recorded is None:
        assert first.error is not None
        raise first.error
    return _with_note(first.recorded, _note(first, second))


def _with_note(recorded: FinishedRecording, note: str) -> FinishedRecording:
    return replace(recorded, warnings=(note, *recorded.warnings))


def _note(first: WayOutcome, second: WayOutcome) -> str:
    head = f"Recorded twice: {_DOING[first.mode]} {first.words}, {_DOING[second.mode]}"
    return f"{head} {second.words}."


def _keep(recorder: Recorder, mode: capabilities.Mode) -> str:
    """Keep the way for this machine, unless it is virtual; return a sentence on it."""
    if DoctorSurroundings().machine.is_virtual:
        return "The way is not kept: this Mac is a virtual machine."
    identity = _identify(recorder)
    folder = files.notes_folder()
    try:
        documents.save(_file(identity, folder), KnownWay(identity, mode, make_timestamp()))
    except TracekitError as error:
        return f"The way is not kept: {error.message}"
    return "That way is kept for this machine and this Xcode; `--method` chooses."


def _try_way(
    plan: Plan,
    mode: capabilities.Mode,
    recorder: Recorder,
    recording: Recording,
    progress: Progress,
) -> WayOutcome:
    request = request_for(replace(plan, method=mode), recording, recorder)
    try:
        recorded = observe(recorder, request, recording, progress, plan.telemetry)
    except NoProcessError as error:
        return WayOutcome(mode, error=error)
    jobs = None
    try:
        jobs = count_recorded_jobs(recorder, recording, recorded, progress)
    except TracekitError as error:
        log.info("the rows are not counted: %s", error.message)
    return WayOutcome(mode, recorded, jobs=jobs)


def count_recorded_jobs(
    recorder: Recorder, recording: Recording, recorded: FinishedRecording, progress: Progress
) -> tuple[int, int] | None:
    """Return the recorded and the expected GPU jobs of the steady steps; None if not known.

    The rows are read from the bundle, or from an export of their table if the layout is unknown.
    """
    report = journal.fold(recording.journal_file)
    steps = [step for step in report.steps if step.phase == "steady" and step.variant != IDLE]
    origin = recorded.clock.get("origin")
    if report.backend != "metal" or not steps or origin is None:
        return None
    targets = frozenset(target.pid for target in recorded.targets)
    try:
        rows = read_gpu_intervals(recording, targets)
    except InputError as error:
        log.info("the rows are read from an export: %s", error.message)
        assert isinstance(recorder, XctraceRecorder)
        recorder.export(recording, progress, choose=choose_only([GPU_INTERVALS]))
        rows = read_gpu_intervals(recording, targets)
    if rows is None:
        return None
    starts = np.array([step.start for step in steps], np.int64) - int(origin)
    ends = np.array([step.completed for step in steps], np.int64) - int(origin)
    works = report.variants.values() or [report.model]
    each = min(1 if work.dispatches is None else work.dispatches for work in works)
    jobs = rows.loc[rows["target"].astype(bool), "start"].to_numpy(np.int64)
    margin = int(recorded.clock.get("uncertainty") or 0)
    completeness = count_jobs(starts, ends, jobs, each, margin)
    return completeness.recorded, completeness.expected


def move_aside(recording: Recording, mode: capabilities.Mode) -> None:
    """Keep the files of a recording under names with its way in them; its exports can be remade."""
    shutil.rmtree(recording.exports, ignore_errors=True)
    _rename(recording, lambda path: path, lambda path: _aside(path, mode))


def bring_back(recording: Recording, mode: capabilities.Mode) -> None:
    """Give the files of a recording that was moved aside their names again."""
    _rename(recording, lambda path: _aside(path, mode), lambda path: path)


def _aside(path: Path, mode: capabilities.Mode) -> Path:
    return path.with_name(f"{path.stem}-by-{mode}{path.suffix}")


def _rename(recording: Recording, old: Callable[[Path], Path], new: Callable[[Path], Path]) -> None:
    for path in (
        recording.bundle,
        recording.journal_file,
        recording.workload_file,
        recording.spec_file,
        recording.template_file,
        recording.gauges_file,
        recording.target_output_file,
        errors_file(recording),
    ):
        if old(path).exists():
            old(path).rename(new(path))
