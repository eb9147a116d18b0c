"""One recording at a time: a lock that ends with its holder, however that ends."""

import platform
import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tracekit.base import locks
from tracekit.base.errors import ToolError
from tracekit.base.files import notes_folder
from tracekit.base.locks import HeldError, Holder
from tracekit.base.recording import now

_WHY = "It makes sure that only one recording runs; let it be written."


@dataclass(frozen=True)
class Lock:
    """A lock that is held: its descriptor, and who held it before and did not give it back."""

    handle: int | None
    stale: Holder | None = None


@contextmanager
def locked(folder: Path, where: Path | None = None) -> Generator[Lock]:
    """Hold the lock of this user on this machine while recording into `folder`.

    The system frees it when the last process that has it open ends. A note of a holder that
    did not give it back is returned as `stale`.

    Raises:
        ToolError: Someone else holds it; says who, since when and for what.
        RecordingError: The file cannot be made.
    """
    path = _file(where or notes_folder())
    with locks.opened(path, _WHY) as handle:
        try:
            taken = locks.taken(handle, path)
        except HeldError as error:
            raise _held(error.holder) from None
        if not taken:
            yield Lock(None)
            return
        stale = locks.noted(handle)
        locks.note(handle, locks.ours(now(), str(folder)))
        try:
            yield Lock(handle, stale)
        finally:
            locks.note(handle, None)


def _file(where: Path) -> Path:
    machine = re.sub(r"[^\w.-]+", "-", platform.node()) or "machine"
    return where / f"recording-on-{machine}.lock"


def _held(one: Holder | None) -> ToolError:
    if one is None:
        return ToolError("Another recording runs on this machine.", hint=_WAIT)
    if one.lives:
        return ToolError(
            f"Another recording runs: process {one.pid}, since {one.begun}, into {one.what}.",
            hint=f"{_WAIT} `kill -INT {one.pid}` makes it stop and save.",
        )
    return ToolError(
        f"The recording into {one.what}, begun at {one.begun}, is still being stopped and saved; "
        f"its tracekit, process {one.pid}, was ended.",
        hint=f"{_WAIT} This can take minutes.",
    )


_WAIT = "Only one recorder can run at a time; wait for it."


def told(stale: Holder) -> str:
    """Say that a holder did not give the lock back."""
    return (
        f"The recording into {stale.what}, begun at {stale.begun} by process "
        f"{stale.pid}, did not end in good order; `tracekit export` may still read it."
    )
