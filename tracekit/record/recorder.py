"""The protocol of both recorders, with its requests and results."""

import os
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import psutil

from tracekit.base import (
    Overhead,
    Process,
    Recording,
    RecordingChoices,
    ToolError,
    UsageError,
    Used,
    processes,
    programs,
    system,
)
from tracekit.record.progress import Progress

PATIENCE = "TRACEKIT_PATIENCE"


def patience(environment: Mapping[str, str] = os.environ) -> float:
    """Return the factor of all deadlines: 1, or TRACEKIT_PATIENCE; raise UsageError."""
    text = environment.get(PATIENCE, "").strip()
    try:
        factor = float(text) if text else 1.0
    except ValueError:
        factor = 0.0
    if not 0 < factor < float("inf"):
        raise UsageError(
            f"{PATIENCE} is {text!r}, not a number above 0.", hint="2 waits twice as long."
        )
    return factor


@dataclass(frozen=True)
class ProgramLaunch:
    """Start a program and record it.

    `journal` is the file in which a worker of ours marks its phases and steps; None for a
    program that is not ours. `reads_input` is whether its standard input is that of tracekit.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    journal: Path | None = None
    reads_input: bool = False

    @property
    def stdin(self) -> int:
        """The descriptor of its standard input for the recorder that starts it itself."""
        if self.reads_input:
            return system.choose_input()
        return subprocess.DEVNULL


@dataclass(frozen=True)
class Attach:
    """Record a program that runs already."""

    pid: int


def running(pid: int) -> Callable[[], bool]:
    """Return a function that returns whether the very process, not only its number, still runs.

    Raise UsageError if there is no such process.
    """
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        if processes.runs(process):
            return partial(processes.runs, process)
    raise UsageError(f"There is no process {pid} to attach to.")


@dataclass(frozen=True)
class Warmed:
    """Start a worker of ours, attach to it once it has warmed up, and only then let it go on.

    The recorder makes `go_file` when it records, and removes it when the worker may leave;
    until then the worker stays, idle. `launch` has a journal.
    """

    launch: ProgramLaunch
    go_file: Path


@dataclass(frozen=True)
class Delayed:
    """Start a program that is not ours, and attach to it `after` seconds."""

    launch: ProgramLaunch
    after: float


Target = ProgramLaunch | Attach | Warmed | Delayed


def journal_of(target: Target) -> Path | None:
    """Return the file in which the target marks its phases; None for a program not ours."""
    match target:
        case ProgramLaunch(journal=journal) | Warmed(launch=ProgramLaunch(journal=journal)):
            return journal
        case Attach() | Delayed():
            return None


@dataclass(frozen=True)
class RecordingRequest:
    """A request to record.

    `time_limit` is that of the recording and `steady_limit` that of the steady phase of a worker
    that the recorder launches, both in seconds. Without a template and instruments among the
    choices, xctrace records Metal System Trace.
    """

    target: Target
    time_limit: float
    choices: RecordingChoices = field(default_factory=RecordingChoices)
    steady_limit: float | None = None


@dataclass(frozen=True)
class FinishedRecording:
    """A recorder's account of a finished recording."""

    targets: tuple[Process, ...] = ()  # the processes whose rows count as the target's
    command_lines: tuple[tuple[str, ...], ...] = ()  # the command lines that were run, in order
    started: str = ""  # when recording began, ISO 8601
    end_date: str = ""  # when it ended, ISO 8601
    # its seconds, by a clock that nobody sets; None if only the dates are known
    duration: float | None = None
    end_reason: str = ""  # why it ended, in the recorder's words
    # how to lay monotonic time on the trace's; {"origin": ns of trace time 0} if known
    clock: Mapping[str, Any] = field(default_factory=dict[str, Any])
    # the cost of recording for the workload; None if it was not measured
    overhead: Overhead | None = None
    interrupted: bool = False  # a person or the system asked to stop; the recording is kept
    failure: str = ""  # why the recording cannot count as whole; empty if it can
    has_crashed: bool = False  # the program that was started ended by a signal
    hint: str = ""  # the remedy, if the workload gives one
    used: Used | None = None  # the recorder's choices; None for the host recorder
    is_silent: bool = False  # a workload of ours did nothing while it was recorded
    warnings: tuple[str, ...] = ()  # for the user


class Recorder(Protocol):
    """A way to record a program: `xctrace` on a Mac, the host recorder everywhere."""

    @property
    def name(self) -> str:
        """Return "xctrace" or "host"."""
        ...

    def version(self) -> str:
        """Return the recorder's version and build, as it prints them."""
        ...

    def record(
        self, request: RecordingRequest, recording: Recording, progress: Progress
    ) -> FinishedRecording:
        """Record the target into the bundle of `recording`; raise ToolError if nothing came."""
        ...

    def export(self, recording: Recording, progress: Progress) -> tuple[str, ...]:
        """Write the bundle's TOC and tables into `recording.exports`; return warnings."""
        ...


class NoProcessError(ToolError):
    """The recorder did not find a process that runs."""


def start_error(argv: tuple[str, ...], error: OSError) -> ToolError:
    """Return the error for a command that could not be started at all."""
    hint = ""
    if isinstance(error, programs.ProgramError):
        hint = error.hint
    if argv[0].rpartition("/")[2] in {"xcrun", "xctrace"}:
        hint = (
            "It comes with Xcode and runs on macOS only; `--recorder host` measures on any machine."
        )
    return ToolError(f"{argv[0]} cannot be started: {error.strerror}.", hint=hint)
