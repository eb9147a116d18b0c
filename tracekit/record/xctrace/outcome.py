"""Whether a recording that ended can count as whole, and what a user must know of it."""

import shlex

from tracekit.base import ToolError, exit_words
from tracekit.record.xctrace.command import Completed, failure
from tracekit.record.xctrace.exporting import no_counters
from tracekit.record.xctrace.problems import UNSUPPORTED_COUNTERS
from tracekit.record.xctrace.progress import State, Stop
from tracekit.record.xctrace.recording_process import Ended
from tracekit.tables import TocRun
from tracekit.workload import WorkloadReport

TARGET_FAILED = 54  # the launched program did not end with status 0; the trace is complete

_STOPPED = {"Time limit reached", "User stopped recording"}  # end reasons of the TOC
_STATES = {
    State.LAUNCHED: "before it said anything",
    State.ANNOUNCED: "before it began to record",
    State.STARTED: "while it recorded",
    State.STOPPING: "while it stopped",
    State.SAVING: "while it saved",
    State.SAVED: "after it had saved",
}


def judge(
    ended: Ended, run: TocRun, *, launched: bool, report: WorkloadReport | None = None
) -> str:
    """Say why a recording whose bundle could be opened is not whole; empty if it is.

    The exit code alone decides nothing: 54 means that the launched program ended badly, which
    xctrace brings about itself at the time limit; 0 can come with an empty bundle; 2 leaves a
    bundle that may hold something.
    """
    account, when = ended.account, _STATES.get(ended.account.state, "")
    if ended.killed:
        return f"xctrace hung {when} and had to be killed; the recording may lack its end."
    if ended.halted:
        return f"The recording was stopped before its time: {ended.halted}. What it saved is kept."
    errors = [issue.text for issue in account.issues if issue.severity == "Error"]
    if errors or account.failed:
        said = " ".join(errors) or "it did not say which"
        return f"xctrace recorded with errors: {said} What it saved is kept."
    if not run.duration:
        return "The bundle holds no data: its duration is 0."
    if launched:
        return _target_failed(ended, run, report) or _odd_code(ended, {0, TARGET_FAILED})
    return _attached_failed(ended, report) or _odd_code(ended, {0})


def warnings(ended: Ended) -> tuple[str, ...]:
    """Return what a user must know: warnings of xctrace, and what we had to do."""
    said = [issue.text for issue in ended.account.issues if issue.severity == "Warning"]
    found = [
        no_counters(f"xctrace says: {text}")
        if UNSUPPORTED_COUNTERS.fits(0, text)
        else f"xctrace warns: {text}"
        for text in said
    ]
    if ended.account.foreign:
        found.append(
            "xctrace did not speak English, so its progress was read by the order of its lines."
        )
    asked = ended.interrupted or ended.finished or ended.halted
    unasked = ended.signals[1:] if asked else ended.signals
    if unasked and not ended.killed:
        names = ", ".join(number.name for number in unasked)
        found.append(f"xctrace did not stop in time and was stopped with {names}.")
    return tuple(found)


def nothing_came(ended: Ended, argv: tuple[str, ...], why: str, also: str = "") -> ToolError:
    """Say why there is no bundle that can be opened; `also` goes before the hint."""
    when = _STATES.get(ended.account.state, "")
    text = "\n".join(ended.account.output)
    complaints = "\n".join((*ended.account.complaints, why)).strip()
    if ended.halted and ended.killed:
        return ToolError(
            f"xctrace was killed {when}, for {ended.halted}; the recording is lost.",
            hint="Make room before the next one.",
        )
    if ended.killed or ended.returncode is None:
        return ToolError(
            f"xctrace hung {when} and had to be killed; the recording is lost.",
            hint="Run the line by hand, once: it may wait for a password or an answer. "
            f"{shlex.join(argv)}",
        )
    quoted = failure(Completed(argv, ended.returncode, text, complaints))
    return ToolError(
        f"Nothing was recorded: xctrace ended {when}. {quoted.message}",
        hint=" ".join(filter(None, (also, quoted.hint))),
    )


def target_end(run: TocRun) -> str:
    """Say how the launched program ended, as the TOC knows it; empty for a good end."""
    if run.exit_status in {"", "0"} and run.termination_reason in {"", "exit(0)"}:
        return ""
    return run.termination_reason or f"exit status {run.exit_status}"


def _target_failed(ended: Ended, run: TocRun, report: WorkloadReport | None) -> str:
    if _was_stopped(ended, run):
        return _workload_failed(report)
    end = target_end(run)
    if ended.returncode != TARGET_FAILED and not end:
        return _workload_failed(report)
    if report is not None and report.complete and report.state == "done":
        return ""
    how = f" ({end})" if end else ""
    said = f" {report.error}" if report is not None and report.error else ""
    return f"The recorded program failed{how}; the trace up to then is kept.{said}"


def _attached_failed(ended: Ended, report: WorkloadReport | None) -> str:
    if report is None or ended.interrupted:
        return ""
    if report.state == "failed":
        return _workload_failed(report)
    if any(step.phase == "steady" for step in report.steps):
        return ""
    return "The recording ended before the workload came to its steady phase."


def _was_stopped(ended: Ended, run: TocRun) -> bool:
    """Tell whether the recording was stopped, rather than by the end of its program."""
    return (
        ended.interrupted
        or bool(ended.signals)
        or ended.account.stop in {Stop.TIME_LIMIT, Stop.ASKED}
        or run.end_reason in _STOPPED
    )


def _workload_failed(report: WorkloadReport | None) -> str:
    if report is None or report.state != "failed":
        return ""
    return f"The workload failed; the trace up to then is kept. {report.error}".rstrip()


def _odd_code(ended: Ended, expected: set[int]) -> str:
    code = ended.returncode
    asked = ended.signals or ended.interrupted
    if code in expected or (ended.account.state is State.SAVED and asked):
        return ""
    how = "in an unknown way" if code is None else f"with {exit_words(code)}"
    return f"xctrace ended {how}; what it saved can be opened and is kept."
