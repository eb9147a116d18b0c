"""The lengths of steps, starts on the device and completions, and how even they are."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import Result, Unavailable, scope
from tracekit.report.chart import Chart
from tracekit.report.panel import (
    Context,
    Tables,
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
    """A latency of the steady window; times in ns. `absence` is the reason if there are none."""

    table: str
    name: str
    meant: str
    times: NDArray[np.float64]
    absence: str = ""


@panel("Latencies and cadence", "steps", "phases", "gpu_intervals", "command_buffers")
def latencies(result: Result, tables: Tables) -> Context:  # noqa: ARG001  a panel's signature
    """List the latencies with percentiles, linear between ranks; chart those with many times."""
    latency_rows = list(_of_steps(tables))
    latency_rows += [_of_column(tables, *column) for column in _COLUMNS]
    known_rows: list[tuple[LatencyRow, str, list[float]]] = []
    charts: list[Chart] = []
    names_by_absence: dict[str, list[str]] = {}
    for latency in latency_rows:
        if not latency.times.size:
            words = f"{latency.name} ({latency.meant})"
            names_by_absence.setdefault(latency.absence, []).append(words)
            continue
        percentiles = np.percentile(latency.times, _PERCENTILES).tolist()
        source = of_table(tables, latency.table)
        known_rows.append((latency, source, percentiles))
        if latency.times.size >= FEWEST and len(charts) < MOST_CHARTS:
            color = "steps" if latency.table == "steps" else "device"
            charts.append(distribution(latency.name, latency.times, color))
    return {"known": known_rows, "unknown": names_by_absence, "charts": charts}


def _of_steps(tables: Tables) -> Iterator[LatencyRow]:
    step_rows = rows(tables, "steps")
    try:
        steady = scope.steady_steps(step_rows.frame)
    except Unavailable as reason:
        yield LatencyRow("steps", "Step", _STEP, np.empty(0), step_rows.absence or str(reason))
        return
    for variant, variant_steps in steady.groupby(variants_of(steady), sort=True):
        name = f"Step of {variant}" if variant else "Step"
        values = variant_steps["duration"].dropna().to_numpy(dtype=np.float64)
        yield LatencyRow("steps", name, _STEP, values)


def _of_column(tables: Tables, table: str, column: str, name: str, meaning: str) -> LatencyRow:
    """Return a column of the steady window; of the whole run if no window is marked."""
    table_rows = of_target(tables, table)
    window = marked_window(tables)
    frame = table_rows.frame
    if column not in frame:
        absence = table_rows.absence or f"the table {table} has no column {column}"
        return LatencyRow(table, name, meaning, np.empty(0), absence)
    if window is not None and not table_rows.absence:
        time_column = "start" if "start" in frame else "committed"
        times = frame[time_column]
        is_after_start = times >= window.start
        is_before_end = times < window.end
        is_within = is_after_start & is_before_end
        frame = frame[is_within.fillna(value=False).astype(bool)]
    absence = table_rows.absence or f"no row of {table} in the steady window has it"
    known_values = frame[column].dropna()
    values = known_values.to_numpy(dtype=np.float64)
    return LatencyRow(table, name, meaning, values, absence)
