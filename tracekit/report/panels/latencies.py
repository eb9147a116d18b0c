"""How long things took and how evenly: steps, starting on the device, completing."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis import Result, Unavailable, steady_steps
from tracekit.report.chart import Chart
from tracekit.report.panel import (
    Context,
    Panel,
    Rows,
    Tables,
    marked_window,
    of_table,
    of_target,
    rows,
)
from tracekit.report.plots import distribution

FEWEST = 8
MOST_CHARTS = 4
_PERCENTILES = (50, 95, 99)


@dataclass(frozen=True)
class Latency:
    """A latency of the steady window; times in ns. `absence` says why there is none."""

    name: str
    meant: str
    source: str
    values: NDArray[np.float64]
    absence: str = ""

    @property
    def count(self) -> int:
        """How many values there are."""
        return self.values.size

    @property
    def percentiles(self) -> tuple[float, ...]:
        """The median, the 95th and the 99th percentile, linear between ranks."""
        return tuple(float(one) for one in np.percentile(self.values, _PERCENTILES))

    @property
    def longest(self) -> float:
        """The longest of all."""
        return float(self.values.max())


def context(result: Result, tables: Tables) -> Context:  # noqa: ARG001  a panel's signature
    """List the latencies, and chart those that came often enough."""
    found = list(_latencies(tables))
    known = [latency for latency in found if latency.count]
    return {
        "known": known,
        "unknown": _together([one for one in found if not one.count]),
        "charts": [_chart(one) for one in known if one.count >= FEWEST][:MOST_CHARTS],
        "fewest": FEWEST,
    }


def _together(unknown: list[Latency]) -> list[tuple[str, str]]:
    """Return what is missing for one and the same reason in one line, and the reason."""
    names: dict[str, list[str]] = {}
    for latency in unknown:
        names.setdefault(latency.absence, []).append(f"{latency.name} ({latency.meant})")
    return [(", ".join(those), reason) for reason, those in names.items()]


def _latencies(tables: Tables) -> Iterator[Latency]:
    yield from _of_steps(tables)
    yield _of_column(
        tables, "gpu_intervals", "start_latency", "Start", "from submission to start on the device"
    )
    yield _of_column(
        tables, "command_buffers", "commit_to_start", "Commit to start", "of a command buffer"
    )
    yield _of_column(
        tables, "command_buffers", "commit_to_complete", "Commit to complete", "of a command buffer"
    )


def _of_steps(tables: Tables) -> Iterator[Latency]:
    """Yield what steady steps took, each variant apart."""
    found = rows(tables, "steps")
    meant, source = "from building it until it was seen complete", of_table(tables, "steps")
    try:
        steady = steady_steps(found.frame)
    except Unavailable as reason:
        nothing = np.empty(0)
        yield Latency("Step", meant, source, nothing, found.absence or str(reason))
        return
    names = steady["variant"].fillna("") if "variant" in steady else pd.Series("", steady.index)
    for name, own in steady.groupby(names.astype(str), sort=True):
        values = own["duration"].dropna().to_numpy(dtype=np.float64)
        yield Latency(f"Step of {name}" if name else "Step", meant, source, values)


def _of_column(tables: Tables, table: str, column: str, name: str, meant: str) -> Latency:
    found, source = of_target(tables, table), of_table(tables, table)
    if column not in found.frame:
        absence = found.absence or f"the table {table} has no column {column}"
        return Latency(name, meant, source, np.empty(0), absence)
    values = _steady(found, tables)[column].dropna().to_numpy(dtype=np.float64)
    if not values.size:
        absence = found.absence or f"no row of {table} in the steady window has it"
        return Latency(name, meant, source, values, absence)
    return Latency(name, meant, source, values)


def _steady(found: Rows, tables: Tables) -> pd.DataFrame:
    """Return the rows of the steady window; all of them where nobody marked one."""
    window = marked_window(tables)
    if window is None or found.absence:
        return found.frame
    times = found.frame["start" if "start" in found.frame else "committed"]
    inside = (times >= window.start) & (times < window.end)
    return found.frame[inside.fillna(value=False).astype(bool)]


def _chart(latency: Latency) -> Chart:
    return distribution(
        latency.name, latency.values, "steps" if latency.name.startswith("Step") else "device"
    )


latencies = Panel(
    "latencies",
    "Latencies and cadence",
    context,
    reads=("steps", "phases", "gpu_intervals", "command_buffers"),
)
