"""Turns the host recorder's bundle and the workload's events into exports."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from tracekit.base import Recording
from tracekit.record.host.sampler import Sample, read_samples
from tracekit.record.host.session import Bundle, Session, load_session
from tracekit.record.host.writer import (
    Cell,
    Compound,
    ExportColumn,
    ExportTable,
    process,
    thread,
    write_export,
    write_toc,
)
from tracekit.record.recorder import Progress
from tracekit.record.throughput import read_output
from tracekit.workload import Work, WorkloadReport, fold


def _columns(*columns: tuple[str, str, str]) -> tuple[ExportColumn, ...]:
    return tuple(ExportColumn(*column) for column in columns)


PHASES = ExportTable(
    "host-phases",
    _columns(
        ("start", "Start", "start-time"),
        ("duration", "Duration", "duration"),
        ("name", "Phase", "string"),
    ),
)
STEPS = ExportTable(
    "host-steps",
    _columns(
        ("start", "Start", "start-time"),
        ("duration", "Duration", "duration"),
        ("index", "Index", "uint64"),
        ("phase", "Phase", "string"),
        ("submitted", "Until Handed Over", "duration"),
        ("tokens", "Tokens", "uint64"),
        ("variant", "Variant", "string"),
    ),
)
SPECIALIZATIONS = ExportTable(
    "host-specializations",
    _columns(("timestamp", "Time", "event-time"), ("name", "Specialization", "string")),
)
STEP_MODEL = ExportTable(
    "host-step-model",
    _columns(
        ("timestamp", "Time", "event-time"),
        ("backend", "Backend", "string"),
        ("tokens", "Tokens", "uint64"),
        ("bytes-read", "Bytes Read", "uint64"),
        ("bytes-unique", "Bytes Read Once", "uint64"),
        ("bytes-written", "Bytes Written", "uint64"),
        ("flops", "Floating-Point Operations", "uint64"),
        ("dispatches", "Dispatches", "uint64"),
        ("variant", "Variant", "string"),
    ),
)
SPANS = ExportTable(
    "host-spans",
    _columns(
        ("start", "Start", "start-time"),
        ("duration", "Duration", "duration"),
        ("name", "Name", "string"),
    ),
)
GAUGES = ExportTable(
    "host-gauges",
    _columns(
        ("timestamp", "Time", "event-time"),
        ("name", "Name", "string"),
        ("value", "Value", "fixed-decimal"),
        ("unit", "Unit", "string"),
        ("source", "Read By", "string"),
    ),
)
REQUESTS = ExportTable(
    "host-requests",
    _columns(
        ("start", "Scheduled", "start-time"),
        ("number", "Number", "uint64"),
        ("state", "State", "string"),
        ("prompt-tokens", "Prompt Tokens", "uint64"),
        ("output-tokens", "Output Tokens", "uint64"),
        ("admitted", "Until Admitted", "duration"),
        ("first-token", "Until First Token", "duration"),
        ("duration", "Until Last Token", "duration"),
        ("produced", "Tokens Produced", "uint64"),
        ("reason", "Why Not", "string"),
    ),
)
REQUEST_TOKENS = ExportTable(
    "host-request-tokens",
    _columns(
        ("timestamp", "Time", "event-time"),
        ("request", "Request", "uint64"),
        ("index", "Index", "uint64"),
    ),
)
RESULTS = ExportTable(
    "host-results",
    _columns(
        ("timestamp", "Time", "event-time"),
        ("name", "Name", "string"),
        ("value", "Value", "fixed-decimal"),
        ("unit", "Unit", "string"),
        ("better", "Better", "string"),
        ("reason", "Why Not", "string"),
    ),
)
MEMORY_PROFILE = ExportTable(
    "host-memory-profile",
    _columns(
        ("timestamp", "Time", "event-time"),
        ("phase", "Phase", "string"),
        ("what", "What", "string"),
        ("bytes", "Bytes", "uint64"),
        ("reason", "Why Not", "string"),
    ),
)

MARKS = (
    *(PHASES, STEPS, SPECIALIZATIONS, STEP_MODEL),
    *(SPANS, GAUGES, REQUESTS, REQUEST_TOKENS, RESULTS, MEMORY_PROFILE),
)


def account(recording: Recording) -> WorkloadReport:
    """Return the worker's account, with a monitor's gauges and what a program's output says.

    Where there is no worker, the account is empty but for those.
    """
    report, monitored = fold(recording.journal_file), fold(recording.gauges_file)
    _, printed = read_output(recording.output_file)
    return replace(
        report,
        anchors=report.anchors or monitored.anchors,
        gauges=(*report.gauges, *monitored.gauges),
        results={**printed, **report.results},
    )


def told_tables(recording: Recording, report: WorkloadReport) -> tuple[ExportTable, ...]:
    """Return the tables of an account: all of a worker's, of any other program those with rows."""
    if recording.journal_file.exists():
        return MARKS
    filled = (GAUGES, report.gauges), (RESULTS, report.results)
    return tuple(table for table, rows in filled if rows)


Rows = Iterator[tuple[Cell, ...]]


@dataclass(frozen=True)
class Marks:
    """A worker's account, and the monotonic ns that are time 0 of the trace."""

    report: WorkloadReport
    origin: int

    def phases(self) -> Rows:
        """Yield the rows of `host-phases`."""
        for phase in self.report.phases:
            end = phase.start if phase.end is None else phase.end
            yield phase.start - self.origin, end - phase.start, phase.name

    def steps(self) -> Rows:
        """Yield the rows of `host-steps`."""
        tokens = self.report.model.tokens
        for index, step in enumerate(self.report.steps):
            yield (
                step.start - self.origin,
                step.completed - step.start,
                index,
                step.phase,
                step.submitted - step.start,
                tokens if step.tokens is None else step.tokens,
                step.variant,
            )

    def specializations(self) -> Rows:
        """Yield the rows of `host-specializations`."""
        for one in self.report.specializations:
            yield one.at - self.origin, one.name

    def step_models(self) -> Rows:
        """Yield the rows of `host-step-model`, one a variant, at the end of the preparation."""
        if not self.report.backend:
            return
        for variant, work in (self.report.variants or {"": self.report.model}).items():
            yield (self._prepared, self.report.backend, *_numbers(work), variant)

    def spans(self) -> Rows:
        """Yield the rows of `host-spans`."""
        for span in self.report.spans:
            yield span.start - self.origin, span.end - span.start, span.name

    def gauges(self) -> Rows:
        """Yield the rows of `host-gauges`."""
        for one in self.report.gauges:
            yield one.at - self.origin, one.name, float(one.value), one.unit, one.source

    def requests(self) -> Rows:
        """Yield the rows of `host-requests`; all times count from the scheduled arrival."""
        for one in self.report.requests:
            known = [one.admitted, *one.tokens[:1], *one.tokens[-1:]]
            since = [None if at is None else at - one.scheduled for at in known]
            times = (*since, None, None)[:3]
            sizes = (one.prompt_tokens, one.output_tokens)
            at = one.scheduled - self.origin
            yield at, one.number, one.state, *sizes, *times, len(one.tokens), one.reason

    def request_tokens(self) -> Rows:
        """Yield the rows of `host-request-tokens`."""
        for request in self.report.requests:
            for index, at in enumerate(request.tokens):
                yield at - self.origin, request.number, index

    def results(self) -> Rows:
        """Yield the rows of `host-results`, at the end of the preparation."""
        for name, one in self.report.results.items():
            value = None if one.value is None else float(one.value)
            yield self._prepared, name, value, one.unit, one.better, one.reason

    def memory_profile(self) -> Rows:
        """Yield the rows of `host-memory-profile`."""
        for one in self.report.memory:
            yield one.at - self.origin, one.phase, one.what, one.bytes, one.reason

    @property
    def _prepared(self) -> int:
        end = self.report.phases[0].end if self.report.phases else None
        return (self.origin if end is None else end) - self.origin


def _numbers(work: Work) -> tuple[Cell, ...]:
    moved = (work.bytes_read, work.bytes_unique, work.bytes_written)
    return (work.tokens, *moved, work.flops, work.dispatches)


def export_marks(
    report: WorkloadReport,
    origin: int,
    exports: Path,
    *,
    first: int = 1,
    only: Sequence[ExportTable] = MARKS,
) -> tuple[Path, ...]:
    """Write a worker's marks as tables beside those of a recorder; return the files.

    Marks from before the origin, such as the warm-up of a worker that a recorder attached to
    later, keep their true, negative times: a clipped time would be a made-up one.

    Args:
        report: The worker's account.
        origin: Time 0 of the trace, in monotonic ns.
        exports: The folder to write into.
        first: The place of the first table, one past those of the recorder's own TOC.
        only: The tables to write, in the order of `MARKS`.

    Raises:
        RecordingError: A file cannot be written.
    """
    marks = Marks(report, origin)
    tables = (
        (PHASES, marks.phases()),
        (STEPS, marks.steps()),
        (SPECIALIZATIONS, marks.specializations()),
        (STEP_MODEL, marks.step_models()),
        (SPANS, marks.spans()),
        (GAUGES, marks.gauges()),
        (REQUESTS, marks.requests()),
        (REQUEST_TOKENS, marks.request_tokens()),
        (RESULTS, marks.results()),
        (MEMORY_PROFILE, marks.memory_profile()),
    )
    files: list[Path] = []
    wanted = [(table, rows) for table, rows in tables if table in only]
    for index, (table, rows) in enumerate(wanted, first):
        files.append(exports / f"{table.schema}.xml")
        write_export(files[-1], replace(table, index=index), rows)
    return tuple(files)


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
