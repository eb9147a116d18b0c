"""`performance-cliff`: from one iteration on, the device takes longer for every iteration."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.inject import NotApplicable
from tracekit.analysis.intervals import IntervalSet, Times, Window
from tracekit.analysis.intervals import spans as bounds
from tracekit.analysis.iterations import Loop, steady_iterations, unit
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.machine import MORE_DISTURBED, disturbed_share, share_below_best
from tracekit.analysis.modes import find_border
from tracekit.analysis.rule import Evidence, Fact, Findings, Severity, finding
from tracekit.analysis.scope import Device, of_a_server
from tracekit.analysis.work_names import NamedWork

_NAMED = 3
_RARE = 0.1


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
    """From one iteration on, the device takes longer for every iteration.

    What it looks for:
        The device's time for an iteration, in a loop whose iterations all have about as many pieces
        of device work. It fires, as a note, when this time rises by more than `limit` (25 %)
        between one iteration and the next and stays there, with at least 8 iterations on either
        side, each side steady in itself; a slow drift belongs to growing-steps. It is silent when
        the clock was lower or other processes used the GPU more from then on, and reports an
        unknown clock. If work has names, those that appeared and those that disappeared are named.
        If the device's time does not change, its idle time in an iteration is judged in the same
        way.

    Why it matters:
        Libraries choose kernels by shape. When a shape crosses a limit, speed may fall by a third
        from one batch size or one context length to the next.

    What to do:
        Check whether work was added there; if not, stay below the limit or pad beyond it.

    When it abstains:
        When no loop is found, for a server, whose steps differ with the requests, when the target
        is not known, and when a CPU did the work.
    """
    rows = steady_iterations(iterations).sort_values("start", kind="stable")
    if of_a_server(rows, requests, spans):
        raise NotApplicable("the steps are a server's, which differ with the requests.")
    starts, ends = bounds(rows)
    has_work_times = "work" in rows and bool(rows["work"].notna().all())
    busy_intervals = IntervalSet.from_spans(*gpu.spans)
    busy_times = busy_intervals.measure_within(starts, ends)
    times = busy_times.astype(np.float64)
    if has_work_times:
        times = rows["work"].to_numpy(dtype=np.float64)
    border = find_border(times)
    if border is None:
        yield from _when_idle(times, ends - starts, starts, loop, limit)
        return
    early_times = times[:border]
    time_before = float(np.median(early_times))
    late_times = times[border:]
    time_after = float(np.median(late_times))
    pieces = _count_pieces(gpu, starts, ends)
    if has_work_times:
        pieces = rows["pieces"].to_numpy(dtype=np.float64)
    early_pieces = pieces[:border]
    fewer = float(np.median(early_pieces))
    late_pieces = pieces[border:]
    more = float(np.median(late_pieces))
    if time_after <= (1 + limit) * time_before or not fewer <= more <= 2 * fewer:
        return
    border_time = int(starts[border])
    until = int(ends[-1])
    sides = Window(loop.start, border_time), Window(border_time, until)
    first_share, second = (
        disturbed_share(gpu.other_intervals, gpu_performance_states, side) for side in sides
    )
    if second > first_share + MORE_DISTURBED:
        return
    came, went = ((), ()) if work is None else _compare_names(work, border_time)
    iteration_count = int(times.size)
    factor = f"{time_after / time_before:.2f}"
    new_names = ", ".join(f"“{name}”" for name in came)
    gone_names = ", ".join(f"“{name}”" for name in went)
    is_clock_known = share_below_best(gpu_performance_states, sides[1]) is not None
    unit_name = unit(rows)
    cliff_place = border + 1
    has_more_pieces = more > fewer
    count_before = round(fewer)
    count_after = round(more)
    has_names = work is not None
    facts = (
        Fact("unit", unit_name),
        Fact("place", cliff_place),
        Fact("iterations", iteration_count),
        Fact("before", time_before, "ns"),
        Fact("after", time_after, "ns"),
        Fact("factor", factor),
        Fact("more_pieces", has_more_pieces),
        Fact("pieces_before", count_before),
        Fact("pieces_after", count_after),
        Fact("named", has_names),
        Fact("came", new_names),
        Fact("went", gone_names),
        Fact("clock_known", is_clock_known),
    )
    factor_text = f"{time_after / time_before:.2f} times as long"
    evidence = (Evidence("gpu_intervals", border_time, until, factor_text),)
    lost_time = time_after - time_before
    slow_count = times.size - border
    saving = round(lost_time * slow_count)
    yield finding(
        severity=Severity.NOTE,
        wording="performance-cliff",
        facts=facts,
        lever=Mechanism.CLIFF_BY_SHAPE,
        evidence=evidence,
        saving=saving,
    )


def _count_pieces(gpu: Device, starts: Times, ends: Times) -> NDArray[np.float64]:
    """Return the number of the device's intervals that begin in each iteration."""
    gpu_starts = np.sort(gpu.spans[0])
    borders = np.append(starts, ends[-1])
    places = np.searchsorted(gpu_starts, borders)
    interval_counts = np.diff(places)
    return interval_counts.astype(np.float64)


def _when_idle(
    times: NDArray[np.float64], iteration_times: Times, starts: Times, loop: Loop, limit: float
) -> Findings:
    """Yield the finding for the iteration from which the device is idle for longer, if any."""
    idle = np.maximum(iteration_times - times, 0)
    border = find_border(idle)
    if border is None or loop.paced:
        return
    early_idle = idle[:border]
    idle_before = float(np.median(early_idle))
    late_idle = idle[border:]
    idle_after = float(np.median(late_idle))
    border_times = iteration_times[:border]
    early_median = float(np.median(border_times))
    lost_idle = idle_after - idle_before
    if lost_idle <= limit * early_median:
        return
    border_time = int(starts[border])
    iteration_count = int(times.size)
    work = float(np.median(times))
    cliff_place = border + 1
    facts = (
        Fact("place", cliff_place),
        Fact("iterations", iteration_count),
        Fact("before", idle_before, "ns"),
        Fact("after", idle_after, "ns"),
        Fact("work", work, "ns"),
    )
    evidence = (Evidence("gpu_intervals", border_time, loop.end, "idles for longer"),)
    lost_time = idle_after - idle_before
    slow_count = times.size - border
    saving = round(lost_time * slow_count)
    yield finding(
        severity=Severity.NOTE,
        wording="performance-cliff-idle",
        facts=facts,
        lever=Mechanism.HOST_ELSEWHERE,
        evidence=evidence,
        saving=saving,
        within="bubbles",
    )


def _compare_names(work: NamedWork, border_time: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of work that came and that went at a moment, the longest work first."""
    took = (work.ends - work.starts).astype(np.float64)
    minlength = len(work.names)
    total = np.bincount(work.codes, weights=took, minlength=minlength)
    is_late = work.starts >= border_time
    weights = took * is_late
    late = np.bincount(work.codes, weights=weights, minlength=total.size)
    shares = late / np.maximum(1, total)
    by_late_time = np.argsort(-late, kind="stable")
    by_early_time = np.argsort(late - total, kind="stable")
    came = tuple(work.names[code] for code in by_late_time if shares[code] > 1 - _RARE)
    went = tuple(work.names[code] for code in by_early_time if shares[code] < _RARE)
    return came[:_NAMED], went[:_NAMED]
