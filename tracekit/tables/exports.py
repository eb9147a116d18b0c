"""The tables that a bundle or a folder of exports holds or held, and those of one of its runs."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from tracekit.base import InputError, UsageError
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.container.store import Unreadable
from tracekit.tables.bundle.errors import name_bundle
from tracekit.tables.bundle.run_info import toc_of
from tracekit.tables.bundle_paths import is_bundle
from tracekit.tables.captures.place import is_capture
from tracekit.tables.direct import (
    Listed,
    Stored,
    TableRef,
    is_covered,
    open_bundle,
    tables_in,
    tables_in_capture,
)
from tracekit.tables.export_files import PARQUET, contents, export_files, identify, refusal
from tracekit.tables.headers import TableHeader
from tracekit.tables.losses import Flaw, Loss
from tracekit.tables.notes import PRUNED_NOTE, DirectNote
from tracekit.tables.place import (
    HOW_TO_CHOOSE,
    Choice,
    TablePlace,
    attributes_of,
    place_in,
    place_of,
    tables_at,
)
from tracekit.tables.pruned import PrunedExport, find_pruned_exports, note_pruned_exports
from tracekit.tables.toc import Toc, TocRun, describe_runs, explain_run_choice, find_run

# Names that other rooms reach as `exports.NAME`, those of the modules below included.
__all__ = [
    "PARQUET",
    "PRUNED_NOTE",
    "ExportIndex",
    "PrunedExport",
    "export_files",
    "identify",
    "index",
    "note_pruned_exports",
    "of_one_run",
    "refusal",
    "select_run",
]


@dataclass(frozen=True)
class ExportIndex:
    """The exports of a folder: the tables of each schema, and the table of contents.

    `toc` is the table of contents if there is exactly one. `strange` files are neither. `headers`
    are those of each export, in the order of the file. `missing_losses` are the required parts of a
    bundle that are missing or cannot be read; `unread`, the reasons why nothing of a bundle is
    read; and `unchecked_losses`, the reasons why unknown tables may be missing.
    """

    tables: dict[str, tuple[Listed, ...]] = field(default_factory=dict[str, tuple[Listed, ...]])
    strange: tuple[Path, ...] = ()
    toc: Toc | None = None
    headers: dict[Path, tuple[TableHeader, ...]] = field(
        default_factory=dict[Path, tuple[TableHeader, ...]]
    )
    missing_losses: tuple[Loss, ...] = ()
    unread: tuple[Loss, ...] = ()
    unchecked_losses: tuple[Loss, ...] = ()

    @property
    def all_tables(self) -> tuple[Listed, ...]:
        """All tables, schema by schema."""
        return tuple(chain.from_iterable(self.tables.values()))


def index(folder: Path, include: Sequence[str] = ()) -> ExportIndex:
    """List the tables of a bundle, or of the exports of a folder, pruned ones included.

    Tables that are read directly from a bundle count too if no file has them. The index of an
    absent folder is empty; a note or a bundle that cannot be read is an InputError. `include` names
    the private parts of a GPU frame capture that become tables.
    """
    if is_capture(folder) and is_bundle(folder):
        return ExportIndex(group_by_schema(tables_in_capture(folder, include)))
    if is_bundle(folder):
        bundle = open_bundle(folder)
        toc = toc_of(bundle)
        tables = group_by_schema(tables_in(bundle, toc))
        return _with_lost(ExportIndex(tables, toc=toc), bundle)
    export_index = _exports(folder)
    note = DirectNote.read(folder)
    if note is None:
        return export_index
    try:
        if is_capture(note.path(folder)):
            captured = tables_in_capture(note.path(folder), note.include)
            tables = (*export_index.all_tables, *captured)
            return replace(export_index, tables=group_by_schema(tables))
        return _with_bundle(export_index, open_bundle(note.path(folder)), note.schemas)
    except InputError as error:
        bundle_name = name_bundle(note.path(folder))
        failure = f"Tables of {bundle_name} are not read: {error.message}"
        return replace(export_index, unread=(Loss(Flaw.DAMAGED, failure),))


def _with_bundle(
    export_index: ExportIndex, bundle: Bundle, schemas: tuple[str, ...] | None
) -> ExportIndex:
    """Add the tables of a bundle that no export has, and the losses of these."""
    tables = list(export_index.all_tables)
    added_refs: set[TableRef] = set()
    for table in tables_in(bundle, export_index.toc, schemas):
        if not is_covered(table, export_index.all_tables, export_index.toc):
            tables.append(table)
            added_refs.add(table.ref)
    own_index = replace(export_index, tables=group_by_schema(tables))
    return _with_lost(own_index, bundle, added_refs)


def _with_lost(
    export_index: ExportIndex, bundle: Bundle, wanted_refs: Container[TableRef] | None = None
) -> ExportIndex:
    """Add the losses of a bundle; with `wanted_refs`, of tables with a name only these."""
    table_losses: list[Loss] = []
    unchecked_losses: list[Loss] = []
    for run in bundle.runs:
        unchecked_losses += run.unchecked_losses
        for table in run.tables:
            if not isinstance(table, Unreadable):
                continue
            ref = Stored(bundle.path, table.run, table.number)
            if wanted_refs is None or not table.schema or ref in wanted_refs:
                table_losses.append(table.loss)
    missing_losses = (*bundle.missing, *table_losses)
    return replace(
        export_index,
        missing_losses=missing_losses,
        unchecked_losses=tuple(unchecked_losses),
    )


def _exports(folder: Path) -> ExportIndex:
    tocs: list[Path] = []
    strange: list[Path] = []
    headers_by_path: dict[Path, tuple[TableHeader, ...]] = {}
    for path in export_files(folder):
        content = identify(path)
        if content.kind == "toc":
            tocs.append(path)
        elif content.kind == "unknown":
            strange.append(path)
        if content.headers:
            headers_by_path[path] = content.headers
    for path, export in find_pruned_exports(folder).items():
        headers_by_path[path] = export.headers
    toc = contents(tocs)
    tables: list[Listed] = []
    for path, path_headers in headers_by_path.items():
        for header in path_headers:
            table = _list_table(path, header, toc)
            if table.schema:
                tables.append(table)
    return ExportIndex(group_by_schema(tables), tuple(strange), toc, headers_by_path)


def group_by_schema(tables: Iterable[Listed]) -> dict[str, tuple[Listed, ...]]:
    """Return tables by their schemas, in their order."""
    schema_tables: dict[str, tuple[Listed, ...]] = {}
    for table in tables:
        earlier_tables = schema_tables.get(table.schema, ())
        schema_tables[table.schema] = (*earlier_tables, table)
    return schema_tables


def _list_table(path: Path, header: TableHeader, toc: Toc | None) -> Listed:
    place = place_of(header.xpath, header.number)
    if path.suffix == PARQUET:
        place = place_in(toc, header.schema) or place
    schema = header.schema
    if header.inherited:
        toc_table = next(tables_at(toc, place), None)
        if toc_table is not None:
            schema = toc_table.schema
    attributes = attributes_of(toc, place, schema)
    return Listed(path, schema, place, attributes, header.rows)


def of_one_run(
    export_index: ExportIndex, folder: Path, choice: Choice
) -> tuple[ExportIndex, int | None, tuple[str, ...]]:
    """Leave out the tables of other runs, or of other places if a place is named.

    Returns the exports of one run, the last one with tables if `choice` names none, and those that
    do not name their run; its number, None if no export names one; and a remark if it was chosen
    because it is the last.
    """
    run, remarks = select_run(export_index, folder, choice.run)
    number = None
    if run is not None:
        number = run.number
    run_choice = Choice(number, choice.table)
    tables: dict[str, tuple[Listed, ...]] = {}
    for schema, schema_tables in export_index.tables.items():
        run_tables = [table for table in schema_tables if _may_be(table.place, run_choice)]
        if run_tables:
            tables[schema] = tuple(run_tables)
    if choice.table is not None and not tables:
        raise InputError(
            f"{_name_folder(folder)} has no table that is {run_choice}.", hint=HOW_TO_CHOOSE
        )
    missing_losses = _losses_of_run(export_index.missing_losses, number)
    unchecked_losses = _losses_of_run(export_index.unchecked_losses, number)
    run_index = replace(
        export_index,
        tables=tables,
        missing_losses=missing_losses,
        unchecked_losses=unchecked_losses,
    )
    return run_index, number, remarks


def _losses_of_run(losses: tuple[Loss, ...], number: int | None) -> tuple[Loss, ...]:
    """Return the losses of a run, and those that are not of one run; without a number, all."""
    if number is None:
        return losses
    return tuple([loss for loss in losses if loss.run in {None, number}])


def select_run(
    export_index: ExportIndex, folder: Path, number: int | None = None, name: str = ""
) -> tuple[TocRun | None, tuple[str, ...]]:
    """Return the selected run, and a remark if it was chosen because it is the last.

    Without a number it is the last one with tables, or None if neither the table of contents nor an
    export names a run. Sentences call the trace by `name`, or by that of the folder. A run that is
    not there, or of which nothing was exported, is a UsageError.
    """
    filled = _filled_runs(export_index)
    runs = _list_runs(export_index.toc, filled)
    name = name or _name_folder(folder)
    runs_with_tables = [run for run in runs if run.number in filled]
    if number is None:
        candidates = runs_with_tables or runs
        if not candidates:
            return None, ()
        last_run = candidates[-1]
        return last_run, explain_run_choice(runs, last_run, name)
    if not runs and export_index.tables:
        raise UsageError(
            f"{name} has no run {number}: its tables do not name their run.",
            hint="Leave --run out.",
        )
    if not runs:
        return None, ()
    run = find_run(runs, number, name)
    if filled and run.tables and number not in filled:
        there = describe_runs(runs_with_tables)
        raise UsageError(f"{name} has no export of run {number}.", hint=f"It has {there}.")
    return run, ()


def _filled_runs(export_index: ExportIndex) -> set[int]:
    """Return the numbers of the runs that have tables."""
    numbers: set[int] = set()
    for table in export_index.all_tables:
        if table.place.run is not None:
            numbers.add(table.place.run)
    return numbers


def _list_runs(toc: Toc | None, filled: set[int]) -> list[TocRun]:
    """Return the runs of the table of contents, and those that only tables name, by number."""
    runs = {number: TocRun(number) for number in filled}
    if toc is not None:
        runs.update({run.number: run for run in toc.runs})
    return [runs[number] for number in sorted(runs)]


def _name_folder(folder: Path) -> str:
    if is_bundle(folder):
        return name_bundle(folder)
    return str(folder)


def _may_be(place: TablePlace, choice: Choice) -> bool:
    if place.run is None:
        place = replace(place, run=choice.run)
    return choice.allows(place, {})
