"""`performance-cliff`: from one iteration on, the device takes longer for every iteration."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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

_NAMED = 3  # names of work that came or went
_RARE = 0.1  # share of the time of equal work on the side that lacks it


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
    times, pieces = _measure_work(gpu, rows)
    border = find_border(times)
    if border is None:
        yield from _judge_idle_time(times, ends - starts, starts, loop, limit)
        return
    time = _CliffMedians.from_iterations(times, border)
    piece_count = _CliffMedians.from_iterations(pieces, border)
    has_same_work = piece_count.early <= piece_count.late <= 2 * piece_count.early
    if time.late <= (1 + limit) * time.early or not has_same_work:
        return
    border_time = int(starts[border])
    last_end = int(ends[-1])
    early_window = Window(loop.start, border_time)
    late_window = Window(border_time, last_end)
    disturbed_before = disturbed_share(gpu.other_intervals, gpu_performance_states, early_window)
    disturbed_after = disturbed_share(gpu.other_intervals, gpu_performance_states, late_window)
    if disturbed_after > disturbed_before + MORE_DISTURBED:
        return
    new_names: tuple[str, ...] = ()
    gone_names: tuple[str, ...] = ()
    if work is not None:
        new_names, gone_names = _compare_names(work, border_time)
    factor = f"{time.late / time.early:.2f}"
    facts = (
        Fact("unit", unit(rows)),
        Fact("place", border + 1),
        Fact("iterations", int(times.size)),
        Fact("before", time.early, "ns"),
        Fact("after", time.late, "ns"),
        Fact("factor", factor),
        Fact("more_pieces", piece_count.late > piece_count.early),
        Fact("pieces_before", round(piece_count.early)),
        Fact("pieces_after", round(piece_count.late)),
        Fact("named", work is not None),
        Fact("came", _quote_names(new_names)),
        Fact("went", _quote_names(gone_names)),
        Fact("clock_known", share_below_best(gpu_performance_states, late_window) is not None),
    )
    words = f"{factor} times as long"
    yield finding(
        severity=Severity.NOTE,
        wording="performance-cliff",
        facts=facts,
        lever=Mechanism.CLIFF_BY_SHAPE,
        evidence=(Evidence("gpu_intervals", border_time, last_end, words),),
        saving=round(time.rise * (times.size - border)),
    )


@dataclass(frozen=True)
class _CliffMedians:
    """The medians of a number of each iteration, before the border and from it on."""

    early: float
    late: float

    @classmethod
    def from_iterations(cls, values: NDArray[Any], border: int) -> "_CliffMedians":
        return cls(float(np.median(values[:border])), float(np.median(values[border:])))

    @property
    def rise(self) -> float:
        return self.late - self.early


def _measure_work(
    gpu: Device, rows: pd.DataFrame
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the device time of each iteration, in ns, and the number of its device intervals.

    If the iterations do not state the work that began in them, work during them counts.
    """
    if "work" in rows and rows["work"].notna().all():
        times = rows["work"].to_numpy(dtype=np.float64)
        return times, rows["pieces"].to_numpy(dtype=np.float64)
    starts, ends = bounds(rows)
    work = IntervalSet.from_spans(*gpu.spans)
    times = work.measure_within(starts, ends).astype(np.float64)
    gpu_starts = np.sort(gpu.spans[0])
    borders = np.append(starts, ends[-1])
    begun_counts = np.searchsorted(gpu_starts, borders)
    return times, np.diff(begun_counts).astype(np.float64)


def _judge_idle_time(
    times: NDArray[np.float64], iteration_times: Times, starts: Times, loop: Loop, limit: float
) -> Findings:
    """Yield the finding for the iteration from which the device is idle for longer, if any."""
    idle_times = np.maximum(iteration_times - times, 0)
    border = find_border(idle_times)
    if border is None or loop.paced:
        return
    idle = _CliffMedians.from_iterations(idle_times, border)
    usual_iteration = _CliffMedians.from_iterations(iteration_times, border).early
    if idle.rise <= limit * usual_iteration:
        return
    border_time = int(starts[border])
    facts = (
        Fact("place", border + 1),
        Fact("iterations", int(times.size)),
        Fact("before", idle.early, "ns"),
        Fact("after", idle.late, "ns"),
        Fact("work", float(np.median(times)), "ns"),
    )
    yield finding(
        severity=Severity.NOTE,
        wording="performance-cliff-idle",
        facts=facts,
        lever=Mechanism.HOST_ELSEWHERE,
        evidence=(Evidence("gpu_intervals", border_time, loop.end, "idles for longer"),),
        saving=round(idle.rise * (times.size - border)),
        within="bubbles",
    )


def _compare_names(work: NamedWork, border_time: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of work that came and that went at a moment, the longest work first.

    Work came if next to none of its time was before.
    """
    lengths = (work.ends - work.starts).astype(np.float64)
    name_count = len(work.names)
    totals = np.bincount(work.codes, weights=lengths, minlength=name_count)
    late_lengths = lengths * (work.starts >= border_time)
    late_totals = np.bincount(work.codes, weights=late_lengths, minlength=name_count)
    late_shares = late_totals / np.maximum(1, totals)
    by_late_time = np.argsort(-late_totals, kind="stable")
    by_early_time = np.argsort(late_totals - totals, kind="stable")
    new_names = [work.names[code] for code in by_late_time if late_shares[code] > 1 - _RARE]
    gone_names = [work.names[code] for code in by_early_time if late_shares[code] < _RARE]
    return tuple(new_names[:_NAMED]), tuple(gone_names[:_NAMED])


def _quote_names(names: Sequence[str]) -> str:
    return ", ".join(f"“{name}”" for name in names)
