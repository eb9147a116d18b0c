"""The pace of the run from its begin to its end, the load of the device, and the spikes."""

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit import analysis
from tracekit.analysis import Result
from tracekit.base import units
from tracekit.pages.chart import Chart
from tracekit.pages.panel import Context, Tables, of_table, of_target, panel, phase_begins, rows
from tracekit.pages.plots import Level, course, format_number
from tracekit.workload import IDLE

OVERHEAD = "overhead"
MOST_BINS = 60
MOST_SPIKES = 6
_SECOND = 1e9
_A_BIN = 4  # steps, at least
_EDGE = 0.1  # of the steady steps: the first and the last of them are listed apart

Numbers = NDArray[np.float64]


Spike = tuple[int, int, float]  # start, end and excess of an unusually long step, ns


@panel(
    "Throughput over the run",
    *("steps", "phases", "spans", "gpu_intervals"),
    opens_on=("steps",),
)
def throughput(result: Result, tables: Tables) -> Context | None:  # noqa: ARG001  a panel's signature
    """Chart the rate of steps or tokens, and the device; None if the run has neither."""
    step_rows = rows(tables, "steps")
    device = of_target(tables, "gpu_intervals")
    if step_rows.absence and device.absence:
        return None
    steps = _select_run_steps(step_rows.frame)
    spikes = _spikes(tables)
    charts = [*_rate(steps, tables, spikes), *_device(device.frame, tables)]
    longest_first = sorted(spikes, key=lambda spike: -spike[-1])
    parts = list(_parts(steps))
    more = max(0, len(spikes) - MOST_SPIKES)
    mixed = analysis.scope.variants(step_rows.frame)
    source = of_table(tables, "steps")
    device_source = of_table(tables, "gpu_intervals")
    return {
        "charts": charts,
        "parts": parts,
        "spikes": longest_first[:MOST_SPIKES],
        "more": more,
        "mixed": mixed,
        "source": source,
        "device_source": device_source,
    }


def _select_run_steps(steps: pd.DataFrame) -> pd.DataFrame:
    """Return the run's own steps in order, without waits; none if several variants compete."""
    is_timed = steps["duration"].notna() & (steps["phase"] != OVERHEAD)
    timed_steps = steps[is_timed]
    if "variant" in timed_steps:
        is_active = timed_steps["variant"].fillna("") != IDLE
        timed_steps = timed_steps[is_active]
    if len(analysis.scope.variants(timed_steps)) > 1:
        return timed_steps.iloc[:0]
    return timed_steps.sort_values("start", kind="stable")


def _count_output(steps: pd.DataFrame) -> tuple[Numbers, str]:
    """Return the output of each step and its unit: tokens, or steps if there are no tokens."""
    known_tokens = steps["tokens"].fillna(0)
    tokens = known_tokens.to_numpy(dtype=np.float64)
    if tokens.any():
        return tokens, "tokens/s"
    return np.ones(len(steps)), "steps/s"


def _rate(steps: pd.DataFrame, tables: Tables, spikes: list[Spike]) -> Iterator[Chart]:
    number = min(MOST_BINS, len(steps) // _A_BIN)
    if number < 2:  # noqa: PLR2004  one bin shows no course
        return
    outputs, unit = _count_output(steps)
    starts, ends = analysis.intervals.spans(steps)
    begin = int(starts.min())
    end = int(ends.max())
    edges = np.linspace(begin, end, number + 1)
    rates = _per_second(edges, starts, ends, outputs)
    middle = units.quantity(float(np.median(rates)), unit)
    lowest = units.quantity(float(rates.min()), unit)
    highest = units.quantity(float(rates.max()), unit)
    summary = (
        f"In {units.count(number)} stretches of equal length: {middle} in the middle one, "
        f"{lowest} in "
        f"the slowest, {highest} in the fastest."
    )
    level = Level(unit, edges.tolist(), rates.tolist(), "steps")
    title = unit[:1].upper() + unit[1:]
    spike_starts = [float(start) for start, *_ in spikes]
    yield course(
        title,
        summary,
        level,
        format_number,
        begins=phase_begins(tables),
        marked=spike_starts,
    )


def _per_second(
    edges: Numbers,
    starts: analysis.intervals.Times,
    ends: analysis.intervals.Times,
    outputs: Numbers,
) -> Numbers:
    """Return the rate between edges, as if each step made its output evenly while it lasts."""
    summed_outputs = np.cumsum(outputs)
    cumulative_outputs = np.concatenate(([0.0], summed_outputs))
    step_ends = np.maximum(ends, starts)
    moments = np.ravel(np.column_stack((starts, step_ends)))
    sum_pairs = np.column_stack((cumulative_outputs[:-1], cumulative_outputs[1:]))
    sums = np.ravel(sum_pairs)
    order = np.maximum.accumulate(moments)
    sums_at_edges = np.interp(edges, order, sums)
    seconds = np.diff(edges) / _SECOND
    return np.diff(sums_at_edges) / seconds


def _device(intervals: pd.DataFrame, tables: Tables) -> Iterator[Chart]:
    if intervals.empty:
        return
    phases = phase_begins(tables)
    overhead_starts = [start for start, name in phases if name == OVERHEAD]
    until = min(overhead_starts, default=math.inf)
    is_before_overhead = (intervals["start"] < until).to_numpy()
    starts, ends = analysis.intervals.spans(intervals[is_before_overhead])
    if not starts.size:
        return
    begin = int(starts.min())
    end = int(ends.max())
    if end - begin < MOST_BINS:
        return
    edges = np.linspace(begin, end, MOST_BINS + 1).astype(np.int64)
    work = analysis.intervals.IntervalSet.from_spans(starts, ends)
    busy_times = work.measure_within(edges[:-1], edges[1:])
    shares = busy_times / np.diff(edges)
    total_busy_time = work.measure_within(edges[:1], edges[-1:])[0]
    total_share = total_busy_time / (end - begin)
    total = units.percent(float(total_share))
    lowest = units.percent(float(shares.min()))
    highest = units.percent(float(shares.max()))
    level = Level("busy", edges.tolist(), shares.tolist())
    yield course(
        "Share of time in which the device ran for the target",
        f"{total} in all, {lowest} in the least busy of {MOST_BINS} stretches, {highest} in the "
        "busiest.",
        level,
        lambda value: f"{value * 100:g} %",
        begins=phases,
        top=1.0,
    )


def _parts(steps: pd.DataFrame) -> Iterator[Context]:
    """Yield the phases before the steady steps, and the begin, the middle and the end of these."""
    if steps.empty:
        return
    other_steps = steps[steps["phase"] != "steady"]
    for name, phase_steps in other_steps.groupby("phase", sort=False):
        yield _part(str(name), phase_steps)
    try:
        steady = analysis.scope.steady_steps(steps)
    except analysis.Unavailable:
        return
    tenth = int(len(steady) * _EDGE)
    if not tenth:
        yield _part("steady", steady)
        return
    yield _part("steady, its first tenth", steady.iloc[:tenth])
    yield _part("steady, between", steady.iloc[tenth:-tenth])
    yield _part("steady, its last tenth", steady.iloc[-tenth:])


def _part(name: str, part_steps: pd.DataFrame) -> Context:
    outputs, unit = _count_output(part_steps)
    starts, ends = analysis.intervals.spans(part_steps)
    begin = int(starts.min())
    end = int(ends.max())
    window = analysis.intervals.Window(begin, end)
    rate = units.NOT_AVAILABLE
    if window.length:
        tokens_per_second = outputs.sum() * _SECOND / window.length
        rate = units.quantity(tokens_per_second, unit)
    return {"name": name, "steps": len(part_steps), "length": window.length, "rate": rate}


def _spikes(tables: Tables) -> list[Spike]:
    """Return the steps that the rule step-spikes reports."""
    thresholds = analysis.thresholds(analysis.RULES["step-spikes"].judge)
    steps = rows(tables, "steps")
    requests = rows(tables, "requests")
    request_frame = None if requests.absence else requests.frame
    try:
        served_spans = rows(tables, "spans").frame
        beats = analysis.beats(steps.frame, request_frame, served_spans)
    except analysis.Unavailable:
        return []
    spikes: list[Spike] = []
    for beat in beats:
        chosen, excess = analysis.spikes(beat, thresholds["least_z"], thresholds["least_excess"])
        if chosen.mean() <= thresholds["most"]:
            starts = beat.starts[chosen].tolist()
            ends = beat.ends[chosen].tolist()
            rounded_excess = excess[chosen].tolist()
            spikes += zip(starts, ends, rounded_excess, strict=True)
    return spikes
