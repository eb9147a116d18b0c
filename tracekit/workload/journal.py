"""What a workload says of itself, written as it happens.

The worker appends one line of JSON for each mark, so that a crash loses nothing that was
measured; `fold` turns the lines into one WorkloadReport, which is saved as `workload.json`.
Times are nanoseconds of the system-wide monotonic clock (`time.monotonic_ns`), which on macOS
counts mach ticks and so can be laid on a trace's own time.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, BinaryIO, Self

import msgspec

from tracekit.base import RecordingError
from tracekit.workload.workload import Gauge, Measured, Memory, Request, Span, Work

FORMAT = 1
LEFT = 0.1
"""Share of a step from which on there is something left to wait for once it was handed over.

A step with less did its work inside `submit`, where no clock tells it from its preparation."""
SUBMIT_INCLUDED = "submit included"
"""How the channel of such a step's work ends: it lies somewhere in the whole step."""


@dataclass(frozen=True)
class Phase:
    """A stretch of a workload's life: prepare, warm-up, waiting, steady, overhead."""

    name: str
    start: int
    end: int | None = None


@dataclass(frozen=True)
class StepMark:
    """One step: when it began, when it was handed over, when it was seen complete.

    `tokens` is None where the step did not say how many it produced: then it is the model's.
    CPU times are of the worker's process, in ns; None in marks of an older worker.
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

    def sum_told_spans(self, spans: Sequence[Span]) -> int:
        """Return for how much of `submit`, in ns, spans tell what the host did; by its end."""
        submit_spans = [
            span for span in spans if self.start <= span.start and span.end <= self.submitted
        ]
        return min(self.submitted - self.start, sum(span.end - span.start for span in submit_spans))

    def worked_in_submit(self, host: int = 0) -> int:
        """Return for how long other threads worked while the calling one was held up in `submit`.

        `host` is the time in `submit` for which the workload tells what the host did; ns.
        """
        if self.submit_cpu is None or self.submit_other_cpu is None:
            return 0
        length = self.submitted - self.start
        held_up = max(0, length - self.submit_cpu)
        return min(held_up, self.submit_other_cpu, length - host)

    def is_undivided(self, host: int = 0) -> bool:
        """Tell whether next to nothing was left to wait for once it was handed over.

        `host` is as above.
        """
        wait_time = self.completed - self.submitted
        return wait_time < LEFT * (self.completed - self.start - host)


@dataclass(frozen=True)
class StepBlock:
    """Some steps in a row, all recorded or all unrecorded, to see what recording costs."""

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
    """All that a workload says of itself; saved as `workload.json`.

    `state` is preparing, warming, waiting, steady, capturing, done, interrupted or failed: the last
    thing that is known. `complete` says whether the worker itself closed its account. Of a failed
    one `error`, `hint` and `exit_code` say why. `overhead_reason` says why it was not measured what
    recording costs, where the worker did not try. `unreadable` counts the lines of the journal
    that could not be understood, such as one cut in half by a crash. `start` tells the process from
    a later one of its `pid`, as `tracekit.base.processes` has it; 0 where the worker did not say.
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
        """Append a line of JSON; raise RecordingError where the disk is full."""
        line = msgspec.json.encode(value, enc_hook=str) + b"\n"
        try:
            byte_count = self._file.write(line)
        except OSError as error:
            raise RecordingError(f"{self.path} cannot be written: {error.strerror}.") from error
        if byte_count != len(line):
            raise RecordingError(f"{self.path} cannot be written: the disk is full.")

    def close(self) -> None:
        """Close the file; what was written is safe without it."""
        self._file.close()


# Marks that are kept as they come, and the field of the report that holds them.
_KEPT: dict[str, tuple[str, type]] = {
    "step": ("steps", StepMark),
    "block": ("blocks", StepBlock),
    "specialization": ("specializations", Specialization),
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
_ABOUT = {member.name for member in fields(WorkloadReport)} - {
    *(name for name, _ in _KEPT.values()),
    *(name for name, _, _ in _NAMED.values()),
}


def fold(path: Path) -> WorkloadReport:
    """Turn a journal into a report: whole or cut short, every readable mark counts.

    A mark of an unknown kind, by a newer worker, is left out; a line that cannot be understood is
    counted in `unreadable`. No journal at all gives the empty report.
    """
    listed_marks: dict[str, list[Any]] = {name: [] for name, _ in _KEPT.values()}
    phases: list[Phase] = []
    warnings: list[str] = []
    named_marks: dict[str, dict[str, Any]] = {name: {} for name, _, _ in _NAMED.values()}
    report = WorkloadReport()
    unreadable = 0
    text = path.read_bytes() if path.exists() else b""
    for line in filter(bytes.strip, text.split(b"\n")):
        try:
            values = msgspec.json.decode(line, type=dict[str, Any])
            match values.pop("mark", None):
                case str(mark) if mark in _KEPT:
                    name, kind = _KEPT[mark]
                    listed_marks[name].append(msgspec.convert(values, kind))
                case str(mark) if mark in _NAMED:
                    name, key, kind = _NAMED[mark]
                    named_marks[name][values.pop(key)] = msgspec.convert(values, kind)
                case "phase":
                    phase = msgspec.convert(values, Phase)
                    _leave(phases, phase.start)
                    phases.append(phase)
                case "end" | "left":
                    _leave(phases, msgspec.convert(values["at"], int))
                case "warning":
                    warnings.append(msgspec.convert(values["text"], str))
                case "model":
                    report = replace(report, model=msgspec.convert(values, Work))
                case "about":
                    report = _apply_about(report, values)
                case _:
                    continue
        except (msgspec.MsgspecError, KeyError):
            unreadable += 1
    _leave(phases, listed_marks["steps"][-1].completed if listed_marks["steps"] else 0)
    listed_marks |= {"phases": phases, "warnings": warnings}
    lists = {name: tuple(values) for name, values in listed_marks.items()}
    return replace(report, unreadable=unreadable, **named_marks, **lists)


def mark_unclosed(report: WorkloadReport, error: str) -> WorkloadReport:
    """Say of an account that its worker never closed why: `error`, or else an interruption."""
    if report.complete:
        return report
    state = "failed" if error else "interrupted"
    return replace(report, state=state, error=report.error or error)


def _apply_about(report: WorkloadReport, values: dict[str, Any]) -> WorkloadReport:
    known_values = {name: value for name, value in values.items() if name in _ABOUT}
    checked = msgspec.convert(known_values, WorkloadReport)
    return replace(report, **{name: getattr(checked, name) for name in known_values})


def _leave(phases: list[Phase], end_time: int) -> None:
    """End the last phase, unless it has ended."""
    if phases and phases[-1].end is None:
        phases[-1] = replace(phases[-1], end=max(end_time, phases[-1].start))
