"""Trying to record, again where a failure is known to pass."""

import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tracekit.base import Process, Recording
from tracekit.record.recorder import Launch, Progress, Request
from tracekit.record.supervisor import size
from tracekit.record.xctrace import staging
from tracekit.record.xctrace.attached_worker import WorkerTimeouts, set_aside
from tracekit.record.xctrace.claim import Claim, Premises
from tracekit.record.xctrace.command_line import Subject
from tracekit.record.xctrace.problems import recognize
from tracekit.record.xctrace.progress import Account, State
from tracekit.record.xctrace.recording_process import Deadlines, Ended, Survey, Watch, record


class Family:
    """Parents of all processes that were seen, so that a target's children can be found later.

    The trace names one target, the process that was launched or attached to; a server or a
    `uv run` does its GPU work in a child. A child keeps the parent that it was first seen
    with, because it is handed to another one when its own ends. Its name is read twice: until it
    executes its program it has that of its parent.
    """

    def __init__(self) -> None:
        self._parents: dict[int, int] = {}
        self._names: dict[int, str] = {}
        self._done: set[int] = set()

    def look(self) -> None:
        """Note who runs now."""
        for process in psutil.process_iter():
            pid = process.pid
            if pid in self._done:
                continue
            if pid in self._parents:
                self._done.add(pid)
            with suppress(psutil.Error):
                self._parents.setdefault(pid, process.ppid())
                self._names[pid] = process.name()

    def descendants(self, pid: int) -> tuple[Process, ...]:
        """Return the children of `pid`, their children and so on, by pid."""
        found: set[int] = set()
        parents = {pid}
        while parents:
            children = {child for child, parent in self._parents.items() if parent in parents}
            parents = children - found - {pid}
            found |= parents
        return tuple(Process(one, self._names.get(one, "")) for one in sorted(found))


_STATES = {
    State.ANNOUNCED: "xctrace is starting",
    State.STARTED: "recording",
    State.STOPPING: "stopping",
    State.SAVING: "saving; this can take minutes",
    State.SAVED: "saved",
}
_SENT = {
    signal.SIGINT: "asked xctrace to stop and to save what it has",
    signal.SIGTERM: "sent SIGTERM to xctrace",
    signal.SIGKILL: "killed xctrace",
}
_MEGABYTE = 1_000_000
_CRASHED = {1, 139, 141, -signal.SIGSEGV, -signal.SIGPIPE}


@dataclass(frozen=True)
class Attempt:
    """One try to record: its command line, of whom, how it ended, what was seen meanwhile."""

    argv: tuple[str, ...]
    subject: Subject
    ended: Ended
    family: Family
    left_staging: frozenset[Path]


@dataclass(frozen=True)
class Manner:
    """How to record."""

    deadlines: Deadlines = field(default_factory=Deadlines)  # how long each state may last
    pauses: Sequence[float] = (1, 1, 1)  # seconds before each new try
    # how long to wait for a worker that is attached to
    worker: WorkerTimeouts = field(default_factory=WorkerTimeouts)
    # where notes are kept, and what must stay free
    premises: Premises = field(default_factory=Premises)


@dataclass(frozen=True)
class Job:
    """What is to be recorded, where to, how, and with what of the machine."""

    request: Request
    recording: Recording
    manner: Manner
    claim: Claim
    progress: Progress


def attempts(
    job: Job, ready: Callable[[], Subject], line: Callable[[Subject], tuple[str, ...]]
) -> Attempt:
    """Record, and try again where it could not start for a reason that is known to pass.

    What a failed try left is kept, with its number in its name. Before each try, `ready` says
    whom to record and `line` with which command line.
    """
    target = job.request.target
    journal = target.journal if isinstance(target, Launch) else None
    for number, pause in enumerate(job.manner.pauses, 1):
        attempt = _attempt(job, ready(), line)
        if not _may_pass(attempt.ended):
            return attempt
        job.progress(f"xctrace could not start; trying again in {pause:g} s")
        for path in (job.recording.bundle, journal):
            if path is not None:
                set_aside(path, number)
        time.sleep(pause)
    return _attempt(job, ready(), line)


def _attempt(job: Job, subject: Subject, line: Callable[[Subject], tuple[str, ...]]) -> Attempt:
    claim, disk = job.claim, job.manner.premises.disk
    argv, bundle = line(subject), job.recording.bundle
    family, before = Family(), staging.staging_files()
    if isinstance(subject.target, Launch) and subject.target.journal is not None:
        claim.supervisor.expect_worker(subject.target.journal)
    shown, largest = "", 0

    def changed(account: Account) -> None:
        nonlocal shown
        if account.state in _STATES:
            shown = _STATES[account.state]
            job.progress(shown)
        subject.changed(account)

    def survey() -> Survey:
        nonlocal largest
        family.look()
        written = size({bundle, *(staging.staging_files() - before)})
        if shown and written >= largest + _MEGABYTE:
            largest = written
            job.progress(f"{shown} ({written / _MEGABYTE:,.0f} MB so far)")
        return Survey(written, disk.shortage(claim.places), disk.critical(claim.places))

    watch = Watch(changed, lambda number: job.progress(_SENT[number]), survey, subject.finished)
    limit, deadlines = job.request.time_limit, job.manner.deadlines
    ended = record(argv, watch, deadlines, claim.supervisor, time_limit=limit, bundle=bundle)
    left = job.manner.premises.remove_staging(staging.staging_files() - before)
    return Attempt(argv, subject, ended, family, left)


def _may_pass(ended: Ended) -> bool:
    if ended.interrupted or ended.signals or ended.returncode == 0:
        return False
    problem = recognize(ended.returncode or 0, ended.account.text)
    if problem is not None:
        return problem.passing
    return ended.returncode in _CRASHED and ended.account.state < State.STARTED
