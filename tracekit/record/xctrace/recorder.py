"""The recorder of a Mac: one recording with xctrace, checked before anyone relies on it.

A recording that ended may be incomplete: `judge` names the reason, by more than the exit code.
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
from tracekit.record.xctrace.recovering import offer_recovery
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
    """Return why a recording whose bundle could be opened is not whole; empty if it is.

    The exit code alone decides nothing: 54 means that the launched program ended badly, which
    xctrace brings about itself at the time limit; 0 can come with an empty bundle; 2 leaves a
    bundle that may hold something.
    """
    account = ending.account
    if ending.is_killed:
        state_words = _STATES[account.state]
        return f"xctrace hung {state_words} and had to be killed; the recording may lack its end."
    if ending.halted:
        return f"The recording was stopped early: {ending.halted}. The saved part is kept."
    if account.errors or account.failed:
        error_words = " ".join(account.errors) or "it did not say which"
        return f"xctrace recorded with errors: {error_words} The saved part is kept."
    if not run.duration:
        return "The bundle holds no data: its duration is 0."
    if launched:
        failure = _launched_failed(ending, run, report)
    else:
        failure = _attached_failed(ending, report)
    if failure:
        return failure
    return _judge_exit(ending, launched=launched)


def _judge_exit(ending: Ended, *, launched: bool) -> str:
    """Return the words for an unexpected exit code of xctrace, empty for an expected one."""
    code = ending.returncode
    if code == 0 or (launched and code == TARGET_FAILED):
        return ""
    if ending.account.state is RecordingState.SAVED and ending.has_stop_request:
        return ""
    how = "in an unknown way"
    if code is not None:
        how = f"with {exit_words(code)}"
    return f"xctrace ended {how}; the saved part can be opened and is kept."


def _launched_failed(ending: Ended, run: TocRun, report: WorkloadReport | None) -> str:
    is_stopped = ending.has_stop_request or ending.account.is_stopped or run.end_reason in _STOPPED
    end = _describe_bad_end(run)
    if is_stopped or (ending.returncode != TARGET_FAILED and not end):
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


def _attached_failed(ending: Ended, report: WorkloadReport | None) -> str:
    if report is None or ending.interrupted:
        return ""
    failure = _workload_failed(report)
    if failure:
        return failure
    if any(step.phase == "steady" for step in report.steps):
        return ""
    return "The recording ended before the workload came to its steady phase."


def _workload_failed(report: WorkloadReport | None) -> str:
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
    unexpected_signals = ending.signals
    if ending.interrupted or ending.finished or ending.halted:
        unexpected_signals = ending.signals[1:]
    if unexpected_signals and not ending.is_killed:
        names = ", ".join(number.name for number in unexpected_signals)
        messages.append(f"xctrace did not stop in time and was stopped with {names}.")
    return tuple(messages)


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
    if ending.is_killed or ending.returncode is None:
        if ending.halted:
            cause = f"was stopped because {ending.halted}"
            hint = "Make room before the next one."
        else:
            cause = f"hung {state_words}"
            hint = f"Run it by hand: it may wait for a password or an answer. {shlex.join(argv)}"
        return ToolError(f"xctrace {cause} and had to be killed; it did not save.", hint)
    text = "\n".join(ending.account.output)
    complaint_lines = (*ending.account.complaints, reason, *early_end(ending, target))
    complaints = "\n".join(complaint_lines).strip()
    quoted = failure(Completed(argv, ending.returncode, text, complaints))
    message = f"Nothing was recorded: xctrace ended {state_words}. {quoted.message}"
    return ToolError(message, hint=quoted.hint)


class XctraceRecorder:
    """Records with Apple's xctrace; docs/explanation/xctrace.md describes the requirements."""

    name = "xctrace"

    def __init__(self, tool: Xctrace, choose: Choose, manner: Manner | None = None) -> None:
        self._tool = tool
        self._choose = choose
        self._manner = manner or Manner()

    def version(self) -> str:
        """Return the output of `xctrace version`."""
        return self._tool.version.text

    def record(
        self, request: RecordingRequest, recording: Recording, progress: Progress
    ) -> FinishedRecording:
        """Record the target into the run's bundle, and check that the bundle can be opened.

        Raise UsageError if a template, an instrument, a program or a process does not exist,
        ToolError if nothing was recorded, InterruptedRunError if the user stopped it before.
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
            run = self._open_bundle(attempt, job)
            is_checked = True
        except KeyboardInterrupt:
            run = TocRun(1)
            is_checked = False
        ending = attempt.ending
        target = job.request.target
        launched = isinstance(target, ProgramLaunch)
        if launched and run.target is not None:
            end_leftovers(find_reported_process(run.target.pid))
        failure = ""
        if is_checked:
            failure = judge(ending, run, launched=launched, report=report)
        command_lines = (attempt.argv,)
        if isinstance(target, Warmed):
            command_lines = (target.launch.argv, attempt.argv)
        check_warnings = _check_warnings(ending, selection, run, is_checked=is_checked)
        finished = FinishedRecording(
            targets=_targets(target, run, attempt, report),
            command_lines=command_lines,
            started=run.start_date or start_date,
            end_date=run.end_date or make_timestamp(),
            end_reason=_find_end_reason(ending, run),
            interrupted=ending.interrupted or not is_checked,
            clock=align(run.start_date, report.anchors if report else ()),
            failure=failure,
            warnings=(
                *selection.warnings,
                *warnings(ending),
                *check_warnings,
                *early_end(ending, target),
                *(report.warnings if report is not None else ()),
                *staging_warning(attempt.left_staging),
            ),
        )
        if report is not None and failure:
            finished = replace(finished, hint=report.hint)
        return finished

    def _attempt(
        self, job: RecordingJob, selection: TemplateSelection
    ) -> tuple[Vigil, WorkloadReport | None]:
        target = job.request.target
        recording = job.recording

        def line(subject: RecordedSubject) -> tuple[str, ...]:
            return record_line(self._tool, job.request, subject.target, selection, recording)

        if not isinstance(target, Warmed):
            subject = subject_of(target)
            attempt = attempts(job, lambda: subject, line)
            journal = journal_of(target)
            if journal is None or not journal.exists():
                return attempt, None
            return attempt, fold(journal)
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

        Raise RecordingError if there is no bundle, ToolError if it cannot be exported.
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
                is_ended = not attempt.ending.is_killed
                tool = self._tool.bind_supervisor(job.claim.supervisor)
                tool.toc(recording.bundle, recording.toc_file, patiently=is_ended)
                runs = read_toc(recording.toc_file).runs
            except TracekitError as error:
                reason = error.message
            else:
                if runs:
                    return runs[-1]
                reason = f"{recording.bundle} holds no run."
        if attempt.ending.interrupted:
            raise InterruptedRunError("Stopped before anything was recorded.")
        error = nothing_came(attempt.ending, job.request.target, attempt.argv, reason)
        raise offer_recovery(error, recording.bundle)


def _targets(
    target: Target, run: TocRun, attempt: Vigil, report: WorkloadReport | None
) -> tuple[Process, ...]:
    """Return the target that the trace, the user or the worker names, and its descendants."""
    main_target = run.target
    if main_target is None and isinstance(target, Attach):
        main_target = Process(target.pid)
    if main_target is None and report is not None and report.pid:
        main_target = Process(report.pid, report.process)
    if main_target is None:
        return ()
    return (main_target, *attempt.family.descendants(main_target.pid))


def _check_warnings(
    ending: Ended, selection: TemplateSelection, run: TocRun, *, is_checked: bool
) -> tuple[str, ...]:
    """Return warnings of missing counters, or of a check that was interrupted."""
    if not is_checked:
        return ("The bundle was saved, but not checked before someone asked to stop.",)
    if refuses_counters(ending):
        return ()
    return tuple(counter_warnings(selection, run))


def _find_end_reason(ending: Ended, run: TocRun) -> str:
    if ending.finished and ending.signals and not ending.interrupted:
        return "The target had ended, so xctrace was asked to stop"
    return run.end_reason or ending.account.stop_line
