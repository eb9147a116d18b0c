"""The questions that need the GPU of a chip: rows against dispatches, counter profiles, the clock.

A program dispatches a known number of kernels while it is recorded; the trace must have a GPU
interval for each. A virtual machine is not asked.
"""

import json
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracekit.base import InputError, TracekitError, capabilities, choices
from tracekit.record.beliefs import LongerThan
from tracekit.record.doctor.interpreters import find_interpreters, list_package_folders
from tracekit.record.doctor.interview import Answer, NotAnsweredError, Observed, Trial
from tracekit.record.doctor.questions import DoctorQuestion
from tracekit.record.target_rows import count_samples
from tracekit.record.xctrace.command import target_environment
from tracekit.record.xctrace.counter_template import choose_profile, find_generation
from tracekit.record.xctrace.templates import SUFFIX, draft, template_file, template_files, write
from tracekit.tables import Tables

_DISPATCHES = 100
_SETTLED = 3.0  # seconds from the line that it records until the GPU's source surely does
_BUSY_SECONDS = 3.0
_NS = 1e9
_MODES: tuple[capabilities.Mode, ...] = ("launch", "attach")


@dataclass(frozen=True)
class _RecordedWork:
    """A recording of the program: its tables, and the dispatches that it made meanwhile."""

    tables: Tables
    dispatches: int

    @property
    def rows(self) -> int:
        """GPU intervals of the program."""
        intervals = self.tables.get("gpu_intervals")
        if intervals is None:
            return 0
        return int(intervals["target"].sum())

    @property
    def is_complete(self) -> bool:
        """Whether there is an interval for each dispatch."""
        return self.rows >= self.dispatches


@dataclass(frozen=True)
class _WorkRecorder:
    """Records the program of one question, run by one interpreter."""

    trial: Trial
    interpreter: Path = Path(sys.executable)
    work: tuple[str, str] = ("dispatches", str(_DISPATCHES))

    def record(
        self,
        name: str,
        mode: capabilities.Mode,
        options: Sequence[str] = ("--template", choices.METAL_SYSTEM_TRACE),
    ) -> _RecordedWork:
        """Launch or attach to the program, record its work, and read the tables.

        Raise NotAnsweredError if the program fails, or nothing can be recorded.
        """
        folder = self.trial.folder / name
        folder.mkdir()
        gpu = self.trial.interview.gpu
        program = (str(self.interpreter), str(gpu.program), str(folder), *self.work)
        packages = {"PYTHONPATH": list_package_folders()}
        words = (
            *("record", *options, "--time-limit", "120s"),
            *("--output", str(self.trial.bundle(name)), "--no-prompt"),
        )
        if mode == "launch":
            variables: list[str] = []
            for variable, value in target_environment(packages).items():
                variables += ["--env", f"{variable}={value}"]
            process = self.trial.start(*words, *variables, "--launch", "--", *program)
        else:
            target = self.trial.start_program(program, **packages)
            self._await(folder, "ready")
            process = self.trial.start(*words, "--attach", str(target.pid))
        process.wait_for("line-started")
        self._await(folder, "ready")
        self.trial.wait(_SETTLED * gpu.haste)
        (folder / "go").touch()
        report: dict[str, Any] = json.loads(self._await(folder, "done"))
        process.child.send(signal.SIGINT)
        process.finish()
        tables = _read_tables(self.trial, self.trial.bundle(name), int(report["pid"]))
        return _RecordedWork(tables, int(report["dispatches"]))

    def _await(self, folder: Path, name: str) -> str:
        """Wait for a file of the program, and return its text."""
        while not (folder / name).exists():
            if (folder / "failed").exists():
                reason = (folder / "failed").read_text().strip()
                raise NotAnsweredError(f"the program failed: {reason}")
            self.trial.pause()
        return (folder / name).read_text()


def _read_tables(trial: Trial, bundle: Path, pid: int) -> Tables:
    """Return the tables of a bundle, or of its exports if the layout is not known."""
    targets = frozenset({pid})
    try:
        tables = Tables(bundle, targets)
        tables.get("gpu_intervals")
    except InputError:
        exports = trial.folder / f"{bundle.stem}-exports"
        exports.mkdir()
        trial.run("export", "--input", str(bundle), "--output", str(exports / "toc.xml"), "--toc")
        for schema in _EXPORTED:
            path = f'/trace-toc/run[@number="1"]/data/table[@schema="{schema}"]'
            output = str(exports / f"{schema}.xml")
            trial.run("export", "--input", str(bundle), "--output", output, "--xpath", path)
        tables = Tables(exports, targets)
    return tables


_EXPORTED = (
    "metal-gpu-intervals",
    "metal-gpu-counter-intervals",
    "gpu-performance-state-intervals",
)


def _rows(trial: Trial) -> Observed:
    recorder = _WorkRecorder(trial)
    observed: dict[str, Answer] = {}
    rows: dict[capabilities.Mode, int] = {}
    try:
        for mode in _MODES:
            work = recorder.record(mode, mode)
            rows[mode] = work.rows
            observed[f"{mode}-complete"] = work.is_complete
        best_mode = max(_MODES, key=lambda mode: rows[mode])
        options: list[str] = []
        for instrument in choices.LIGHT:
            options += ["--instrument", instrument]
        observed["light-complete"] = recorder.record("light", best_mode, options).is_complete
    except NotAnsweredError as error:
        raise NotAnsweredError(str(error), observed) from error
    return observed


def _interpreters(trial: Trial) -> Observed:
    observed: dict[str, Answer] = {}
    reason = "no such Python with the version of this one is here"
    for interpreter in trial.interview.gpu.interpreters or tuple(find_interpreters()):
        recorder = _WorkRecorder(trial, interpreter.path)
        has_rows = False
        try:
            for mode in _MODES:
                work = recorder.record(f"{interpreter.kind}-{mode}", mode)
                has_rows = has_rows or work.rows > 0
        except NotAnsweredError as error:
            reason = str(error)
            if not has_rows:
                continue
        observed[f"{interpreter.kind}-python-gives-rows"] = has_rows
    raise NotAnsweredError(reason, observed)


_EARLY_PROFILES = (3, 4, 1, 2)
_LATE_PROFILES = (13, 14, 3)


def _profiles(trial: Trial) -> Observed:
    chip = trial.interview.chip
    generation = find_generation(chip)
    if generation is None:
        raise NotAnsweredError(f"{chip or 'the chip'} is not an M chip")
    is_late = choose_profile(chip, "") is not None
    profiles = _LATE_PROFILES if is_late else _EARLY_PROFILES
    belief = "late-chip-profile" if is_late else "early-chip-profile"
    files = template_files(trial.interview.gpu.home, trial.interview.tool.path)
    recorder = _WorkRecorder(trial)
    for profile in profiles:
        path = trial.folder / f"profile-{profile}{SUFFIX}"
        try:
            source = template_file(choices.METAL_SYSTEM_TRACE, files)
            write(path, draft(source, path, profile, None)[1])
        except TracekitError as error:
            raise NotAnsweredError(error.message.rstrip(".")) from error
        work = recorder.record(f"profile-{profile}", "launch", ("--template", str(path)))
        if count_samples(work.tables):
            return {belief: profile}
    raise NotAnsweredError(f"none of the profiles {', '.join(map(str, profiles))} gave samples")


def _clock_ramp(trial: Trial) -> Observed:
    recorder = _WorkRecorder(
        trial, work=("seconds", str(_BUSY_SECONDS * trial.interview.gpu.haste))
    )
    tables = recorder.record("ramp", "launch").tables
    intervals = tables.get("gpu_intervals")
    states = tables.get("gpu_performance_states")
    if intervals is None or not intervals["target"].any():
        raise NotAnsweredError("the recording has no GPU work of the program")
    if states is None or states.empty:
        raise NotAnsweredError("the recording has no performance states")
    work = intervals[intervals["target"]]
    start = int(work["start"].min())
    end = int((work["start"] + work["duration"]).max())
    best = states[states["state"].eq("Maximum") & (states["start"] + states["duration"] > start)]
    if best.empty or int(best["start"].min()) > end:
        return {"clock-ramp-seconds": LongerThan(round((end - start) / _NS, 2))}
    ramp = max(0, int(best["start"].min()) - start)
    return {"clock-ramp-seconds": round(ramp / _NS, 2)}


GPU_QUESTIONS: tuple[DoctorQuestion, ...] = (
    DoctorQuestion("rows", "Is each dispatch in the trace?", _rows, 300.0, needs_gpu=True),
    DoctorQuestion(
        "interpreters", "Do other Pythons give rows?", _interpreters, 600.0, needs_gpu=True
    ),
    DoctorQuestion(
        "profiles", "Which counter profile gives samples?", _profiles, 400.0, needs_gpu=True
    ),
    DoctorQuestion(
        "clock-ramp", "How long until the best clock?", _clock_ramp, 120.0, needs_gpu=True
    ),
)
