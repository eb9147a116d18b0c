"""Figures of a server's requests, ticks and levels: latencies, and the parts of its run.

A tick is a step that did not wait for load. All functions are pure; if a value cannot be known,
they raise `Unavailable`.
"""

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.inject import NotApplicable, Unavailable
from tracekit.analysis.intervals import Times, Window, spans
from tracekit.analysis.scope import steady_steps

Values = NDArray[np.float64]

BUSY = 0.8
"""Share of the slots that must be taken for a tick to begin or end the steady part."""


def require_requests(requests: pd.DataFrame) -> pd.DataFrame:
    """Return the requests scheduled to arrive in the run; raise Unavailable if there are none."""
    if requests.empty:
        raise NotApplicable("the workload serves no requests.")
    return requests


def select_completed(requests: pd.DataFrame) -> pd.DataFrame:
    """Return the requests with all of their tokens; raise Unavailable if there are none."""
    done = require_requests(requests)
    done = done[done["state"] == "completed"]
    if done.empty:
        raise Unavailable("no request was completed.")
    return done


def first_token_times(requests: pd.DataFrame) -> Values:
    """Return the time to the first token of each request that got one, in ns (TTFT)."""
    first_tokens = require_requests(requests)["first_token"].dropna()
    if first_tokens.empty:
        raise Unavailable("no request got a token.")
    return first_tokens.to_numpy(dtype=np.float64)


def times_per_token(requests: pd.DataFrame) -> Values:
    """Return the mean time per token after the first of each completed request, in ns (TPOT)."""
    done = select_completed(requests)
    longer_requests = done[done["produced"] > 1]
    if longer_requests.empty:
        raise Unavailable("no completed request has more than one token.")
    took = longer_requests["last_token"] - longer_requests["first_token"]
    token_counts = longer_requests["produced"] - 1
    return (took / token_counts).to_numpy(dtype=np.float64)


def gaps_between_tokens(requests: pd.DataFrame, request_tokens: pd.DataFrame) -> Values:
    """Return all gaps between consecutive tokens of a request, in ns (ITL)."""
    require_requests(requests)
    ordered = request_tokens.sort_values(["request", "index"], kind="stable")
    token_times = ordered.groupby("request", sort=False)["time"]
    gaps = token_times.diff().dropna()
    if gaps.empty:
        raise Unavailable("no request has more than one token.")
    return gaps.to_numpy(dtype=np.float64)


def whole_times(requests: pd.DataFrame) -> Values:
    """Return the time to the last token of each completed request, in ns (E2E)."""
    return select_completed(requests)["last_token"].to_numpy(dtype=np.float64)


def mean(values: Values) -> float:
    """Return the mean, summed without rounding errors."""
    return statistics.fmean(values.tolist())


def deviation(values: Values) -> float:
    """Return the standard deviation of the values as a population, as numpy.std does."""
    middle = mean(values)
    squares = [(value - middle) ** 2 for value in values.tolist()]
    return math.sqrt(math.fsum(squares) / values.size)


def limit(gauges: pd.DataFrame, name: str) -> float | None:
    """Return the limit that the workload reports, such as "ttft"; None if it reports none."""
    is_limit = gauges["name"] == f"limit_{name}"
    reported = gauges[is_limit]
    if reported.empty:
        return None
    return float(reported["value"].iloc[-1])


def readings_named(gauges: pd.DataFrame, name: str) -> tuple[Times, Values]:
    """Return the times and values of a level, ascending; each value holds until the next."""
    is_named = gauges["name"] == name
    reported = gauges[is_named].sort_values("time", kind="stable")
    if reported.empty:
        raise Unavailable(f"the workload reported no {name}.")
    times = reported["time"].to_numpy(dtype=np.int64)
    values = reported["value"].to_numpy(dtype=np.float64)
    return times, values


def level_at(gauges: pd.DataFrame, name: str, moments: Times) -> Values:
    """Return a level at each moment: the last reported value, or zero before the first report."""
    times, values = readings_named(gauges, name)
    place = np.searchsorted(times, moments, side="right") - 1
    known_values = values[np.maximum(place, 0)]
    return np.where(place >= 0, known_values, 0.0)


def steady_phase(steps: pd.DataFrame) -> Window:
    """Return the time from the first steady step to the end of the last, waits included."""
    is_steady = (steps["phase"] == "steady").to_numpy(np.bool_, na_value=False)
    if not is_steady.any():
        raise Unavailable("the workload made no step in its steady phase.")
    starts, ends = spans(steps)
    first_start = int(starts[is_steady].min())
    last_end = int(ends[is_steady].max())
    return Window(first_start, last_end, "the run")


@dataclass(frozen=True)
class Part:
    """A part of a run: its window, its ticks and tokens, the median of its ticks' rates.

    `rate` is in tokens per second; None without a tick.
    """

    window: Window
    ticks: int
    tokens: int
    rate: float | None


def parts(steps: pd.DataFrame, gauges: pd.DataFrame) -> Mapping[str, Part]:
    """Divide a run into "ramp", "steady" and "tail".

    Steady runs from the first to the last tick that had at least `BUSY` of the slots taken; ramp is
    the part before, tail the part after.
    """
    slots = limit(gauges, "active_sequences")
    if slots is None:
        raise Unavailable("the workload does not tell how many sequences it serves at a time.")
    ticks = steady_steps(steps).sort_values("start", kind="stable")
    run = steady_phase(steps)
    starts, ends = spans(ticks)
    active = level_at(gauges, "active_sequences", ends)
    busy = np.flatnonzero(active >= BUSY * slots)
    if not busy.size:
        raise Unavailable(
            f"the server was never busy enough: at most {active.max():.0f} of {slots:.0f} slots "
            f"were taken, and steady begins at {BUSY:.0%}."
        )
    steady_start = int(starts[busy[0]])
    steady_end = int(ends[busy[-1]])
    ramp = Window(run.start, steady_start, "ramp")
    steady = Window(steady_start, steady_end, "steady")
    tail = Window(steady_end, run.end, "tail")
    windows = {
        "ramp": ramp,
        "steady": steady,
        "tail": tail,
    }
    return {name: _part(ticks, window) for name, window in windows.items()}


def _part(ticks: pd.DataFrame, window: Window) -> Part:
    window_ticks = window.rows(ticks)
    known_tokens = window_ticks["tokens"].fillna(0)
    tokens = known_tokens.to_numpy(dtype=np.float64)
    durations = window_ticks["duration"].to_numpy(dtype=np.float64)
    real = durations > 0
    rates = tokens[real] * 1e9 / durations[real]
    rate = None
    if rates.size:
        rate = float(np.median(rates))
    token_count = int(tokens.sum())
    return Part(window, len(window_ticks), token_count, rate)


def time_weighted(gauges: pd.DataFrame, name: str, window: Window) -> float:
    """Return the mean of a level over a window, each reading weighted by its duration."""
    if not window.length:
        raise Unavailable(f"{window.name} has no length.")
    times, _ = readings_named(gauges, name)
    is_inside = (times > window.start) & (times < window.end)
    inner_times = times[is_inside]
    bounds = np.concatenate(([window.start], inner_times, [window.end]))
    levels = level_at(gauges, name, bounds[:-1])
    weighted_levels = levels * np.diff(bounds)
    return math.fsum(weighted_levels.tolist()) / window.length
