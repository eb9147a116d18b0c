"""Whose GPU work a bundle holds, without an export."""

from collections.abc import Collection, Iterator
from pathlib import Path

import pyarrow.compute as pc

from tracekit.base.errors import InputError
from tracekit.base.files import notes_folder
from tracekit.base.recording import Recording
from tracekit.record.direct_reading.remembered import build_of, recall
from tracekit.record.xctrace.exporting import GPU_INTERVALS
from tracekit.record.xctrace.rows import target_has_rows, without_rows
from tracekit.tables.bundle.bundle import BundleRun
from tracekit.tables.bundle.container.store import Store
from tracekit.tables.bundle.reader import BundleReader
from tracekit.tables.stored import opened
from tracekit.tables.toc.several import own
from tracekit.tables.toc.toc import TocRun


def named_directly(bundle: Path, run: TocRun, *, unchecked: bool = False) -> frozenset[int] | None:
    """Return the processes with GPU intervals; None where that is not surely known.

    Args:
        bundle: The bundle.
        run: The run to look at, as the table of contents has it; its build of Instruments counts.
        unchecked: Whether a table may be read that was never compared with an export.
    """
    memory = recall(build_of(run.instruments_version), notes_folder())
    trusted = {"equal", "unchecked"} if unchecked else {"equal"}
    try:
        runs = opened(bundle).runs
        same = next((one for one in runs if one.number == run.number), runs[-1])
        stores = [one for one in same.stores if one.schema == GPU_INTERVALS]
        if not stores or any(memory.standing(one) not in trusted for one in stores):
            return None
        return frozenset(pid for store in stores for pid in _pids(same, store))
    except InputError:
        return None


def rows_of_target(
    recording: Recording, pids: Collection[int]
) -> tuple[bool | None, tuple[str, ...]]:
    """Tell whether the target has GPU work, by its exports or by its bundle; and a warning.

    None where that is not known: there is no target, or no such table.
    """
    found, named = target_has_rows(recording, pids), None
    run = own(recording)
    if found is None and pids and run is not None:
        named = named_directly(recording.bundle, run, unchecked=True)
        found = None if named is None else not named.isdisjoint(pids)
    told = (without_rows(recording, pids, named),) if found is False else ()
    return found, told


def _pids(run: BundleRun, store: Store) -> Iterator[int]:
    for piece in BundleReader(run, store, "").pieces():
        for column in piece.columns:
            if column.column.mnemonic == "process" and column.pids is not None:
                yield from pc.call_function("unique", [column.pids]).drop_null().to_pylist()
