"""Starts a side's process, and ends it and all that it started on every way out."""

import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tracekit.base.errors import RecordingError, ToolError
from tracekit.base.processes import sweep, uninterrupted
from tracekit.nightly.session.child import PATIENCE, Child, Patience
from tracekit.nightly.session.side import Side
from tracekit.record.guardian.care import Care
from tracekit.record.guardian.guardian import Guardian
from tracekit.record.guardian.rescue import end_leftovers
from tracekit.workload.turns import command

# It leaves after its step once it is asked; what it started may need to be told.
_CARE = Care(((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)), group=True)


@dataclass(frozen=True)
class Bounds:
    """How long a child may live.

    Attributes:
        deadline: When the night's time is spent, in monotonic seconds; None for never.
        patience: How long to wait for what.
        guardian: Ends it, and all that it started, if tracekit is killed; None for nobody.
    """

    deadline: float | None = None
    patience: Patience = PATIENCE
    guardian: Guardian | None = None


_UNBOUND = Bounds()


@contextmanager
def started(name: str, side: Side, log: Path, bounds: Bounds = _UNBOUND) -> Generator[Child]:
    """Start a child, wait for its first words, and end it and all it started afterwards.

    It is in a session of its own, so that Ctrl-C is ours to handle; it leaves by itself when we
    are gone, for its standard input ends then.

    Args:
        name: What messages call it.
        side: Whose interpreter, environment and folder it has.
        log: What it says on standard error is added to this file.
        bounds: How long it may live.

    Raises:
        ToolError: It cannot be started, or is none that can take turns.
        RecordingError: What it says cannot be kept.
    """
    process: subprocess.Popen[bytes] | None = None
    child: Child | None = None
    try:
        with uninterrupted():
            process, since = _start(side, log)
            if bounds.guardian is not None:
                bounds.guardian.watch(process.pid, _CARE)
        child = Child(name, process, log, since, bounds.deadline, bounds.patience)
        child.greet(side.python)
        yield child
    finally:
        if process is not None:
            _end(process, bounds.patience, child)
            if bounds.guardian is not None:
                bounds.guardian.forget(process.pid)


def _start(side: Side, log: Path) -> tuple[subprocess.Popen[bytes], int]:
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        said = log.open("ab")
    except OSError as error:
        raise RecordingError(f"{log} cannot be written: {error.strerror}.") from error
    with said:
        since = said.tell()
        try:
            process = subprocess.Popen(
                command(side.python),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                env=side.env,
                cwd=side.cwd,
                start_new_session=True,
            )
        except OSError as error:
            raise ToolError(f"{side.python} cannot be started: {error.strerror}.") from error
    return process, since


def _end(process: subprocess.Popen[bytes], patience: Patience, child: Child | None) -> None:
    """End it: nobody asks any more, then SIGTERM, then SIGKILL for all that it started."""
    assert process.stdin is not None
    assert process.stdout is not None
    if child is not None:
        child.look()
    try:
        with suppress(OSError):
            process.stdin.close()
        for _ in range(2):
            with suppress(subprocess.TimeoutExpired):
                process.wait(patience.leave)
                break
            process.send_signal(signal.SIGTERM)
    finally:
        if process.poll() is None:
            process.kill()
        sweep(process)
        process.wait()
        process.stdout.close()
        if child is not None:
            end_leftovers(child.started, patience.leave)
