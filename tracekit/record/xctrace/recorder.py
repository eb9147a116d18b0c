"""The recorder of a Mac: one recording with xctrace, checked before anyone relies on it."""

from dataclasses import replace

from tracekit.base import (
    InterruptedRunError,
    Process,
    Recording,
    RecordingError,
    TracekitError,
    end_leftovers,
    now,
    reported,
)
from tracekit.record.recorder import Attach, Launch, Progress, Recorded, Request, Warmed, journal_of
from tracekit.record.supervisor import Supervisor
from tracekit.record.xctrace import exporting
from tracekit.record.xctrace.attached_worker import AttachedWorker
from tracekit.record.xctrace.attempts import Attempt, Job, Manner, attempts
from tracekit.record.xctrace.claim import claimed
from tracekit.record.xctrace.clock import align
from tracekit.record.xctrace.command_line import Subject, early_end, record_line, subject_of
from tracekit.record.xctrace.exporting import counter_warnings
from tracekit.record.xctrace.outcome import (
    judge,
    nothing_came,
    warnings,
)
from tracekit.record.xctrace.selection import Selection, select
from tracekit.record.xctrace.staging import staging_warning
from tracekit.record.xctrace.tool import Xctrace
from tracekit.tables import TocRun, read_toc
from tracekit.workload import WorkloadReport, fold


class XctraceRecorder:
    """Records with Apple's xctrace; see docs/explanation/xctrace.md for what that takes.

    `choose` says which tables to export, by Apple's names, of those that a recording has.
    """

    name = "xctrace"

    def __init__(
        self,
        tool: Xctrace,
        choose: exporting.Choose,
        manner: Manner | None = None,
    ) -> None:
        self._tool = tool
        self._choose = choose
        self._manner = manner or Manner()

    def version(self) -> str:
        """Return what `xctrace version` prints; the build in brackets is what counts."""
        return self._tool.version.text

    def record(self, request: Request, recording: Recording, progress: Progress) -> Recorded:
        """Record the target into the run's bundle, and check that the bundle can be opened.

        Raises:
            UsageError: A template, an instrument, a program or a process does not exist.
            ToolError: Nothing came of it; xctrace's own words say why.
            RecordingError: The folder holds a bundle already.
            InterruptedRunError: It was stopped before anything was recorded.
        """
        if recording.bundle.exists():
            raise RecordingError(
                f"{recording.bundle} exists already.", hint="Record into a new folder."
            )
        selection = select(request, self._tool)
        with claimed(recording, self._manner.premises) as claim:
            job = Job(request, recording, self._manner, claim, progress)
            recorded = self._record(job, selection)
        return replace(recorded, warnings=(*claim.warnings, *recorded.warnings))

    def _record(self, job: Job, selection: Selection) -> Recorded:
        began = now()
        attempt, report = self._attempt(job, selection)
        if report is not None:
            end_leftovers(reported(report.pid, report.start))
        try:
            run = self._open(attempt, job)
        except KeyboardInterrupt:
            return replace(
                _recorded(job.request, attempt, TocRun(1), report, began=began),
                end_reason=attempt.ended.account.stop_line,
                interrupted=True,
                warnings=("The bundle was saved, but not checked before someone asked to stop.",),
            )
        if isinstance(job.request.target, Launch) and run.target is not None:
            end_leftovers(reported(run.target.pid))
        ended, target = attempt.ended, job.request.target
        failure = judge(ended, run, launched=isinstance(target, Launch), report=report)
        said = warnings(ended)
        return replace(
            _recorded(job.request, attempt, run, report, began=began),
            clock=align(run.start_date, report.anchors if report else ()),
            failure=failure,
            hint=report.hint if report is not None and failure else "",
            warnings=(
                *selection.warnings,
                *said,
                *counter_warnings(selection, run),
                *staging_warning(attempt.left_staging),
                *early_end(target, ended),
            ),
        )

    def _attempt(self, job: Job, selection: Selection) -> tuple[Attempt, WorkloadReport | None]:
        target, recording = job.request.target, job.recording

        def line(subject: Subject) -> tuple[str, ...]:
            return record_line(self._tool, job.request, subject.target, selection, recording)

        if not isinstance(target, Warmed):
            subject = subject_of(target)
            attempt = attempts(job, lambda: subject, line)
            journal = journal_of(target)
            return attempt, fold(journal) if journal is not None and journal.exists() else None
        with AttachedWorker(target, recording, job.progress, job.manner.worker) as worker:
            attempt = attempts(job, worker.ready, line)
        if worker.interrupted:
            attempt = replace(attempt, ended=replace(attempt.ended, interrupted=True))
        return attempt, worker.report()

    def export(
        self,
        recording: Recording,
        progress: Progress,
        *,
        choose: exporting.Choose | None = None,
        seen: exporting.Seen | None = None,
    ) -> tuple[str, ...]:
        """Export the TOC and tables, those of `choose` if it is given; return warnings.

        Raises:
            RecordingError: The run has no bundle.
            ToolError: The bundle cannot be exported.
        """
        if not recording.bundle.exists():
            raise RecordingError(f"{recording.bundle} is not there, so it cannot be exported.")
        with Supervisor(recording.folder) as supervisor:
            tool = self._tool.guarded(supervisor)
            remarks = exporting.export(
                tool, recording, choose or self._choose, progress, seen or exporting.Seen()
            )
        self._manner.premises.remove_staging()
        return remarks

    def _open(self, attempt: Attempt, job: Job) -> TocRun:
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
        also = " ".join(early_end(attempt.subject.target, attempt.ended))
        raise nothing_came(attempt.ended, attempt.argv, why, also)


def _recorded(
    request: Request, attempt: Attempt, run: TocRun, report: WorkloadReport | None, *, began: str
) -> Recorded:
    """Return what is known of a recording that was saved, whether or not it is whole."""
    ended, target = attempt.ended, request.target
    by_us = ended.finished and ended.signals and not ended.interrupted
    why = "The target had ended, so xctrace was asked to stop" if by_us else run.end_reason
    launched = (target.launch.argv,) if isinstance(target, Warmed) else ()
    return Recorded(
        targets=_targets(request, run, attempt, report),
        command_lines=(*launched, attempt.argv),
        started=run.start_date or began,
        ended=run.end_date or now(),
        end_reason=why or ended.account.stop_line,
        interrupted=ended.interrupted,
    )


def _targets(
    request: Request, run: TocRun, attempt: Attempt, report: WorkloadReport | None
) -> tuple[Process, ...]:
    if run.target is not None:
        first = run.target
    elif isinstance(request.target, Attach):
        first = Process(request.target.pid)
    elif report is not None and report.pid:
        first = Process(report.pid, report.process)
    else:
        return ()
    return (first, *attempt.family.descendants(first.pid))
