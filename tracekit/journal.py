"""What a workload says of itself, written as it happens.

The worker appends one line of JSON for each mark, so that a crash loses nothing that was
measured; `fold` turns the lines into one WorkloadReport, which is saved as `workload.json`.
Times are nanoseconds of the system-wide monotonic clock (`time.monotonic_ns`), which on macOS
counts mach ticks and so can be laid on a trace's own time.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Self

import msgspec

FORMAT = 1


@dataclass(frozen=True)
class Phase:
    """A stretch of a workload's life: prepare, warm-up, steady, overhead."""

    name: str
    start: int
    end: int | None = None


@dataclass(frozen=True)
class StepMark:
    """One step: when it began, when it was handed over, when it was seen complete."""

    phase: str
    start: int
    submitted: int
    completed: int


@dataclass(frozen=True)
class Model:
    """What one step is known to do: see `tracekit.workload.Step` for the units."""

    tokens: int = 0
    bytes_read: int = 0
    bytes_unique: int = 0
    bytes_written: int = 0
    flops: int = 0
    dispatches: int | None = None


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
    def now(cls) -> Self:
        """Read both clocks, as close together as Python allows."""
        return cls(time.monotonic_ns(), time.time_ns())


@dataclass(frozen=True)
class WorkloadReport:
    """All that a workload says of itself; saved as `workload.json`.

    `state` is preparing, warming, steady, done, interrupted or failed: the last thing that is
    known. `complete` tells whether the worker itself closed its account.
    """

    format: int = FORMAT
    workload: str = ""
    parameters: dict[str, Any] = field(default_factory=dict[str, Any])
    pid: int = 0
    process: str = ""
    backend: str = ""
    device: dict[str, Any] = field(default_factory=dict[str, Any])
    mlx: str = ""
    state: str = "preparing"
    complete: bool = False
    error: str = ""
    model: Model = field(default_factory=Model)
    anchors: tuple[ClockAnchor, ...] = ()
    phases: tuple[Phase, ...] = ()
    steps: tuple[StepMark, ...] = ()
    specializations: tuple[Specialization, ...] = ()
    results: dict[str, float] = field(default_factory=dict[str, float])


class Journal:
    """The worker's side: append marks to a file, one write a mark, nothing buffered."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = path.open("ab", buffering=0)

    def write(self, mark: str, **values: Any) -> None:
        """Append one mark, such as `write("phase", name="steady", start=...)`."""
        self._file.write(msgspec.json.encode({"mark": mark, **values}) + b"\n")

    def close(self) -> None:
        """Close the file; what was written is safe without it."""
        self._file.close()


def fold(path: Path) -> WorkloadReport:
    """Turn the journal into a report; a last line cut in half is left out."""
    report = WorkloadReport()
    phases: list[Phase] = []
    steps: list[StepMark] = []
    specializations: list[Specialization] = []
    anchors: list[ClockAnchor] = []
    for mark, values in _marks(path):
        match mark:
            case "phase":
                if phases:
                    phases[-1] = replace(phases[-1], end=values["start"])
                phases.append(Phase(values["name"], values["start"]))
            case "step":
                steps.append(msgspec.convert(values, StepMark))
            case "specialization":
                specializations.append(msgspec.convert(values, Specialization))
            case "anchor":
                anchors.append(msgspec.convert(values, ClockAnchor))
            case "end":
                if phases:
                    phases[-1] = replace(phases[-1], end=values["at"])
            case "model":
                report = replace(report, model=msgspec.convert(values, Model))
            case "about":
                report = replace(report, **values)
            case _:  # written by a newer worker: what is not known is left out
                continue
    if phases and phases[-1].end is None:
        last = steps[-1].completed if steps else phases[-1].start
        phases[-1] = replace(phases[-1], end=max(last, phases[-1].start))
    return replace(
        report,
        phases=tuple(phases),
        steps=tuple(steps),
        specializations=tuple(specializations),
        anchors=tuple(anchors),
    )


def _marks(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for line in path.read_bytes().splitlines():
        try:
            values = msgspec.json.decode(line, type=dict[str, Any])
        except msgspec.MsgspecError:
            continue
        yield values.pop("mark", ""), values
