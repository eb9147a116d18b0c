"""What a finished recording of a launched program amounts to, in words."""

import signal
from dataclasses import dataclass

from tracekit.errors import UsageError
from tracekit.host.attached import ONLY_SAMPLES
from tracekit.host.overhead import overhead
from tracekit.host.session import Session
from tracekit.host.watch import End
from tracekit.journal import WorkloadReport, fold, unclosed
from tracekit.recorder import Launch, Recorded
from tracekit.recording import Overhead, Process, Recording, save


@dataclass(frozen=True)
class Outcome:
    """How a program ended: `status` is its exit status, `complaint` the end of its stderr."""

    session: Session
    end: End
    status: int | None
    complaint: str


def settled(outcome: Outcome, target: Launch, recording: Recording) -> WorkloadReport | None:
    """Fold the worker's marks, and save them where it did not close its account itself.

    Raises:
        UsageError: The worker refused its parameters, so that nothing was recorded.
    """
    if target.journal is None:
        return None
    report = fold(target.journal)
    if not report.complete:
        report = unclosed(report, _failure(outcome))
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
        interrupted=outcome.end is End.INTERRUPTED,
        failure=_failure(outcome) if report is None else _told(outcome, report),
        warnings=_warnings(outcome, report),
    )


def _overhead(report: WorkloadReport | None) -> Overhead:
    if report is None:
        return Overhead(reason="A program that is not tracekit's own cannot be run unrecorded.")
    return overhead(report)


def _told(outcome: Outcome, report: WorkloadReport) -> str:
    if report.state == "failed":
        return report.error
    return "" if report.complete else _failure(outcome)


def _failure(outcome: Outcome) -> str:
    name, status = outcome.session.name, outcome.status
    match outcome.end:
        case End.KILLED:
            words = f"{name} did not end when it was asked to, and was killed."
        case End.EXITED if status is not None and status < 0:
            words = f"{name} was ended by {_signal(-status)}."
        case End.EXITED if status:
            words = f"{name} ended with exit status {status}."
        case End.EXITED:
            return ""
        case _:
            return ""
    return f"{words} Its last words: {outcome.complaint}" if outcome.complaint else words


def _warnings(outcome: Outcome, report: WorkloadReport | None) -> tuple[str, ...]:
    if report is None:
        return (ONLY_SAMPLES,)
    told = list(report.warnings)
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
