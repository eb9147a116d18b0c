"""One night at a time: of a plan, and on a machine."""

import platform
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tracekit.base import locks
from tracekit.base.errors import ToolError
from tracekit.base.files import notes_folder
from tracekit.base.locks import HeldError, Holder
from tracekit.base.recording import now
from tracekit.nightly.plan.plan import NightPlan

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


def _told(one: Holder | None, where: str) -> ToolError:
    if one is None:
        return ToolError(f"Another night runs {where}.", hint=_WAIT)
    return ToolError(
        f"Another night runs {where}: {one.what}, since {one.begun}, in process {one.pid}.",
        hint=f"{_WAIT} `kill -TERM {one.pid}` stops it; what it measured is kept.",
    )
