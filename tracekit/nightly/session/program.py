"""Runs a program to its end, what it says kept in a file; it does not outlive tracekit."""

import shlex
import signal
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tracekit.base import Child, InconclusiveError, RecordingError, StopPolicy, ToolError
from tracekit.base import last_words as _last_words
from tracekit.record import Supervisor


class ParityError(ToolError):
    """What must hold before anything is measured does not: parity, or a check of the plan."""


class BudgetSpentError(InconclusiveError):
    """The night's time is spent; the pair that was begun is not counted, those before are whole."""


# A program that records has things to save when it is asked to stop.
POLICY = StopPolicy(((signal.SIGINT, 30.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)))


@dataclass(frozen=True)
class Program:
    """A program to run.

    Attributes:
        argv: Its command line.
        env: The environment, whole.
        cwd: The folder that it stands in.
        log: What it says on standard error is added to this file, and on standard output too
            unless `output` takes it.
        output: Takes standard output, again; None for the log.
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


def run(program: Program, supervisor: Supervisor, limit: float, deadline: float | None) -> int:
    """Run a program; return its exit status, negative for a signal.

    Args:
        program: What to run.
        supervisor: Ends it if tracekit is killed.
        limit: Seconds that it may take.
        deadline: When the night's time is spent, in monotonic seconds; None for never.

    Raises:
        ToolError: It cannot be started, or took too long and was ended.
        BudgetSpentError: The night's time is spent; it was ended.
        RecordingError: What it says cannot be kept.
    """
    begun = time.monotonic()
    ends = begun + limit if deadline is None else min(begun + limit, deadline)
    child = _start(program, supervisor)
    try:
        ended = child.wait(max(0.0, ends - begun))
    finally:
        child.stop()
        child.clean_up()
    if ended:
        return child.process.returncode
    if deadline is not None and ends == deadline:
        raise BudgetSpentError(
            f"The night's time was spent while {program.line} ran; it was ended."
        )
    raise ToolError(
        f"{program.line} did not end within {limit:g} s and was ended.{last_words(program.log)}",
        hint=f"What it said is in {program.log}.",
    )


def last_words(log: Path, since: int = 0) -> str:
    """Return the end of a log, from the byte `since`, as a sentence; empty where it is empty."""
    text = _last_words(log, since)
    return f" Its last words: {text}" if text else ""


def _start(program: Program, supervisor: Supervisor) -> Child:
    with ExitStack() as stack:
        try:
            program.log.parent.mkdir(parents=True, exist_ok=True)
            log = stack.enter_context(program.log.open("ab"))
            out = stack.enter_context(program.output.open("wb")) if program.output else log
        except OSError as error:
            raise RecordingError(f"{program.log} cannot be written: {error.strerror}.") from error
        try:
            return supervisor.start(
                program.argv, POLICY, env=program.env, stdout=out, stderr=log, cwd=program.cwd
            )
        except OSError as error:
            raise ToolError(f"{program.argv[0]!r} cannot be started: {error.strerror}.") from error
