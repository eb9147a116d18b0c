"""Read the tables of a recording made on this Mac: directly from its bundle if that is proven.

A direct read is faster than an export by xctrace, and must give the same. The first recording of a
build of Xcode exports its smallest tables and compares them with the direct read; later recordings
are not exported. If they differ, the export counts, and a warning names the difference. `tracekit
export` compares the tables that it writes, too. The comparison includes the names of processes,
threads, cores and functions. They are in other parts of the bundle, and a reader that misses such a
part shows it in nothing else.
"""

import logging
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from tracekit.base import (
    InputError,
    Recording,
    ToolError,
    make_timestamp,
)
from tracekit.base import files as base_files
from tracekit.record.known_bundles import (
    Checked,
    KnownBundles,
    keep_comparisons,
    order_for_comparison,
    recall,
    shape,
)
from tracekit.record.progress import Progress
from tracekit.record.xctrace import exporting
from tracekit.record.xctrace.tool import read_version
from tracekit.tables import (
    Bundle,
    BundleRun,
    DirectNote,
    Stored,
    TableStore,
    Toc,
    TocRun,
    comparing,
    losses,
    open_bundle,
    places_of,
    write_toc,
)
from tracekit.tables import toc as tables_toc

if TYPE_CHECKING:
    from tracekit.record.xctrace.recorder import XctraceRecorder

log = logging.getLogger(__name__)

_REPORT = "`tracekit doctor` shows it again, to be reported with the build of Xcode."


def check(
    recording: Recording, run: BundleRun, memory: KnownBundles, schemas: frozenset[str]
) -> KnownBundles:
    """Compare the exported tables that were not compared yet; return and save all comparisons.

    `memory` holds the earlier comparisons of the build of Xcode that recorded `run`.
    """
    toc = tables_toc.read_toc(recording.toc_file)
    initial_memory = memory
    for store, file in _pairs(run, toc, schemas):
        export = recording.exports / file
        if memory.find_checked_table(store) is None and export.exists():
            table = Stored(recording.bundle, run.number, store.number)
            try:
                with losses.collecting():  # their notes come from the reads that the user asked for
                    comparison = comparing.compare_with_export(export, table, toc)
            except InputError as error:
                log.info("%s is not compared: %s", export.name, error)
                continue
            checked_table = Checked(
                store.schema, comparison.rows, make_timestamp(), comparison.difference
            )
            tables = {**memory.tables, shape(store): checked_table}
            memory = replace(memory, tables=tables)
    if memory is not initial_memory:
        keep_comparisons(memory)
    return memory


def _pairs(run: BundleRun, toc: Toc, schemas: frozenset[str]) -> Iterator[tuple[TableStore, str]]:
    """Yield tables of the bundle with the files of their exports, the smallest tables first."""
    toc_run = _find_toc_run(toc, run.number)
    exports = tables_toc.select_tables(toc_run, schemas)
    files = {export.index: export.file for export in exports}
    places = places_of(run, toc)
    for store in sorted(run.stores, key=order_for_comparison):
        index = 0
        if store.number in places:
            index = places[store.number].index
        if store.schema in schemas and index in files:
            yield store, files[index]


def _find_toc_run(toc: Toc, number: int) -> TocRun:
    for toc_run in toc.runs:
        if toc_run.number == number:
            return toc_run
    return TocRun(number)


def notes_on(
    run: BundleRun,
    memory: KnownBundles,
    requested_schemas: frozenset[str],
    exported: Collection[str],
) -> tuple[str, ...]:
    """Report the requested tables that differ from exports, and those that were never compared.

    Those that were `exported` are named only if they differ.
    """
    differences: dict[str, str] = {}
    new_schemas: set[str] = set()
    for store in run.stores:
        if store.schema not in requested_schemas:
            continue
        difference = memory.difference(store)
        if difference:
            differences[store.schema] = difference
        if store.rows and memory.find_checked_table(store) is None:
            new_schemas.add(store.schema)
    lines: list[str] = []
    for schema, difference in differences.items():
        lines.append(
            f"{schema} is read otherwise than xctrace exports it ({difference}): only its export "
            f"is used, which `tracekit export` writes. {_REPORT}"
        )
    names = ", ".join(sorted(new_schemas.difference(exported)))
    if names:
        build = ""
        if memory.build:
            build = f" of build {memory.build}"
        lines.append(
            f"Read directly, and never compared with an export{build}: {names}. "
            "`tracekit export RUN` compares them."
        )
    return tuple(lines)


Xml = Literal["asked", "unchecked", "none"]


def export(
    recorder: "XctraceRecorder",
    recording: Recording,
    choose: exporting.Choose,
    progress: Progress,
    *,
    xml: Xml = "asked",
) -> tuple[str, ...]:
    """Make the tables of a recording readable, by exports or directly; return warnings.

    `choose` selects the requested tables. `xml` selects which of them are exported: all, those
    whose direct read is not proven equal to the export, or none. A bundle of an unknown layout is
    exported in any case. Raise ToolError if it can neither be exported nor be read directly.
    """
    try:
        bundle = open_bundle(recording.bundle)
    except InputError as error:
        (recording.exports / DirectNote.FILE).unlink(missing_ok=True)
        warnings = recorder.export(recording, progress, choose=choose)
        return (*warnings, f"{error.message} Its tables were exported instead.")
    recording.exports.mkdir(parents=True, exist_ok=True)
    if not recording.toc_file.exists():
        write_toc(bundle, recording.toc_file)
    toc_run = tables_toc.find_recorded_run(recording) or TocRun(bundle.runs[-1].number)
    run = _find_bundle_run(bundle, toc_run.number)
    memory = recall(read_version(toc_run.instruments_version).build, base_files.notes_folder())
    schemas = _list_schemas(toc_run, run)
    # A choice may depend on the other tables, and tables without rows may be there or not.
    chosen = choose(schemas.listed)
    chosen_filled = choose(schemas.filled)
    requested_schemas = (chosen | chosen_filled | {exporting.TIME_INFO}) & schemas.listed
    exported = _choose_exported(requested_schemas, run, memory, xml)
    warnings: tuple[str, ...] = ()
    if exported:
        try:
            warnings = _export_tables(recorder, recording, exported, schemas, progress)
        except ToolError as error:
            if xml == "asked":
                raise
            warnings = (f"Nothing was exported; the bundle is read directly: {error.message}",)
        progress("comparing exports with the bundle")
        memory = check(recording, run, memory, exported)
    _note_direct_tables(recording, run, memory, schemas.listed)
    missing_schemas = sorted(chosen - schemas.listed)
    missing_data: Iterable[str] = ()
    if not exported:  # an export reports missing data of all tables itself
        missing_data = exporting.find_missing_data(toc_run, set(schemas.filled), set(schemas.empty))
    written_schemas = _find_written_schemas(recording, toc_run, exported)
    return (
        *warnings,
        *[f"The recording has no table {schema}." for schema in missing_schemas],
        *missing_data,
        *notes_on(run, memory, requested_schemas, written_schemas),
    )


def _find_written_schemas(
    recording: Recording, toc_run: TocRun, exported: frozenset[str]
) -> set[str]:
    """Return the schemas of which an export was written; xctrace may write none of a table."""
    schemas: set[str] = set()
    for table in tables_toc.select_tables(toc_run, exported):
        if (recording.exports / table.file).exists():
            schemas.add(table.schema)
    return schemas


def _find_bundle_run(bundle: Bundle, number: int) -> BundleRun:
    """Return the run of a number, or the last run if the bundle has no run of that number."""
    for run in bundle.runs:
        if run.number == number:
            return run
    return bundle.runs[-1]


@dataclass(frozen=True)
class _Schemas:
    """The schemas of one run."""

    listed: frozenset[str]  # by the TOC, which may be xctrace's own, or by the bundle
    empty: frozenset[str]  # those of the bundle's tables without rows

    @property
    def filled(self) -> frozenset[str]:
        """Those that have rows, or of which that is not known."""
        return self.listed - self.empty


def _list_schemas(toc_run: TocRun, run: BundleRun) -> _Schemas:
    in_bundle = frozenset(table.schema for table in run.tables)
    in_toc = frozenset(table.schema for table in toc_run.tables)
    listed = in_toc | (in_bundle - {""})
    filled: set[str] = set()
    for table in run.tables:
        if not isinstance(table, TableStore) or table.rows:
            filled.add(table.schema)
    empty = (listed & in_bundle) - filled
    return _Schemas(listed, empty)


def _export_tables(
    recorder: "XctraceRecorder",
    recording: Recording,
    exported: frozenset[str],
    schemas: _Schemas,
    progress: Progress,
) -> tuple[str, ...]:
    """Export the tables of the given schemas; the others count as seen in the bundle."""
    direct_schemas = schemas.listed - exported
    seen_tables = exporting.SeenTables(
        direct_schemas - schemas.empty, direct_schemas & schemas.empty
    )
    choose_exported = exporting.choose_only(exported)
    return recorder.export(
        recording, progress, choose=choose_exported, seen_tables=seen_tables, has_toc=True
    )


def _note_direct_tables(
    recording: Recording, run: BundleRun, memory: KnownBundles, schemas: frozenset[str]
) -> None:
    """Note next to the exports which tables are read directly, and from which bundle."""
    bundle = recording.bundle
    name = f"../{bundle.name}"
    if bundle.is_symlink():
        name = str(bundle.resolve())
    differing = {store.schema for store in run.stores if memory.difference(store)}
    direct_schemas: tuple[str, ...] | None = None
    if differing:
        direct_schemas = tuple(sorted(schemas - differing))
    DirectNote(name, direct_schemas).save(recording.exports)


def _choose_exported(
    requested_schemas: frozenset[str], run: BundleRun, memory: KnownBundles, xml: Xml
) -> frozenset[str]:
    """Return the requested tables that are exported."""
    if xml == "asked":
        return requested_schemas
    if xml == "none":
        return frozenset()
    readable = {store.schema for store in run.stores}
    in_bundle = {table.schema for table in run.tables}
    differing = {store.schema for store in run.stores if memory.difference(store)}
    exported = requested_schemas & (differing | (in_bundle - readable))
    exported |= requested_schemas - in_bundle
    if memory.tables:
        return exported
    return exported | _choose_compared(requested_schemas, run)


_COMPARED = 10


def _choose_compared(requested_schemas: frozenset[str], run: BundleRun) -> frozenset[str]:
    """Return the tables that the first recording of a build compares with their exports.

    An export of a table takes seconds, so they are the smallest with rows. A schema with several
    tables is left out: whether xctrace counts them in the same order is not known.
    """
    schemas = [table.schema for table in run.tables]
    compared: list[str] = []
    for store in sorted(run.stores, key=order_for_comparison):
        is_alone = schemas.count(store.schema) == 1
        if store.rows and is_alone and store.schema in requested_schemas:
            compared.append(store.schema)
    return frozenset(compared[:_COMPARED])
