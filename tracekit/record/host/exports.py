"""Tables of the host recorder and of a workload's own events, as Parquet files of flat tables.

A file has the columns that `schemas.toml` declares for the table, by their mnemonics, and is named
after the schema: `exports/host-steps.parquet`.
"""

import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.base import Process, Recording, files
from tracekit.record.host.sampler import ProcessSample, read_samples
from tracekit.record.host.session import HostSession, load_session, write_toc
from tracekit.record.progress import Progress
from tracekit.record.throughput import read_output
from tracekit.tables import SCHEMAS, ColumnKind
from tracekit.tables import exports as tables_exports
from tracekit.workload import IDLE, REFERENCE, WALL_TIME, Measured, Span, journal

_TYPES = {
    **dict.fromkeys((ColumnKind.TIME, ColumnKind.DURATION, ColumnKind.INTEGER), pa.int64()),
    ColumnKind.NUMBER: pa.float64(),
    ColumnKind.TEXT: pa.string(),
}

Row = tuple[int | float | str | None, ...]
Rows = Iterable[Row]


def source_of(table: str) -> str:
    """Return the schema that a table is read from in a run without a trace."""
    return next(source.schema for source in SCHEMAS[table].sources if source.clock == "host")


def write_rows(
    folder: Path,
    table: str,
    rows: Rows,
    *,
    columns: Sequence[str] = (),
    process: Process | None = None,
) -> Path:
    """Write a table, whole or not at all, in place of an export of it as XML; return the file.

    `columns` are the mnemonics of a row's cells, by default all that the table declares but for
    those of a process; `process` is that of all rows. Raise RecordingError if the file cannot be
    written, ValueError if a row is shorter or longer than the table.
    """
    declared: dict[str, pa.DataType] = {}
    for column in SCHEMAS[table].columns:
        is_written = column.source in columns or "." not in column.source
        if column.kind in _TYPES and is_written:
            declared[column.source] = _TYPES[column.kind]
    names = columns or tuple(declared)
    cells = [dict(zip(names, row, strict=True)) for row in rows]
    schema = pa.schema([(name, declared[name]) for name in names])
    arrow_table = pa.Table.from_pylist(cells, schema)
    if process is not None:
        label = pa.scalar(f"{process.name} ({process.pid})")
        labels = pa.repeat(label, len(arrow_table))
        arrow_table = arrow_table.append_column("process", labels)
        pids = pa.repeat(pa.scalar(process.pid), len(arrow_table))
        arrow_table = arrow_table.append_column("process.pid", pids)
    path = folder / f"{source_of(table)}{tables_exports.PARQUET}"
    with files.replacing(path) as file:
        pq.write_table(arrow_table, file, write_page_checksum=True)
    path.with_suffix(".xml").unlink(missing_ok=True)  # of a version before
    return path


def account(recording: Recording) -> journal.WorkloadReport:
    """Return the worker's account, with a monitor's gauges and the results of a program's output.

    Without a worker, the account has only those.
    """
    report = journal.fold(recording.journal_file)
    monitored = journal.fold(recording.gauges_file)
    return replace(
        report,
        anchors=report.anchors or monitored.anchors,
        gauges=(*report.gauges, *monitored.gauges),
        results={**_read_program(recording), **report.results},
    )


_EXITED = {"Target exited", "Target app exited"}  # in the host recorder's words, and in xctrace's


def _read_program(recording: Recording) -> dict[str, Measured]:
    """Return the speeds that a program of the user's printed, and its wall time."""
    results = read_output(recording)
    if recording.journal_file.exists():
        return results
    wall_time = _measure_wall_time(recording)
    if wall_time is not None:
        results.setdefault(WALL_TIME, Measured(wall_time, "ns", "lower"))
    return results


def _measure_wall_time(recording: Recording) -> float | None:
    """Return the nanoseconds from a launched program's start to its exit; None if it was ended."""
    if recording.host_session.exists():
        session = load_session(recording)
        if session.kind != "launched" or session.end_reason not in _EXITED:
            return None
        return float(session.end - (session.program_start or session.origin))
    if not recording.provenance_file.exists():
        return None
    provenance = recording.provenance()
    is_part = not provenance.command or provenance.after is not None
    if is_part or provenance.end_reason not in _EXITED or not provenance.duration:
        return None
    return provenance.duration * 1e9


def event_tables(recording: Recording, report: journal.WorkloadReport) -> tuple[str, ...]:
    """Name the tables of an account: all of a worker's, of any other program those with rows."""
    if recording.journal_file.exists():
        return tuple(EVENTS)
    names: list[str] = []
    if report.gauges:
        names.append("gauges")
    if report.results:
        names.append("results")
    return tuple(names)


def _phases(report: journal.WorkloadReport, origin: int) -> Iterator[Row]:
    for phase in report.phases:
        end = phase.end or phase.start
        yield phase.start - origin, end - phase.start, phase.name


def _steps(report: journal.WorkloadReport, origin: int) -> Iterator[Row]:
    for index, step in enumerate(report.steps):
        tokens = step.tokens
        if tokens is None:
            tokens = report.model.tokens
        yield (
            step.start - origin,
            step.completed - step.start,
            index,
            step.phase,
            step.submitted - step.start,
            tokens,
            step.variant,
            step.submit_cpu,
            step.submit_other_cpu,
            step.wait_cpu,
        )


def _specializations(report: journal.WorkloadReport, origin: int) -> Iterator[Row]:
    for pipeline in report.specializations:
        yield pipeline.at - origin, pipeline.name


def _step_models(report: journal.WorkloadReport, origin: int) -> Iterator[Row]:
    """Yield one row a variant, at the end of the preparation."""
    if not report.backend:
        return
    variants = report.variants or {"": report.model}
    for variant, work in variants.items():
        yield (
            _find_preparation_end(report, origin),
            report.backend,
            work.tokens,
            work.bytes_read,
            work.bytes_unique,
            work.bytes_written,
            work.flops,
            work.dispatches,
            variant,
        )


def _spans(report: journal.WorkloadReport, origin: int) -> Iterator[Row]:
    for span in report.spans:
        yield span.start - origin, span.end - span.start, span.name


def _gauges(report: journal.WorkloadReport, origin: int) -> Iterator[Row]:
    for gauge in report.gauges:
        yield gauge.at - origin, gauge.name, float(gauge.value), gauge.unit, gauge.source


def _requests(report: journal.WorkloadReport, origin: int) -> Iterator[Row]:
    """Yield a row a request; all times count from the scheduled arrival."""
    for request in report.requests:
        admitted = None
        if request.admitted is not None:
            admitted = request.admitted - request.scheduled
        first_token = None
        last_token = None
        if request.tokens:
            first_token = request.tokens[0] - request.scheduled
            last_token = request.tokens[-1] - request.scheduled
        yield (
            request.scheduled - origin,
            request.number,
            request.state,
            request.prompt_tokens,
            request.output_tokens,
            admitted,
            first_token,
            last_token,
            len(request.tokens),
            request.reason,
        )


def _request_tokens(report: journal.WorkloadReport, origin: int) -> Iterator[Row]:
    for request in report.requests:
        for index, token_time in enumerate(request.tokens):
            yield token_time - origin, request.number, index


def _results(report: journal.WorkloadReport, origin: int) -> Iterator[Row]:
    """Yield a row a result, at the end of the preparation."""
    for name, result in report.results.items():
        value = None
        if result.value is not None:
            value = float(result.value)
        samples = None
        if result.samples:
            samples = json.dumps(result.samples)
        yield (
            _find_preparation_end(report, origin),
            name,
            value,
            result.unit,
            result.better,
            result.reason,
            samples,
            result.deviation,
        )


def _memory_profile(report: journal.WorkloadReport, origin: int) -> Iterator[Row]:
    for memory in report.memory:
        yield memory.at - origin, memory.phase, memory.what, memory.bytes, memory.reason


def _find_preparation_end(report: journal.WorkloadReport, origin: int) -> int:
    if not report.phases:
        return 0
    end = report.phases[0].end
    if end is None:
        return 0
    return end - origin


EVENTS: Mapping[str, Callable[[journal.WorkloadReport, int], Iterable[Row]]] = {
    "phases": _phases,
    "steps": _steps,
    "specializations": _specializations,
    "step_models": _step_models,
    "spans": _spans,
    "gauges": _gauges,
    "requests": _requests,
    "request_tokens": _request_tokens,
    "results": _results,
    "memory_profile": _memory_profile,
}
"""The tables of a worker's events, each with the function that makes its rows.

Times count from an origin, in monotonic ns. Events from before it, such as the warm-up of a worker
that a recorder attached to later, keep their true, negative times.
"""


def write_events(
    report: journal.WorkloadReport, origin: int, exports: Path, tables: Iterable[str]
) -> None:
    """Write the tables of an account of those names; raise RecordingError if one cannot be."""
    for table in tables:
        write_rows(exports, table, EVENTS[table](report, origin))


def export(recording: Recording, progress: Progress) -> tuple[str, ...]:
    """Write the TOC and every table that the recording holds; return warnings."""
    exports = recording.exports
    session = load_session(recording)
    samples = read_samples(recording.host_samples)
    report = account(recording)
    tables = list(event_tables(recording, report))
    progress("host-steps")
    write_events(report, session.origin, exports, tables)
    if recording.journal_file.exists():
        tables += ["submissions", "gpu_intervals"]
        _write_steps(report, session, exports)
    progress("host-process-samples")
    tables.append("process_samples")
    rows = process_samples(samples, session.origin)
    write_rows(exports, "process_samples", rows, process=session.process)
    last_moment = 0
    if samples:
        last_moment = max(last_moment, samples[-1].at)
    if report.steps:
        last_moment = max(last_moment, report.steps[-1].completed)
    schemas = [source_of(table) for table in tables]
    write_toc(recording.toc_file, session, schemas, last_moment=last_moment)
    if len(samples) > 1:
        return ()
    return ("The target ended before two samples were taken: its load is not known.",)


def _write_steps(report: journal.WorkloadReport, session: HostSession, exports: Path) -> None:
    """Write a submission and an interval of each step.

    A submission lasts from the call that builds the step until it is handed over, an interval from
    then until it was seen complete. A host cannot see when work began after hand-over.
    """
    origin = session.origin
    process = session.process
    label = report.workload
    thread = report.thread or None
    submissions: list[Row] = []
    intervals: list[Row] = []
    for step, spans in _with_spans(report):
        submissions.append((step.start - origin, step.submitted - step.start, label, thread))
        work_start, channel = _work_of(step, spans, report.backend)
        intervals.append((work_start - origin, step.completed - work_start, channel, None, label))
    columns = ("start", "duration", "event-label", "thread.tid")
    write_rows(exports, "submissions", submissions, columns=columns, process=process)
    columns = ("start", "duration", "channel-name", "start-latency", "event-label")
    write_rows(exports, "gpu_intervals", intervals, columns=columns, process=process)


def _work_of(step: journal.StepMark, spans: Sequence[Span], backend: str) -> tuple[int, str]:
    """Return when the work of a step began, in monotonic ns, and on which channel.

    CPU work of other threads during `submit` counts. If next to nothing is left to wait for, the
    work is somewhere in the step: it is the whole step, on a channel that is named so. Spans
    within `submit` are work of the host, not of the device.
    """
    host = step.measure_spans_in_submit(spans)
    earliest = step.start
    for span in spans:
        if span.end <= step.submitted:
            earliest = max(earliest, span.end)
    is_cpu = backend == "cpu"
    channel = "CPU" if is_cpu else f"{backend}, seen from the host"
    if step.is_undivided(host):
        return earliest, f"{channel}, {journal.SUBMIT_INCLUDED}"
    worked = 0
    if is_cpu:
        worked = step.worked_in_submit(host)
    return max(earliest, step.submitted - worked), channel


def _with_spans(report: journal.WorkloadReport) -> Iterator[tuple[journal.StepMark, list[Span]]]:
    """Yield each step and the spans that begin in it, but for those without work."""
    work_spans = [span for span in report.spans if span.name not in {IDLE, REFERENCE}]
    work_spans.sort(key=lambda span: span.start)
    starts = [span.start for span in work_spans]
    for step in report.steps:
        begin = bisect_left(starts, step.start)
        end = bisect_left(starts, step.completed)
        yield step, work_spans[begin:end]


def process_samples(samples: Sequence[ProcessSample], origin: int) -> Iterator[Row]:
    """Yield a row for each sample; the first has no cores, which count from sample to sample."""
    previous_sample: ProcessSample | None = None
    for sample in samples:
        cpu: float | None = None
        machine: float | None = None
        if previous_sample is not None:
            wall = sample.at - previous_sample.at
            cpu = (sample.cpu - previous_sample.cpu) / wall
            machine = (sample.machine - previous_sample.machine) / wall
        yield (
            sample.at - origin,
            cpu,
            sample.memory,
            sample.threads,
            sample.voluntary,
            sample.involuntary,
            machine,
        )
        previous_sample = sample
