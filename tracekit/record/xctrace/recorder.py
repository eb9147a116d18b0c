"""The recorder of a Mac: one recording with xctrace, checked before anyone relies on it.

A recording that ended may be incomplete: `judge` names the reason, by more than the exit code.
"""

import logging
import shlex
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from tracekit.base import (
    InputError,
    InterruptedRunError,
    Process,
    Recording,
    RecordingError,
    ToolError,
    TracekitError,
    Used,
    make_timestamp,
    processes,
    system,
)
from tracekit.record.event_export import align
from tracekit.record.progress import Progress
from tracekit.record.recorder import (
    Attach,
    Delayed,
    FinishedRecording,
    ProgramLaunch,
    RecordingRequest,
    Target,
    Warmed,
    journal_of,
)
from tracekit.record.supervisor import Supervisor
from tracekit.record.xctrace.attached_program import AttachedProgram
from tracekit.record.xctrace.attached_worker import AttachedWorker
from tracekit.record.xctrace.attempts import Manner, RecordingJob, Vigil, attempts
from tracekit.record.xctrace.claim import claim_machine, staging_warning
from tracekit.record.xctrace.command_line import (
    RecordedSubject,
    TemplateSelection,
    record_line,
    select,
    subject_of,
)
from tracekit.record.xctrace.counter_template import put_profile
from tracekit.record.xctrace.exporting import (
    Choose,
    SeenTables,
    counter_set,
    counter_warnings,
    export,
)
from tracekit.record.xctrace.judgement import (
    START_HINT,
    advise,
    early_end,
    judge,
    nothing_came,
    refuses_counters,
    warnings,
)
from tracekit.record.xctrace.launched_worker import LaunchedWorker
from tracekit.record.xctrace.permission import describe_permission
from tracekit.record.xctrace.recording_process import Ended
from tracekit.record.xctrace.recovering import offer_recovery
from tracekit.record.xctrace.tool import Xctrace
from tracekit.tables import TocRun, open_bundle, toc, write_toc
from tracekit.workload import journal as workload_journal

log = logging.getLogger(__name__)

_WAITING = "waiting"  # the phase of a worker that is ready and not yet let go


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
        target = request.target
        if isinstance(target, ProgramLaunch) and target.reads_input:
            system.refuse_input("It is not established that xctrace hands standard input on")
        selection = put_profile(
            select(request, self._tool),
            request,
            self._tool,
            recording=recording,
            chip=self._manner.chip(),
        )
        permission = describe_permission()
        if permission:
            progress(permission)
        with claim_machine(recording, self._manner.premises) as claim:
            job = RecordingJob(request, recording, self._manner, claim, progress)
            try:
                recorded = self._record(job, selection)
            except ToolError as error:
                error.hint = f"{permission} {error.hint}".strip()
                raise
        remarks = (*recorded.warnings, permission, *claim.warnings)
        return replace(recorded, warnings=tuple(filter(None, remarks)))

    def _record(self, job: RecordingJob, selection: TemplateSelection) -> FinishedRecording:
        start_date = make_timestamp()
        attempt, report = self._attempt(job, selection)
        if report is not None:
            processes.end_leftovers(processes.find_reported_process(report.pid, report.start))
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
            processes.end_leftovers(processes.find_reported_process(run.target.pid))
        failure = ""
        if is_checked:
            worked = journal_of(target) is not None
            failure = judge(ending, run, launched=launched, report=report, worked=worked)
        check_warnings = _check_warnings(ending, selection, run, is_checked=is_checked)
        return FinishedRecording(
            targets=_targets(target, run, attempt, report),
            command_lines=_list_command_lines(target, attempt),
            started=run.start_date or start_date,
            end_date=run.end_date or make_timestamp(),
            duration=run.duration,
            end_reason=attempt.end_reason or _find_end_reason(ending, run),
            interrupted=ending.interrupted or not is_checked,
            clock=align(run.start_date, report.anchors if report else ()),
            failure=failure,
            has_crashed=run.termination_reason.startswith("signal"),
            hint=_choose_hint(target, attempt, report) if failure else "",
            is_silent=_is_silent(target, report),
            used=_describe_used(job.request, selection, run, launched=launched),
            # The first one is shown if there are many.
            warnings=(
                *(report.warnings if report is not None else ()),
                *early_end(ending, target),
                *warnings(ending),
                *check_warnings,
                *selection.warnings,
                *staging_warning(attempt.left_staging),
            ),
        )

    def _attempt(
        self, job: RecordingJob, selection: TemplateSelection
    ) -> tuple[Vigil, workload_journal.WorkloadReport | None]:
        target = job.request.target
        recording = job.recording

        def line(subject: RecordedSubject) -> tuple[str, ...]:
            return record_line(self._tool, job.request, subject.target, selection, recording)

        journal = journal_of(target)
        if isinstance(target, Delayed):
            program = AttachedProgram(target, recording, job.claim.supervisor, job.progress)
            with closing(program):
                return attempts(job, program.ready, line), None
        if not isinstance(target, Warmed):
            if isinstance(target, ProgramLaunch) and journal is not None:
                return self._attempt_worker(job, target, journal, line)
            subject = subject_of(target)
            return attempts(job, lambda: subject, line), None
        waiting = AttachedWorker(target, recording, job.progress, job.manner.worker)
        with closing(waiting) as worker:
            attempt = attempts(job, worker.ready, line)
        if worker.interrupted:
            attempt.ending = replace(attempt.ending, interrupted=True)
        return attempt, worker.report()

    def _attempt_worker(
        self,
        job: RecordingJob,
        target: ProgramLaunch,
        journal: Path,
        line: Callable[[RecordedSubject], tuple[str, ...]],
    ) -> tuple[Vigil, workload_journal.WorkloadReport | None]:
        """Record a worker that xctrace launches; return the last try, and the worker's report."""
        limit = job.request.steady_limit
        if limit is None:
            limit = job.request.time_limit
        deadlines = job.manner.deadlines
        worker = LaunchedWorker(target, job.recording, limit, deadlines, job.progress)
        attempt = attempts(job, worker.subject, line)
        attempt.end_reason = worker.end_reason
        if not journal.exists():
            return attempt, None
        return attempt, workload_journal.fold(journal)

    def export(
        self,
        recording: Recording,
        progress: Progress,
        *,
        choose: Choose | None = None,
        seen_tables: SeenTables | None = None,
        has_toc: bool = False,
    ) -> tuple[str, ...]:
        """Export the TOC and tables, those of `choose` if it is given; return warnings.

        The TOC is left as it is if the recording `has_toc`, made from the bundle.
        Raise RecordingError if there is no bundle, ToolError if it cannot be exported.
        """
        if not recording.bundle.exists():
            raise RecordingError(f"{recording.bundle} is not there, so it cannot be exported.")
        with Supervisor(recording.folder) as supervisor:
            tool = self._tool.bind_supervisor(supervisor)
            remarks = export(
                tool,
                recording,
                choose or self._choose,
                progress,
                seen_tables or SeenTables(),
                has_toc=has_toc,
            )
        self._manner.premises.remove_staging()
        return remarks

    def _make_toc(self, attempt: Vigil, job: RecordingJob) -> tuple[TocRun, ...]:
        """Return the runs of the bundle by its table of contents, which is written."""
        recording = job.recording
        is_ended = not attempt.ending.is_killed
        if not (is_ended and _write_own_toc(recording)):
            tool = self._tool.bind_supervisor(job.claim.supervisor)
            tool.toc(recording.bundle, recording.toc_file, patiently=is_ended)
        return toc.read_toc(recording.toc_file).runs

    def _open_bundle(self, attempt: Vigil, job: RecordingJob) -> TocRun:
        recording = job.recording
        reason = f"There is no bundle at {recording.bundle}."
        if recording.bundle.exists():
            job.progress("checking the bundle")
            try:
                runs = self._make_toc(attempt, job)
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


def _write_own_toc(recording: Recording) -> bool:
    """Write the table of contents from the bundle itself; return whether that was possible.

    xctrace may take half a minute for it. A bundle without a duration was not saved whole, so
    xctrace has to say whether it can be opened.
    """
    try:
        write_toc(open_bundle(recording.bundle), recording.toc_file)
    except InputError as error:
        log.info("the table of contents comes from xctrace: %s", error.message)
        return False
    runs = toc.read_toc(recording.toc_file).runs
    if runs and runs[-1].duration and runs[-1].start_date:
        return True
    recording.toc_file.unlink()
    return False


def _targets(
    target: Target, run: TocRun, attempt: Vigil, report: workload_journal.WorkloadReport | None
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


def _list_command_lines(target: Target, attempt: Vigil) -> tuple[tuple[str, ...], ...]:
    if isinstance(target, Warmed | Delayed):
        return (target.launch.argv, attempt.argv)
    return (attempt.argv,)


def _choose_hint(
    target: Target, attempt: Vigil, report: workload_journal.WorkloadReport | None
) -> str:
    """Return the remedy for a recording that failed; empty if there is none."""
    if attempt.ending.is_unstarted:
        return f"{START_HINT} {shlex.join(attempt.argv)}"
    if journal_of(target) is not None:
        return advise(report)
    return ""


def _describe_used(
    request: RecordingRequest, selection: TemplateSelection, run: TocRun, *, launched: bool
) -> Used:
    """Return the choices that were made for a request."""
    return Used(
        method="launch" if launched else "attach",
        template=selection.template,
        instruments=selection.instruments,
        counters=selection.counters,
        counter_profile=selection.counter_profile,
        counter_set=counter_set(run),
        time_limit=request.time_limit,
    )


def _is_silent(target: Target, report: workload_journal.WorkloadReport | None) -> bool:
    """Return whether a worker of ours did nothing while it was recorded.

    One that was launched may never run; one that is attached to may be stopped by it.
    """
    if journal_of(target) is None:
        return False
    if report is None or not report.pid:
        return True
    phases = [phase.name for phase in report.phases]
    return isinstance(target, Warmed) and phases[-1:] == [_WAITING]


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
