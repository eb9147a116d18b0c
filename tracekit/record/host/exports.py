"""Turns the host recorder's bundle and the workload's events into exports."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
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
from tracekit.tables import SCHEMAS, Kind
from tracekit.workload import WorkloadReport, fold

_TYPES = {
    Kind.TIME: "event-time",
    Kind.DURATION: "duration",
    Kind.INTEGER: "uint64",
    Kind.NUMBER: "fixed-decimal",
    Kind.TEXT: "string",
    Kind.PROCESS: "process",
}


def _export_of(name: str, *mnemonics: str) -> ExportTable:
    """Return the export that a table is read from where there is no trace.

    It has the columns that the table declares, or those of them with the mnemonics, in order.
    """
    schema = SCHEMAS[name]
    source = next(source.schema for source in schema.sources if source.clock == "host")
    declared = {
        column.source: column
        for column in schema.columns
        if column.source and "." not in column.source
    }
    columns = (
        ExportColumn(
            mnemonic,
            declared[mnemonic].name.replace("_", " ").title(),
            "start-time" if mnemonic == "start" else _TYPES[declared[mnemonic].kind],
        )
        for mnemonic in mnemonics or declared
    )
    return ExportTable(source, tuple(columns))


PHASES = _export_of("phases")
STEPS = _export_of("steps")
SPECIALIZATIONS = _export_of("specializations")
STEP_MODEL = _export_of("step_models")
SPANS = _export_of("spans")
GAUGES = _export_of("gauges")
REQUESTS = _export_of("requests")
REQUEST_TOKENS = _export_of("request_tokens")
RESULTS = _export_of("results")
MEMORY_PROFILE = _export_of("memory_profile")
SAMPLES = _export_of("process_samples")
INTERVALS = _export_of(
    "gpu_intervals",
    *("start", "duration", "channel-name", "start-latency", "event-label", "process"),
)
_SUBMISSIONS = _export_of("submissions", "start", "duration", "event-label", "process")
SUBMISSIONS = replace(
    _SUBMISSIONS, columns=(*_SUBMISSIONS.columns, ExportColumn("thread", "Thread", "thread"))
)


def account(recording: Recording) -> WorkloadReport:
    """Return the worker's account, with a monitor's gauges and what a program's output says.

    Where there is no worker, the account is empty but for those.
    """
    report, monitored = fold(recording.journal_file), fold(recording.gauges_file)
    return replace(
        report,
        anchors=report.anchors or monitored.anchors,
        gauges=(*report.gauges, *monitored.gauges),
        results={**read_output(recording.output_file), **report.results},
    )


def event_tables(recording: Recording, report: WorkloadReport) -> tuple[ExportTable, ...]:
    """Return the tables of an account: all of a worker's, of any other program those with rows."""
    if recording.journal_file.exists():
        return EVENTS
    filled = (GAUGES, report.gauges), (RESULTS, report.results)
    return tuple(table for table, rows in filled if rows)


Rows = Iterator[tuple[Cell, ...]]


def _phases(report: WorkloadReport, origin: int) -> Rows:
    for phase in report.phases:
        end = phase.start if phase.end is None else phase.end
        yield phase.start - origin, end - phase.start, phase.name


def _steps(report: WorkloadReport, origin: int) -> Rows:
    for index, step in enumerate(report.steps):
        yield (
            step.start - origin,
            step.completed - step.start,
            index,
            step.phase,
            step.submitted - step.start,
            report.model.tokens if step.tokens is None else step.tokens,
            step.variant,
        )


def _specializations(report: WorkloadReport, origin: int) -> Rows:
    for pipeline in report.specializations:
        yield pipeline.at - origin, pipeline.name


def _step_models(report: WorkloadReport, origin: int) -> Rows:
    """Yield one row a variant, at the end of the preparation."""
    variants = (report.variants or {"": report.model}) if report.backend else {}
    for variant, work in variants.items():
        moved = (work.bytes_read, work.bytes_unique, work.bytes_written)
        numbers = (work.tokens, *moved, work.flops, work.dispatches)
        yield (_prepared(report, origin), report.backend, *numbers, variant)


def _spans(report: WorkloadReport, origin: int) -> Rows:
    for span in report.spans:
        yield span.start - origin, span.end - span.start, span.name


def _gauges(report: WorkloadReport, origin: int) -> Rows:
    for gauge in report.gauges:
        yield gauge.at - origin, gauge.name, float(gauge.value), gauge.unit, gauge.source


def _requests(report: WorkloadReport, origin: int) -> Rows:
    """Yield a row a request; all times count from the scheduled arrival."""
    for request in report.requests:
        known = [request.admitted, *request.tokens[:1], *request.tokens[-1:]]
        since = [None if at is None else at - request.scheduled for at in known]
        times = (*since, None, None)[:3]
        sizes = (request.prompt_tokens, request.output_tokens)
        first = (request.scheduled - origin, request.number, request.state)
        yield *first, *sizes, *times, len(request.tokens), request.reason


def _request_tokens(report: WorkloadReport, origin: int) -> Rows:
    for request in report.requests:
        for index, at in enumerate(request.tokens):
            yield at - origin, request.number, index


def _results(report: WorkloadReport, origin: int) -> Rows:
    """Yield a row a result, at the end of the preparation."""
    for name, result in report.results.items():
        value = None if result.value is None else float(result.value)
        at = _prepared(report, origin)
        yield at, name, value, result.unit, result.better, result.reason


def _memory_profile(report: WorkloadReport, origin: int) -> Rows:
    for memory in report.memory:
        yield memory.at - origin, memory.phase, memory.what, memory.bytes, memory.reason


def _prepared(report: WorkloadReport, origin: int) -> int:
    end = report.phases[0].end if report.phases else None
    return 0 if end is None else end - origin


_EVENT_ROWS: Mapping[ExportTable, Callable[[WorkloadReport, int], Rows]] = {
    PHASES: _phases,
    STEPS: _steps,
    SPECIALIZATIONS: _specializations,
    STEP_MODEL: _step_models,
    SPANS: _spans,
    GAUGES: _gauges,
    REQUESTS: _requests,
    REQUEST_TOKENS: _request_tokens,
    RESULTS: _results,
    MEMORY_PROFILE: _memory_profile,
}
EVENTS = tuple(_EVENT_ROWS)


def export_events(
    report: WorkloadReport,
    origin: int,
    exports: Path,
    *,
    first: int = 1,
    only: Sequence[ExportTable] = EVENTS,
) -> tuple[Path, ...]:
    """Write a worker's events as tables beside those of a recorder; return the files.

    `origin` is time 0 of the trace, in monotonic ns; `first` is one past the last place of the
    recorder's own TOC. Events from before the origin, such as the warm-up of a worker that a
    recorder attached to later, keep their true, negative times.

    Raises:
        RecordingError: A file cannot be written.
    """
    return _write(exports, [(table, _EVENT_ROWS[table](report, origin)) for table in only], first)


def _write(
    folder: Path, tables: Sequence[tuple[ExportTable, Rows]], first: int = 1
) -> tuple[Path, ...]:
    """Write tables with their rows, from a place of the TOC on; return the files."""
    for index, (table, rows) in enumerate(tables, first):
        write_export(folder / f"{table.schema}.xml", replace(table, index=index), rows)
    return tuple(folder / f"{table.schema}.xml" for table, _ in tables)


def export(recording: Recording, progress: Progress) -> tuple[str, ...]:
    """Write the TOC and every table that the recording holds; return warnings.

    Raises:
        RecordingError: There is no bundle, or a file cannot be written.
        InputError: The bundle is damaged.
    """
    bundle = Bundle(recording.host_bundle)
    session = load_session(bundle)
    samples = read_samples(bundle.samples)
    report = account(recording)
    events = event_tables(recording, report)
    tables = [(table, _EVENT_ROWS[table](report, session.origin)) for table in events]
    if recording.journal_file.exists():
        tables.append((SUBMISSIONS, submissions(report, session)))
        tables.append((INTERVALS, intervals(report, session)))
    progress("host-steps")
    _write(recording.exports, tables)
    progress("host-process-samples")
    tables.append((SAMPLES, process_samples(samples, session)))
    _write(recording.exports, tables[-1:], len(tables))
    moments = [sample.at for sample in samples[-1:]]
    moments += [step.completed for step in report.steps[-1:]]
    schemas = [table.schema for table, _ in tables]
    write_toc(recording.toc_file, session, schemas, last=max(moments, default=0))
    if len(samples) > 1:
        return ()
    return ("The target ended before two samples were taken: its load is not known.",)


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
    for sample, other in pairwise(samples):
        wall = other.at - sample.at
        cores.append(((other.cpu - sample.cpu) / wall, (other.machine - sample.machine) / wall))
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


def _owner(session: Session) -> Compound:
    return process(session.name, session.pid)
