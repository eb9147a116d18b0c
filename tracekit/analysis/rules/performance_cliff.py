"""`performance-cliff`: from one iteration on, the device takes longer for every iteration."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import IntervalSet, Times, Window
from tracekit.analysis.intervals import spans as bounds
from tracekit.analysis.iterations import Loop, steady_iterations, unit
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.machine import MORE_DISTURBED, disturbed_share, share_below_best
from tracekit.analysis.modes import find_border
from tracekit.analysis.rule import Evidence, Fact, Findings, Severity, finding
from tracekit.analysis.scope import Device, of_a_server
from tracekit.analysis.work_names import NamedWork

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
        raise Unavailable("the steps are a server's, which differ with the requests.")
    starts, ends = bounds(rows)
    has_work_times = "work" in rows and bool(rows["work"].notna().all())
    times = IntervalSet.from_spans(*gpu.spans).measure_within(starts, ends).astype(np.float64)
    if has_work_times:
        times = rows["work"].to_numpy(dtype=np.float64)
    border = find_border(times)
    if border is None:
        yield from _when_idle(times, ends - starts, starts, loop, limit)
        return
    time_before, time_after = float(np.median(times[:border])), float(np.median(times[border:]))
    pieces = np.diff(np.searchsorted(np.sort(gpu.spans[0]), np.append(starts, ends[-1])))
    if has_work_times:
        pieces = rows["pieces"].to_numpy(dtype=np.float64)
    fewer, more = float(np.median(pieces[:border])), float(np.median(pieces[border:]))
    if time_after <= (1 + limit) * time_before or not fewer <= more <= 2 * fewer:
        return
    border_time, until = int(starts[border]), int(ends[-1])
    sides = Window(loop.start, border_time), Window(border_time, until)
    first_share, second = (
        disturbed_share(gpu.other_intervals, gpu_performance_states, side) for side in sides
    )
    if second > first_share + MORE_DISTURBED:
        return
    came, went = ((), ()) if work is None else _compare_names(work, border_time)
    yield finding(
        severity=Severity.NOTE,
        wording="performance-cliff",
        facts=(
            Fact("unit", unit(rows)),
            Fact("place", border + 1),
            Fact("iterations", int(times.size)),
            Fact("before", time_before, "ns"),
            Fact("after", time_after, "ns"),
            Fact("factor", f"{time_after / time_before:.2f}"),
            Fact("more_pieces", more > fewer),
            Fact("pieces_before", round(fewer)),
            Fact("pieces_after", round(more)),
            Fact("named", work is not None),
            Fact("came", ", ".join(f"“{name}”" for name in came)),
            Fact("went", ", ".join(f"“{name}”" for name in went)),
            Fact("clock_known", share_below_best(gpu_performance_states, sides[1]) is not None),
        ),
        lever=Mechanism.CLIFF_BY_SHAPE,
        evidence=(
            Evidence(
                "gpu_intervals", border_time, until, f"{time_after / time_before:.2f} times as long"
            ),
        ),
        saving=round((time_after - time_before) * (times.size - border)),
    )


def _when_idle(
    times: NDArray[np.float64], iteration_times: Times, starts: Times, loop: Loop, limit: float
) -> Findings:
    """Yield the finding for the iteration from which the device is idle for longer, if any."""
    idle = np.maximum(iteration_times - times, 0)
    border = find_border(idle)
    if border is None or loop.paced:
        return
    idle_before, idle_after = float(np.median(idle[:border])), float(np.median(idle[border:]))
    if idle_after - idle_before <= limit * float(np.median(iteration_times[:border])):
        return
    border_time = int(starts[border])
    yield finding(
        severity=Severity.NOTE,
        wording="performance-cliff-idle",
        facts=(
            Fact("place", border + 1),
            Fact("iterations", int(times.size)),
            Fact("before", idle_before, "ns"),
            Fact("after", idle_after, "ns"),
            Fact("work", float(np.median(times)), "ns"),
        ),
        lever=Mechanism.HOST_ELSEWHERE,
        evidence=(Evidence("gpu_intervals", border_time, loop.end, "idles for longer"),),
        saving=round((idle_after - idle_before) * (times.size - border)),
        within="bubbles",
    )


def _compare_names(work: NamedWork, border_time: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of work that came and that went at a moment, the longest work first."""
    took = (work.ends - work.starts).astype(np.float64)
    total = np.bincount(work.codes, weights=took, minlength=len(work.names))
    is_late = work.starts >= border_time
    late = np.bincount(work.codes, weights=took * is_late, minlength=total.size)
    shares = late / np.maximum(1, total)
    by_late_time = np.argsort(-late, kind="stable")
    by_early_time = np.argsort(late - total, kind="stable")
    came = tuple(work.names[code] for code in by_late_time if shares[code] > 1 - _RARE)
    went = tuple(work.names[code] for code in by_early_time if shares[code] < _RARE)
    return came[:_NAMED], went[:_NAMED]
