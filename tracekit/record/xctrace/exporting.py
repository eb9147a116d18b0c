"""The export of a bundle's tables as XML files, and the check for its GPU counters."""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.base import Recording, ToolError
from tracekit.record.progress import Progress
from tracekit.record.xctrace.command import NO_COUNTERS, WAYS_TO_COUNTERS
from tracekit.record.xctrace.command_line import TemplateSelection
from tracekit.record.xctrace.tool import Xctrace
from tracekit.tables import TocRun, toc

_KEY = "Counter Set: "
_NONE = "(null)"


def counter_set(run: TocRun) -> str:
    """Return the counter set that any instrument of the run was set to; empty for none."""
    for lines in run.settings.values():
        for line in lines:
            name = line.removeprefix(_KEY)
            if line.startswith(_KEY) and name not in {"", _NONE}:
                return name
    return ""


def no_counters(reason: str) -> str:
    """Return the warning that requested GPU counters are missing, with reason and remedies."""
    return f"{NO_COUNTERS}: {reason}. {WAYS_TO_COUNTERS}"


def counter_warnings(selection: TemplateSelection, run: TocRun) -> tuple[str, ...]:
    """Return a warning if no counter set was recorded.

    If nobody asked for counters, it names a template that may have a set of its own.
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

# Returns the schemas to export, of those in the recording. It is called again without those that
# turn out to have no rows, for schemas that can be read in their place.
Choose = Callable[[frozenset[str]], frozenset[str]]

_HEAD = 1 << 20  # a schema's header is a few kilobytes; its first row follows


@dataclass(frozen=True)
class SeenTables:
    """Tables that are read without an export: schemas with rows, and without."""

    filled: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()


def choose_only(schemas: Iterable[str] = ()) -> Choose:
    """Return a function that chooses just these, if they are there."""
    return frozenset(schemas).intersection


def export(
    tool: Xctrace,
    recording: Recording,
    choose: Choose,
    progress: Progress,
    seen_tables: SeenTables = SeenTables(),
    *,
    has_toc: bool = False,
) -> tuple[str, ...]:
    """Export the TOC, unless the recording `has_toc`, and those tables that are chosen.

    The table of the trace's clock is exported as well. A table that fails does not stop the
    others; the returned warnings name it. `seen_tables` were read in another way: they count, with
    rows or without, in the check for missing data. Raise ToolError if the TOC cannot be exported,
    or no table could.
    """
    if not has_toc:
        progress("table of contents")
        tool.toc(recording.bundle, recording.toc_file)
    run = toc.find_recorded_run(recording)
    if run is None:
        raise ToolError(f"{recording.bundle} holds no run.", hint="Record again.")
    listed = frozenset(table.schema for table in run.tables)
    absent_schemas = sorted(choose(listed) - listed)
    absence_warnings = [f"The recording has no table {name}." for name in absent_schemas]
    exports = _Exports(
        tool, recording, run, progress, set(seen_tables.filled), set(seen_tables.empty)
    )
    requested_schemas: set[str] = set()
    while True:
        chosen = {*choose(listed - exports.empty), TIME_INFO} & listed
        new_schemas = chosen - requested_schemas
        if not new_schemas:
            break
        requested_schemas |= new_schemas
        exports.write(new_schemas)
    if exports.errors and not exports.file_count:
        raise exports.errors[0]
    missing_data = find_missing_data(run, exports.filled, exports.empty)
    return (*absence_warnings, *map(str, exports.errors), *missing_data)


@dataclass
class _Exports:
    """The exported tables of a run so far: schemas with rows and without, and errors."""

    tool: Xctrace
    recording: Recording
    run: TocRun
    progress: Progress
    filled: set[str]
    empty: set[str]
    file_count: int = 0  # of the written files
    errors: list[ToolError] = field(default_factory=list[ToolError])

    def write(self, schemas: set[str]) -> None:
        """Export the tables of these schemas; a table that fails is noted."""
        tables = toc.select_tables(self.run, schemas)
        for number, table in enumerate(tables, 1):
            self.progress(f"{table.file} ({number} of {len(tables)})")
            output = self.recording.exports / table.file
            try:
                self.tool.export_table(
                    self.recording.bundle, self.run.number, table.schema, output, table.place
                )
            except ToolError as error:
                log.warning("%s", error)
                self.errors.append(error)
                continue
            self.file_count += 1
            if has_rows(output) or table.schema in self.filled:
                self.filled.add(table.schema)
            else:
                self.empty.add(table.schema)


def find_missing_data(run: TocRun, filled: set[str], empty: set[str]) -> Iterator[str]:
    """Yield warnings of data that the recording promised, but that has no rows or no table."""
    listed = {table.schema for table in run.tables}
    if GPU_INTERVALS not in listed:
        yield (
            f"The recording has no table {GPU_INTERVALS}: its template does not trace the GPU, "
            "so it shows nothing about GPU work."
        )
    elif GPU_INTERVALS in empty:
        yield NO_ROWS
    promised_set = counter_set(run)
    counters = {GPU_COUNTER_INTERVALS, GPU_COUNTER_VALUES}
    if not promised_set or counters & filled:
        return
    if counters.isdisjoint(listed):
        reason = f"there is no {GPU_COUNTER_INTERVALS}"
    elif counters & empty:
        names = sorted(counters & empty, reverse=True)
        reason = " and ".join(f"{name} has no rows" for name in names)
    else:
        return
    yield no_counters(f"the counter set {promised_set} was switched on, but {reason}")


def has_rows(export: Path) -> bool:
    """Return whether an exported table has rows, by its first megabyte."""
    with export.open("rb") as file:
        return b"<row" in file.read(_HEAD)
