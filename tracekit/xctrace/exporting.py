"""A bundle's tables as XML files: the TOC first, then one table a call."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tracekit.errors import ToolError
from tracekit.recorder import Progress
from tracekit.recording import Recording
from tracekit.toc import TocRun, read_toc
from tracekit.xctrace.counters import counter_set, no_counters, without_repeats
from tracekit.xctrace.tool import Xctrace

log = logging.getLogger(__name__)

GPU_INTERVALS = "metal-gpu-intervals"
GPU_COUNTER_INTERVALS = "metal-gpu-counter-intervals"
TIME_INFO = "time-info"
NO_ROWS = (
    f"{GPU_INTERVALS} has no rows: no work of any process on the GPU was recorded. "
    "See whether the target was awake and used Metal."
)

_HEAD = 1 << 20  # a schema's header is a few kilobytes; its first row follows


@dataclass(frozen=True)
class Wanted:
    """One table to export: `place` chooses among tables of one schema, None if it is alone."""

    schema: str
    place: int | None
    file: str


def wanted(run: TocRun, schemas: Iterable[str]) -> tuple[Wanted, ...]:
    """Return the tables of `run` that have one of `schemas`, in the order of its TOC."""
    schemas = frozenset(schemas)
    listed = [table.schema for table in run.tables if table.schema in schemas]
    counts, seen = Counter(listed), Counter[str]()
    tables: list[Wanted] = []
    for schema in listed:
        seen[schema] += 1
        place = seen[schema]
        suffix = "" if place == 1 else f"-{place}"
        alone = counts[schema] == 1
        tables.append(Wanted(schema, None if alone else place, f"{schema}{suffix}.xml"))
    return tuple(tables)


def export(
    tool: Xctrace, recording: Recording, schemas: Iterable[str], progress: Progress
) -> tuple[str, ...]:
    """Export the TOC and those tables of the last run that have one of `schemas`.

    The table of the trace's clock is exported besides. A table that fails leaves the others
    alone; what is to be said of it is in the warnings that are returned.

    Raises:
        ToolError: The TOC cannot be exported, or no table could.
    """
    progress("table of contents")
    tool.toc(recording.bundle, recording.toc_file)
    toc = read_toc(recording.toc_file)
    runs = toc.runs
    if not runs:
        raise ToolError(f"{recording.bundle} holds no run.", hint="Record again.")
    tables = wanted(runs[-1], {*schemas, TIME_INFO})
    errors: list[ToolError] = []
    warnings: list[str] = []
    for number, table in enumerate(tables, 1):
        progress(f"{table.file} ({number} of {len(tables)})")
        try:
            output = recording.exports / table.file
            tool.export_table(recording.bundle, runs[-1].number, table.schema, output, table.place)
            warnings += _emptiness(runs[-1], table.schema, output)
        except ToolError as error:
            log.warning("%s", error)
            errors.append(error)
    if tables and len(errors) == len(tables):
        raise errors[0]
    listed = {table.schema for table in tables}
    told = (*warnings, *(str(error) for error in errors), *_missing(runs[-1], listed))
    return without_repeats(told) + toc.warnings


def _emptiness(run: TocRun, schema: str, output: Path) -> Iterator[str]:
    """Say so if a table has no rows that the recording promised."""
    promised = counter_set(run)
    if schema == GPU_INTERVALS and not has_rows(output):
        yield NO_ROWS
    if schema == GPU_COUNTER_INTERVALS and promised and not has_rows(output):
        yield no_counters(f"the counter set {promised} was switched on, but {schema} has no rows")


def _missing(run: TocRun, listed: set[str]) -> Iterator[str]:
    if GPU_INTERVALS not in listed:
        yield (
            f"The recording has no table {GPU_INTERVALS}: its template does not trace the GPU, "
            "so nothing can be said of GPU work."
        )
    promised = counter_set(run)
    if promised and GPU_COUNTER_INTERVALS not in listed:
        yield no_counters(
            f"the counter set {promised} was switched on, but there is no {GPU_COUNTER_INTERVALS}"
        )


def has_rows(export: Path) -> bool:
    """Tell whether an exported table has rows, by its first megabyte."""
    with export.open("rb") as file:
        return b"<row" in file.read(_HEAD)
