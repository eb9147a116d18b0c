"""What a finished recording of a launched program amounts to, in words."""

import signal
from dataclasses import dataclass

from tracekit.base.errors import UsageError
from tracekit.base.recording import Overhead, Process, Recording, save
from tracekit.record.host.attached import ONLY_SAMPLES
from tracekit.record.host.overhead import overhead
from tracekit.record.host.session import Session
from tracekit.record.host.watch import End
from tracekit.record.recorder import Launch, Recorded
from tracekit.workload.journal import WorkloadReport, fold, unclosed


@dataclass(frozen=True)
class Outcome:
    """How a program ended: `status` is its exit status, `complaint` the end of its stderr.

    `stopped` tells that somebody asked tracekit to stop, even where that took a kill.
    """

    session: Session
    end: End
    status: int | None
    complaint: str
    stopped: bool = False


def settled(outcome: Outcome, target: Launch, recording: Recording) -> WorkloadReport | None:
    """Fold the worker's marks, and save them where it did not close its account itself.

    Raises:
        UsageError: The worker refused its parameters, so that nothing was recorded.
    """
    if target.journal is None:
        return None
    report = fold(target.journal)
    if not report.complete:
        report = unclosed(report, _failure(outcome, report))
        save(recording.workload_file, report)
    if report.state == "failed" and report.exit_code == UsageError.exit_code:
        raise UsageError(report.error, report.hint)
    return report


def recorded(outcome: Outcome, target: Launch, report: WorkloadReport | None) -> Recorded:
    """Say what was recorded, and whether it counts as whole."""
    session = outcome.session
    return Recorded(
        targets=(Process(session.pid, session.name),),
        command_lines=(target.argv,),
        started=session.started,
        ended=session.ended,
        end_reason=session.end_reason,
        clock={"origin": session.origin, "clock": "monotonic"},
        overhead=_overhead(report),
        interrupted=_interrupted(outcome, report),
        failure=_failure(outcome, report),
        hint=report.hint if report is not None and report.error else "",
        warnings=_warnings(outcome, report),
    )


def _overhead(report: WorkloadReport | None) -> Overhead:
    if report is None:
        return Overhead(reason="A program that is not tracekit's own cannot be run unrecorded.")
    return overhead(report)


def _interrupted(outcome: Outcome, report: WorkloadReport | None) -> bool:
    if outcome.end is End.EXITED:  # somebody asked the worker itself to stop
        return report is not None and report.complete and report.state == "interrupted"
    return outcome.stopped or outcome.end is End.INTERRUPTED


def _failure(outcome: Outcome, report: WorkloadReport | None) -> str:
    if report is not None and report.error:
        return report.error
    name, status = outcome.session.name, outcome.status
    match outcome.end:
        case End.KILLED if _done(report):
            return ""
        case End.KILLED:
            words = f"{name} did not end when it was asked to, and was killed."
        case End.LIMIT if report is not None and _unready(report):
            words = f"{name} did not come to its steady phase in time."
        case End.LIMIT if report is not None and not _done(report):
            words = f"{name} did not end by itself in time and was asked to stop."
        case End.EXITED if report is not None and report.complete:
            return ""
        case End.EXITED if status is not None and status < 0:
            words = f"{name} was ended by {_signal(-status)}."
        case End.EXITED if status:
            words = f"{name} ended with exit status {status}."
        case End.EXITED if report is not None:
            words = f"{name} ended without closing its account."
        case _:
            return ""
    return f"{words} Its last words: {outcome.complaint}" if outcome.complaint else words


def _done(report: WorkloadReport | None) -> bool:
    return report is not None and report.complete and report.state == "done"


def _unready(report: WorkloadReport) -> bool:
    return all(phase.name != "steady" for phase in report.phases)


def _warnings(outcome: Outcome, report: WorkloadReport | None) -> tuple[str, ...]:
    if report is None:
        return (ONLY_SAMPLES,)
    told = list(report.warnings)
    if outcome.end is End.KILLED and _done(report):
        told.append("The worker was done but did not end, as with a thread left over; killed.")
    if outcome.end is End.LIMIT:
        told.append("The worker did not end by itself in time and was asked to stop.")
    if report.unreadable:
        told.append(f"{report.unreadable} of the worker's marks cannot be read and are left out.")
    return tuple(told)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
