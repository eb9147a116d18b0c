"""A running `xctrace record` under watch, with new tries after failures that are known to pass."""

import logging
import shlex
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile

import psutil

from tracekit.base import Process, Recording, processes, system
from tracekit.machine import Machine
from tracekit.record.progress import Progress
from tracekit.record.recorder import ProgramLaunch, RecordingRequest, start_error
from tracekit.record.supervisor import size
from tracekit.record.xctrace.attached_worker import WorkerTimeouts, set_aside
from tracekit.record.xctrace.claim import MachineClaim, Premises, staging_files
from tracekit.record.xctrace.command import recognize, tool_environment
from tracekit.record.xctrace.command_line import RecordedSubject
from tracekit.record.xctrace.displays import Displays, find_change, read_displays
from tracekit.record.xctrace.notice import Notice, find_notice
from tracekit.record.xctrace.progress import (
    RecordingState,
    RecordingTranscript,
    Tail,
    hear_complaint,
    hear_notice,
    hear_output,
)
from tracekit.record.xctrace.recording_process import (
    Asker,
    Deadlines,
    Ended,
    Escalation,
    stop_requests,
)
from tracekit.workload import journal

log = logging.getLogger(__name__)


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
        """Note the processes that run now."""
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
        descendant_pids: set[int] = set()
        parents = {pid}
        while parents:
            children = {child for child, parent in self._parents.items() if parent in parents}
            parents = children - descendant_pids - {pid}
            descendant_pids |= parents
        ordered_pids = sorted(descendant_pids)
        return tuple(Process(child, self._names.get(child, "")) for child in ordered_pids)


_STATES = {
    RecordingState.ANNOUNCED: "xctrace is starting",
    RecordingState.STARTED: "recording",
    RecordingState.STOPPING: "stopping",
    RecordingState.SAVING: "saving; this can take minutes",
    RecordingState.SAVED: "saved",
}
_SENT = {
    signal.SIGINT: "asked xctrace to stop and to save its data",
    signal.SIGTERM: "sent SIGTERM to xctrace",
    system.SIGKILL: "killed xctrace",
}
_MEGABYTE = 1_000_000
_REPORTS = 36  # how often a slow start is reported until its deadline: every 5 s of 180
_CRASHED = {1, 139, 141, -11, -13}  # SIGSEGV, SIGPIPE


@dataclass(frozen=True)
class Manner:
    """How to record."""

    # how long each state may last
    deadlines: Deadlines = field(default_factory=Deadlines.usual)
    pauses: Sequence[float] = (1, 1, 1)  # seconds before each new try
    # how long to wait for a worker that is attached to
    worker: WorkerTimeouts = field(default_factory=WorkerTimeouts)
    # where notes are kept, and how much space must stay free
    premises: Premises = field(default_factory=Premises)
    chip: Callable[[], str] = lambda: Machine().chip  # the name of this machine's chip
    read_clocks: Callable[[], journal.ClockAnchor] = journal.ClockAnchor.read_clocks
    read_displays: Callable[[], Displays | None] = read_displays


@dataclass(frozen=True)
class RecordingJob:
    """One recording to make: its request, its folder, how to make it, and the claimed machine."""

    request: RecordingRequest
    recording: Recording
    manner: Manner
    claim: MachineClaim
    progress: Progress


def attempts(
    job: RecordingJob,
    ready: Callable[[], RecordedSubject],
    line: Callable[[RecordedSubject], tuple[str, ...]],
) -> "Vigil":
    """Record, and try again if it could not start for a reason that is known to pass.

    A recorder that had to be stopped while it started may leave a service of Instruments stuck,
    which then records nothing, so only one more try follows, after a rest. Files of a failed try
    are kept, with its number in their names. Before each try, `ready` gives the subject and `line`
    the command line that records it. Return the last try, ended.
    """
    is_rested = False
    for number, pause in enumerate(job.manner.pauses, 1):
        attempt = _attempt(job, ready(), line)
        if not _may_pass(attempt.ending) or (is_rested and attempt.ending.is_unstarted):
            return attempt
        reason = "could not start"
        if attempt.ending.is_unstarted:
            is_rested = True
            pause = job.manner.deadlines.rest  # noqa: PLW2901  its own pause is too short
            reason = f"did not begin to record within {job.manner.deadlines.start:g} s"
        job.progress(f"xctrace {reason}; trying again in {pause:g} s")
        _set_try_aside(job, number)
        time.sleep(pause)
    return _attempt(job, ready(), line)


def _set_try_aside(job: RecordingJob, number: int) -> None:
    """Keep the files of a failed try, and end the program that it launched."""
    set_aside(job.recording.bundle, number)
    target = job.request.target
    if not isinstance(target, ProgramLaunch) or target.journal is None:
        return
    report = journal.fold(target.journal)
    processes.end_leftovers(processes.find_reported_process(report.pid, report.start))
    set_aside(target.journal, number)
    set_aside(job.recording.workload_file, number)


def _attempt(
    job: RecordingJob, subject: RecordedSubject, line: Callable[[RecordedSubject], tuple[str, ...]]
) -> "Vigil":
    if isinstance(subject.target, ProgramLaunch) and subject.target.journal is not None:
        job.claim.supervisor.expect_worker(subject.target.journal)
    vigil = Vigil(job, subject, line(subject))
    vigil.ending = vigil.run()
    vigil.left_staging = job.manner.premises.remove_staging(staging_files() - vigil.staged)
    return vigil


class Vigil:
    """One try to record: a process under watch, with its output, its files and its signals."""

    ending: Ended
    left_staging: frozenset[Path]
    end_reason: str = ""  # why we ended it, if its target was the reason

    def __init__(self, job: RecordingJob, subject: RecordedSubject, argv: tuple[str, ...]) -> None:
        self.job = job
        self.subject = subject
        self.argv = argv
        self.family = Family()
        self.account = RecordingTranscript()
        self.escalation = Escalation(job.manner.deadlines, job.request.time_limit, time.monotonic())
        self.interrupted = False
        self.halted = ""
        self.staged = staging_files()  # by others, before
        self.next_survey = 0.0
        self.displays = job.manner.read_displays()
        self.later_displays: Displays | None = None  # when it no longer recorded
        self.clocks = job.manner.read_clocks()
        self.begun = time.monotonic()
        self.next_report = self.begun
        self.written = 0
        self.reported = 0

    def run(self) -> Ended:
        """Record to the end, whatever end that is; no state lasts longer than its deadline.

        Ctrl-C, SIGTERM or SIGHUP asks it to stop and save; each further one sends the next stop
        signal. If tracekit itself is killed, its guardian goes on from there. Raise ToolError if
        xctrace cannot be started.
        """
        log.info("record: %s", shlex.join(self.argv))
        supervisor = self.job.claim.supervisor
        policy = self.job.manner.deadlines.policy(self.job.recording.bundle)
        # Files, not pipes: even if tracekit ends, xctrace neither waits for a reader nor dies.
        with (
            TemporaryFile() as stdout_file,
            TemporaryFile() as stderr_file,
            stop_requests() as take_stop_request,
        ):
            self.notice = Notice(find_notice(self.argv), supervisor)
            try:
                self.child = supervisor.start(
                    self.argv,
                    policy,
                    env=tool_environment(),
                    stdout=stdout_file,
                    stderr=stderr_file,
                )
            except OSError as error:
                self.notice.close()
                raise start_error(self.argv, error) from error
            self.heard = ((Tail(stdout_file), hear_output), (Tail(stderr_file), hear_complaint))
            try:
                return self._keep(take_stop_request)
            finally:
                self.notice.close()
                if not self._has_ended:
                    self.child.kill()
                supervisor.forget(self.child.pid)
                supervisor.note("xctrace: exited")

    def _keep(self, take_stop_request: Callable[[], bool]) -> Ended:
        while not self._has_ended and not self.escalation.is_hopeless(time.monotonic()):
            self._hear()
            self._look(time.monotonic())
            if take_stop_request():
                self.interrupted = True
                self._send(self.escalation.next_signal(time.monotonic(), Asker.PERSON))
            self.child.wait(self.job.manner.deadlines.poll)
        self._hear(has_ended=True)
        return Ended(
            account=self.account,
            returncode=self.child.exit_status,
            signals=self.escalation.sent,
            askers=self.escalation.askers,
            slept=self._measure_sleep(),
            display_change=find_change(self.displays, self.later_displays),
            is_unstarted=self.escalation.is_unstarted,
            interrupted=self.interrupted or take_stop_request(),
            finished=self.escalation.finished,
            halted=self.halted,
        )

    def _measure_sleep(self) -> float:
        """Return the seconds for which the machine slept: a monotonic clock rests meanwhile."""
        clocks = self.job.manner.read_clocks()
        passed = clocks.epoch - self.clocks.epoch
        return (passed - (clocks.monotonic - self.clocks.monotonic)) / 1e9

    @property
    def _has_ended(self) -> bool:
        return self.child.exit_status is not None

    def _hear(self, *, has_ended: bool = False) -> None:
        for tail, hear in self.heard:
            for line in tail.lines(has_ended=has_ended):
                log.debug("xctrace: %s", line)
                self._take(hear(self.account, line))
        if self.account.state < RecordingState.STARTED and self.notice.came():
            self._take(hear_notice(self.account))

    def _take(self, account: RecordingTranscript) -> None:
        """Go on with a new account of the recording, into a new state if it has one."""
        previous_state = self.account.state
        self.account = account
        if account.state is not previous_state:
            self._enter(account.state)

    def _enter(self, state: RecordingState) -> None:
        self.escalation.hear(self.account, time.monotonic())
        timeout = 0.0
        if state > RecordingState.STARTED:  # from here on it ends by itself
            timeout = self.job.manner.deadlines.saving
            if self.displays is not None and self.later_displays is None:
                self.later_displays = self.job.manner.read_displays()
        self.job.claim.supervisor.note(f"xctrace: {state.name.lower()}", timeout)
        self.job.progress(_STATES[state])
        if not self.escalation.is_unstarted:  # its target waits for the next try
            self.subject.changed(self.account)

    def _look(self, current_time: float) -> None:
        if current_time >= self.next_survey:
            self.next_survey = current_time + self.job.manner.deadlines.survey
            self._survey(current_time)
        if self.account.state <= RecordingState.ANNOUNCED:
            self._report_start(current_time)
        if self.account.state is RecordingState.STARTED and self.subject.finished():
            self.escalation.finish(current_time)
        self._send(self.escalation.find_due_signal(current_time))

    def _report_start(self, current_time: float) -> None:
        """Report a slow start from time to time."""
        limit = self.job.manner.deadlines.start
        interval = limit / _REPORTS
        if current_time < self.next_report + interval:
            return
        self.next_report = current_time
        waited = current_time - self.begun
        self.job.progress(
            f"waiting until xctrace records: {waited:.0f} s of {limit:.0f} s; Metal can take 40 s"
        )

    def _survey(self, current_time: float) -> None:
        """Check the sizes of files, the running processes, and the room left on the disk."""
        self.family.look()
        written_bytes = size({self.job.recording.bundle, *(staging_files() - self.staged)})
        if written_bytes > self.written:
            self.escalation.grow(current_time)
        self.written = written_bytes
        state = self.account.state
        if state in _STATES and written_bytes >= self.reported + _MEGABYTE:
            self.reported = written_bytes
            self.job.progress(f"{_STATES[state]} ({written_bytes / _MEGABYTE:,.0f} MB so far)")
        if state is not RecordingState.SAVED:
            self._check_disk(current_time)

    def _check_disk(self, current_time: float) -> None:
        """Stop if the disk is short of room; send the next signal if it becomes critical."""
        premises = self.job.manner.premises
        places = self.job.claim.places
        shortage = premises.shortage(places)
        if shortage and (not self.halted or premises.critical(places)):
            self.halted = self.halted or shortage
            self._send(self.escalation.next_signal(current_time, Asker.DISK))

    def _send(self, number: signal.Signals | None) -> None:
        if number is None or self._has_ended:
            return
        log.info("xctrace is sent %s while it is %s", number.name, self.account.state.name)
        self.job.progress(_SENT[number])
        self.child.send(number)


def _may_pass(ending: Ended) -> bool:
    if ending.interrupted:
        return False
    if ending.is_unstarted:
        return True
    if ending.signals or ending.returncode == 0:
        return False
    problem = recognize(ending.returncode or 0, ending.account.text)
    if problem is not None:
        return problem.passing
    return ending.returncode in _CRASHED and ending.account.state < RecordingState.STARTED
