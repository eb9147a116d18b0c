"""A bundle's tables as XML files, and whether it really has GPU counters."""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tracekit.base import Recording, ToolError
from tracekit.record.recorder import Progress
from tracekit.record.xctrace.command import NO_COUNTERS, WAYS_TO_COUNTERS
from tracekit.record.xctrace.command_line import TemplateSelection
from tracekit.record.xctrace.tool import Xctrace
from tracekit.tables import TocRun, find_recorded_run, select_tables

_KEY = "Counter Set: "
_NONE = "(null)"


def counter_set(run: TocRun) -> str:
    """Return the counter set that any instrument of the run was set to; empty for none."""
    lines = (line for lines in run.settings.values() for line in lines)
    sets = (line.removeprefix(_KEY) for line in lines if line.startswith(_KEY))
    return next((name for name in sets if name and name != _NONE), "")


def no_counters(reason: str) -> str:
    """Say that GPU counters were asked for and are not there, why, and the ways out."""
    return f"{NO_COUNTERS}: {reason}. {WAYS_TO_COUNTERS}"


def counter_warnings(selection: TemplateSelection, run: TocRun) -> tuple[str, ...]:
    """Say so if no counter set was recorded.

    Where nobody asked for counters, a template that may have a set of its own is named.
    """
    if counter_set(run):
        return ()
    if selection.counters:
        return (no_counters("the recording names no counter set"),)
    if selection.own_counters is None:
        name = selection.template
        return (f"No GPU counters were recorded: the template {name} switches no set of them on.",)
    return ()


log = logging.getLogger(__name__)

GPU_INTERVALS = "metal-gpu-intervals"
GPU_COUNTER_INTERVALS = "metal-gpu-counter-intervals"
GPU_COUNTER_VALUES = "gpu-counter-value"
TIME_INFO = "time-info"
NO_ROWS = (
    f"{GPU_INTERVALS} has no rows: no work of any process on the GPU was recorded. "
    "See whether the target was awake and used Metal."
)

# Which schemas to export, of those that are there. It is asked again without those that turn
# out to have no rows, for what can be read in their place.
Choose = Callable[[frozenset[str]], frozenset[str]]

_HEAD = 1 << 20  # a schema's header is a few kilobytes; its first row follows


@dataclass(frozen=True)
class SeenTables:
    """Tables that are read without an export: schemas with rows, and without."""

    filled: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()


def choose_only(schemas: Iterable[str] = ()) -> Choose:
    """Choose just these, where they are there."""
    return frozenset(schemas).intersection


def export(
    tool: Xctrace,
    recording: Recording,
    choose: Choose,
    progress: Progress,
    seen_tables: SeenTables = SeenTables(),
) -> tuple[str, ...]:
    """Export the TOC and those tables of the recording's run that are chosen.

    The table of the trace's clock is exported as well. A table that fails leaves the others
    alone; what is to be said of it is in the warnings that are returned. What is `seen_tables` in
    another way counts as rows, or as none, where something seems to be lacking. Raise ToolError
    where the TOC cannot be exported, or no table could.
    """
    progress("table of contents")
    tool.toc(recording.bundle, recording.toc_file)
    run = find_recorded_run(recording)
    if run is None:
        raise ToolError(f"{recording.bundle} holds no run.", hint="Record again.")
    there = frozenset(table.schema for table in run.tables)
    absence_warnings = tuple(
        f"The recording has no table {name}." for name in sorted(choose(there) - there)
    )
    filled, empty, requested_schemas = set(seen_tables.filled), set(seen_tables.empty), set[str]()
    written_files: list[Path] = []
    errors: list[ToolError] = []
    while fresh := ({*choose(there - empty), TIME_INFO} & there) - requested_schemas:
        requested_schemas |= fresh
        for number, table in enumerate(tables := select_tables(run, fresh), 1):
            progress(f"{table.file} ({number} of {len(tables)})")
            output = recording.exports / table.file
            try:
                tool.export_table(recording.bundle, run.number, table.schema, output, table.place)
            except ToolError as error:
                log.warning("%s", error)
                errors.append(error)
            else:
                written_files.append(output)
                rows = has_rows(output) or table.schema in filled
                (filled if rows else empty).add(table.schema)
    if errors and not written_files:
        raise errors[0]
    return (*absence_warnings, *map(str, errors), *find_missing_data(run, filled, empty))


def find_missing_data(run: TocRun, filled: set[str], empty: set[str]) -> Iterator[str]:
    """Say so if there are no rows, or no table, of what the recording promised."""
    listed = {table.schema for table in run.tables}
    if GPU_INTERVALS not in listed:
        yield (
            f"The recording has no table {GPU_INTERVALS}: its template does not trace the GPU, "
            "so nothing can be said of GPU work."
        )
    elif GPU_INTERVALS in empty:
        yield NO_ROWS
    promised, counters = counter_set(run), {GPU_COUNTER_INTERVALS, GPU_COUNTER_VALUES}
    if not promised or counters & filled:
        return
    if counters.isdisjoint(listed):
        reason = f"there is no {GPU_COUNTER_INTERVALS}"
    elif counters & empty:
        reason = " and ".join(
            f"{name} has no rows" for name in sorted(counters & empty, reverse=True)
        )
    else:
        return
    yield no_counters(f"the counter set {promised} was switched on, but {reason}")


def has_rows(export: Path) -> bool:
    """Tell whether an exported table has rows, by its first megabyte."""
    with export.open("rb") as file:
        return b"<row" in file.read(_HEAD)
