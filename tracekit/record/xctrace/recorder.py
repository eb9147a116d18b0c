"""The recorder of a Mac: one recording with xctrace, checked before anyone relies on it.

A recording that ended may not be whole: `judge` says why, by more than the exit code.
"""

import shlex
from contextlib import closing
from dataclasses import replace

from tracekit.base import (
    InterruptedRunError,
    Process,
    Recording,
    RecordingError,
    ToolError,
    TracekitError,
    end_leftovers,
    exit_words,
    find_reported_process,
    make_timestamp,
)
from tracekit.record.event_export import align
from tracekit.record.recorder import (
    Attach,
    FinishedRecording,
    ProgramLaunch,
    Progress,
    RecordingRequest,
    Target,
    Warmed,
    journal_of,
)
from tracekit.record.supervisor import Supervisor
from tracekit.record.xctrace.attached_worker import AttachedWorker
from tracekit.record.xctrace.attempts import Manner, RecordingJob, Vigil, attempts
from tracekit.record.xctrace.claim import claim_machine, staging_warning
from tracekit.record.xctrace.command import UNSUPPORTED_COUNTERS, Completed, failure
from tracekit.record.xctrace.command_line import (
    RecordedSubject,
    TemplateSelection,
    record_line,
    select,
    subject_of,
)
from tracekit.record.xctrace.exporting import (
    Choose,
    SeenTables,
    counter_warnings,
    export,
    no_counters,
)
from tracekit.record.xctrace.progress import RecordingState
from tracekit.record.xctrace.recording_process import Ended
from tracekit.record.xctrace.tool import Xctrace
from tracekit.tables import TocRun, read_toc
from tracekit.workload import WorkloadReport, fold

TARGET_FAILED = 54  # the launched program did not end with status 0; the trace is complete

_STOPPED = {"Time limit reached", "User stopped recording"}  # end reasons of the TOC
_STATES = {
    RecordingState.LAUNCHED: "before it said anything",
    RecordingState.ANNOUNCED: "before it began to record",
    RecordingState.STARTED: "while it recorded",
    RecordingState.STOPPING: "while it stopped",
    RecordingState.SAVING: "while it saved",
    RecordingState.SAVED: "after it had saved",
}


def judge(
    ending: Ended, run: TocRun, *, launched: bool, report: WorkloadReport | None = None
) -> str:
    """Say why a recording whose bundle could be opened is not whole; empty if it is.

    The exit code alone decides nothing: 54 means that the launched program ended badly, which
    xctrace brings about itself at the time limit; 0 can come with an empty bundle; 2 leaves a
    bundle that may hold something.
    """
    account, when = ending.account, _STATES[ending.account.state]
    if ending.is_killed:
        return f"xctrace hung {when} and had to be killed; the recording may lack its end."
    if ending.halted:
        return f"The recording was stopped before its time: {ending.halted}. What it saved is kept."
    if account.errors or account.failed:
        error_words = " ".join(account.errors) or "it did not say which"
        return f"xctrace recorded with errors: {error_words} What it saved is kept."
    if not run.duration:
        return "The bundle holds no data: its duration is 0."
    failure = (
        _launched_failed(ending, run, report) if launched else _attached_failed(ending, report)
    )
    code, expected = ending.returncode, {0, TARGET_FAILED} if launched else {0}
    is_whole = code in expected or (
        account.state is RecordingState.SAVED and ending.has_stop_request
    )
    if failure or is_whole:
        return failure
    how = "in an unknown way" if code is None else f"with {exit_words(code)}"
    return f"xctrace ended {how}; what it saved can be opened and is kept."


def _launched_failed(ending: Ended, run: TocRun, report: WorkloadReport | None) -> str:
    stopped = ending.has_stop_request or ending.account.is_stopped or run.end_reason in _STOPPED
    good = run.exit_status in {"", "0"} and run.termination_reason in {"", "exit(0)"}
    end = "" if good else run.termination_reason or f"exit status {run.exit_status}"
    if stopped or (ending.returncode != TARGET_FAILED and not end):
        return _workload_failed(report)
    if report is not None and report.complete and report.state == "done":
        return ""
    how = f" ({end})" if end else ""
    error_words = f" {report.error}" if report is not None and report.error else ""
    return f"The recorded program failed{how}; the trace up to then is kept.{error_words}"


def _attached_failed(ending: Ended, report: WorkloadReport | None) -> str:
    if report is None or ending.interrupted:
        return ""
    steady = any(step.phase == "steady" for step in report.steps)
    early = "" if steady else "The recording ended before the workload came to its steady phase."
    return _workload_failed(report) or early


def _workload_failed(report: WorkloadReport | None) -> str:
    if report is None or report.state != "failed":
        return ""
    return f"The workload failed; the trace up to then is kept. {report.error}".rstrip()


def warnings(ending: Ended) -> tuple[str, ...]:
    """Return what a user must know: warnings of xctrace, and what we had to do."""
    messages = [
        no_counters(f"xctrace says: {text}")
        if UNSUPPORTED_COUNTERS.fits(0, text)
        else f"xctrace warns: {text}"
        for text in ending.account.warnings
    ]
    if ending.account.foreign:
        messages.append(
            "xctrace did not speak English, so its progress was read by the order of its lines."
        )
    stop_requested = ending.interrupted or ending.finished or ending.halted
    unasked = ending.signals[1:] if stop_requested else ending.signals
    if unasked and not ending.is_killed:
        names = ", ".join(number.name for number in unasked)
        messages.append(f"xctrace did not stop in time and was stopped with {names}.")
    return tuple(messages)


def refuses_counters(ending: Ended) -> bool:
    """Tell whether xctrace said that this machine records no counters."""
    return any(UNSUPPORTED_COUNTERS.fits(0, text) for text in ending.account.warnings)


def early_end(ending: Ended, target: Target) -> tuple[str, ...]:
    """Return a warning if a process that was attached to ended before its recording did."""
    if not isinstance(target, Attach) or not ending.finished:
        return ()
    return (f"The process {target.pid} ended before the recording did.",)


def nothing_came(ending: Ended, target: Target, argv: tuple[str, ...], reason: str) -> ToolError:
    """Say why there is no bundle that can be opened."""
    when, text = _STATES[ending.account.state], "\n".join(ending.account.output)
    complaints = "\n".join((*ending.account.complaints, reason, *early_end(ending, target))).strip()
    if ending.is_killed or ending.returncode is None:
        reason = f"was stopped for {ending.halted}" if ending.halted else f"hung {when}"
        line = f"Run it by hand: it may wait for a password or an answer. {shlex.join(argv)}"
        hint = "Make room before the next one." if ending.halted else line
        return ToolError(f"xctrace {reason} and had to be killed; the recording is lost.", hint)
    quoted = failure(Completed(argv, ending.returncode, text, complaints))
    message = f"Nothing was recorded: xctrace ended {when}. {quoted.message}"
    return ToolError(message, hint=quoted.hint)


class XctraceRecorder:
    """Records with Apple's xctrace; see docs/explanation/xctrace.md for what that takes."""

    name = "xctrace"

    def __init__(self, tool: Xctrace, choose: Choose, manner: Manner | None = None) -> None:
        self._tool, self._choose = tool, choose
        self._manner = manner or Manner()

    def version(self) -> str:
        """Return what `xctrace version` prints."""
        return self._tool.version.text

    def record(
        self, request: RecordingRequest, recording: Recording, progress: Progress
    ) -> FinishedRecording:
        """Record the target into the run's bundle, and check that the bundle can be opened.

        Raise UsageError where a template, an instrument, a program or a process does not exist,
        ToolError where nothing came of it, InterruptedRunError where it was stopped before.
        """
        if recording.bundle.exists():
            hint = "Record into a new folder."
            raise RecordingError(f"{recording.bundle} exists already.", hint=hint)
        selection = select(request, self._tool)
        with claim_machine(recording, self._manner.premises) as claim:
            job = RecordingJob(request, recording, self._manner, claim, progress)
            recorded = self._record(job, selection)
        return replace(recorded, warnings=(*claim.warnings, *recorded.warnings))

    def _record(self, job: RecordingJob, selection: TemplateSelection) -> FinishedRecording:
        start_date = make_timestamp()
        attempt, report = self._attempt(job, selection)
        if report is not None:
            end_leftovers(find_reported_process(report.pid, report.start))
        try:
            run, stopped = self._open_bundle(attempt, job), False
        except KeyboardInterrupt:
            run, stopped = TocRun(1), True
        ending, target = attempt.ending, job.request.target
        launched = isinstance(target, ProgramLaunch)
        if launched and run.target is not None:
            end_leftovers(find_reported_process(run.target.pid))
        failure = "" if stopped else judge(ending, run, launched=launched, report=report)
        messages = warnings(ending)
        if stopped:
            messages = (
                *messages,
                "The bundle was saved, but not checked before someone asked to stop.",
            )
        elif not refuses_counters(ending):
            messages = (*messages, *counter_warnings(selection, run))
        by_us = ending.finished and ending.signals and not ending.interrupted
        end_reason = (
            "The target had ended, so xctrace was asked to stop" if by_us else run.end_reason
        )
        worker_lines = (target.launch.argv,) if isinstance(target, Warmed) else ()
        return FinishedRecording(
            targets=_targets(target, run, attempt, report),
            command_lines=(*worker_lines, attempt.argv),
            started=run.start_date or start_date,
            end_date=run.end_date or make_timestamp(),
            end_reason=end_reason or ending.account.stop_line,
            interrupted=ending.interrupted or stopped,
            clock=align(run.start_date, report.anchors if report else ()),
            failure=failure,
            hint=report.hint if report is not None and failure else "",
            warnings=(
                *selection.warnings,
                *messages,
                *early_end(ending, target),
                *(report.warnings if report is not None else ()),
                *staging_warning(attempt.left_staging),
            ),
        )

    def _attempt(
        self, job: RecordingJob, selection: TemplateSelection
    ) -> tuple[Vigil, WorkloadReport | None]:
        target, recording = job.request.target, job.recording

        def line(subject: RecordedSubject) -> tuple[str, ...]:
            return record_line(self._tool, job.request, subject.target, selection, recording)

        if not isinstance(target, Warmed):
            subject = subject_of(target)
            attempt = attempts(job, lambda: subject, line)
            journal = journal_of(target)
            return attempt, fold(journal) if journal is not None and journal.exists() else None
        waiting = AttachedWorker(target, recording, job.progress, job.manner.worker)
        with closing(waiting) as worker:
            attempt = attempts(job, worker.ready, line)
        if worker.interrupted:
            attempt.ending = replace(attempt.ending, interrupted=True)
        return attempt, worker.report()

    def export(
        self,
        recording: Recording,
        progress: Progress,
        *,
        choose: Choose | None = None,
        seen_tables: SeenTables | None = None,
    ) -> tuple[str, ...]:
        """Export the TOC and tables, those of `choose` if it is given; return warnings.

        Raise RecordingError where there is no bundle, ToolError where it cannot be exported.
        """
        if not recording.bundle.exists():
            raise RecordingError(f"{recording.bundle} is not there, so it cannot be exported.")
        with Supervisor(recording.folder) as supervisor:
            tool = self._tool.bind_supervisor(supervisor)
            remarks = export(
                tool, recording, choose or self._choose, progress, seen_tables or SeenTables()
            )
        self._manner.premises.remove_staging()
        return remarks

    def _open_bundle(self, attempt: Vigil, job: RecordingJob) -> TocRun:
        recording = job.recording
        reason = f"There is no bundle at {recording.bundle}."
        if recording.bundle.exists():
            job.progress("checking the bundle")
            try:
                hope = not attempt.ending.is_killed
                tool = self._tool.bind_supervisor(job.claim.supervisor)
                tool.toc(recording.bundle, recording.toc_file, patiently=hope)
                runs = read_toc(recording.toc_file).runs
            except TracekitError as error:
                reason = error.message
            else:
                if runs:
                    return runs[-1]
                reason = f"{recording.bundle} holds no run."
        if attempt.ending.interrupted:
            raise InterruptedRunError("Stopped before anything was recorded.")
        raise nothing_came(attempt.ending, job.request.target, attempt.argv, reason)


def _targets(
    target: Target, run: TocRun, attempt: Vigil, report: WorkloadReport | None
) -> tuple[Process, ...]:
    attached = Process(target.pid) if isinstance(target, Attach) else None
    worker = Process(report.pid, report.process) if report is not None and report.pid else None
    main_target = run.target or attached or worker
    return (
        () if main_target is None else (main_target, *attempt.family.descendants(main_target.pid))
    )
