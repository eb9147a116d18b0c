"""How fast the run went from its begin to its end, how busy the device was, and what stood out."""

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit import analysis
from tracekit.analysis import Result
from tracekit.base import NOT_AVAILABLE, count, percent, quantity
from tracekit.report.chart import Chart
from tracekit.report.panel import Context, Tables, of_table, of_target, panel, phase_begins, rows
from tracekit.report.plots import Level, course, plain
from tracekit.workload import IDLE

OVERHEAD = "overhead"
MOST_BINS = 60
MOST_SPIKES = 6
_SECOND = 1e9
_A_BIN = 4  # steps, at least
_EDGE = 0.1  # of the steady steps: the first and the last of them stand apart

Numbers = NDArray[np.float64]


Spike = tuple[int, int, float]  # start, end and excess of a step that stands out, ns


@panel("Throughput over the run", "steps", "phases", "spans", "gpu_intervals")
def throughput(result: Result, tables: Tables) -> Context | None:  # noqa: ARG001  a panel's signature
    """Chart the rate of steps or tokens, and the device; None where the run has neither."""
    found, device = rows(tables, "steps"), of_target(tables, "gpu_intervals")
    if found.absence and device.absence:
        return None
    steps = _alike(found.frame)
    spiked = _spikes(tables)
    charts = [*_rate(steps, tables, spiked), *_device(device.frame, tables)]
    return {
        "charts": charts,
        "parts": list(_parts(steps)),
        "spikes": sorted(spiked, key=lambda spike: -spike[-1])[:MOST_SPIKES],
        "more": max(0, len(spiked) - MOST_SPIKES),
        "mixed": analysis.variants(found.frame),
        "source": of_table(tables, "steps"),
        "device_source": of_table(tables, "gpu_intervals"),
    }


def _alike(steps: pd.DataFrame) -> pd.DataFrame:
    """Return the run's own steps in order, without waits; none where several things compete."""
    known = steps[steps["duration"].notna() & (steps["phase"] != OVERHEAD)]
    if "variant" in known:
        known = known[known["variant"].fillna("") != IDLE]
    if len(analysis.variants(known)) > 1:
        return known.iloc[:0]
    return known.sort_values("start", kind="stable")


def _counted(steps: pd.DataFrame) -> tuple[Numbers, str]:
    """Return what each step made, and of what: tokens, or steps where there are none."""
    tokens = steps["tokens"].fillna(0).to_numpy(dtype=np.float64)
    return (tokens, "tokens/s") if tokens.any() else (np.ones(len(steps)), "steps/s")


def _rate(steps: pd.DataFrame, tables: Tables, spiked: list[Spike]) -> Iterator[Chart]:
    number = min(MOST_BINS, len(steps) // _A_BIN)
    if number < 2:  # noqa: PLR2004  one bin shows no course
        return
    made, unit = _counted(steps)
    starts, ends = analysis.spans(steps)
    edges = np.linspace(int(starts.min()), int(ends.max()), number + 1)
    rates = _per_second(edges, starts, ends, made)
    middle, least, most = (
        quantity(float(rate), unit) for rate in (np.median(rates), rates.min(), rates.max())
    )
    summary = (
        f"In {count(number)} stretches of equal length: {middle} in the middle one, {least} in the "
        f"slowest, {most} in the fastest."
    )
    level = Level(unit, edges.tolist(), rates.tolist(), "steps")
    yield course(
        unit[:1].upper() + unit[1:],
        summary,
        level,
        plain,
        begins=phase_begins(tables),
        marked=[float(start) for start, *_ in spiked],
    )


def _per_second(
    edges: Numbers, starts: analysis.Times, ends: analysis.Times, made: Numbers
) -> Numbers:
    """Return the rate between edges, where each step makes its own evenly while it lasts."""
    before = np.concatenate(([0.0], np.cumsum(made)))
    moments = np.ravel(np.column_stack((starts, np.maximum(ends, starts))))
    sums = np.ravel(np.column_stack((before[:-1], before[1:])))
    order = np.maximum.accumulate(moments)
    return np.diff(np.interp(edges, order, sums)) / (np.diff(edges) / _SECOND)


def _device(own: pd.DataFrame, tables: Tables) -> Iterator[Chart]:
    if own.empty:
        return
    phases = phase_begins(tables)
    until = min((at for at, name in phases if name == OVERHEAD), default=math.inf)
    starts, ends = analysis.spans(own[(own["start"] < until).to_numpy()])
    if not starts.size:
        return
    begin, end = int(starts.min()), int(ends.max())
    if end - begin < MOST_BINS:
        return
    edges = np.linspace(begin, end, MOST_BINS + 1).astype(np.int64)
    ran = analysis.IntervalSet.of(starts, ends).within(edges[:-1], edges[1:]) / np.diff(edges)
    whole = analysis.IntervalSet.of(starts, ends).within(edges[:1], edges[-1:])[0] / (end - begin)
    yield course(
        "Share of time in which the device ran for the target",
        f"{percent(float(whole))} in all, {percent(float(ran.min()))} in the least busy of "
        f"{MOST_BINS} stretches, {percent(float(ran.max()))} in the busiest.",
        Level("busy", edges.tolist(), ran.tolist()),
        lambda value: f"{value * 100:g} %",
        begins=phases,
        top=1.0,
    )


def _parts(steps: pd.DataFrame) -> Iterator[Context]:
    """Yield what came before the steady steps, and the begin, the middle and the end of these."""
    if steps.empty:
        return
    for name, own in steps[steps["phase"] != "steady"].groupby("phase", sort=False):
        yield _part(str(name), own)
    try:
        steady = analysis.steady_steps(steps)
    except analysis.Unavailable:
        return
    tenth = int(len(steady) * _EDGE)
    if not tenth:
        yield _part("steady", steady)
        return
    yield _part("steady, its first tenth", steady.iloc[:tenth])
    yield _part("steady, between", steady.iloc[tenth:-tenth])
    yield _part("steady, its last tenth", steady.iloc[-tenth:])


def _part(name: str, own: pd.DataFrame) -> Context:
    made, unit = _counted(own)
    starts, ends = analysis.spans(own)
    window = analysis.Window(int(starts.min()), int(ends.max()))
    rate = quantity(made.sum() * _SECOND / window.length, unit) if window.length else NOT_AVAILABLE
    return {"name": name, "steps": len(own), "length": window.length, "rate": rate}


def _spikes(tables: Tables) -> list[Spike]:
    """Return the steps that stand out, as the rule step-spikes sees them."""
    asked = analysis.thresholds(analysis.RULES["step-spikes"].judge)
    steps, requests = rows(tables, "steps"), rows(tables, "requests")
    served = None if requests.absence else requests.frame
    try:
        found = analysis.beats(steps.frame, served, rows(tables, "spans").frame)
    except analysis.Unavailable:
        return []
    seen: list[Spike] = []
    for each in found:
        chosen, excess = analysis.spikes(each, asked["least_z"], asked["least_excess"])
        if chosen.mean() <= asked["most"]:
            columns = (each.starts[chosen], each.ends[chosen], excess[chosen])
            seen += zip(*(column.tolist() for column in columns), strict=True)
    return seen
