"""Turns the host recorder's bundle and the worker's marks into exports."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from tracekit.base.recording import Recording
from tracekit.record.host.account import account, told_tables
from tracekit.record.host.cells import Compound, process, thread
from tracekit.record.host.export_writer import ExportColumn, ExportTable, write_export
from tracekit.record.host.marks import Rows, export_marks
from tracekit.record.host.sampler import Sample, read_samples
from tracekit.record.host.session import Bundle, Session, load_session
from tracekit.record.host.toc_writer import write_toc
from tracekit.record.recorder import Progress
from tracekit.workload.journal import WorkloadReport

_START = ExportColumn("start", "Start", "start-time")
_DURATION = ExportColumn("duration", "Duration", "duration")
_PROCESS = ExportColumn("process", "Process", "process")

SUBMISSIONS = ExportTable(
    "host-submissions",
    (
        _START,
        _DURATION,
        ExportColumn("event-label", "Label", "string"),
        _PROCESS,
        ExportColumn("thread", "Thread", "thread"),
    ),
)
INTERVALS = ExportTable(
    "host-intervals",
    (
        _START,
        _DURATION,
        ExportColumn("channel-name", "Channel", "gpu-channel-name"),
        ExportColumn("start-latency", "Start Latency", "duration"),
        ExportColumn("event-label", "Label", "string"),
        _PROCESS,
    ),
)
SAMPLES = ExportTable(
    "host-process-samples",
    (
        ExportColumn("timestamp", "Time", "sample-time"),
        _PROCESS,
        ExportColumn("cpu", "Cores in Use", "fixed-decimal"),
        ExportColumn("memory", "Resident Memory", "size-in-bytes"),
        ExportColumn("threads", "Threads", "uint64"),
        ExportColumn("voluntary", "Voluntary Context Switches", "uint64"),
        ExportColumn("involuntary", "Involuntary Context Switches", "uint64"),
        ExportColumn("machine", "Cores in Use by All", "fixed-decimal"),
    ),
)


def export(recording: Recording, progress: Progress) -> tuple[str, ...]:
    """Write the TOC and every table that the recording holds; return warnings.

    Raises:
        RecordingError: There is no bundle, or a file cannot be written.
        InputError: The bundle is damaged.
    """
    bundle = Bundle(recording.host_bundle)
    session = load_session(bundle)
    samples = read_samples(bundle.samples)
    warnings: list[str] = []
    report = account(recording)
    told = told_tables(recording, report)
    tables = [*told, SAMPLES]
    progress("host-steps")
    export_marks(report, session.origin, recording.exports, only=told)
    if recording.journal_file.exists():
        tables = [*told, SUBMISSIONS, INTERVALS, SAMPLES]
        _write(recording.exports, SUBMISSIONS, tables, submissions(report, session))
        _write(recording.exports, INTERVALS, tables, intervals(report, session))
    if len(samples) <= 1:
        warnings.append("The target ended before two samples were taken: its load is not known.")
    progress("host-process-samples")
    _write(recording.exports, SAMPLES, tables, process_samples(samples, session))
    write_toc(
        recording.toc_file, session, [table.schema for table in tables], last=_last(samples, report)
    )
    return tuple(warnings)


def submissions(report: WorkloadReport, session: Session) -> Rows:
    """Yield a row for each step: from the call that builds it until it is handed over."""
    owner = _owner(session)
    main = thread("Main Thread", report.thread, owner) if report.thread else None
    for step in report.steps:
        yield (
            step.start - session.origin,
            step.submitted - step.start,
            report.workload,
            owner,
            main,
        )


def intervals(report: WorkloadReport, session: Session) -> Rows:
    """Yield a row for each step: from hand-over until it was seen complete.

    When work began after hand-over a host does not see, so there is no start latency.
    """
    owner = _owner(session)
    channel = "CPU" if report.backend == "cpu" else f"{report.backend}, seen from the host"
    for step in report.steps:
        yield (
            step.submitted - session.origin,
            step.completed - step.submitted,
            channel,
            None,
            report.workload,
            owner,
        )


def process_samples(samples: Sequence[Sample], session: Session) -> Rows:
    """Yield a row for each sample; the first has nothing before it to tell cores from."""
    owner = _owner(session)
    cores: list[tuple[float | None, float | None]] = [(None, None)]
    for one, other in pairwise(samples):
        wall = other.at - one.at
        cores.append(((other.cpu - one.cpu) / wall, (other.machine - one.machine) / wall))
    for sample, (cpu, machine) in zip(samples, cores, strict=False):
        yield (
            sample.at - session.origin,
            owner,
            cpu,
            sample.memory,
            sample.threads,
            sample.voluntary,
            sample.involuntary,
            machine,
        )


def _last(samples: Sequence[Sample], report: WorkloadReport) -> int:
    moments = [sample.at for sample in samples[-1:]]
    moments += [step.completed for step in report.steps[-1:]]
    return max(moments, default=0)


def _owner(session: Session) -> Compound:
    return process(session.name, session.pid)


def _write(folder: Path, table: ExportTable, tables: Sequence[ExportTable], rows: Rows) -> None:
    index = [one.schema for one in tables].index(table.schema) + 1
    write_export(folder / f"{table.schema}.xml", replace(table, index=index), rows)
