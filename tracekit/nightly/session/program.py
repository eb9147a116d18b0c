"""Programs of a session: limits for their life, and runs to the end."""

import math
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from tracekit.base import InconclusiveError, RecordingError, ToolError, processes, programs, system
from tracekit.record import Supervisor


class ParityError(ToolError):
    """A condition for a measurement does not hold: parity, or a check of the plan."""


class BudgetSpentError(InconclusiveError):
    """The night's time is spent; the pair in progress does not count, those before are whole."""


@dataclass(frozen=True)
class Timeouts:
    """Seconds to wait for answers of a child.

    `turn` comes on top of ten times the length that a turn should have. `leave` is for the child's
    end when nobody asks it any more, and again after SIGTERM.
    """

    hello: float = 60.0
    ready: float = 900.0
    calibration: float = 60.0
    turn: float = 60.0
    finish: float = 60.0
    leave: float = 2.0

    @property
    def policy(self) -> processes.StopPolicy:
        """The policy for a child: it leaves after its step once nobody asks any more."""
        waits = ((0, self.leave), (signal.SIGTERM, self.leave), (system.SIGKILL, 5.0))
        return processes.StopPolicy(waits, group=True, lifeline=True)


@dataclass(frozen=True)
class Bounds:
    """Limits for the life of all processes of a session.

    The supervisor stops them, and all that they started, if tracekit is killed. At `deadline`, in
    monotonic seconds, the night's time is spent; infinite for never.
    """

    supervisor: Supervisor
    timeouts: Timeouts = field(default_factory=Timeouts)
    deadline: float = math.inf

    def cap(self, seconds: float) -> float:
        """Return the given seconds, or the rest of the night's time if that is less."""
        time_left = self.deadline - time.monotonic()
        return max(0.0, min(seconds, time_left))

    def require_time(self, occasion: str) -> None:
        """Raise BudgetSpentError if the night's time is spent; its message names the `occasion`."""
        if time.monotonic() >= self.deadline:
            raise BudgetSpentError(f"The night's time was spent {occasion}.")


# A program that records needs time to save its recording when it is asked to stop.
POLICY = processes.StopPolicy(((signal.SIGINT, 30.0), (signal.SIGTERM, 5.0), (system.SIGKILL, 5.0)))


@dataclass(frozen=True)
class Program:
    """A program to run in the folder `cwd`, with the whole environment `env`.

    Its standard error is appended to `log`, and so is its standard output unless it goes to
    `output`, which is overwritten.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    log: Path
    output: Path | None = None

    @property
    def line(self) -> str:
        """The command line, as a shell takes it."""
        return shlex.join(self.argv)


def run(program: Program, bounds: Bounds, limit: float) -> int:
    """Run a program for `limit` seconds at most; return its exit status, negative for a signal."""
    child, _ = start(program, bounds.supervisor)
    try:
        has_ended = child.wait(bounds.cap(limit))
    finally:
        child.stop()
        child.clean_up()
    if has_ended:
        return child.process.returncode
    bounds.require_time(f"while {program.line} ran; it was ended")
    raise ToolError(
        f"{program.line} did not end within {limit:g} s and was ended.{last_words(program.log)}",
        hint=f"Its output is in {program.log}.",
    )


@dataclass(frozen=True)
class ProgramRun:
    """A run of a program: its exit status, its length in ns, and its first byte in the log."""

    status: int
    length: int
    since: int


def run_timed(program: Program, supervisor: Supervisor, limit: float) -> ProgramRun:
    """Run a program for `limit` seconds at most, and time it from its start to its end."""
    start_ns = time.monotonic_ns()
    child, since = start(program, supervisor)
    # A wait with a limit would look for the end up to 50 ms late.
    timer = threading.Timer(max(0.0, limit), child.stop)
    timer.daemon = True
    try:
        timer.start()
        status = child.process.wait()
        return ProgramRun(status, time.monotonic_ns() - start_ns, since)
    finally:
        timer.cancel()
        child.stop()
        child.clean_up()


def last_words(log: Path, since: int = 0) -> str:
    """Return the end of a log, from the byte `since`, as a sentence; empty for an empty log."""
    text = processes.last_words(log, since)
    return f" Its last words: {text}" if text else ""


def start(
    program: Program,
    supervisor: Supervisor,
    policy: processes.StopPolicy = POLICY,
    *,
    pipe: bool = False,
) -> tuple[processes.Child, int]:
    """Start a program; return it, and the byte of its log at which it begins."""
    with ExitStack() as stack:
        try:
            program.log.parent.mkdir(parents=True, exist_ok=True)
            log = stack.enter_context(program.log.open("ab"))
            stdout: int | IO[bytes] = log
            if program.output:
                stdout = stack.enter_context(program.output.open("wb"))
        except OSError as error:
            raise RecordingError(f"{program.log} cannot be written: {error.strerror}.") from error
        if pipe:
            stdout = subprocess.PIPE
        since = log.tell()
        try:
            child = supervisor.start(
                program.argv, policy, env=program.env, stdout=stdout, stderr=log, cwd=program.cwd
            )
        except OSError as error:
            hint = ""
            if isinstance(error, programs.ProgramError):
                hint = error.hint
            message = f"{program.argv[0]} cannot be started: {error.strerror}."
            raise ToolError(message, hint=hint) from error
    return child, since
