"""How long things took and how evenly: steps, starting on the device, completing."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import Result, Unavailable, steady_steps
from tracekit.report.panel import (
    Context,
    Tables,
    group_by_key,
    marked_window,
    of_table,
    of_target,
    panel,
    rows,
    variants_of,
)
from tracekit.report.plots import distribution

FEWEST = 8
MOST_CHARTS = 4
_PERCENTILES = (50, 95, 99, 100)
_STEP = "from building it until it was seen complete"
# Table, column, name, meaning.
_COLUMNS = (
    ("gpu_intervals", "start_latency", "Start", "from submission to start on the device"),
    ("command_buffers", "commit_to_start", "Commit to start", "of a command buffer"),
    ("command_buffers", "commit_to_complete", "Commit to complete", "of a command buffer"),
)


@dataclass(frozen=True)
class LatencyRow:
    """A latency of the steady window; times in ns. `absence` says why there is none."""

    table: str
    name: str
    meant: str
    times: NDArray[np.float64]
    absence: str = ""


@panel("Latencies and cadence", "steps", "phases", "gpu_intervals", "command_buffers")
def latencies(result: Result, tables: Tables) -> Context:  # noqa: ARG001  a panel's signature
    """List the latencies with percentiles, linear between ranks; chart what came often enough."""
    latency_rows = [*_of_steps(tables), *(_of_column(tables, *column) for column in _COLUMNS)]
    known_rows = [latency for latency in latency_rows if latency.times.size]
    missing = [latency for latency in latency_rows if not latency.times.size]
    return {
        "known": [
            (
                latency,
                of_table(tables, latency.table),
                np.percentile(latency.times, _PERCENTILES).tolist(),
            )
            for latency in known_rows
        ],
        "unknown": group_by_key(
            (latency.absence, f"{latency.name} ({latency.meant})") for latency in missing
        ),
        "charts": [
            distribution(
                latency.name, latency.times, "steps" if latency.table == "steps" else "device"
            )
            for latency in known_rows
            if latency.times.size >= FEWEST
        ][:MOST_CHARTS],
    }


def _of_steps(tables: Tables) -> Iterator[LatencyRow]:
    step_rows = rows(tables, "steps")
    try:
        steady = steady_steps(step_rows.frame)
    except Unavailable as reason:
        yield LatencyRow("steps", "Step", _STEP, np.empty(0), step_rows.absence or str(reason))
        return
    for name, variant_steps in steady.groupby(variants_of(steady), sort=True):
        values = variant_steps["duration"].dropna().to_numpy(dtype=np.float64)
        yield LatencyRow("steps", f"Step of {name}" if name else "Step", _STEP, values)


def _of_column(tables: Tables, table: str, column: str, name: str, meaning: str) -> LatencyRow:
    """Return a column of the steady window; of the whole run where nobody marked one."""
    table_rows, window = of_target(tables, table), marked_window(tables)
    frame = table_rows.frame
    if column not in frame:
        absence = table_rows.absence or f"the table {table} has no column {column}"
        return LatencyRow(table, name, meaning, np.empty(0), absence)
    if window is not None and not table_rows.absence:
        times = frame["start" if "start" in frame else "committed"]
        window_mask = (times >= window.start) & (times < window.end)
        frame = frame[window_mask.fillna(value=False).astype(bool)]
    absence = table_rows.absence or f"no row of {table} in the steady window has it"
    return LatencyRow(
        table, name, meaning, frame[column].dropna().to_numpy(dtype=np.float64), absence
    )
