"""A night under way: one at a time, on a Mac that stays awake, within its time."""

import logging
import os
import platform
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.base import HeldError, Holder, ToolError, locks, notes_folder, now
from tracekit.nightly.plan.plan import NightPlan

log = logging.getLogger(__name__)

_CAFFEINATE = Path("/usr/bin/caffeinate")
_SECONDS = 5.0


@contextmanager
def awake(program: Path = _CAFFEINATE, system: str = sys.platform) -> Generator[None]:
    """Keep a Mac from sleeping until this ends; elsewhere do nothing.

    As caffeinate(8) says, `-i` keeps the system from idle sleep, `-s` from all sleep while on
    mains, and `-w` lets it end with this process, even if that is killed.
    """
    if system != "darwin" or not program.exists():
        yield
        return
    argv = (str(program), "-i", "-s", "-w", str(os.getpid()))
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        log.warning("%s cannot be started, so this Mac may fall asleep: %s", program, error)
        yield
        return
    try:
        yield
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_SECONDS)
        return
    process.kill()
    process.wait()


@dataclass(frozen=True)
class Budget:
    """Seconds that a night may take, from when this was made.

    Attributes:
        seconds: How many there are.
        began: When it began, on the clock of `time.monotonic`.
    """

    seconds: float
    began: float = field(default_factory=time.monotonic)

    @property
    def deadline(self) -> float:
        """When it is spent, on the clock of `time.monotonic`."""
        return self.began + self.seconds

    def spent(self) -> float:
        """Return how many seconds have gone by."""
        return time.monotonic() - self.began

    def left(self) -> float:
        """Return how many seconds are left; 0 where it is spent."""
        return max(0.0, self.deadline - time.monotonic())

    @property
    def over(self) -> bool:
        """Whether it is spent."""
        return self.left() == 0


@contextmanager
def enforced(budget: Budget, grace: float = 300.0) -> Generator[None]:
    """Stop this process as SIGTERM does, where it is still here `grace` seconds too late.

    Whoever runs a night looks at its budget between pairs, and ends in good order. This is for
    a night that hangs in between: SIGTERM is what launchd and systemd send too, so what was
    measured is kept.
    """
    timer = threading.Timer(budget.left() + grace, os.kill, (os.getpid(), signal.SIGTERM))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


LOCK = ".night.lock"
_WHY = "It makes sure that only one night runs; let it be written."
_OUTPUT = "Let `output` of the plan name a folder that you may write to."
_WAIT = "Two nights at once would measure each other; wait for it."


@contextmanager
def only_one(plan: NightPlan) -> Generator[None]:
    """Hold the locks of a night: that of the machine, and that of the plan's output.

    The machine has one because work on its GPU disturbs all other; it is this user's, for each
    keeps notes of their own. The output has one because a night writes there, and pruning waits
    for it. The system frees both when this process ends, however that happens.

    Raises:
        ToolError: A night runs already; says whose, since when, in which process.
        RecordingError: The file of a lock cannot be made.
    """
    whole, own = _of_machine(), plan.output / LOCK
    with _one(whole, plan, "on this machine", _WHY), _one(own, plan, "here", _OUTPUT):
        yield


def runs_in(output: Path) -> bool:
    """Tell whether a night writes into this folder now."""
    return locks.held(output / LOCK)


def _of_machine() -> Path:
    machine = re.sub(r"[^\w.-]+", "-", platform.node()) or "machine"
    return notes_folder() / f"night-on-{machine}.lock"


@contextmanager
def _one(path: Path, plan: NightPlan, where: str, why: str) -> Generator[None]:
    with locks.opened(path, why) as handle:
        try:
            taken = locks.taken(handle, path)
        except HeldError as error:
            raise _told(error.holder, where) from None
        if not taken:
            yield
            return
        locks.note(handle, locks.ours(now(), f"{plan.name} ({plan.file})"))
        try:
            yield
        finally:
            locks.note(handle, None)


def _told(holder: Holder | None, where: str) -> ToolError:
    if holder is None:
        return ToolError(f"Another night runs {where}.", hint=_WAIT)
    return ToolError(
        f"Another night runs {where}: {holder.what}, since {holder.begun}, in process "
        f"{holder.pid}.",
        hint=f"{_WAIT} `kill -TERM {holder.pid}` stops it; what it measured is kept.",
    )
