"""`performance-cliff`: from one iteration on, the device takes longer for each."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import IntervalSet, Window, busy, clip
from tracekit.analysis.intervals import spans as bounds
from tracekit.analysis.iterations import Loop, steady_iterations, unit
from tracekit.analysis.machine import below_best
from tracekit.analysis.rhythm import best_split, spread
from tracekit.analysis.rule import Evidence, Findings, Severity, finding
from tracekit.analysis.scope import Device, of_a_server
from tracekit.analysis.work_names import NamedWork
from tracekit.base import duration

_ADVICE = (
    "If work was added there, such as a request that joined the batch, nothing is wrong. Else a "
    "shape crossed a border from which another kernel is chosen: in MLX more than so many rows of "
    "a quantized product, a length from which attention takes two passes, a head size or a mask "
    "that the fused kernel does not take. Compare the kernels' names before and after, pad the "
    "shape to the next size that has a fast kernel or stay below the border, and measure both ways."
)
_SIDE = 8  # iterations on either side, at least
_NEAR = 4  # iterations on either side of the border, which have the levels of their sides
_CLEAR = 6.0  # robust deviations between both levels
_AT_ONCE = 0.75  # of the rise, which comes between two neighbours
_MORE = 0.05  # of the time, for the clock or other processes to explain it
_NAMED, _RARE = 3, 0.1


def performance_cliff(
    gpu: Device,
    loop: Loop,
    iterations: pd.DataFrame,
    requests: pd.DataFrame | None,
    spans: pd.DataFrame | None,
    gpu_performance_states: pd.DataFrame | None,
    work: NamedWork | None,
    shader_runs: pd.DataFrame | None,
    *,
    limit: float = 0.25,
) -> Findings:
    """From one iteration on, the device takes longer for each.

    What it looks for:
        The device's time for an iteration, in a loop of which all iterations have about as many
        pieces of device work. It fires, as a note, when it rises by more than `limit` (25 %)
        between one iteration and the next and stays there, with at least 8 iterations on either
        side, each steady in itself; a slow drift is none. It is silent where the clock was lower
        or other processes used the GPU more from then on. Where work has names, those that came
        and those that went are named.

    Why it matters:
        Libraries choose kernels by shape. Where a shape crosses a border, speed may fall by a
        third from one batch size or one context length to the next.

    When it abstains:
        When no loop is found, for a server, whose steps differ with the requests, when the target
        is not known, and where a CPU did the work.
    """
    rows = steady_iterations(iterations).sort_values("start", kind="stable")
    if of_a_server(rows, requests, spans):
        raise Unavailable("the steps are a server's, which differ with the requests.")
    starts, ends = bounds(rows)
    times = IntervalSet.of(*gpu.spans).within(starts, ends).astype(np.float64)
    border = _border(times)
    if border is None:
        return
    before, after = float(np.median(times[:border])), float(np.median(times[border:]))
    pieces = np.diff(np.searchsorted(np.sort(gpu.spans[0]), np.append(starts, ends[-1])))
    fewer, more = np.median(pieces[:border]), np.median(pieces[border:])
    if after <= (1 + limit) * before or not fewer <= more <= 2 * fewer:
        return
    at, until = int(starts[border]), int(ends[-1])
    sides = Window(loop.start, at), Window(at, until)
    first, second = (_disturbed(gpu.others, gpu_performance_states, side) for side in sides)
    if second > first + _MORE:
        return
    times_as_long = f"{after / before:.2f} times as long"
    names = "" if work is None else _changed(work, at)
    yield finding(
        severity=Severity.NOTE,
        message=(
            f"From {unit(rows)} {border + 1:,} of {times.size:,} on, the device takes "
            f"{duration(after)} for one where it took {duration(before)} before, {times_as_long}."
            f"{names}"
        ),
        advice=_ADVICE,
        evidence=(Evidence("gpu_intervals", at, until, times_as_long),),
        saving=round((after - before) * (times.size - border)),
    )


def _border(times: NDArray[np.float64]) -> int | None:
    """Return the place from which on the times lie higher, both sides steady; None without one."""
    if times.size < 2 * _SIDE:
        return None
    border = best_split(times, _SIDE)
    sides = times[:border], times[border:]
    low, high = (float(np.median(side)) for side in sides)
    near = np.median(times[border : border + _NEAR]) - np.median(times[border - _NEAR : border])
    clear = high - low > _CLEAR * max(map(spread, sides)) and near > _AT_ONCE * (high - low)
    return border if high > low and clear else None


def _disturbed(others: pd.DataFrame, states: pd.DataFrame | None, side: Window) -> float:
    """Return the share of the time at a lower clock, or with others on the GPU: the greater."""
    shared = busy(*clip(*bounds(others), side.start, side.end))
    try:
        slow = below_best(states, side).share
    except Unavailable:
        slow = 0.0
    return max(slow, shared / max(1, side.length))


def _changed(work: NamedWork, at: int) -> str:
    """Say, with a blank before it, which names of work came and went about a moment."""
    took = (work.ends - work.starts).astype(np.float64)
    late = np.bincount(work.codes, weights=took * (work.starts >= at), minlength=len(work.names))
    shares = late / np.maximum(1, np.bincount(work.codes, weights=took, minlength=late.size))
    ranked = [(work.names[code], float(shares[code])) for code in np.argsort(-late, kind="stable")]
    came = [name for name, share in ranked if share > 1 - _RARE][:_NAMED]
    went = [name for name, share in ranked if share < _RARE][:_NAMED]
    if not came and not went:
        return " The same kernels run, by their names."
    said = [
        f"{what} {', '.join(f'“{name}”' for name in names)}"
        for what, names in (("new are", came), ("no longer run", went))
        if names
    ]
    return f" By their names, {'; '.join(said)}."
