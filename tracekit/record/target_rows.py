"""The target's GPU work in a recording, by its exports or by its bundle."""

import logging
from collections.abc import Collection

import pandas as pd

from tracekit.analysis.counters import RAY_TRACING
from tracekit.base import Recording, TracekitError
from tracekit.record.xctrace import exporting
from tracekit.tables import Choice, Tables, toc

log = logging.getLogger(__name__)


def rows_of_target(
    recording: Recording, pids: Collection[int]
) -> tuple[bool | None, tuple[str, ...]]:
    """Return whether the target has GPU work, by its exports or by its bundle, and a warning.

    None if that is not known: there is no target, or no such table that can be read.
    """
    if not pids:
        return None, ()
    try:
        rows = read_gpu_intervals(recording, frozenset(pids))
    except TracekitError as error:
        log.info("rows were not looked for: %s", error)
        return None, ()
    if rows is None:
        return None, ()
    if rows["target"].any():
        return True, ()
    if rows.empty:
        return False, (exporting.NO_ROWS,)
    numbers = ", ".join(map(str, sorted(pids)))
    warning = (
        f"{exporting.GPU_INTERVALS} has rows of other processes only: no GPU work of the target "
        f"(process {numbers}) was recorded. See whether the target was awake and used Metal."
    )
    return False, (warning,)


def count_samples(tables: Tables) -> int | None:
    """Return the samples of counters, without that of ray tracing; None without the table.

    M3 and later record that one even if they refuse the counters that were asked for.
    """
    counters = tables.get("gpu_counters")
    if counters is None:
        return None
    return int(counters["counter"].ne(RAY_TRACING).sum())


def read_gpu_intervals(recording: Recording, targets: frozenset[int]) -> pd.DataFrame | None:
    """Return the GPU intervals of the exports, or those of the bundle if none were exported."""
    run = toc.find_recorded_run(recording)
    run_number = None
    if run is not None:
        run_number = run.number
    place = Choice(run_number)
    rows = Tables(recording.exports, targets, recording.tables, place).get("gpu_intervals")
    if rows is None:
        rows = Tables(recording.bundle, targets, only=place).get("gpu_intervals")
    return rows
