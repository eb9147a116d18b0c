"""What a server was asked, and how it answered: latencies, the parts of the run, its levels."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis import (
    LATENCIES,
    STATISTICS,
    Latency,
    Part,
    Result,
    Unavailable,
    Window,
    level_at,
    limit,
    parts,
    readings_named,
    steady_phase,
)
from tracekit.base import count, duration, quantity
from tracekit.report.panel import Context, Panel, Tables, rows
from tracekit.report.panels.work import by_time
from tracekit.report.timeline.still import ticks
from tracekit.workload import REFERENCE

WIDTH, HEIGHT = 1000, 60
MOST_POINTS = 400
_STATES = ("completed", "unfinished", "rejected")
_NAMES = {
    "ttft": "to the first token",
    "tpot": "for each token after it",
    "itl": "between two tokens",
    "e2e": "to the last token",
}
_LEVELS = (
    ("queued_requests", "Waiting", "requests", "", "others"),
    ("active_sequences", "Active", "sequences", "active_sequences", "steps"),
    ("used_blocks", "Blocks", "in use", "blocks", "device"),
)
_RATES = (
    *("offered_load", "request_rate_offered", "request_rate_served", "goodput", "slo_attainment"),
    *("tokens_per_second", "steady_token_rate", "tick_spikes"),
    *("block_occupancy_mean", "block_occupancy_peak", "queue_peak"),
)


@dataclass(frozen=True)
class LatencyRow:
    """A latency in words: how many values, and each statistic of them."""

    name: str
    note: str
    count: int
    numbers: tuple[str, ...]


@dataclass(frozen=True)
class PartRow:
    """A part of the run in words."""

    name: str
    length: str
    ticks: str
    tokens: str
    rate: str


@dataclass(frozen=True)
class Chart:
    """A level over time, drawn as an area of WIDTH by HEIGHT.

    Its height stands for the limit where the workload reports one, else for the highest level.
    """

    name: str
    note: str
    kind: str
    path: str
    summary: str


def context(result: Result, tables: Tables) -> Context | None:
    """Sum up the requests; None where the run served none."""
    found = rows(tables, "requests")
    if found.absence:
        return None
    requests, tokens = found.frame, rows(tables, "request_tokens").frame
    steps, gauges = rows(tables, "steps").frame, rows(tables, "gauges").frame
    did = rows(tables, "spans").frame
    known = {metric.name: metric for metric in (*result.metrics, *result.results)}
    rates = [known[name] for name in _RATES if name in known]
    states = requests["state"].value_counts()
    shown, absence = _parts(steps, gauges)
    return {
        "total": len(requests),
        "states": [(name, int(states.get(name, 0))) for name in _STATES if states.get(name, 0)],
        "reasons": _reasons(requests),
        "statistics": list(STATISTICS),
        "latencies": [_latency(latency, requests, tokens) for latency in LATENCIES],
        "rates": [
            (rate.name, quantity(rate.value, rate.unit)) for rate in rates if rate.value is not None
        ],
        "lateness": [
            (name, quantity(one.value, one.unit))
            for name, one in known.items()
            if name.startswith("arrival_lateness") and one.value is not None
        ],
        "parts": shown,
        "parts_absence": absence,
        "spans": by_time(did[did["name"] != REFERENCE], "name", None),
        "charts": _charts(steps, gauges),
        "ticks": _ticks(steps),
        "width": WIDTH,
        "height": HEIGHT,
    }


def _reasons(requests: pd.DataFrame) -> list[tuple[str, int]]:
    reasons = requests.loc[requests["state"] == "rejected", "reason"].fillna("").value_counts()
    return [(str(reason), int(number)) for reason, number in reasons.items() if reason]


def _latency(latency: Latency, requests: pd.DataFrame, tokens: pd.DataFrame) -> LatencyRow:
    try:
        values = latency.values(requests, tokens)
    except Unavailable:
        return LatencyRow(latency.name, _NAMES[latency.name], 0, ())
    made = tuple(duration(number(values)) for _, number in STATISTICS.values())
    return LatencyRow(latency.name, _NAMES[latency.name], values.size, made)


def _parts(steps: pd.DataFrame, gauges: pd.DataFrame) -> tuple[list[PartRow], str]:
    try:
        found = parts(steps, gauges)
    except Unavailable as reason:
        return [], str(reason)
    return [_part(name, one) for name, one in found.items()], ""


def _part(name: str, part: Part) -> PartRow:
    rate = "no tick" if part.rate is None else quantity(part.rate, "tokens/s")
    length = duration(part.window.length)
    return PartRow(name, length, count(part.ticks), count(part.tokens), rate)


def _charts(steps: pd.DataFrame, gauges: pd.DataFrame) -> list[Chart]:
    charts: list[Chart] = []
    for name, title, unit, bound, kind in _LEVELS:
        try:
            run = steady_phase(steps)
            times, values = readings_named(gauges, name)
        except Unavailable:
            continue
        most = limit(gauges, bound) if bound else None
        peak = float(values.max())
        top = most or peak or 1.0
        of = "" if most is None else f" of {count(most)}"
        path = _area(gauges, name, times, run, top)
        charts.append(Chart(title, unit, kind, path, f"at most {count(peak)}{of}"))
    return charts


def _area(gauges: pd.DataFrame, name: str, times: np.ndarray, run: Window, top: float) -> str:
    """Draw a level as steps; where there are many readings, the highest of each bin."""
    edges = np.linspace(run.start, run.end, MOST_POINTS + 1).astype(np.int64)
    levels = level_at(gauges, name, edges[:-1])
    bins = np.searchsorted(edges, times, side="right") - 1
    inside = (bins >= 0) & (bins < MOST_POINTS)
    np.maximum.at(levels, bins[inside], level_at(gauges, name, times)[inside])
    heights = np.clip(levels / top, 0, 1) * HEIGHT
    commands = [f"M0 {HEIGHT}"]
    before = -1.0
    for place, height in enumerate(heights.tolist()):
        if height != before:
            x = place * WIDTH / MOST_POINTS
            commands.append(f"H{x:g}V{HEIGHT - height:.1f}")
            before = height
    return "".join([*commands, f"H{WIDTH}V{HEIGHT}Z"])


def _ticks(steps: pd.DataFrame) -> tuple[str, ...]:
    try:
        run = steady_phase(steps)
    except Unavailable:
        return ()
    return ticks(0, run.length)


requests = Panel(
    "requests",
    "Requests",
    context,
    reads=("requests", "request_tokens", "steps", "gauges", "spans"),
)
