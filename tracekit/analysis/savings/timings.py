"""The timings of the command buffers of a loop, as they were recorded."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis.idle.gaps import whole_gaps
from tracekit.analysis.idle.lives import Lives
from tracekit.analysis.idle.pieces import LATE, Cause
from tracekit.analysis.idle.slopes import Places
from tracekit.analysis.idle.work import Surroundings, covered
from tracekit.analysis.intervals import NEVER, IntervalSet, Times, in_order, spans
from tracekit.analysis.iterations import Loop
from tracekit.analysis.savings.schedule import Flags, Rivals
from tracekit.analysis.scope import Device

FEWEST = 8
"""Fewer command buffers than this, or boundaries, show no habit."""
_NONE = np.empty(0, np.int64)
NO_RIVALS = Rivals(_NONE.astype(np.intp), _NONE, _NONE)


def times_of(timeline: pd.DataFrame, name: str) -> Times:
    """Return a column of the table `timeline`; NEVER where it is null."""
    return timeline[name].to_numpy(dtype=np.int64, na_value=NEVER)


@dataclass(frozen=True, eq=False)
class Timings:
    """Timings of the command buffers of the loop, in the order of commits; NEVER: not known.

    `ids` are those of the threads. `last` is the commit before of the same thread, `free` when the
    device was through with all that it had started before, and `own_free` with the target's.
    `encoding` is when each thread had an encoder open, `upkeep` when pipelines were compiled, or
    memory was wired for nothing on its way. `rivals` have the times of the trace.
    """

    ids: list[int]
    thread: Places
    device: Places
    iteration: Places
    begun: Times
    committed: Times
    started: Times
    ended: Times
    completed: Times
    busy: Times
    last: Times
    free: Times
    own_free: Times
    encoding: list[IntervalSet]
    upkeep: IntervalSet
    boundary: Times
    late: Times
    rivals: Rivals

    @property
    def dry(self) -> Flags:
        """Whether the device had nothing else when each was committed."""
        return self.committed >= self.free


def timings_of(
    timeline: pd.DataFrame,
    gaps: pd.DataFrame,
    iterations: pd.DataFrame | None,
    encoders: pd.DataFrame | None,
    upkeep: IntervalSet,
    rivals: Rivals,
) -> Timings:
    """Return the timings of the rows of the table `timeline`, in the order of commits."""
    order = np.argsort(times_of(timeline, "committed"), kind="stable")
    names = ("begun", "committed", "started", "ended", "completed", "busy", "device")
    begun, committed, started, ended, completed, busy, device = (
        times_of(timeline, name)[order] for name in names
    )
    told = completed != NEVER
    usual = round(float(np.median((completed - ended)[told]))) if told.any() else 0
    ids, thread = _threads(timeline, order)
    free = _free(device, started, ended, rivals)
    boundary = _lost_by(Cause.BETWEEN_BUFFERS, device, started, gaps)
    late = _lost_by(Cause.LATE_START, device, started, gaps)
    return Timings(
        ids=ids,
        thread=thread,
        device=device,
        iteration=_iterations(iterations, np.where(begun == NEVER, committed, begun)),
        begun=begun,
        committed=committed,
        started=started,
        ended=ended,
        completed=np.where(told, completed, ended + usual),
        busy=busy,
        last=pd.Series(committed).groupby(thread).shift(fill_value=NEVER).to_numpy(),
        free=free,
        own_free=_free(device, started, ended, NO_RIVALS),
        encoding=[_encoding(encoders, each) for each in ids],
        upkeep=upkeep,
        boundary=boundary,
        late=_late(committed, started, free, boundary, late),
        rivals=rivals,
    )


def upkeep_of(timeline: pd.DataFrame, around: Surroundings) -> IntervalSet:
    """Return when pipelines were compiled, or memory was wired for nothing on its way."""
    wiring = around.wiring.without(Lives.of(timeline).on_the_way_there)
    return IntervalSet.union_of([around.compiled, wiring])


def _threads(timeline: pd.DataFrame, order: Places) -> tuple[list[int], Places]:
    """Return the ids of the threads and the number of each row's; one where they are not known."""
    if "thread" not in timeline or timeline["thread"].isna().any():
        return [NEVER], np.zeros(order.size, np.intp)
    ids, thread = np.unique(times_of(timeline, "thread")[order], return_inverse=True)
    return ids.tolist(), thread


def _iterations(iterations: pd.DataFrame | None, begun: Times) -> Places:
    if iterations is None or iterations.empty:
        return np.full(begun.size, -1)
    return np.searchsorted(np.sort(spans(iterations)[0]), begun, side="right") - 1


def _free(device: Places, started: Times, ended: Times, rivals: Rivals) -> Times:
    """Return when the device was through with all that had started before, of whomever."""
    free = np.full(started.size, NEVER)
    for each in np.unique(device).tolist():
        rows, others = np.flatnonzero(device == each), rivals.device == each
        starts = np.concatenate((started[rows], rivals.start[others]))
        ends = np.concatenate((ended[rows], (rivals.start + rivals.length)[others]))
        order = np.argsort(starts, kind="stable")
        latest = np.concatenate(([NEVER], np.maximum.accumulate(ends[order])[:-1]))
        places = np.empty(order.size, np.intp)
        places[order] = np.arange(order.size)
        free[rows] = latest[places[: rows.size]]
    return free


def rivals_of(device: Device, loop: Loop) -> Rivals:
    """Return the work of other processes in the loop, on the channels that the target uses."""
    own = in_order(device.own)
    others = in_order(loop.rows(device.others))
    others = others[others["channel"].isin(own["channel"].unique())]
    number = np.zeros(len(others), np.intp)
    if "device" in own:
        names = pd.factorize(own["device"])[1]
        number = np.maximum(names.get_indexer(pd.Index(others["device"])), 0)
    starts, ends = spans(others)
    return Rivals(number, starts, ends - starts)


def _encoding(encoders: pd.DataFrame | None, thread: int) -> IntervalSet:
    if encoders is None or "tid" not in encoders:
        return IntervalSet.empty()
    return covered(encoders[encoders["target"] & (encoders["tid"] == thread).fillna(value=False)])


def _late(committed: Times, started: Times, free: Times, boundary: Times, lost: Times) -> Times:
    """Return what late starts took beyond a usual start, or a usual boundary on a busy device."""
    dry = committed >= free
    starts = (started - committed)[dry & (lost == 0)]
    usual = np.where(dry, _usual(starts), _usual(boundary[boundary > 0]))
    return np.maximum(lost - usual, 0)


def _usual(times: Times) -> int:
    """Return the usual one of some times; what a late start begins with where they are few."""
    return round(float(np.median(times))) if times.size >= FEWEST else LATE


def _lost_by(cause: Cause, device: Places, started: Times, gaps: pd.DataFrame) -> Times:
    """Return the time of a cause in the gap that ended with the start of each."""
    lost = np.zeros(started.size, np.int64)
    if gaps.empty:
        return lost
    whole = whole_gaps(gaps)
    place, taken = whole.time_in((gaps["cause"] == str(cause)).to_numpy(np.bool_))
    ends = whole.ends[place]
    of_device = np.zeros(place.size, np.int64)
    if "device" in gaps:
        of_device = gaps["device"].take(whole.first[place]).to_numpy(dtype=np.int64)
    numbers = np.unique(device, return_inverse=True)[1]
    for number in np.unique(numbers).tolist():
        rows, own = np.flatnonzero(numbers == number), of_device == number
        place = np.searchsorted(ends[own], started[rows])
        same = np.append(ends[own], NEVER)[place] == started[rows]
        lost[rows] = np.where(same, np.append(taken[own], 0)[place], 0)
    return lost
