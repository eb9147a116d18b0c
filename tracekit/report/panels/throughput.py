"""The pace of the run from its begin to its end, the load of the device, and the spikes."""

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
from tracekit.report.plots import Level, course, format_number
from tracekit.workload import IDLE

OVERHEAD = "overhead"
MOST_BINS = 60
MOST_SPIKES = 6
_SECOND = 1e9
_A_BIN = 4  # steps, at least
_EDGE = 0.1  # of the steady steps: the first and the last of them are listed apart

Numbers = NDArray[np.float64]


Spike = tuple[int, int, float]  # start, end and excess of an unusually long step, ns


@panel("Throughput over the run", "steps", "phases", "spans", "gpu_intervals")
def throughput(result: Result, tables: Tables) -> Context | None:  # noqa: ARG001  a panel's signature
    """Chart the rate of steps or tokens, and the device; None if the run has neither."""
    step_rows = rows(tables, "steps")
    device = of_target(tables, "gpu_intervals")
    if step_rows.absence and device.absence:
        return None
    steps = _select_run_steps(step_rows.frame)
    spikes = _spikes(tables)
    charts = [*_rate(steps, tables, spikes), *_device(device.frame, tables)]
    return {
        "charts": charts,
        "parts": list(_parts(steps)),
        "spikes": sorted(spikes, key=lambda spike: -spike[-1])[:MOST_SPIKES],
        "more": max(0, len(spikes) - MOST_SPIKES),
        "mixed": analysis.variants(step_rows.frame),
        "source": of_table(tables, "steps"),
        "device_source": of_table(tables, "gpu_intervals"),
    }


def _select_run_steps(steps: pd.DataFrame) -> pd.DataFrame:
    """Return the run's own steps in order, without waits; none if several variants compete."""
    timed_steps = steps[steps["duration"].notna() & (steps["phase"] != OVERHEAD)]
    if "variant" in timed_steps:
        timed_steps = timed_steps[timed_steps["variant"].fillna("") != IDLE]
    if len(analysis.variants(timed_steps)) > 1:
        return timed_steps.iloc[:0]
    return timed_steps.sort_values("start", kind="stable")


def _count_output(steps: pd.DataFrame) -> tuple[Numbers, str]:
    """Return the output of each step and its unit: tokens, or steps if there are no tokens."""
    tokens = steps["tokens"].fillna(0).to_numpy(dtype=np.float64)
    if tokens.any():
        return tokens, "tokens/s"
    return np.ones(len(steps)), "steps/s"


def _rate(steps: pd.DataFrame, tables: Tables, spikes: list[Spike]) -> Iterator[Chart]:
    number = min(MOST_BINS, len(steps) // _A_BIN)
    if number < 2:  # noqa: PLR2004  one bin shows no course
        return
    outputs, unit = _count_output(steps)
    starts, ends = analysis.spans(steps)
    edges = np.linspace(int(starts.min()), int(ends.max()), number + 1)
    rates = _per_second(edges, starts, ends, outputs)
    middle = quantity(float(np.median(rates)), unit)
    lowest = quantity(float(rates.min()), unit)
    highest = quantity(float(rates.max()), unit)
    summary = (
        f"In {count(number)} stretches of equal length: {middle} in the middle one, {lowest} in "
        f"the slowest, {highest} in the fastest."
    )
    yield course(
        unit[:1].upper() + unit[1:],
        summary,
        Level(unit, edges.tolist(), rates.tolist(), "steps"),
        format_number,
        begins=phase_begins(tables),
        marked=[float(start) for start, *_ in spikes],
    )


def _per_second(
    edges: Numbers, starts: analysis.Times, ends: analysis.Times, outputs: Numbers
) -> Numbers:
    """Return the rate between edges, as if each step made its output evenly while it lasts."""
    cumulative_outputs = np.concatenate(([0.0], np.cumsum(outputs)))
    moments = np.ravel(np.column_stack((starts, np.maximum(ends, starts))))
    sums = np.ravel(np.column_stack((cumulative_outputs[:-1], cumulative_outputs[1:])))
    order = np.maximum.accumulate(moments)
    return np.diff(np.interp(edges, order, sums)) / (np.diff(edges) / _SECOND)


def _device(intervals: pd.DataFrame, tables: Tables) -> Iterator[Chart]:
    if intervals.empty:
        return
    phases = phase_begins(tables)
    until = min((start for start, name in phases if name == OVERHEAD), default=math.inf)
    starts, ends = analysis.spans(intervals[(intervals["start"] < until).to_numpy()])
    if not starts.size:
        return
    begin = int(starts.min())
    end = int(ends.max())
    if end - begin < MOST_BINS:
        return
    edges = np.linspace(begin, end, MOST_BINS + 1).astype(np.int64)
    work = analysis.IntervalSet.from_spans(starts, ends)
    shares = work.measure_within(edges[:-1], edges[1:]) / np.diff(edges)
    total_share = work.measure_within(edges[:1], edges[-1:])[0] / (end - begin)
    total = percent(float(total_share))
    lowest = percent(float(shares.min()))
    highest = percent(float(shares.max()))
    yield course(
        "Share of time in which the device ran for the target",
        f"{total} in all, {lowest} in the least busy of {MOST_BINS} stretches, {highest} in the "
        "busiest.",
        Level("busy", edges.tolist(), shares.tolist()),
        lambda value: f"{value * 100:g} %",
        begins=phases,
        top=1.0,
    )


def _parts(steps: pd.DataFrame) -> Iterator[Context]:
    """Yield the phases before the steady steps, and the begin, the middle and the end of these."""
    if steps.empty:
        return
    for name, phase_steps in steps[steps["phase"] != "steady"].groupby("phase", sort=False):
        yield _part(str(name), phase_steps)
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


def _part(name: str, part_steps: pd.DataFrame) -> Context:
    outputs, unit = _count_output(part_steps)
    starts, ends = analysis.spans(part_steps)
    window = analysis.Window(int(starts.min()), int(ends.max()))
    rate = NOT_AVAILABLE
    if window.length:
        rate = quantity(outputs.sum() * _SECOND / window.length, unit)
    return {"name": name, "steps": len(part_steps), "length": window.length, "rate": rate}


def _spikes(tables: Tables) -> list[Spike]:
    """Return the steps that the rule step-spikes reports."""
    thresholds = analysis.thresholds(analysis.RULES["step-spikes"].judge)
    steps = rows(tables, "steps")
    requests = rows(tables, "requests")
    request_frame = None if requests.absence else requests.frame
    try:
        beats = analysis.beats(steps.frame, request_frame, rows(tables, "spans").frame)
    except analysis.Unavailable:
        return []
    spikes: list[Spike] = []
    for beat in beats:
        chosen, excess = analysis.spikes(beat, thresholds["least_z"], thresholds["least_excess"])
        if chosen.mean() <= thresholds["most"]:
            starts = beat.starts[chosen].tolist()
            ends = beat.ends[chosen].tolist()
            spikes += zip(starts, ends, excess[chosen].tolist(), strict=True)
    return spikes
