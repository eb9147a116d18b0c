"""Trying to record, again where a failure is known to pass."""

import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tracekit.base import Process, Recording
from tracekit.record.recorder import Launch, Progress, Request, journal_of
from tracekit.record.supervisor.guardian import size
from tracekit.record.xctrace import staging
from tracekit.record.xctrace.attached_worker import WorkerTimeouts
from tracekit.record.xctrace.claim import Claim, Premises
from tracekit.record.xctrace.command_line import Subject
from tracekit.record.xctrace.outcome import problem_of
from tracekit.record.xctrace.progress import Account, State
from tracekit.record.xctrace.recording_process import Deadlines, Ended, Order, Survey, Watch, record
from tracekit.workload import WorkloadReport, fold


class Family:
    """Parents of all processes that were seen, so that a target's children can be found later.

    The trace names one target, the process that was launched or attached to; a server or a
    `uv run` does its GPU work in a child. A child keeps the parent that it was first seen
    with, because it is handed to another one when its own ends.
    """

    def __init__(self) -> None:
        self._parents: dict[int, int] = {}
        self._names: dict[int, str] = {}

    def look(self) -> None:
        """Note who runs now."""
        for process in psutil.process_iter():
            if process.pid in self._parents:
                continue
            try:
                self._parents[process.pid] = process.ppid()
                self._names[process.pid] = process.name()
            except psutil.Error:
                continue

    def descendants(self, pid: int) -> tuple[Process, ...]:
        """Return the children of `pid`, their children and so on, by pid."""
        found: set[int] = set()
        parents = {pid}
        while parents:
            children = {child for child, parent in self._parents.items() if parent in parents}
            parents = children - found - {pid}
            found |= parents
        return tuple(Process(one, self._names.get(one, "")) for one in sorted(found))


_TOLD = {
    State.ANNOUNCED: "xctrace is starting",
    State.STARTED: "recording",
    State.STOPPING: "stopping",
    State.SAVING: "saving; this can take minutes",
    State.SAVED: "saved",
}
_SENT = {
    signal.SIGINT: "asked xctrace to stop and to save what it has",
    signal.SIGTERM: "told xctrace to end",
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
    """How to record.

    Attributes:
        deadlines: How long each state may last.
        pauses: Seconds before each new try.
        worker: How long to wait for a worker that is attached to.
        premises: Where notes are kept, and what must stay free.
        verified: A bundle of up to so many bytes is looked into for rows of the target.
    """

    deadlines: Deadlines = field(default_factory=Deadlines)
    pauses: Sequence[float] = (1, 1, 1)
    worker: WorkerTimeouts = field(default_factory=WorkerTimeouts)
    premises: Premises = field(default_factory=Premises)
    verified: float = 1e9


@dataclass(frozen=True)
class Means:
    """What a recording is made with."""

    claim: Claim
    manner: Manner
    progress: Progress


@dataclass(frozen=True)
class Task:
    """What is to be recorded, where to, and with what."""

    request: Request
    recording: Recording
    means: Means


def attempts(
    task: Task, ready: Callable[[], Subject], line: Callable[[Subject], tuple[str, ...]]
) -> Attempt:
    """Record, and try again where it could not start for a reason that is known to pass.

    What a failed try left is kept, with its number in its name. Before each try, `ready` says
    whom to record and `line` with which command line.
    """
    for number, pause in enumerate(task.means.manner.pauses, 1):
        one = _attempt(task, ready(), line)
        if not _may_pass(one.ended):
            return one
        task.means.progress(f"xctrace could not start; trying again in {pause:g} s")
        _set_aside(task, number)
        time.sleep(pause)
    return _attempt(task, ready(), line)


def worker_report(request: Request) -> WorkloadReport | None:
    """Return what a worker of ours has said so far; None for any other target."""
    journal = journal_of(request.target)
    return fold(journal) if journal is not None and journal.exists() else None


def _attempt(task: Task, subject: Subject, line: Callable[[Subject], tuple[str, ...]]) -> Attempt:
    means, claim, disk = task.means, task.means.claim, task.means.manner.premises.disk
    order = Order(line(subject), task.request.time_limit, task.recording.bundle)
    family, before = Family(), staging.staging_files()
    if isinstance(subject.target, Launch) and subject.target.journal is not None:
        claim.supervisor.expect_worker(subject.target.journal)

    teller = _Teller(means.progress)

    def changed(account: Account) -> None:
        teller.changed(account)
        subject.heard(account)

    def survey() -> Survey:
        family.look()
        written = size({order.bundle, *(staging.staging_files() - before)})
        teller.grown(written)
        return Survey(written, disk.shortage(claim.places), disk.critical(claim.places))

    watch = Watch(changed, teller.sent, survey, subject.finished)
    ended = record(order, watch, means.manner.deadlines, claim.supervisor)
    made = staging.staging_files() - before
    left = claim.premises.put_away(made)
    return Attempt(order.argv, subject, ended, family, left)


class _Teller:
    """Tells in words how far a recording has come, and how much it has written."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._state = ""
        self._written = 0

    def changed(self, account: Account) -> None:
        """Tell a state that was reached."""
        if account.state in _TOLD:
            self._state = _TOLD[account.state]
            self._progress(self._state)

    def grown(self, written: int) -> None:
        """Tell how much is written, whenever it is a megabyte more."""
        if self._state and written >= self._written + _MEGABYTE:
            self._written = written
            self._progress(f"{self._state} ({written / _MEGABYTE:,.0f} MB so far)")

    def sent(self, number: signal.Signals) -> None:
        """Tell a signal that was sent."""
        self._progress(_SENT[number])


def _may_pass(ended: Ended) -> bool:
    if ended.interrupted or ended.signals or ended.returncode == 0:
        return False
    problem = problem_of(ended)
    if problem is not None:
        return problem.passing
    return ended.returncode in _CRASHED and ended.account.state < State.STARTED


def _set_aside(task: Task, number: int) -> None:
    target = task.request.target
    journal = target.journal if isinstance(target, Launch) else None
    for path in (task.recording.bundle, journal):
        if path is not None and path.exists():
            path.rename(path.with_name(f"{path.stem}-try-{number}{path.suffix}"))
