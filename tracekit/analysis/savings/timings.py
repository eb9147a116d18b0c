"""The timings of the command buffers of a loop, as they were recorded."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis.idle.cause import Cause
from tracekit.analysis.idle.causes import LATE
from tracekit.analysis.idle.lives import Lives
from tracekit.analysis.idle.slopes import Places
from tracekit.analysis.idle.surroundings import Surroundings, find_open_encoders
from tracekit.analysis.idle.whole import whole_gaps
from tracekit.analysis.intervals import NEVER, IntervalSet, Times, in_order, spans
from tracekit.analysis.iterations import Loop
from tracekit.analysis.savings.schedule import Flags, Rivals
from tracekit.analysis.scope import Device

FEWEST = 8
"""Fewer command buffers than this, or boundaries, show no habit."""
_NONE = np.empty(0, np.int64)
NO_RIVALS = Rivals(_NONE.astype(np.intp), _NONE, _NONE)


def times_of(timeline: pd.DataFrame, name: str) -> Times:
    """Return a column of the table `timeline`, with NEVER for null."""
    return timeline[name].to_numpy(dtype=np.int64, na_value=NEVER)


@dataclass(frozen=True, eq=False)
class Timings:
    """Timings of the command buffers of the loop, in the order of commits, in ns; NEVER: not known.

    `ids` are those of the threads. `last_commits` is the previous commit of the same thread,
    `free_times` is when the device was through with all that it had started before, and `own_free`
    when it was through with the target's part. `encoding` is when each thread had an encoder open,
    `upkeep` when pipelines were compiled, or memory was wired while nothing was on its way.
    `rivals` have the times of the trace.
    """

    ids: list[int]
    thread: Places
    device: Places
    iteration: Places
    begin_times: Times
    committed: Times
    started: Times
    end_times: Times
    completed: Times
    busy: Times
    last_commits: Times
    free_times: Times
    own_free: Times
    encoding: list[IntervalSet]
    upkeep: IntervalSet
    boundary: Times
    late: Times
    rivals: Rivals

    @property
    def dry(self) -> Flags:
        """Whether the device had nothing else when each was committed."""
        return self.committed >= self.free_times


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
    begin_times = times_of(timeline, "encoding_start")[order]
    committed = times_of(timeline, "committed")[order]
    started = times_of(timeline, "started")[order]
    end_times = times_of(timeline, "ended")[order]
    device = times_of(timeline, "device")[order]
    ids, thread = _threads(timeline, order)
    first_times = np.where(begin_times == NEVER, committed, begin_times)
    free_times = _find_free_times(device, started, end_times, rivals)
    boundary = _lost_by(Cause.BETWEEN_BUFFERS, device, started, gaps)
    late = _lost_by(Cause.LATE_START, device, started, gaps)
    iteration = _iterations(iterations, first_times)
    completed = _complete(times_of(timeline, "completed")[order], end_times)
    busy = times_of(timeline, "busy")[order]
    last_commits = pd.Series(committed).groupby(thread).shift(fill_value=NEVER).to_numpy()
    own_free = _find_free_times(device, started, end_times, NO_RIVALS)
    open_times = find_open_encoders(encoders)
    encoding = [open_times.get(thread_id, IntervalSet.empty()) for thread_id in ids]
    return Timings(
        ids=ids,
        thread=thread,
        device=device,
        iteration=iteration,
        begin_times=begin_times,
        committed=committed,
        started=started,
        end_times=end_times,
        completed=completed,
        busy=busy,
        last_commits=last_commits,
        free_times=free_times,
        own_free=own_free,
        encoding=encoding,
        upkeep=upkeep,
        boundary=boundary,
        late=_late(committed, started, free_times, boundary, late),
        rivals=rivals,
    )


def _complete(completed: Times, end_times: Times) -> Times:
    """Return the reports; one that is not known came as long after its end as others do."""
    is_reported = completed != NEVER
    median_way_back = 0
    if is_reported.any():
        ways_back = (completed - end_times)[is_reported]
        median_way_back = round(float(np.median(ways_back)))
    return np.where(is_reported, completed, end_times + median_way_back)


def upkeep_of(timeline: pd.DataFrame, around: Surroundings) -> IntervalSet:
    """Return when pipelines were compiled, or memory was wired while nothing was on its way."""
    lives = Lives.from_timeline(timeline)
    wiring = around.wiring.without(lives.on_the_way_there)
    return IntervalSet.union_of([around.compilation, wiring])


def _threads(timeline: pd.DataFrame, order: Places) -> tuple[list[int], Places]:
    """Return the ids of the threads and the place of each row's among them.

    If not all threads are known, all rows count as of one.
    """
    if "thread" not in timeline or timeline["thread"].isna().any():
        return [NEVER], np.zeros(order.size, np.intp)
    thread_ids = times_of(timeline, "thread")[order]
    ids, thread = np.unique(thread_ids, return_inverse=True)
    return ids.tolist(), thread


def _iterations(iterations: pd.DataFrame | None, begin_times: Times) -> Places:
    if iterations is None or iterations.empty:
        return np.full(begin_times.size, -1)
    iteration_starts = np.sort(spans(iterations)[0])
    return np.searchsorted(iteration_starts, begin_times, side="right") - 1


def _find_free_times(device: Places, started: Times, end_times: Times, rivals: Rivals) -> Times:
    """Return when the device was through with all that had started before, of any process."""
    rival_ends = rivals.start + rivals.length
    free_times = np.full(started.size, NEVER)
    for device_number in np.unique(device).tolist():
        rows = np.flatnonzero(device == device_number)
        rival_rows = rivals.device == device_number
        starts = np.concatenate((started[rows], rivals.start[rival_rows]))
        ends = np.concatenate((end_times[rows], rival_ends[rival_rows]))
        order = np.argsort(starts, kind="stable")
        latest_ends = np.maximum.accumulate(ends[order])
        earlier_ends = latest_ends[:-1]
        previous_ends = np.concatenate(([NEVER], earlier_ends))
        places = np.empty(order.size, np.intp)
        places[order] = np.arange(order.size)
        row_places = places[: rows.size]
        free_times[rows] = previous_ends[row_places]
    return free_times


def rivals_of(device: Device, loop: Loop) -> Rivals:
    """Return the work of other processes in the loop, on the channels that the target uses."""
    target_intervals = in_order(device.target_intervals)
    channels = target_intervals["channel"].unique()
    other_intervals = in_order(loop.rows(device.other_intervals))
    is_on_channel = other_intervals["channel"].isin(channels).to_numpy(np.bool_)
    number = np.zeros(len(other_intervals), np.intp)
    if "device" in target_intervals:
        names = pd.factorize(target_intervals["device"])[1]
        other_devices = pd.Index(other_intervals["device"])
        number = np.maximum(names.get_indexer(other_devices), 0)
    starts, ends = spans(other_intervals)
    lengths = ends - starts
    return Rivals(number[is_on_channel], starts[is_on_channel], lengths[is_on_channel])


def _late(
    committed: Times, started: Times, free_times: Times, boundary: Times, lost_times: Times
) -> Times:
    """Return the time of late starts beyond a usual start, or a usual boundary on a busy device."""
    dry = committed >= free_times
    is_undisturbed = dry & (lost_times == 0)
    starts = (started - committed)[is_undisturbed]
    boundaries = boundary[boundary > 0]
    usual_dry_time = _find_usual_time(starts)
    usual_boundary = _find_usual_time(boundaries)
    usual_times = np.where(dry, usual_dry_time, usual_boundary)
    return np.maximum(lost_times - usual_times, 0)


def _find_usual_time(times: Times) -> int:
    """Return the median of some times; if they are few, the time from which a start is late."""
    if times.size < FEWEST:
        return LATE
    return round(float(np.median(times)))


def _lost_by(cause: Cause, device: Places, started: Times, gaps: pd.DataFrame) -> Times:
    """Return the time of a cause in the gap that ended with the start of each."""
    lost_times = np.zeros(started.size, np.int64)
    if gaps.empty:
        return lost_times
    all_gaps = whole_gaps(gaps)
    is_cause = (gaps["cause"] == str(cause)).to_numpy(np.bool_)
    place, cause_times = all_gaps.time_in(is_cause)
    ends = all_gaps.ends[place]
    of_device = np.zeros(place.size, np.int64)
    if "device" in gaps:
        first_rows = all_gaps.first_rows[place]
        of_device = gaps["device"].take(first_rows).to_numpy(dtype=np.int64)
    numbers = np.unique(device, return_inverse=True)[1]
    for number in np.unique(numbers).tolist():
        rows = np.flatnonzero(numbers == number)
        on_device = of_device == number
        gap_ends = ends[on_device]
        place = np.searchsorted(gap_ends, started[rows])
        known_ends = np.append(gap_ends, NEVER)
        matches = known_ends[place] == started[rows]
        known_times = np.append(cause_times[on_device], 0)
        gap_times = known_times[place]
        lost_times[rows] = np.where(matches, gap_times, 0)
    return lost_times
