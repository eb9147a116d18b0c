"""Whom a recording is of: what xctrace is told, and when there is nothing left to record."""

from collections.abc import Callable
from dataclasses import dataclass

import psutil

from tracekit.base.errors import UsageError
from tracekit.record.recorder import Attach, Launch, Target
from tracekit.record.xctrace.progress_lines import Account
from tracekit.record.xctrace.recording_process import Ended


def _unmoved(_: Account) -> None:
    """Let a recording go on without heeding how far it is."""


def _never() -> bool:
    return False


@dataclass(frozen=True)
class Subject:
    """Whom one recording is of.

    Attributes:
        target: What xctrace launches or attaches to.
        heard: Called with the account of the recording whenever its state changes.
        finished: Tells whether nothing of it is left to record, though xctrace may go on.
    """

    target: Launch | Attach
    heard: Callable[[Account], None] = _unmoved
    finished: Callable[[], bool] = _never


def subject_of(target: Launch | Attach) -> Subject:
    """Return the subject of a plain target.

    xctrace notices the end of a program that it launched; whether it does so with one that it
    attached to is not established, so that one is watched.

    Raises:
        UsageError: There is no such process to attach to.
    """
    if isinstance(target, Launch):
        return Subject(target)
    return Subject(target, finished=_gone(target.pid))


def early_end(target: Target, ended: Ended) -> tuple[str, ...]:
    """Return a warning if a process that was attached to ended before the recording did."""
    if not isinstance(target, Attach) or not ended.finished:
        return ()
    return (f"The process {target.pid} ended before the recording did.",)


def about(subject: Subject, ended: Ended) -> str:
    """Say what is known of a process that was attached to in vain."""
    target = subject.target
    if not isinstance(target, Attach):
        return ""
    if ended.finished:
        return f"The process {target.pid} ended while it was recorded, which can cost the bundle."
    owner = _owner(target.pid)
    return f"The process {target.pid} belongs to {owner}; try one of your own." if owner else ""


def _owner(pid: int) -> str:
    """Return whose process it is, where that is somebody else; empty where it is ours or gone."""
    try:
        owner = psutil.Process(pid).username()
        ours = psutil.Process().username()
    except (psutil.Error, KeyError):
        return ""
    return "" if owner == ours else owner


def _gone(pid: int) -> Callable[[], bool]:
    missing = UsageError(f"There is no process {pid} to attach to.")
    try:
        process = psutil.Process(pid)
    except psutil.NoSuchProcess:
        raise missing from None

    def gone() -> bool:
        try:
            return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True
        except psutil.AccessDenied:
            return False

    if gone():
        raise missing
    return gone
