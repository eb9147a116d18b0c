"""The lengths of steps, starts on the device and completions, and how even they are."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import Result, Unavailable, scope
from tracekit.base import units
from tracekit.pages.chart import Chart
from tracekit.pages.panel import (
    Context,
    Tables,
    marked_window,
    of_table,
    of_target,
    panel,
    rows,
    variants_of,
)
from tracekit.pages.plots import distribution

FEWEST = 8
MOST_CHARTS = 3
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


@panel(
    "Latencies and cadence",
    *("steps", "phases", "gpu_intervals", "command_buffers"),
    opens_on=("steps", "command_buffers"),
)
def latencies(result: Result, tables: Tables) -> Context:  # noqa: ARG001  a panel's signature
    """List the latencies with percentiles, linear between ranks; chart those with many times."""
    latency_rows = list(_of_steps(tables))
    latency_rows += _leave_out_twins(_of_column(tables, *column) for column in _COLUMNS)
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
    absent = ""
    if not known_rows:
        reasons: list[str] = []
        for reason, names in names_by_absence.items():
            reasons.append(f"{', '.join(names)}: {reason}")
        absent = "; ".join(reasons)
    gist = ""
    if known_rows:
        first, _, percentiles = known_rows[0]
        p50, _, p99, _ = map(units.duration, percentiles)
        gist = f"{first.name.lower()} p50 {p50}, p99 {p99}"
    return {
        "gist": gist,
        "known": known_rows,
        "unknown": names_by_absence,
        "charts": charts,
        "absent": absent,
    }


def _leave_out_twins(latency_rows: Iterable[LatencyRow]) -> Iterator[LatencyRow]:
    """Yield the latencies, without those whose times equal those of an earlier one."""
    seen: list[NDArray[np.float64]] = []
    for latency in latency_rows:
        times = np.sort(latency.times)
        if times.size and any(np.array_equal(times, other) for other in seen):
            continue
        seen.append(times)
        yield latency


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
        frame = frame[[column]]
        is_after_start = times >= window.start
        is_before_end = times < window.end
        is_within = is_after_start & is_before_end
        frame = frame[is_within.fillna(value=False).astype(bool)]
    absence = table_rows.absence or f"no row of {table} in the steady window has it"
    known_values = frame[column].dropna()
    values = known_values.to_numpy(dtype=np.float64)
    return LatencyRow(table, name, meaning, values, absence)
