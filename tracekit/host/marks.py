"""A worker's marks as exports: its phases, steps and pipelines, and what a step does."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tracekit.host.cells import Cell
from tracekit.host.export_writer import ExportColumn, ExportTable, write_export
from tracekit.journal import WorkloadReport

Rows = Iterator[tuple[Cell, ...]]


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
    ),
)


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
                tokens,
            )

    def specializations(self) -> Rows:
        """Yield the rows of `host-specializations`."""
        for one in self.report.specializations:
            yield one.at - self.origin, one.name

    def step_model(self) -> Rows:
        """Yield the one row of `host-step-model`, at the end of the preparation."""
        if not self.report.backend:
            return
        prepared = self.report.phases[0].end if self.report.phases else None
        model = self.report.model
        yield (
            (self.origin if prepared is None else prepared) - self.origin,
            self.report.backend,
            model.tokens,
            model.bytes_read,
            model.bytes_unique,
            model.bytes_written,
            model.flops,
            model.dispatches,
        )


def export_marks(
    report: WorkloadReport, origin: int, exports: Path, *, first: int = 1
) -> tuple[Path, ...]:
    """Write a worker's marks as tables beside those of a recorder; return the files.

    Marks from before the origin, such as the warm-up of a worker that a recorder attached to
    later, keep their true, negative times: a clipped time would be a made-up one.

    Args:
        report: The worker's account.
        origin: Time 0 of the trace, in monotonic ns.
        exports: The folder to write into.
        first: The place of the first table, one past those of the recorder's own TOC.

    Raises:
        RecordingError: A file cannot be written.
    """
    marks = Marks(report, origin)
    tables = (
        (PHASES, marks.phases()),
        (STEPS, marks.steps()),
        (SPECIALIZATIONS, marks.specializations()),
        (STEP_MODEL, marks.step_model()),
    )
    files: list[Path] = []
    for index, (table, rows) in enumerate(tables, first):
        files.append(exports / f"{table.schema}.xml")
        write_export(files[-1], replace(table, index=index), rows)
    return tuple(files)


MARKS = (PHASES, STEPS, SPECIALIZATIONS, STEP_MODEL)
