"""The recorder for machines without xctrace: it runs the target, watches and samples it."""

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracekit.base import (
    Overhead,
    Recording,
    UsageError,
    documents,
    make_timestamp,
    own_version,
    processes,
    system,
)
from tracekit.machine import describe
from tracekit.record.host.exports import export
from tracekit.record.host.sampler import Sampler, process_name
from tracekit.record.host.session import HostSession, close, prepare_bundle
from tracekit.record.progress import Progress
from tracekit.record.recorder import (
    Attach,
    Delayed,
    FinishedRecording,
    ProgramLaunch,
    RecordingRequest,
    Warmed,
    running,
    start_error,
)
from tracekit.record.supervisor import Supervisor
from tracekit.workload import journal as workload_journal


@dataclass(frozen=True)
class HostTimeouts:
    """Seconds to wait."""

    ready: float = 600.0  # for a worker to come to its steady phase, from its launch
    # for a worker to finish its step and its account, past its time limit and past the end that
    # it announced for its measurement of the overhead of recording
    grace: float = 20.0
    # for a program to end after each signal
    signals: tuple[tuple[int, float], ...] = (
        (signal.SIGINT, 10.0),
        (signal.SIGTERM, 5.0),
        (system.SIGKILL, 5.0),
    )


@dataclass
class Listener:
    """The state of the worker by its marks so far, as far as a recorder must know."""

    journal: Path | None
    phase: str = ""
    steady: int | None = None  # the begin of that phase, in monotonic ns
    paused: bool = False  # it wants to run unrecorded for a while
    busy: int = 0  # the moment, in monotonic ns, up to which it means to be at work
    limited: bool = False  # its time limit ended the steady phase
    _offset: int = 0

    def listen(self) -> bool:
        """Read the new marks; return whether the worker entered another phase."""
        previous_phase = self.phase
        for line in self._news():
            if b'"mark":"step"' in line:
                continue
            with suppress(msgspec.MsgspecError):
                self._apply_mark(msgspec.json.decode(line, type=dict[str, Any]))
        return self.phase != previous_phase

    def _apply_mark(self, values: dict[str, Any]) -> None:
        match values:
            case {"mark": "phase", "name": str(name), "start": int(start)}:
                self.phase = name
                if name == "steady":
                    self.steady = start
            case {"mark": "sampling", "on": bool(on)}:
                self.paused = not on
            case {"mark": "busy", "until": int(until)}:
                self.busy = until
            case {"mark": "left", "why": "limit"}:
                self.limited = True
            case {"mark": "end"}:
                self.paused = False
            case _:
                pass

    def _news(self) -> list[bytes]:
        if self.journal is None:
            return []
        try:
            with self.journal.open("rb") as file:
                file.seek(self._offset)
                text = file.read()
        except FileNotFoundError:
            return []
        whole_lines = text[: text.rfind(b"\n") + 1]
        self._offset += len(whole_lines)
        return whole_lines.splitlines()


SECOND = 1_000_000_000
_SHARE = 0.05  # the most of a core that sampling takes: a program may start hundreds of processes


class End(StrEnum):
    """Why watching ended, in the words that a TOC shows."""

    EXITED = "Target exited"
    LIMIT = "Time limit reached"
    INTERRUPTED = "Interrupted"
    KILLED = "Target did not end when asked and was killed"


@dataclass(frozen=True)
class SamplingPace:
    """How often to sample and how long to watch, in seconds."""

    period: float  # between two samples
    limit: float  # of a program since its start, of a worker of ours since its steady phase began
    timeouts: HostTimeouts


def watch(
    sampler: Sampler,
    listener: Listener,
    pace: SamplingPace,
    progress: Progress,
    *,
    running: Callable[[], bool],
    sleep: Callable[[float], object] = time.sleep,
) -> End:
    """Sample until the target ends, a limit is reached or Ctrl-C is pressed; return which.

    `sleep` takes seconds, and may return earlier if the target ends.
    """
    try:
        start_time = time.monotonic_ns()
        next_sample_time = time.monotonic()
        while True:
            if listener.listen():
                progress(phase_in_words(listener, pace.limit))
            cost = 0.0
            if not listener.paused:
                cost = sampler.take()
            if not running():
                return End.EXITED
            if time.monotonic_ns() >= last_moment(start_time, listener, pace):
                return End.LIMIT
            earliest_time = time.monotonic() + cost / _SHARE
            next_sample_time = max(next_sample_time + pace.period, earliest_time)
            sleep(max(0.0, next_sample_time - time.monotonic()))
    except KeyboardInterrupt:
        return End.INTERRUPTED


def phase_in_words(listener: Listener, limit: float) -> str:
    """Return the worker's phase, with its length if it outlasts `limit`, which is in seconds."""
    length = (listener.busy - (listener.steady or 0)) / SECOND
    if listener.phase == "steady" and length > 1.5 * limit:
        return f"steady, {length:.0f} s for steps that are long"
    return listener.phase


def last_moment(start_time: int, listener: Listener, pace: SamplingPace) -> int:
    """Return the end of watching a target that started at `start_time`, in monotonic ns.

    A worker announces how long it will work, such as while it measures the overhead of recording.
    """
    if listener.journal is None:
        return start_time + round(pace.limit * SECOND)
    if listener.steady is None:
        return start_time + round(pace.timeouts.ready * SECOND)
    until = max(listener.steady + round(pace.limit * SECOND), listener.busy)
    return until + round(pace.timeouts.grace * SECOND)


FEWEST_PAIRS = 4
_DRAWS = 2000


def overhead(report: workload_journal.WorkloadReport) -> Overhead:
    """Compare the medians of recorded and unrecorded blocks, in ns a step.

    The interval is a bootstrap over pairs of neighbouring blocks (Efron and Tibshirani 1993,
    percentile method) with a fixed seed, so that a drift of the machine does not widen it
    and the same blocks give the same number.
    """
    pairs = _pairs(report.blocks)
    if not len(pairs):
        return Overhead(reason=report.overhead_reason or "no steps were made unrecorded")
    if len(pairs) < FEWEST_PAIRS:
        reason = f"only {len(pairs)} pairs of recorded and unrecorded steps were made"
        return Overhead(reason=reason)
    draws = np.random.default_rng(0).integers(0, len(pairs), (_DRAWS, len(pairs)))
    medians = np.median(pairs[draws], axis=1)
    ratios = medians[:, 0] / medians[:, 1] - 1
    lower_bound, upper_bound = np.percentile(ratios, [2.5, 97.5])
    recorded, unrecorded = np.median(pairs, axis=0)
    return Overhead(
        ratio=float(recorded / unrecorded - 1),
        spread=float(upper_bound - lower_bound) / 2,
        recorded=round(float(recorded)),
        unrecorded=round(float(unrecorded)),
    )


def _pairs(blocks: Sequence[workload_journal.StepBlock]) -> NDArray[np.float64]:
    """Pair blocks 0 and 1, 2 and 3 …: `[pairs, 2]` ns a step, the recorded one first."""
    pairs: list[tuple[float, float]] = []
    for block, neighbour in zip(blocks[::2], blocks[1::2], strict=False):
        if block.recorded and not neighbour.recorded:
            pairs.append((_step_time(block), _step_time(neighbour)))
        elif neighbour.recorded and not block.recorded:
            pairs.append((_step_time(neighbour), _step_time(block)))
    return np.array(pairs, dtype=np.float64).reshape(-1, 2)


def _step_time(block: workload_journal.StepBlock) -> float:
    return (block.end - block.start) / block.steps


_NOT_OURS = "A program that is not tracekit's own cannot be run unrecorded."
ONLY_SAMPLES = (
    "Only the process was sampled: the target tells nothing of its phases, steps and submissions."
)


@dataclass(frozen=True)
class Ending:
    """The end of a program; `complaint` is the end of its stderr.

    `stopped` is whether somebody asked tracekit to stop, even if that took a kill. `remarks` are
    warnings about its samples.
    """

    session: HostSession
    end: End
    complaint: str = ""
    stopped: bool = False
    remarks: tuple[str, ...] = ()


def complete_report(
    ending: Ending, journal: Path | None, recording: Recording
) -> workload_journal.WorkloadReport | None:
    """Fold the worker's marks, and save them if it did not close its account itself.

    Raise UsageError if the worker refused its parameters, so that nothing was recorded.
    """
    if journal is None:
        return None
    report = workload_journal.fold(journal)
    if not report.complete:
        report = workload_journal.mark_unclosed(report, _failure(ending, report))
        documents.save(recording.workload_file, report)
    if report.state == "failed" and report.exit_code == UsageError.exit_code:
        raise UsageError(report.error, report.hint)
    return report


def summarize_recording(
    ending: Ending, report: workload_journal.WorkloadReport | None, *command_lines: tuple[str, ...]
) -> FinishedRecording:
    """Return the account of a recording, and whether it counts as whole."""
    session = ending.session
    recording_overhead = Overhead(reason=_NOT_OURS)
    hint = ""
    if report is not None:
        recording_overhead = overhead(report)
    if report is not None and report.error:
        hint = report.hint
    return FinishedRecording(
        targets=(session.process,),
        command_lines=command_lines,
        started=session.started,
        end_date=session.ended,
        duration=session.seconds,
        end_reason=session.end_reason,
        clock={"origin": session.origin, "clock": "monotonic"},
        overhead=recording_overhead,
        interrupted=_is_interrupted(ending, report),
        failure=_failure(ending, report),
        has_crashed=_has_crashed(ending),
        hint=hint,
        warnings=_warnings(ending, report),
    )


def _has_crashed(ending: Ending) -> bool:
    status_words = processes.exit_words(ending.session.exit_status)
    return ending.end is End.EXITED and not ending.stopped and status_words.startswith("signal")


def _is_interrupted(ending: Ending, report: workload_journal.WorkloadReport | None) -> bool:
    """Return whether somebody asked tracekit to stop, or the worker itself."""
    if ending.end is not End.EXITED:
        return ending.stopped or ending.end is End.INTERRUPTED
    return report is not None and report.complete and report.state == "interrupted"


def _failure(ending: Ending, report: workload_journal.WorkloadReport | None) -> str:
    """Return why the recording is not whole; empty if it is."""
    if report is not None and report.error:
        return report.error
    words = _describe_failure(ending, report)
    if words and ending.complaint:
        return f"{words} Its last words: {ending.complaint}"
    return words


def _describe_failure(ending: Ending, report: workload_journal.WorkloadReport | None) -> str:
    name = ending.session.name
    status = ending.session.exit_status
    words = ""
    match ending.end:
        case End.KILLED if not _done(report):
            words = f"{name} did not end when it was asked to, and was killed."
        case End.LIMIT if report is not None and not _has_steady_phase(report):
            words = f"{name} did not come to its steady phase in time."
        case End.LIMIT if report is not None and not _done(report):
            words = f"{name} did not end by itself in time and was asked to stop."
        case End.EXITED if report is not None and report.complete:
            pass
        case End.EXITED if status:
            words = f"{name} ended with {processes.exit_words(status)}."
        case End.EXITED if report is not None:
            words = f"{name} ended without closing its account."
        case _:
            pass
    return words


def _has_steady_phase(report: workload_journal.WorkloadReport) -> bool:
    return any(phase.name == "steady" for phase in report.phases)


def _done(report: workload_journal.WorkloadReport | None) -> bool:
    return report is not None and report.complete and report.state == "done"


def _warnings(ending: Ending, report: workload_journal.WorkloadReport | None) -> tuple[str, ...]:
    if report is None:
        return (ONLY_SAMPLES, *ending.remarks)
    warnings = [*report.warnings, *ending.remarks]
    if ending.end is End.KILLED and _done(report):
        warnings.append("The worker was done but did not end, as with a thread left over; killed.")
    if ending.end is End.LIMIT:
        warnings.append("The worker did not end by itself in time and was asked to stop.")
    if report.unreadable:
        warnings.append(
            f"{report.unreadable} of the worker's marks cannot be read and are left out."
        )
    return tuple(warnings)


def _record(
    target: ProgramLaunch,
    recording: Recording,
    pace: SamplingPace,
    progress: Progress,
    supervisor: Supervisor,
) -> FinishedRecording:
    """Run the program and sample it; no process that it started outlives the recording."""
    prepare_bundle(recording)
    new_session = _begin_session("launched", pace)
    child = _start(target, recording, pace, supervisor)
    try:
        name = Path(target.argv[0]).name  # the process itself may still be about to become it
        session = replace(
            new_session,
            pid=child.pid,
            name=name,
            arguments=target.argv[1:],
            program_start=child.started,
        )
        documents.save(recording.host_session, session)
        listener = Listener(target.journal)
        with closing(Sampler(child.pid, recording.host_samples)) as sampler:
            exit_watch = ExitWatch(child)
            end = watch(
                sampler,
                listener,
                pace,
                progress,
                running=lambda: not exit_watch.exited.is_set(),
                sleep=exit_watch.exited.wait,
            )
    finally:
        is_graceful = child.stop()
        child.clean_up()
    is_stopped = end is End.INTERRUPTED
    if not is_graceful:
        end = End.KILLED
    listener.listen()  # to the last marks
    reason = end
    if end is End.EXITED and child.exit_status == 0 and listener.limited:
        reason = End.LIMIT
    session = close(
        recording, session, reason.value, child.exit_status, moment=exit_watch.exit_time
    )
    complaint = processes.last_words(recording.host_errors)
    ending = Ending(session, end, complaint, is_stopped, sampler.warnings)
    report = complete_report(ending, target.journal, recording)
    return summarize_recording(ending, report, target.argv)


class ExitWatch:
    """Waits for the end of a child in a thread, which notes the moment."""

    def __init__(self, child: processes.Child) -> None:
        self.exited = threading.Event()
        self.exit_time: int | None = None  # in monotonic ns
        self._child = child
        threading.Thread(target=self._wait, name="exit", daemon=True).start()

    def _wait(self) -> None:
        self._child.process.wait()
        self.exit_time = time.monotonic_ns()
        self.exited.set()


def _start(
    target: ProgramLaunch, recording: Recording, pace: SamplingPace, supervisor: Supervisor
) -> processes.Child:
    """Start the program, with its output and its errors in files of the recording."""
    policy = processes.StopPolicy(pace.timeouts.signals, group=True)
    env = {**os.environ, **target.env}
    try:
        with (
            recording.host_output.open("wb") as stdout_file,
            recording.host_errors.open("wb") as stderr_file,
        ):
            return supervisor.start(
                target.argv,
                policy,
                env=env,
                stdout=stdout_file,
                stderr=stderr_file,
                stdin=target.stdin,
            )
    except OSError as error:
        raise start_error(target.argv, error) from error


def _record_attached(
    target: Attach, recording: Recording, pace: SamplingPace, progress: Progress
) -> FinishedRecording:
    """Sample the process, and leave it as it was."""
    is_running = running(target.pid)
    prepare_bundle(recording)
    session = _begin_session("attached", pace)
    session = replace(session, pid=target.pid, name=process_name(target.pid))
    documents.save(recording.host_session, session)
    with closing(Sampler(target.pid, recording.host_samples)) as sampler:
        end = watch(sampler, Listener(None), pace, progress, running=is_running)
    session = close(recording, session, end.value)
    return summarize_recording(Ending(session, end, remarks=sampler.warnings), None)


def _begin_session(kind: Literal["launched", "attached"], pace: SamplingPace) -> HostSession:
    """Return a session that begins now, of a process that the caller fills in."""
    origin = time.monotonic_ns()
    started = make_timestamp()
    return HostSession(
        0, "", kind, origin=origin, started=started, time_limit=pace.limit, machine=describe()
    )


@dataclass(frozen=True)
class HostRecorder:
    """Runs a program, or finds a running one, and samples it.

    A worker ends its steady phase by itself after the request's time limit; any other program is
    ended then.
    """

    period: float = 0.025  # seconds between two samples
    timeouts: HostTimeouts = field(default_factory=HostTimeouts)

    name = "host"

    def version(self) -> str:
        """Return the version of tracekit, of which this recorder is a part."""
        return f"tracekit {own_version()}"

    def record(
        self, request: RecordingRequest, recording: Recording, progress: Progress
    ) -> FinishedRecording:
        """Record the target into `recording.host_bundle`; Ctrl-C ends it and keeps all.

        Raise ToolError if the program cannot be started, or the process cannot be examined;
        UsageError if a worker refuses its parameters.
        """
        pace = SamplingPace(self.period, request.time_limit, self.timeouts)
        if isinstance(request.target, Attach):
            return _record_attached(request.target, recording, pace, progress)
        if isinstance(request.target, Warmed):
            raise UsageError("The host recorder starts a workload itself; it waits for no go file.")
        if isinstance(request.target, Delayed):
            raise UsageError(
                "--after is for recordings of xctrace; the host recorder measures from the start.",
                hint="Leave --after out.",
            )
        with Supervisor(recording.folder) as supervisor:
            return _record(request.target, recording, pace, progress, supervisor)

    def export(self, recording: Recording, progress: Progress) -> tuple[str, ...]:
        """Write the TOC and the tables into `recording.exports`; return warnings."""
        return export(recording, progress)
