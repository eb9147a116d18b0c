"""Compares what was exported with the direct read, and says what came of it."""

import logging
from collections.abc import Collection, Iterator

from tracekit.base.errors import InputError
from tracekit.base.files import notes_folder
from tracekit.base.recording import Recording, now
from tracekit.record.direct_reading.compare import compare
from tracekit.record.direct_reading.remembered import Checked, Memory, keep
from tracekit.tables.bundle.bundle import BundleRun
from tracekit.tables.bundle.container.store import Store
from tracekit.tables.direct import places_of
from tracekit.tables.stored import Stored
from tracekit.tables.toc.export_files import wanted
from tracekit.tables.toc.read import read_toc
from tracekit.tables.toc.toc import Toc, TocRun

log = logging.getLogger(__name__)

_REPORT = "`tracekit doctor` shows it again, to be reported with the build of Xcode."


def check(recording: Recording, run: BundleRun, memory: Memory, schemas: frozenset[str]) -> Memory:
    """Compare the tables that were exported and not compared before; remember what came of it.

    Args:
        recording: The recording, with its exports.
        run: The run of its bundle that was exported.
        memory: What is known of its build.
        schemas: What was exported.

    Returns:
        What is known now.
    """
    toc = read_toc(recording.toc_file)
    before = memory
    for store, file in _pairs(run, toc, schemas):
        export = recording.exports / file
        if memory.standing(store) == "unchecked" and export.exists():
            table = Stored(recording.bundle, run.number, store.number).file
            try:
                found = compare(export, table, toc)
            except InputError as error:
                log.info("%s is not compared: %s", export.name, error)
                continue
            checked = Checked(store.schema, found.rows, now(), found.difference)
            memory = memory.learned(store, checked)
    if memory is not before:
        keep(memory, notes_folder())
    return memory


def _pairs(run: BundleRun, toc: Toc, schemas: frozenset[str]) -> Iterator[tuple[Store, str]]:
    """Yield tables of the bundle with the files of their exports, the smallest tables first."""
    of_toc = next((one for one in toc.runs if one.number == run.number), TocRun(run.number))
    files = {one.index: one.file for one in wanted(of_toc, schemas)}
    places = places_of(run, toc)
    # Of tables of one form, one is compared: a small one, but one with rows.
    for store in sorted(run.stores, key=lambda one: (not one.rows, one.rows)):
        index = places[store.number].index if store.number in places else 0
        if store.schema in schemas and index in files:
            yield store, files[index]


def told(
    run: BundleRun, memory: Memory, asked: frozenset[str], exported: Collection[str]
) -> tuple[str, ...]:
    """Say which tables that were asked for differ from exports, and which were never compared.

    Those that were `exported` are told of only where they differ.
    """
    stores = [one for one in run.stores if one.schema in asked]
    differing = {one.schema: memory.difference(one) for one in stores if memory.difference(one)}
    lines = [
        f"{schema} is read otherwise than xctrace exports it ({why}), so its export is used. "
        f"{_REPORT}"
        if schema in exported
        else f"{schema} is left out: it is read otherwise than xctrace exports it ({why}). "
        "`tracekit export` writes its export."
        for schema, why in differing.items()
    ]
    unchecked = sorted(
        {
            one.schema
            for one in stores
            if one.rows and one.schema not in exported and memory.standing(one) == "unchecked"
        }
    )
    if unchecked:
        build = f" of build {memory.build}" if memory.build else ""
        lines.append(
            f"Read directly, and never compared with an export{build}: {', '.join(unchecked)}."
        )
    return tuple(lines)
