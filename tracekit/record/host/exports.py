"""Tables of the host recorder and of a workload's own events, as Parquet files of flat tables.

A file has the columns that `schemas.toml` declares for the table, by their mnemonics, and is called
after the schema: `exports/host-steps.parquet`.
"""

import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.base import Process, Recording, replacing
from tracekit.record.host.sampler import ProcessSample, read_samples
from tracekit.record.host.session import HostSession, load_session, write_toc
from tracekit.record.recorder import Progress
from tracekit.record.throughput import read_output
from tracekit.tables import PARQUET, SCHEMAS, ColumnKind
from tracekit.workload import (
    IDLE,
    REFERENCE,
    SUBMIT_INCLUDED,
    WALL_TIME,
    Measured,
    Span,
    StepMark,
    WorkloadReport,
    fold,
)

_TYPES = {
    **dict.fromkeys((ColumnKind.TIME, ColumnKind.DURATION, ColumnKind.INTEGER), pa.int64()),
    ColumnKind.NUMBER: pa.float64(),
    ColumnKind.TEXT: pa.string(),
}

Row = tuple[int | float | str | None, ...]
Rows = Iterable[Row]


def source_of(table: str) -> str:
    """Return the schema that a table is read from where there is no trace."""
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
    those of a process; `process` is that of all rows. Raise RecordingError where the file cannot
    be written, ValueError where a row is shorter or longer than the table.
    """
    declared = {
        column.source: _TYPES[column.kind]
        for column in SCHEMAS[table].columns
        if column.kind in _TYPES and (column.source in columns or "." not in column.source)
    }
    names = columns or tuple(declared)
    cells = [dict(zip(names, row, strict=True)) for row in rows]
    arrow_table = pa.Table.from_pylist(cells, pa.schema([(name, declared[name]) for name in names]))
    if process is not None:
        name, pid = (pa.scalar(value) for value in (f"{process.name} ({process.pid})", process.pid))
        arrow_table = arrow_table.append_column("process", pa.repeat(name, len(arrow_table)))
        arrow_table = arrow_table.append_column("process.pid", pa.repeat(pid, len(arrow_table)))
    path = folder / f"{source_of(table)}{PARQUET}"
    with replacing(path) as file:
        pq.write_table(arrow_table, file, write_page_checksum=True)
    path.with_suffix(".xml").unlink(missing_ok=True)  # of a version before
    return path


def account(recording: Recording) -> WorkloadReport:
    """Return the worker's account, with a monitor's gauges and what a program's output says.

    Where there is no worker, the account is empty but for those.
    """
    report, monitored = fold(recording.journal_file), fold(recording.gauges_file)
    return replace(
        report,
        anchors=report.anchors or monitored.anchors,
        gauges=(*report.gauges, *monitored.gauges),
        results={**_read_program(recording), **report.results},
    )


_EXITED = {"Target exited", "Target app exited"}  # in the host recorder's words, and in xctrace's


def _read_program(recording: Recording) -> dict[str, Measured]:
    """Return what a program that is not ours printed of its speed, and how long it took.

    The host recorder looks for the exit with each sample, so its wall time is up to 25 ms long.
    """
    results = read_output(recording)
    length = None if recording.journal_file.exists() else _measure_wall_time(recording)
    if length is not None:
        results.setdefault(WALL_TIME, Measured(length, "ns", "lower"))
    return results


def _measure_wall_time(recording: Recording) -> float | None:
    """Return the nanoseconds from a launched program's start to its exit; None if it was ended."""
    if recording.host_session.exists():
        session = load_session(recording)
        exited = session.kind == "launched" and session.end_reason in _EXITED
        return float(session.end - session.origin) if exited else None
    if not recording.provenance_file.exists():
        return None
    provenance = recording.provenance()
    exited = bool(provenance.command) and provenance.end_reason in _EXITED
    return provenance.duration * 1e9 if exited and provenance.duration else None


def event_tables(recording: Recording, report: WorkloadReport) -> tuple[str, ...]:
    """Name the tables of an account: all of a worker's, of any other program those with rows."""
    if recording.journal_file.exists():
        return tuple(EVENTS)
    filled = ("gauges", report.gauges), ("results", report.results)
    return tuple(table for table, rows in filled if rows)


def _steps(report: WorkloadReport, origin: int) -> Iterator[Row]:
    for index, step in enumerate(report.steps):
        yield (
            step.start - origin,
            step.completed - step.start,
            index,
            step.phase,
            step.submitted - step.start,
            report.model.tokens if step.tokens is None else step.tokens,
            step.variant,
            step.submit_cpu,
            step.submit_other_cpu,
            step.wait_cpu,
        )


def _step_models(report: WorkloadReport, origin: int) -> Iterator[Row]:
    """Yield one row a variant, at the end of the preparation."""
    variants = (report.variants or {"": report.model}) if report.backend else {}
    for variant, work in variants.items():
        moved = (work.bytes_read, work.bytes_unique, work.bytes_written)
        numbers = (work.tokens, *moved, work.flops, work.dispatches)
        yield (_find_preparation_end(report, origin), report.backend, *numbers, variant)


def _requests(report: WorkloadReport, origin: int) -> Iterator[Row]:
    """Yield a row a request; all times count from the scheduled arrival."""
    for request in report.requests:
        moments = [request.admitted, *request.tokens[:1], *request.tokens[-1:]]
        since = [None if moment is None else moment - request.scheduled for moment in moments]
        times = (*since, None, None)[:3]
        sizes = (request.prompt_tokens, request.output_tokens)
        leading_cells = (request.scheduled - origin, request.number, request.state)
        yield *leading_cells, *sizes, *times, len(request.tokens), request.reason


def _results(report: WorkloadReport, origin: int) -> Iterator[Row]:
    """Yield a row a result, at the end of the preparation."""
    for name, result in report.results.items():
        value = None if result.value is None else float(result.value)
        moment = _find_preparation_end(report, origin)
        samples = json.dumps(result.samples) if result.samples else None
        attributes = result.unit, result.better, result.reason
        yield moment, name, value, *attributes, samples, result.deviation


def _find_preparation_end(report: WorkloadReport, origin: int) -> int:
    end = report.phases[0].end if report.phases else None
    return 0 if end is None else end - origin


EVENTS: Mapping[str, Callable[[WorkloadReport, int], Iterable[Row]]] = {
    "phases": lambda report, origin: (
        (phase.start - origin, (phase.end or phase.start) - phase.start, phase.name)
        for phase in report.phases
    ),
    "steps": _steps,
    "specializations": lambda report, origin: (
        (pipeline.at - origin, pipeline.name) for pipeline in report.specializations
    ),
    "step_models": _step_models,
    "spans": lambda report, origin: (
        (span.start - origin, span.end - span.start, span.name) for span in report.spans
    ),
    "gauges": lambda report, origin: (
        (gauge.at - origin, gauge.name, float(gauge.value), gauge.unit, gauge.source)
        for gauge in report.gauges
    ),
    "requests": _requests,
    "request_tokens": lambda report, origin: (
        (token_time - origin, request.number, index)
        for request in report.requests
        for index, token_time in enumerate(request.tokens)
    ),
    "results": _results,
    "memory_profile": lambda report, origin: (
        (memory.at - origin, memory.phase, memory.what, memory.bytes, memory.reason)
        for memory in report.memory
    ),
}
"""The tables of a worker's events, and what makes their rows.

Times count from an origin, in monotonic ns. Events from before it, such as the warm-up of a worker
that a recorder attached to later, keep their true, negative times.
"""


def write_events(report: WorkloadReport, origin: int, exports: Path, tables: Iterable[str]) -> None:
    """Write the tables of an account of those names; raise RecordingError where one cannot be."""
    for table in tables:
        write_rows(exports, table, EVENTS[table](report, origin))


def export(recording: Recording, progress: Progress) -> tuple[str, ...]:
    """Write the TOC and every table that the recording holds; return warnings."""
    exports, session = recording.exports, load_session(recording)
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
    moments = [sample.at for sample in samples[-1:]]
    moments += [step.completed for step in report.steps[-1:]]
    schemas = [source_of(table) for table in tables]
    write_toc(recording.toc_file, session, schemas, last_moment=max(moments, default=0))
    if len(samples) > 1:
        return ()
    return ("The target ended before two samples were taken: its load is not known.",)


def _write_steps(report: WorkloadReport, session: HostSession, exports: Path) -> None:
    """Write a submission and an interval of each step.

    A submission lasts from the call that builds the step until it is handed over, an interval from
    then until it was seen complete. When work began after hand-over a host does not see.
    """
    origin, process, label = session.origin, session.process, report.workload
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


def _work_of(step: StepMark, spans: Sequence[Span], backend: str) -> tuple[int, str]:
    """Return when the work of a step began, in monotonic ns, and on which channel.

    Work on the CPU that other threads did while `submit` was held up counts. Where next to nothing
    is left to wait for, the work is the whole step, on a channel that says so: it lies somewhere
    in it. Spans within `submit` tell what the host did, which is no work of the device.
    """
    host = step.sum_told_spans(spans)
    earliest = max([step.start, *(span.end for span in spans if span.end <= step.submitted)])
    channel = "CPU" if backend == "cpu" else f"{backend}, seen from the host"
    if step.is_undivided(host):
        return earliest, f"{channel}, {SUBMIT_INCLUDED}"
    worked = step.worked_in_submit(host) if backend == "cpu" else 0
    return max(earliest, step.submitted - worked), channel


def _with_spans(report: WorkloadReport) -> Iterator[tuple[StepMark, list[Span]]]:
    """Yield each step and the spans that begin in it, but for those without work."""
    work_spans = (span for span in report.spans if span.name not in {IDLE, REFERENCE})
    spans = sorted(work_spans, key=lambda span: span.start)
    starts = [span.start for span in spans]
    for step in report.steps:
        yield step, spans[bisect_left(starts, step.start) : bisect_left(starts, step.completed)]


def process_samples(samples: Sequence[ProcessSample], origin: int) -> Iterator[Row]:
    """Yield a row for each sample; the first has nothing before it to tell cores from."""
    cores: list[tuple[float | None, float | None]] = [(None, None)]
    for sample, next_sample in pairwise(samples):
        wall = next_sample.at - sample.at
        cores.append(
            ((next_sample.cpu - sample.cpu) / wall, (next_sample.machine - sample.machine) / wall)
        )
    for sample, (cpu, machine) in zip(samples, cores, strict=False):
        switches = sample.voluntary, sample.involuntary
        yield sample.at - origin, cpu, sample.memory, sample.threads, *switches, machine
