"""The judgement of a recording: whole or not, why nothing came, and who had to stop it."""

import shlex

from tracekit.base import ToolError, processes
from tracekit.record.beliefs import choose_code
from tracekit.record.recorder import Attach, NoProcessError, Target, Warmed
from tracekit.record.xctrace.command import (
    NO_PROCESS,
    UNSUPPORTED_COUNTERS,
    Completed,
    failure,
    recognize,
)
from tracekit.record.xctrace.exporting import no_counters
from tracekit.record.xctrace.progress import RecordingState
from tracekit.record.xctrace.recording_process import Asker, Ended
from tracekit.record.xctrace.tool import read_version
from tracekit.tables import TocRun
from tracekit.workload import journal

_STOPPED = {"Time limit reached", "User stopped recording"}  # end reasons of the TOC
_STATES = {
    RecordingState.LAUNCHED: "before it said anything",
    RecordingState.ANNOUNCED: "before it began to record",
    RecordingState.STARTED: "while it recorded",
    RecordingState.STOPPING: "while it stopped",
    RecordingState.SAVING: "while it saved",
    RecordingState.SAVED: "after it had saved",
}

_UNSTARTED = (
    "xctrace was started twice, did not begin to record in time, and was stopped; nothing of the "
    "target was recorded."
)
START_HINT = (
    "Quit Instruments and other recorders, wait a minute, and record again. If it stays so, run "
    "the line by hand, as it may wait for a password or an answer; TRACEKIT_PATIENCE=2 waits twice "
    "as long. The line:"
)


def judge(
    ending: Ended,
    run: TocRun,
    *,
    launched: bool,
    report: journal.WorkloadReport | None = None,
    worked: bool = False,
) -> str:
    """Return why a recording whose bundle could be opened is not whole; empty if it is.

    `worked` is whether the target is a workload of ours, which makes a `report`.

    The exit code alone decides nothing: `failed-target-code`, by the beliefs, means that the
    launched program ended badly, which xctrace brings about itself at the time limit, and the trace
    is complete; 0 can come with an empty bundle; 2 leaves a bundle that may hold something.
    """
    account = ending.account
    stop = _describe_early_stop(ending)
    if stop:
        return stop
    if account.errors or account.failed:
        error_words = " ".join(account.errors) or "it did not say which"
        return f"xctrace recorded with errors: {error_words} The saved part is kept."
    if not run.duration:
        return "The bundle holds no data: its duration is 0."
    failure = _launched_failed(ending, run, report) if launched else _workload_failed(report)
    if not failure and worked and not ending.interrupted:
        failure = _never_steady(report)
    if failure:
        return failure
    return _judge_exit(ending, _choose_good_codes(run, launched=launched))


def _describe_early_stop(ending: Ended) -> str:
    """Return why we had to end a recording; empty if we had not."""
    if ending.is_unstarted:
        return _UNSTARTED
    if ending.is_killed:
        state_words = _STATES[ending.account.state]
        return f"xctrace hung {state_words} and had to be killed; the recording may lack its end."
    if ending.halted:
        return f"The recording was stopped early: {ending.halted}. The saved part is kept."
    return ""


def _choose_good_codes(run: TocRun, *, launched: bool) -> frozenset[int]:
    """Return the exit codes of a whole recording, by the beliefs about its Xcode."""
    belief = "failed-target-code" if launched else "early-end-code"
    return frozenset({0, choose_code(belief, _find_build(run))})


def _find_build(run: TocRun) -> str:
    return read_version(run.instruments_version).build


def _judge_exit(ending: Ended, good_codes: frozenset[int]) -> str:
    """Return the words for an unexpected exit code of xctrace, empty for an expected one."""
    code = ending.returncode
    if code in good_codes:
        return ""
    if ending.account.state is RecordingState.SAVED and ending.has_stop_request:
        return ""
    how = "in an unknown way"
    if code is not None:
        how = f"with {processes.exit_words(code)}"
    return f"xctrace ended {how}; the saved part can be opened and is kept."


def _launched_failed(ending: Ended, run: TocRun, report: journal.WorkloadReport | None) -> str:
    is_stopped = ending.has_stop_request or ending.account.is_stopped or run.end_reason in _STOPPED
    end = _describe_bad_end(run)
    failed_code = choose_code("failed-target-code", _find_build(run))
    if is_stopped or (ending.returncode != failed_code and not end):
        return _workload_failed(report)
    if report is not None and report.complete and report.state == "done":
        return ""
    how = ""
    if end:
        how = f" ({end})"
    error_words = ""
    if report is not None and report.error:
        error_words = f" {report.error}"
    return f"The recorded program failed{how}; the trace up to then is kept.{error_words}"


def _describe_bad_end(run: TocRun) -> str:
    """Return how the launched program failed, by the TOC; empty if it ended well."""
    if run.exit_status in {"", "0"} and run.termination_reason in {"", "exit(0)"}:
        return ""
    return run.termination_reason or f"exit status {run.exit_status}"


def _never_steady(report: journal.WorkloadReport | None) -> str:
    """Return the words for a workload that made no step of its steady phase; empty if it did."""
    if report is not None and any(step.phase == "steady" for step in report.steps):
        return ""
    if report is None or not report.pid:
        return "The workload never began: it wrote nothing, so the trace is not of its work."
    return "The recording ended before the workload came to its steady phase."


def advise(report: journal.WorkloadReport | None) -> str:
    """Return the remedy for a workload that failed or never came to its steady phase."""
    if report is not None and report.hint:
        return report.hint
    if report is None or not report.pid:
        return (
            "`--method` chooses another way to record; `tracekit doctor --probe` shows which ways "
            "work on this machine."
        )
    if any(step.phase == "steady" for step in report.steps):
        return ""
    return (
        f"Its last state was {report.state}: give it smaller parameters or a shorter --warmup, or "
        "use --method attach, which waits until it is ready."
    )


def _workload_failed(report: journal.WorkloadReport | None) -> str:
    if report is None or report.state != "failed":
        return ""
    return f"The workload failed; the trace up to then is kept. {report.error}".rstrip()


def warnings(ending: Ended) -> tuple[str, ...]:
    """Return the warnings of xctrace, and how it had to be stopped."""
    messages: list[str] = []
    for text in ending.account.warnings:
        if UNSUPPORTED_COUNTERS.fits(0, text):
            messages.append(no_counters(f"xctrace says: {text}"))
        else:
            messages.append(f"xctrace warns: {text}")
    if ending.account.foreign:
        messages.append(
            "xctrace did not speak English, so its progress was read by the order of its lines."
        )
    if ending.slept > _SHORT_SLEEP:
        messages.append(
            f"The machine slept for {ending.slept:.0f} s while it was recorded, so its times are "
            "not those of the work: `caffeinate -i -s tracekit capture …` keeps a Mac awake."
        )
    if ending.display_change:
        messages.append(
            f"A display turned {ending.display_change} while it was recorded, which may change the "
            "pace of the GPU: `caffeinate -d -i -s tracekit capture …` keeps displays on."
        )
    stop = _describe_stop(ending)
    if stop:
        messages.append(stop)
    return tuple(messages)


_SEVERAL = 2
_SHORT_SLEEP = 5.0  # seconds; clocks are set by less
_ASKERS = {
    Asker.PERSON: "by you or the system",
    Asker.DEADLINE: "by tracekit, which had waited long enough",
    Asker.TARGET: "by tracekit, as the target had nothing left to record",
    Asker.DISK: "by tracekit, as the disk was short of room",
}


def _describe_stop(ending: Ended) -> str:
    """Return who had to ask xctrace more often than usual to stop; empty if nobody had to."""
    if ending.is_killed or ending.is_unstarted:
        return ""
    requests = list(zip(ending.signals, ending.askers, strict=True))
    if ending.interrupted:
        if len(requests) < _SEVERAL:
            return ""
        words = ", ".join(f"{number.name} {_ASKERS[asker]}" for number, asker in requests)
        return f"xctrace was asked to stop {len(requests)} times: {words}."
    late = [number.name for number, asker in requests if asker is Asker.DEADLINE]
    if not late:
        return ""
    return f"xctrace did not stop in time and was stopped with {', '.join(late)}."


def refuses_counters(ending: Ended) -> bool:
    """Return whether xctrace warned that this machine records no counters."""
    return any(UNSUPPORTED_COUNTERS.fits(0, text) for text in ending.account.warnings)


def early_end(ending: Ended, target: Target) -> tuple[str, ...]:
    """Return a warning if a process that was attached to ended before its recording did."""
    if not isinstance(target, Attach) or not ending.finished:
        return ()
    return (f"The process {target.pid} ended before the recording did.",)


def nothing_came(ending: Ended, target: Target, argv: tuple[str, ...], reason: str) -> ToolError:
    """Return the error for a recording without a bundle that can be opened."""
    state_words = _STATES[ending.account.state]
    if ending.is_unstarted:
        problem = recognize(ending.returncode or 0, ending.account.text)
        if problem is not None:
            return ToolError(f"{problem.meaning} {_UNSTARTED}", hint=problem.hint)
        return ToolError(_UNSTARTED, hint=f"{START_HINT} {shlex.join(argv)}")
    if ending.is_killed or ending.returncode is None:
        if ending.halted:
            cause = f"was stopped because {ending.halted}"
            hint = (
                "Make room before the next one: `tracekit runs prune --keep 7d` frees old bundles."
            )
        else:
            cause = f"hung {state_words}"
            hint = f"Run it by hand: it may wait for a password or an answer. {shlex.join(argv)}"
        return ToolError(f"xctrace {cause} and had to be killed; it did not save.", hint)
    text = "\n".join(ending.account.output)
    complaint_lines = (*ending.account.complaints, reason, *early_end(ending, target))
    complaints = "\n".join(complaint_lines).strip()
    quoted = failure(Completed(argv, ending.returncode, text, complaints))
    message = f"Nothing was recorded: xctrace ended {state_words}. {quoted.message}"
    if isinstance(target, Warmed) and NO_PROCESS.fits(ending.returncode, complaints):
        return NoProcessError(message, hint=quoted.hint)
    return ToolError(message, hint=quoted.hint)
