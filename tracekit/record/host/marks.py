"""A worker's marks as exports: all that a workload says of itself."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tracekit.record.host.cells import Cell
from tracekit.record.host.export_writer import ExportTable, write_export
from tracekit.record.host.mark_tables import (
    GAUGES,
    MARKS,
    MEMORY_PROFILE,
    PHASES,
    REQUEST_TOKENS,
    REQUESTS,
    RESULTS,
    SPANS,
    SPECIALIZATIONS,
    STEP_MODEL,
    STEPS,
)
from tracekit.workload.journal import WorkloadReport
from tracekit.workload.workload import Work

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
