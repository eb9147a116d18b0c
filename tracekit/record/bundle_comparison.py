"""All tables of a bundle, read directly and compared with their exports by xctrace.

The first recording of a build of Xcode compares ten small tables. `tracekit doctor --compare`
compares the others, cell by cell. The results are kept for the build, so that captures export the
tables that differ.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tracekit.base import (
    InconclusiveError,
    InputError,
    Recording,
    TracekitError,
    files,
    make_timestamp,
)
from tracekit.record.known_bundles import (
    Checked,
    KnownBundles,
    keep_comparisons,
    order_for_comparison,
    recall,
    shape,
)
from tracekit.record.progress import Progress
from tracekit.record.recorders import xctrace_here
from tracekit.record.supervisor import Supervisor
from tracekit.record.xctrace.tool import Xctrace, read_version
from tracekit.tables import (
    BundleRun,
    Stored,
    TableStore,
    Toc,
    TocRun,
    comparing,
    losses,
    open_bundle,
    places_of,
)
from tracekit.tables import toc as tables_toc

_MOST_ROWS = 1_000_000  # of one table


@dataclass(frozen=True)
class ComparedTable:
    """One table of a bundle: the compared rows and cells, and the first difference in words.

    `reason` is why it was not compared; empty if it was.
    """

    schema: str
    rows: int = 0
    cells: int = 0
    difference: str = ""
    reason: str = ""

    @property
    def verdict(self) -> str:
        """The verdict in one or two words."""
        if self.reason:
            return "not compared"
        if self.difference:
            return "differs"
        return "equal"


@dataclass(frozen=True)
class BundleComparison:
    """The tables that were compared, smallest first; `known` others were compared before."""

    build: str
    tables: tuple[ComparedTable, ...]
    known: int

    @property
    def exit_code(self) -> int:
        """0 if all tables are equal, 1 if one differs, 4 if one was not compared."""
        verdicts = {table.verdict for table in self.tables}
        if "differs" in verdicts:
            return 1
        if "not compared" in verdicts:
            return InconclusiveError.exit_code
        return 0

    @property
    def sentence(self) -> str:
        """The verdict on the whole bundle."""
        compared = [table for table in self.tables if not table.reason]
        different = [table for table in compared if table.difference]
        missing = len(self.tables) - len(compared)
        rows = sum(table.rows for table in compared)
        cells = sum(table.cells for table in compared)
        words = f"{len(compared)} tables compared, {rows:,} rows, {cells:,} cells: "
        if different:
            words += f"{len(different)} differ, and captures will export these"
        else:
            words += "no difference"
        if missing:
            words += f"; {missing} could not be compared"
        if self.known:
            words += f"; {self.known} were compared before"
        return f"{words}."


def compare_bundle(path: Path, progress: Progress, tool: Xctrace | None = None) -> BundleComparison:
    """Compare the tables of a bundle, or of a run's, that were not compared yet with exports.

    The results are kept after each table, so that an interrupted comparison goes on at its place.

    Raises:
        InputError: There is no bundle, or its layout is not known.
        ToolError: There is no usable xctrace, or it cannot open the bundle.
    """
    bundle_path = _find_bundle(path)
    bundle = open_bundle(bundle_path)
    run = bundle.runs[-1]
    tool = tool or xctrace_here()
    with tempfile.TemporaryDirectory(prefix="tracekit-compare-") as name:
        folder = Path(name)
        with Supervisor(folder) as supervisor:
            tool = tool.bind_supervisor(supervisor)
            progress("exporting the table of contents")
            toc = tables_toc.read_toc(tool.toc(bundle_path, folder / "toc.xml"))
            exporter = _Exporter(tool, bundle_path, run, toc, folder)
            return _compare_tables(exporter, progress)


def _find_bundle(path: Path) -> Path:
    bundle = path
    if path.suffix != ".trace":
        bundle = Recording(path).bundle
    if not bundle.is_dir():
        raise InputError(f"There is no bundle at {bundle}.", hint="Name a run, or a .trace.")
    return bundle


@dataclass(frozen=True)
class _Exporter:
    """Exports tables of one run of a bundle, and compares them."""

    tool: Xctrace
    bundle: Path
    run: BundleRun
    toc: Toc
    folder: Path

    @property
    def toc_run(self) -> TocRun:
        """The run in the table of contents of xctrace."""
        for toc_run in self.toc.runs:
            if toc_run.number == self.run.number:
                return toc_run
        return TocRun(self.run.number)

    def list_tables(self) -> dict[int, tables_toc.WantedTable]:
        """Return the tables that xctrace lists, by the numbers of their folders in the bundle."""
        schemas = {table.schema for table in self.toc_run.tables}
        wanted_tables = tables_toc.select_tables(self.toc_run, schemas)
        by_index = {table.index: table for table in wanted_tables}
        places = places_of(self.run, self.toc)
        listed: dict[int, tables_toc.WantedTable] = {}
        for number, place in places.items():
            if place.index in by_index:
                listed[number] = by_index[place.index]
        return listed

    def compare(
        self, store: TableStore, table: tables_toc.WantedTable
    ) -> comparing.TableComparison:
        """Export a table, and compare it; raise TracekitError if that is impossible."""
        file = self.folder / "table.xml"
        try:
            self.tool.export_table(self.bundle, self.run.number, table.schema, file, table.place)
            stored = Stored(self.bundle, self.run.number, store.number)
            with losses.collecting():
                return comparing.compare_with_export(file, stored, self.toc, _MOST_ROWS)
        finally:
            file.unlink(missing_ok=True)
            file.with_name(f"{file.name}.partial").unlink(missing_ok=True)


def _compare_tables(exporter: _Exporter, progress: Progress) -> BundleComparison:
    build = read_version(exporter.toc_run.instruments_version).build
    initial_memory = recall(build, files.notes_folder())
    listed = exporter.list_tables()
    stores = sorted(exporter.run.stores, key=order_for_comparison)
    new_stores = [store for store in stores if initial_memory.find_checked_table(store) is None]
    memory = initial_memory
    tables: list[ComparedTable] = _list_unreadable(exporter.run)
    for number, store in enumerate(new_stores, 1):
        progress(f"{number} of {len(new_stores)}: {store.schema}, {store.rows:,} rows")
        table = _compare_table(exporter, store, listed)
        tables.append(table)
        if not table.reason:
            memory = _add(memory, store, table)
            keep_comparisons(memory)
    return BundleComparison(build, tuple(tables), len(stores) - len(new_stores))


def _compare_table(
    exporter: _Exporter, store: TableStore, listed: Mapping[int, tables_toc.WantedTable]
) -> ComparedTable:
    wanted_table = listed.get(store.number)
    if wanted_table is None:
        return ComparedTable(store.schema, reason="xctrace lists no such table")
    try:
        comparison = exporter.compare(store, wanted_table)
    except TracekitError as error:
        reason = " ".join(error.message.split())
        return ComparedTable(store.schema, reason=reason)
    return ComparedTable(store.schema, comparison.rows, comparison.cells, comparison.difference)


def _list_unreadable(run: BundleRun) -> list[ComparedTable]:
    """Return the tables of a run that are never read directly."""
    readable = {store.number for store in run.stores}
    unreadable: list[ComparedTable] = []
    for table in run.tables:
        if table.number not in readable:
            reason = "it cannot be read directly, so that captures export it"
            unreadable.append(ComparedTable(table.schema or "unnamed", reason=reason))
    return unreadable


def _add(memory: KnownBundles, store: TableStore, table: ComparedTable) -> KnownBundles:
    """Return the comparisons with one more; a difference of one table counts for its form."""
    form = shape(store)
    old_table = memory.tables.get(form)
    if old_table is not None and old_table.difference:
        return memory
    checked_table = Checked(store.schema, table.rows, make_timestamp(), table.difference)
    return replace(memory, tables={**memory.tables, form: checked_table})
