"""Trying to record, again where a failure is known to pass."""

import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.journal import WorkloadReport, fold
from tracekit.recorder import Launch, Progress, Request
from tracekit.recording import Recording
from tracekit.xctrace import staging
from tracekit.xctrace.family import Family
from tracekit.xctrace.outcome import problem_of
from tracekit.xctrace.progress_lines import Account, State
from tracekit.xctrace.recording_process import Ended, Watch, record
from tracekit.xctrace.stop_ladder import Deadlines

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
_CRASHED = {1, 139, 141, -signal.SIGSEGV, -signal.SIGPIPE}


@dataclass(frozen=True)
class Attempt:
    """One try to record: its command line, how it ended, what was seen meanwhile."""

    argv: tuple[str, ...]
    ended: Ended
    family: Family
    left_staging: frozenset[Path]


@dataclass(frozen=True)
class Manner:
    """How patiently to record: the deadlines, and the pauses before each new try, in seconds."""

    deadlines: Deadlines = field(default_factory=Deadlines)
    pauses: Sequence[float] = (1, 1, 1)


def attempts(
    argv: tuple[str, ...],
    request: Request,
    recording: Recording,
    progress: Progress,
    manner: Manner,
) -> Attempt:
    """Record, and try again where it could not start for a reason that is known to pass.

    What a failed try left is kept, with its number in its name.
    """
    for number, pause in enumerate(manner.pauses, 1):
        one = _attempt(argv, request, recording, progress, manner.deadlines)
        if not _may_pass(one.ended):
            return one
        progress(f"xctrace could not start; trying again in {pause:g} s")
        _set_aside(recording, request, number)
        time.sleep(pause)
    return _attempt(argv, request, recording, progress, manner.deadlines)


def worker_report(request: Request) -> WorkloadReport | None:
    """Return what a worker of ours has said so far; None for any other target."""
    journal = request.target.journal if isinstance(request.target, Launch) else None
    return fold(journal) if journal is not None and journal.exists() else None


def _attempt(
    argv: tuple[str, ...],
    request: Request,
    recording: Recording,
    progress: Progress,
    deadlines: Deadlines,
) -> Attempt:
    family, before = Family(), staging.staging_files()

    def changed(account: Account) -> None:
        if account.state in _TOLD:
            progress(_TOLD[account.state])

    def sent(number: signal.Signals) -> None:
        progress(_SENT[number])

    def survey() -> int:
        family.look()
        return staging.size({recording.bundle, *(staging.staging_files() - before)})

    ended = record(argv, request.time_limit, Watch(changed, sent, survey), deadlines)
    return Attempt(argv, ended, family, staging.staging_files() - before)


def _may_pass(ended: Ended) -> bool:
    if ended.interrupted or ended.signals or ended.returncode == 0:
        return False
    problem = problem_of(ended)
    if problem is not None:
        return problem.passing
    return ended.returncode in _CRASHED and ended.account.state < State.STARTED


def _set_aside(recording: Recording, request: Request, number: int) -> None:
    journal = request.target.journal if isinstance(request.target, Launch) else None
    for path in (recording.bundle, journal):
        if path is not None and path.exists():
            path.rename(path.with_name(f"{path.stem}-try-{number}{path.suffix}"))
