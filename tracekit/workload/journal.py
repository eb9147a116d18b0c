"""A workload's own account of its run, written as it happens.

The worker appends one line of JSON for each mark, so that a crash loses no measurement; `fold`
turns the lines into one WorkloadReport, which is saved as `workload.json`. Times are nanoseconds of
the system-wide monotonic clock (`time.monotonic_ns`), which on macOS counts mach ticks and so can
be mapped to a trace's own time.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, BinaryIO, Self

import msgspec

from tracekit.base import RecordingError, documents, files
from tracekit.workload.workload import Gauge, KernelLaunch, Measured, Memory, Request, Span, Work

FORMAT = 1
LEFT = 0.1
"""The least share of a step that is left to wait for after it was submitted.

A step with less did its work inside `submit`, and no clock separates it from its preparation."""
SUBMIT_INCLUDED = "submit included"
"""The end of the channel's name of such a step's work, which is somewhere in the whole step."""


@dataclass(frozen=True)
class Phase:
    """A stretch of a workload's life: prepare, warm-up, waiting, steady, overhead."""

    name: str
    start: int
    end: int | None = None


@dataclass(frozen=True)
class StepMark:
    """One step: when it began, when it was handed over, when it was seen complete.

    `tokens` is None if the step did not report its number: then it is the model's. CPU times are of
    the worker's process, in ns; None in marks of an older worker.
    """

    phase: str
    start: int
    submitted: int
    completed: int
    variant: str = ""
    tokens: int | None = None
    submit_cpu: int | None = None  # of the calling thread, until the step was handed over
    submit_other_cpu: int | None = None  # of all other threads meanwhile
    wait_cpu: int | None = None  # of all threads, from then until it was complete

    def measure_spans_in_submit(self, spans: Sequence[Span]) -> int:
        """Return the time in `submit`, in ns, that spans account for, up to all of it."""
        spanned_time = 0
        for span in spans:
            if self.start <= span.start and span.end <= self.submitted:
                spanned_time += span.end - span.start
        return min(self.submitted - self.start, spanned_time)

    def worked_in_submit(self, host: int = 0) -> int:
        """Return the ns that other threads worked while the calling one was blocked in `submit`.

        `host` is the time in `submit` that the workload's spans account for, in ns.
        """
        if self.submit_cpu is None or self.submit_other_cpu is None:
            return 0
        length = self.submitted - self.start
        held_up = max(0, length - self.submit_cpu)
        return min(held_up, self.submit_other_cpu, length - host)

    def is_undivided(self, host: int = 0) -> bool:
        """Return whether almost nothing was left to wait for once it was handed over.

        `host` is the time in `submit` that the workload's spans account for, in ns.
        """
        wait_time = self.completed - self.submitted
        own_time = self.completed - self.start - host
        return wait_time < LEFT * own_time


@dataclass(frozen=True)
class StepBlock:
    """Some steps in a row, all recorded or all unrecorded, to measure the cost of recording."""

    recorded: bool
    start: int
    end: int
    steps: int


@dataclass(frozen=True)
class Specialization:
    """A pipeline that the workload made, and when it was first seen."""

    name: str
    at: int


@dataclass(frozen=True)
class ClockAnchor:
    """One moment on two clocks: monotonic and since the epoch, both nanoseconds."""

    monotonic: int
    epoch: int

    @classmethod
    def read_clocks(cls) -> Self:
        """Read both clocks, as close together as Python allows."""
        return cls(time.monotonic_ns(), time.time_ns())


@dataclass(frozen=True)
class WorkloadReport:
    """A workload's whole account of its run; saved as `workload.json`.

    `state` is the last known of preparing, warming, waiting, steady, capturing, done, interrupted
    and failed. `complete` if the worker itself closed its account. `error`, `hint` and `exit_code`
    are those of a failure. `overhead_reason` is why the worker did not try to measure the cost of
    recording. `unreadable` counts the lines of the journal that could not be understood, such as
    one cut in half by a crash. `start` distinguishes the process from a later one with its `pid`,
    as in `tracekit.base.processes`; 0 if the worker did not report it.
    """

    format: int = FORMAT
    workload: str = ""
    parameters: dict[str, Any] = field(default_factory=dict[str, Any])
    pid: int = 0
    start: int = 0
    thread: int = 0
    process: str = ""
    backend: str = ""
    device: dict[str, Any] = field(default_factory=dict[str, Any])
    mlx: str = ""
    state: str = "preparing"
    complete: bool = False
    error: str = ""
    hint: str = ""
    exit_code: int | None = None
    model: Work = field(default_factory=Work)
    anchors: tuple[ClockAnchor, ...] = ()
    phases: tuple[Phase, ...] = ()
    steps: tuple[StepMark, ...] = ()
    blocks: tuple[StepBlock, ...] = ()
    specializations: tuple[Specialization, ...] = ()
    launches: tuple[KernelLaunch, ...] = ()
    variants: dict[str, Work] = field(default_factory=dict[str, Work])
    spans: tuple[Span, ...] = ()
    gauges: tuple[Gauge, ...] = ()
    requests: tuple[Request, ...] = ()
    memory: tuple[Memory, ...] = ()
    results: dict[str, Measured] = field(default_factory=dict[str, Measured])
    warnings: tuple[str, ...] = ()
    overhead_reason: str = ""
    unreadable: int = 0


class Journal:
    """The worker's side: append marks to a file, one write a mark, nothing buffered."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file: BinaryIO = path.open("ab", buffering=0)
        except OSError as error:
            raise RecordingError(f"{path} cannot be written: {error.strerror}.") from error

    def write(self, mark: str, **values: Any) -> None:
        """Append one mark, such as `write("phase", name="steady", start=...)`."""
        self.append({"mark": mark, **values})

    def append(self, value: object) -> None:
        """Append a line of JSON; raise RecordingError if the disk is full."""
        line = msgspec.json.encode(value, enc_hook=str) + b"\n"
        try:
            byte_count = self._file.write(line)
        except OSError as error:
            raise RecordingError(f"{self.path} cannot be written: {error.strerror}.") from error
        if byte_count != len(line):
            raise RecordingError(f"{self.path} cannot be written: the disk is full.")

    def close(self) -> None:
        """Close the file; written marks are safe without it."""
        self._file.close()


# Marks that are kept as they come, and the field of the report that holds them.
_KEPT: dict[str, tuple[str, type]] = {
    "step": ("steps", StepMark),
    "block": ("blocks", StepBlock),
    "specialization": ("specializations", Specialization),
    "launch": ("launches", KernelLaunch),
    "anchor": ("anchors", ClockAnchor),
    "span": ("spans", Span),
    "gauge": ("gauges", Gauge),
    "request": ("requests", Request),
    "memory": ("memory", Memory),
}
# Marks of which each name has one, the last; the field of the report, and the key of the name.
_NAMED: dict[str, tuple[str, str, type]] = {
    "result": ("results", "name", Measured),
    "variant": ("variants", "variant", Work),
}
_LISTS = [name for name, _ in _KEPT.values()]
_DICTS = [name for name, _, _ in _NAMED.values()]
_ABOUT = {member.name for member in fields(WorkloadReport)} - {*_LISTS, *_DICTS}


class _Folder:
    """Folds marks into a report, one after the other."""

    def __init__(self) -> None:
        self.report = WorkloadReport()
        self._listed_marks: dict[str, list[Any]] = {name: [] for name in _LISTS}
        self._named_marks: dict[str, dict[str, Any]] = {name: {} for name in _DICTS}
        self._phases: list[Phase] = []
        self._warnings: list[str] = []

    def add(self, mark: object, values: dict[str, Any]) -> None:
        """Add a mark; one of an unknown kind is left out.

        Raises:
            MsgspecError, KeyError: Its values are not those of its kind.
        """
        match mark:
            case str(mark) if mark in _KEPT:
                name, kind = _KEPT[mark]
                mark_of_kind = msgspec.convert(values, kind)
                self._listed_marks[name].append(mark_of_kind)
            case str(mark) if mark in _NAMED:
                name, key, kind = _NAMED[mark]
                mark_name = msgspec.convert(values.pop(key), str)
                self._named_marks[name][mark_name] = msgspec.convert(values, kind)
            case "phase":
                phase = msgspec.convert(values, Phase)
                _leave(self._phases, phase.start)
                self._phases.append(phase)
            case "end" | "left":
                _leave(self._phases, msgspec.convert(values["at"], int))
            case "warning":
                text = msgspec.convert(values["text"], str)
                self._warnings.append(text)
            case "model":
                model = msgspec.convert(values, Work)
                self.report = replace(self.report, model=model)
            case "about":
                self.report = _apply_about(self.report, values)
            case _:
                pass

    def finish(self, unreadable: int) -> WorkloadReport:
        """Return the report; a phase that was not ended ends with the last step."""
        end_time = 0
        steps = self._listed_marks["steps"]
        if steps:
            end_time = steps[-1].completed
        _leave(self._phases, end_time)
        lists = {name: tuple(values) for name, values in self._listed_marks.items()}
        return replace(
            self.report,
            phases=tuple(self._phases),
            warnings=tuple(self._warnings),
            unreadable=unreadable,
            **self._named_marks,
            **lists,
        )


def fold(path: Path) -> WorkloadReport:
    """Turn a journal into a report: whole or cut short, every readable mark counts.

    A mark of an unknown kind, by a newer worker, is left out; a line that cannot be understood is
    counted in `unreadable`. Without a journal the report is empty; raise InputError for one that
    is not a file, or cannot be read.
    """
    folder = _Folder()
    unreadable = 0
    text = b""
    with suppress(FileNotFoundError):
        text = files.read_input(path)
    for line in filter(bytes.strip, text.split(b"\n")):
        try:
            values = documents.decode_json(line, dict[str, Any])
            folder.add(values.pop("mark", None), values)
        except (msgspec.MsgspecError, KeyError):
            unreadable += 1
    return folder.finish(unreadable)


def mark_unclosed(report: WorkloadReport, error: str) -> WorkloadReport:
    """Return an account that its worker never closed with the reason: `error`, or interrupted."""
    if report.complete:
        return report
    state = "failed" if error else "interrupted"
    return replace(report, state=state, error=report.error or error)


def _apply_about(report: WorkloadReport, values: dict[str, Any]) -> WorkloadReport:
    known_values = {name: value for name, value in values.items() if name in _ABOUT}
    checked = msgspec.convert(known_values, WorkloadReport)
    checked_values = {name: getattr(checked, name) for name in known_values}
    return replace(report, **checked_values)


def _leave(phases: list[Phase], end_time: int) -> None:
    """End the last phase, unless it has ended."""
    if phases and phases[-1].end is None:
        end = max(end_time, phases[-1].start)
        phases[-1] = replace(phases[-1], end=end)
