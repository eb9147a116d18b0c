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
    now,
    reported,
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
from tracekit.record.xctrace.claim import claimed, staging_warning
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
    ended: Ended, run: TocRun, *, launched: bool, report: WorkloadReport | None = None
) -> str:
    """Say why a recording whose bundle could be opened is not whole; empty if it is.

    The exit code alone decides nothing: 54 means that the launched program ended badly, which
    xctrace brings about itself at the time limit; 0 can come with an empty bundle; 2 leaves a
    bundle that may hold something.
    """
    account, when = ended.account, _STATES[ended.account.state]
    if ended.killed:
        return f"xctrace hung {when} and had to be killed; the recording may lack its end."
    if ended.halted:
        return f"The recording was stopped before its time: {ended.halted}. What it saved is kept."
    if account.errors or account.failed:
        said = " ".join(account.errors) or "it did not say which"
        return f"xctrace recorded with errors: {said} What it saved is kept."
    if not run.duration:
        return "The bundle holds no data: its duration is 0."
    failure = _launched_failed(ended, run, report) if launched else _attached_failed(ended, report)
    code, expected = ended.returncode, {0, TARGET_FAILED} if launched else {0}
    whole = code in expected or (account.state is RecordingState.SAVED and ended.asked)
    if failure or whole:
        return failure
    how = "in an unknown way" if code is None else f"with {exit_words(code)}"
    return f"xctrace ended {how}; what it saved can be opened and is kept."


def _launched_failed(ended: Ended, run: TocRun, report: WorkloadReport | None) -> str:
    stopped = ended.asked or ended.account.stopped or run.end_reason in _STOPPED
    good = run.exit_status in {"", "0"} and run.termination_reason in {"", "exit(0)"}
    end = "" if good else run.termination_reason or f"exit status {run.exit_status}"
    if stopped or (ended.returncode != TARGET_FAILED and not end):
        return _workload_failed(report)
    if report is not None and report.complete and report.state == "done":
        return ""
    how = f" ({end})" if end else ""
    said = f" {report.error}" if report is not None and report.error else ""
    return f"The recorded program failed{how}; the trace up to then is kept.{said}"


def _attached_failed(ended: Ended, report: WorkloadReport | None) -> str:
    if report is None or ended.interrupted:
        return ""
    steady = any(step.phase == "steady" for step in report.steps)
    early = "" if steady else "The recording ended before the workload came to its steady phase."
    return _workload_failed(report) or early


def _workload_failed(report: WorkloadReport | None) -> str:
    if report is None or report.state != "failed":
        return ""
    return f"The workload failed; the trace up to then is kept. {report.error}".rstrip()


def warnings(ended: Ended) -> tuple[str, ...]:
    """Return what a user must know: warnings of xctrace, and what we had to do."""
    found = [
        no_counters(f"xctrace says: {text}")
        if UNSUPPORTED_COUNTERS.fits(0, text)
        else f"xctrace warns: {text}"
        for text in ended.account.warnings
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


def refuses_counters(ended: Ended) -> bool:
    """Tell whether xctrace said that this machine records no counters."""
    return any(UNSUPPORTED_COUNTERS.fits(0, text) for text in ended.account.warnings)


def early_end(ended: Ended, target: Target) -> tuple[str, ...]:
    """Return a warning if a process that was attached to ended before its recording did."""
    if not isinstance(target, Attach) or not ended.finished:
        return ()
    return (f"The process {target.pid} ended before the recording did.",)


def nothing_came(ended: Ended, target: Target, argv: tuple[str, ...], why: str) -> ToolError:
    """Say why there is no bundle that can be opened."""
    when, text = _STATES[ended.account.state], "\n".join(ended.account.output)
    complaints = "\n".join((*ended.account.complaints, why, *early_end(ended, target))).strip()
    if ended.killed or ended.returncode is None:
        why = f"was stopped for {ended.halted}" if ended.halted else f"hung {when}"
        line = f"Run it by hand: it may wait for a password or an answer. {shlex.join(argv)}"
        hint = "Make room before the next one." if ended.halted else line
        return ToolError(f"xctrace {why} and had to be killed; the recording is lost.", hint)
    quoted = failure(Completed(argv, ended.returncode, text, complaints))
    said = f"Nothing was recorded: xctrace ended {when}. {quoted.message}"
    return ToolError(said, hint=quoted.hint)


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
        with claimed(recording, self._manner.premises) as claim:
            job = RecordingJob(request, recording, self._manner, claim, progress)
            recorded = self._record(job, selection)
        return replace(recorded, warnings=(*claim.warnings, *recorded.warnings))

    def _record(self, job: RecordingJob, selection: TemplateSelection) -> FinishedRecording:
        began = now()
        attempt, report = self._attempt(job, selection)
        if report is not None:
            end_leftovers(reported(report.pid, report.start))
        try:
            run, stopped = self._open(attempt, job), False
        except KeyboardInterrupt:
            run, stopped = TocRun(1), True
        ended, target = attempt.ended, job.request.target
        launched = isinstance(target, ProgramLaunch)
        if launched and run.target is not None:
            end_leftovers(reported(run.target.pid))
        failure = "" if stopped else judge(ended, run, launched=launched, report=report)
        said = warnings(ended)
        if stopped:
            said = (*said, "The bundle was saved, but not checked before someone asked to stop.")
        elif not refuses_counters(ended):
            said = (*said, *counter_warnings(selection, run))
        by_us = ended.finished and ended.signals and not ended.interrupted
        why = "The target had ended, so xctrace was asked to stop" if by_us else run.end_reason
        before = (target.launch.argv,) if isinstance(target, Warmed) else ()
        return FinishedRecording(
            targets=_targets(target, run, attempt, report),
            command_lines=(*before, attempt.argv),
            started=run.start_date or began,
            ended=run.end_date or now(),
            end_reason=why or ended.account.stop_line,
            interrupted=ended.interrupted or stopped,
            clock=align(run.start_date, report.anchors if report else ()),
            failure=failure,
            hint=report.hint if report is not None and failure else "",
            warnings=(
                *selection.warnings,
                *said,
                *early_end(ended, target),
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
            attempt.ended = replace(attempt.ended, interrupted=True)
        return attempt, worker.report()

    def export(
        self,
        recording: Recording,
        progress: Progress,
        *,
        choose: Choose | None = None,
        seen: SeenTables | None = None,
    ) -> tuple[str, ...]:
        """Export the TOC and tables, those of `choose` if it is given; return warnings.

        Raise RecordingError where there is no bundle, ToolError where it cannot be exported.
        """
        if not recording.bundle.exists():
            raise RecordingError(f"{recording.bundle} is not there, so it cannot be exported.")
        with Supervisor(recording.folder) as supervisor:
            tool = self._tool.guarded(supervisor)
            remarks = export(
                tool, recording, choose or self._choose, progress, seen or SeenTables()
            )
        self._manner.premises.remove_staging()
        return remarks

    def _open(self, attempt: Vigil, job: RecordingJob) -> TocRun:
        recording = job.recording
        why = f"There is no bundle at {recording.bundle}."
        if recording.bundle.exists():
            job.progress("checking the bundle")
            try:
                hope = not attempt.ended.killed
                tool = self._tool.guarded(job.claim.supervisor)
                tool.toc(recording.bundle, recording.toc_file, patiently=hope)
                runs = read_toc(recording.toc_file).runs
            except TracekitError as error:
                why = error.message
            else:
                if runs:
                    return runs[-1]
                why = f"{recording.bundle} holds no run."
        if attempt.ended.interrupted:
            raise InterruptedRunError("Stopped before anything was recorded.")
        raise nothing_came(attempt.ended, job.request.target, attempt.argv, why)


def _targets(
    target: Target, run: TocRun, attempt: Vigil, report: WorkloadReport | None
) -> tuple[Process, ...]:
    attached = Process(target.pid) if isinstance(target, Attach) else None
    worker = Process(report.pid, report.process) if report is not None and report.pid else None
    first = run.target or attached or worker
    return () if first is None else (first, *attempt.family.descendants(first.pid))
