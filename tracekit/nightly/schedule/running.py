"""A night in progress: one at a time, on a Mac that stays awake, within its time."""

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tracekit.base import ToolError, files, locks, processes, shared_lock, system
from tracekit.nightly.plan.plan import NightPlan

log = logging.getLogger(__name__)

_CAFFEINATE = Path("/usr/bin/caffeinate")
_STOP = processes.StopPolicy(((signal.SIGTERM, 5.0), (system.SIGKILL, 5.0)))


@contextmanager
def awake(program: Path = _CAFFEINATE, system: str = sys.platform) -> Generator[None]:
    """Keep a Mac from sleeping until this ends; do nothing on other systems.

    As caffeinate(8) says, `-i` keeps the system from idle sleep, `-s` from all sleep while on
    mains, and `-w` lets it end with this process, even if that is killed.
    """
    with ExitStack() as stack:
        if system == "darwin" and program.exists():
            argv = (str(program), "-i", "-s", "-w", str(os.getpid()))
            null = subprocess.DEVNULL
            try:
                child = processes.start_child(argv, _STOP, env=os.environ, stdout=null, stderr=null)
                stack.callback(child.stop)
            except OSError as error:
                log.warning("%s cannot be started, so this Mac may fall asleep: %s", program, error)
        yield


@contextmanager
def enforce_budget(budget: float, grace: float = 300.0) -> Generator[None]:
    """Stop this process as SIGTERM does, if it still runs `grace` seconds after its budget.

    A night looks at its budget, in seconds, between pairs, and ends in good order. This stops a
    night that hangs in between; its measurements are kept, because schedulers stop nights by
    SIGTERM too.
    """
    this_process = os.getpid()
    timer = threading.Timer(budget + grace, os.kill, (this_process, signal.SIGTERM))
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
def only_one(plan: NightPlan) -> Generator[str]:
    """Hold the locks of a night: of this user, of the plan's output, and of the machine.

    The machine has one because work on its GPU disturbs all other work, of any user; this user's
    lock has more facts on its holder. The output has one because a night writes there. The system
    releases all of them when this process ends. Yield a warning if other users are not kept out,
    else an empty text.
    """
    plan_words = f"{plan.name} ({plan.file})"
    user_lock = locks.place_of("night", files.notes_folder())
    output_lock = plan.output / LOCK
    with ExitStack() as stack:
        for path, location, reason in (
            (user_lock, "on this machine", _WHY),
            (output_lock, "here", _OUTPUT),
        ):
            try:
                stack.enter_context(locks.holding(path, reason, plan_words))
            except locks.HeldError as error:
                raise _another(location, error.holder) from None
        try:
            _, remark = stack.enter_context(shared_lock.holding("night"))
        except locks.HeldError as error:
            raise ToolError(
                f"Another night runs on this machine{shared_lock.words(error)}.",
                hint=f"{_WAIT} It is another user's, or has another home.",
            ) from None
        yield remark


def _another(location: str, holder: locks.Holder | None) -> ToolError:
    """Return the error that another night runs."""
    if holder is None:
        return ToolError(f"Another night runs {location}.", hint=_WAIT)
    holder_words = f"{holder.what}, since {holder.local_start_time}, in process {holder.pid}"
    stop = f"`kill -TERM {holder.pid}` stops it; its measurements are kept."
    return ToolError(f"Another night runs {location}: {holder_words}.", hint=f"{_WAIT} {stop}")


def runs_in(output: Path) -> bool:
    """Tell whether a night writes into this folder now."""
    return locks.is_held(output / LOCK)
