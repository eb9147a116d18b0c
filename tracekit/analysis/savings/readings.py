"""The ways to read the schedule of a recording: the waits of threads, and the gaps of devices."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from tracekit.analysis.fixed import FixedTable
from tracekit.analysis.idle.causes import LATE
from tracekit.analysis.idle.sampled_waits import WORKS, Waits, sampled_share
from tracekit.analysis.idle.slopes import Places, Wait
from tracekit.analysis.idle.sums import loaded_time
from tracekit.analysis.idle.surroundings import Surroundings, union_target_rows
from tracekit.analysis.idle.threads import MOST_REPORTS, Thread, threads_of
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import FOREVER, NEVER, IntervalSet, Times
from tracekit.analysis.iterations import QUIET, Loop
from tracekit.analysis.savings.schedule import Flags, Readings, Rivals, Schedule
from tracekit.analysis.savings.timings import (
    FEWEST,
    Timings,
    rivals_of,
    times_of,
    timings_of,
    upkeep_of,
)
from tracekit.analysis.scope import Device

_STRETCHES = 4  # the number of stretches of a very long loop that are replayed
_EACH = 512  # the command buffers of each stretch
_UNSURE = 0.05  # share of the waits from which unknown ones are read in both ways
_STARTS = (0.5, 0.9)  # the quantiles of starts that count as usual and as the longest
_TWICE = 2.0  # times a usual start, beyond which something held it up
_LEAST = 0.25  # the quantile of times between command buffers that is a gap of the device's own
_HELD = 1.5  # times a usual gap, up to which a start was held up by it
_UNTOLD = 0.5  # share of the reports that may be unknown
_FAR = 3.0  # times the usual time between two commits, from which one comes late
_PROMPT = 0.2  # share of the time between two reports within which a commit comes right behind one
_MOSTLY = 0.75  # share of the late commits that come so, from which it is a habit
_NEAR = 2.0  # times the usual delay, within which a commit comes right behind a report


def schedules_of(
    device: Device,
    timeline: pd.DataFrame,
    waits: Waits,
    gaps: pd.DataFrame,
    loop: Loop,
    loaded: pd.DataFrame,
    around: Surroundings,
    iterations: pd.DataFrame | None,
    encoders: pd.DataFrame | None,
    cpu_profile: pd.DataFrame | None,
) -> Readings:
    """Return the ways to read the schedule of the loop.

    Raise Unavailable if commits or reports are not known, or there are hardly any.
    """
    rows = _rows(timeline, loop)
    unsure = waits == Wait.UNKNOWN
    waits_known = bool(unsure.mean() <= _UNSURE)
    ways = [waits]
    if not waits_known:
        sure_waits = np.where(unsure, Wait.NO, waits)
        ways.append(sure_waits)
    load = union_target_rows(loaded)
    sample = rows.size > _STRETCHES * _EACH
    if sample:
        rows, load = _sample_rows(timeline, rows, load)
    timeline = FixedTable.from_frame(timeline.iloc[rows])
    upkeep = upkeep_of(timeline, around)
    rivals = rivals_of(device, loop)
    timings = timings_of(timeline, gaps, iterations, encoders, upkeep, rivals)
    schedules: list[Schedule] = []
    for way in ways:
        awaits = _find_awaited(timeline, way[rows])
        schedule_by_waits = _schedule(timings, awaits, load)
        for schedule in _by_samples(timings, schedule_by_waits, cpu_profile):
            schedules.extend(_by_gaps(timings, schedule))
    host_times = {schedule.host_before.tobytes() for schedule in schedules}
    may_have_spun = len(host_times) > len(ways)
    decided = waits_known and not may_have_spun
    return Readings(tuple(schedules), loaded_time(loaded), decided, sample)


def _rows(timeline: pd.DataFrame, loop: Loop) -> Places:
    """Return the rows of the loop whose commit is known."""
    committed = times_of(timeline, "committed")
    started = times_of(timeline, "started")
    completed = times_of(timeline, "completed")
    unknown_commits = (committed == NEVER).mean()
    if unknown_commits > _UNSURE or (completed == NEVER).mean() > _UNTOLD:
        raise Unavailable(
            "too few command buffers of the target have both a commit and a completion."
        )
    starts_in_loop = (started >= loop.start) & (started < loop.end)
    in_loop = starts_in_loop & (committed != NEVER)
    rows = np.flatnonzero(in_loop)
    if rows.size < FEWEST:
        raise Unavailable(f"{loop.name} has hardly any command buffers.")
    return rows


def _sample_rows(
    timeline: pd.DataFrame, rows: Places, load: IntervalSet
) -> tuple[Places, IntervalSet]:
    """Return some stretches of the rows, evenly spread, and the load within them."""
    exact_begins = np.linspace(0, rows.size - _EACH, _STRETCHES)
    begins = exact_begins.astype(int)
    first_places = begins[:, np.newaxis]
    places = first_places + np.arange(_EACH)
    sampled_rows = rows[places.ravel()]
    sampled_commits = times_of(timeline, "committed")[sampled_rows]
    committed = sampled_commits.reshape(_STRETCHES, _EACH)
    first_commits = committed.min(axis=1)
    last_commits = committed.max(axis=1)
    stretches = IntervalSet.from_spans(first_commits, last_commits)
    between_stretches = load.without(stretches)
    return sampled_rows, load.without(between_stretches)


def _find_awaited(timeline: pd.DataFrame, waits: Waits) -> Places:
    """Return the place of the command buffer whose report each commit waited for; -1 for none.

    Places are those in the order of commits.
    """
    awaited_rows = np.full(len(timeline), -1)
    for thread in threads_of(timeline):
        rows = thread.rows
        way = waits[rows]
        lags = np.unique(way[way > Wait.NO])
        for lag in lags.tolist():
            places = thread.find_awaited(lag)
            chosen = (way == lag) & (places >= 0)
            awaited_places = places[chosen]
            awaited_rows[rows[chosen]] = rows[awaited_places]
        places = _likeliest(thread, way)
        chosen = places >= 0
        awaited_rows[rows[chosen]] = rows[places[chosen]]
    order = np.argsort(times_of(timeline, "committed"), kind="stable")
    place = np.full(len(timeline) + 1, -1)
    place[order] = np.arange(order.size)
    return place[awaited_rows[order]]


def _likeliest(thread: Thread, way: Waits) -> Places:
    """Return the report that a commit waited for if `way` does not show it; -1 for none, or known.

    Of the reports since the last commit, it is the one that the commit follows as others do. The
    same holds for single commits that come far later than others right behind a report, whatever
    the habit of their thread: as near to a report as others come to the last commit, or, if there
    are many, far nearer to a report than reports are to each other.
    """
    number = thread.rows.size
    shifted_commits = np.append(NEVER, thread.committed[:-1])
    last_commits = shifted_commits[:number]
    is_first = last_commits == NEVER
    earlier_commits = np.where(is_first, thread.committed, last_commits)
    distances = thread.committed - earlier_commits
    median_distance = _median(distances[~is_first], 0.0)
    latest = thread.report(1)
    waited = (way == Wait.YES) & (latest <= thread.committed) & (latest != NEVER)
    median_delay = _median((thread.committed - latest)[waited], median_distance)
    longest_delay = _NEAR * max(median_distance, median_delay)

    order = np.argsort(thread.completed, kind="stable")
    reports = thread.completed[order]
    come = np.searchsorted(reports, thread.committed, side="right")
    is_far = distances > _FAR * median_distance
    late = (way == Wait.NO) & is_far & (come > 1)
    prompt = late & _comes_right_behind(thread.committed, reports, come)
    late_count = np.count_nonzero(late)
    if late_count < FEWEST or prompt.sum() < _MOSTLY * late.sum():
        prompt = np.zeros(number, bool)

    awaited_rows = np.full(number, -1)
    best = np.full(number, np.inf)
    for lag in range(1, MOST_REPORTS + 1):
        place = np.maximum(come - lag, 0)
        report = reports[place]
        since = (come >= lag) & (report != NEVER) & (report > last_commits) & ~is_first
        since_times = np.where(since, report, thread.committed)
        delays = thread.committed - since_times
        deviations = np.abs(delays - median_delay)
        near = late & (delays <= longest_delay)
        if lag == 1:
            near |= prompt
        is_possible = (way == Wait.UNKNOWN) | near
        chosen = since & (deviations < best) & is_possible
        awaited_rows[chosen] = order[place[chosen]]
        best[chosen] = deviations[chosen]
    return awaited_rows


def _median(times: Times, default: float) -> float:
    if not times.size:
        return default
    return float(np.median(times))


def _comes_right_behind(committed: Times, reports: Times, come: Places) -> Flags:
    """Return whether a commit is far nearer to the last report than that is to the one before.

    `come` is the number of reports that had come before each commit.
    """
    last_reports = reports[np.maximum(come - 1, 0)]
    earlier_reports = reports[np.maximum(come - 2, 0)]
    delays = committed - last_reports
    report_times = last_reports - earlier_reports
    return delays <= _PROMPT * report_times


def _schedule(timings: Timings, awaits: Places, load: IntervalSet) -> Schedule:
    """Return the schedule without its gaps yet."""
    first_commit = timings.committed[0]
    is_first = timings.last_commits == NEVER
    last_commits = np.where(is_first, first_commit, timings.last_commits)
    awaited_reports = timings.completed[awaits]
    report = np.where(awaits >= 0, awaited_reports, NEVER)
    valid = ~is_first & (report <= timings.committed)
    awaits = np.where(valid, awaits, -1)
    waited = awaits >= 0

    later_times = np.maximum(last_commits, report)
    since = np.where(waited, later_times, last_commits)
    until_commit = np.maximum(since, timings.committed)
    host = load.measure_within(since, until_commit)
    time_to_begin = timings.begin_times - since
    wake = np.clip(time_to_begin, 0, host)
    upkeep_times = timings.upkeep.measure_within(since, timings.committed)
    upkeep = np.minimum(upkeep_times, host)
    encoding = _measure_encoding(timings, last_commits, since)

    length = timings.end_times - timings.started
    work = np.minimum(timings.busy, length)
    first_commits = np.full(host.size, first_commit)
    commit_times = load.measure_within(first_commits, timings.committed)
    wake_times = np.where(timings.begin_times == NEVER, host, wake)
    host_before = np.where(waited, encoding, 0)
    fixed = np.where(host >= QUIET, host, upkeep)
    start = timings.started - timings.committed
    gap = np.full(host.size, NEVER)
    inner = length - work
    back = timings.completed - timings.end_times
    rivals = _under_load(timings, load)
    return Schedule(
        thread=timings.thread,
        device=timings.device,
        iteration=timings.iteration,
        commit=commit_times,
        awaits=awaits,
        host_before=host_before,
        host=host,
        wake=wake_times,
        fixed=fixed,
        start=start,
        gap=gap,
        work=work,
        inner=inner,
        back=back,
        boundary=timings.boundary,
        late=timings.late,
        rivals=rivals,
    )


def _under_load(timings: Timings, load: IntervalSet) -> Rivals:
    """Return the rivals by the schedule's own time, without those in pauses."""
    rivals = timings.rivals
    first_commit = timings.committed[0]
    is_after_first = rivals.start >= first_commit
    under_load = load.contains(rivals.start) & is_after_first
    starts = rivals.start[under_load]
    first_commits = np.full(starts.size, first_commit)
    since = load.measure_within(first_commits, starts)
    return Rivals(rivals.device[under_load], since, rivals.length[under_load])


def _measure_encoding(timings: Timings, last_commits: Times, report: Times) -> Times:
    """Return how long the host was seen to encode between its last commit and a report."""
    begin_times = np.maximum(timings.begin_times, last_commits)
    opened = np.where(timings.begin_times == NEVER, report, begin_times)
    encoding_times = np.maximum(report - opened, 0)
    until = np.maximum(last_commits, report)
    for number, encoding in enumerate(timings.encoding):
        if encoding.starts.size:
            rows = timings.thread == number
            encoding_times[rows] = encoding.measure_within(last_commits[rows], until[rows])
    return encoding_times


def _by_samples(
    timings: Timings, schedule: Schedule, samples: pd.DataFrame | None
) -> Iterator[Schedule]:
    """Yield the readings of threads that were sampled at work before a report: work, or wait."""
    host_before = schedule.host_before.copy()
    waited = schedule.awaits >= 0
    awaited_reports = timings.completed[schedule.awaits]
    reports = np.where(waited, awaited_reports, NEVER)
    for number, thread in enumerate(timings.ids):
        rows = waited & (schedule.thread == number)
        since = timings.last_commits[rows]
        until = reports[rows]
        span = IntervalSet.from_spans(since, until)
        thread_ids = np.array([thread])
        lower, upper = sampled_share(span, samples, thread_ids)
        if lower > WORKS:
            middle_share = (lower + upper) / 2
            sampled_times = middle_share * (until - since)
            whole_times = sampled_times.astype(np.int64)
            host_before[rows] = np.maximum(host_before[rows], whole_times)
    if (host_before > schedule.host_before).any():
        yield replace(schedule, host_before=host_before)
    yield schedule


def _by_gaps(timings: Timings, schedule: Schedule) -> Iterator[Schedule]:
    """Yield the readings of the gaps of a device between command buffers that are there in time.

    A command buffer that was committed longer before the device was through than a start takes has
    all the time that passed as its gap. The others have the usual gap of these; if there are hardly
    any, nothing, or the lower quartile of the time that passed before others, or a whole start. A
    late start is late by all the time that it takes beyond a usual one, other processes' work in
    that time included.
    """
    usual_start, longest_start = _measure_starts(timings, schedule.start)
    waiting_times = timings.free_times - timings.committed
    queued = ~timings.dry & (waiting_times >= longest_start)
    is_first = timings.free_times == NEVER
    room_starts = np.where(is_first, timings.committed, timings.free_times)
    room = timings.started - room_starts
    queued_room = room[queued]
    dry_room = room[~timings.dry]
    gaps = _possible_gaps(queued_room, dry_room)

    rival_ends = timings.rivals.start + timings.rivals.length
    rivals = IntervalSet.from_spans(timings.rivals.start, rival_ends)
    ready, unready = _until_ready(timings, rivals, usual_start)
    ready_times = ready - timings.committed
    way_there = np.where(unready, ready_times, schedule.start)
    busy = ~timings.dry & ~unready
    queued &= busy

    whole_start = round(usual_start)
    rival_times = rivals.measure_within(timings.committed, timings.started)
    delay_times = schedule.late + rival_times
    longest_delays = np.maximum(way_there - whole_start, 0)
    late = np.minimum(delay_times, longest_delays)
    for gap in gaps:
        limited_room = np.minimum(way_there, room)
        least_gaps = np.minimum(gap, limited_room)
        is_slow = way_there > usual_start
        is_held_up = queued | (busy & is_slow & (room <= _HELD * gap))
        is_in_time = is_held_up | (schedule.late == 0)
        held_start = np.minimum(way_there, whole_start)
        start = np.where(is_held_up, held_start, way_there)
        yield replace(
            schedule,
            start=start,
            gap=np.where(is_held_up, room, least_gaps),
            late=np.where(is_in_time, schedule.late, late),
        )


def _measure_starts(timings: Timings, starts: Times) -> tuple[float, float]:
    """Return the usual and the longest time of a start on a device that had run dry, in ns."""
    is_usable = timings.dry & (timings.free_times != NEVER)
    dry_starts = starts[is_usable]
    if dry_starts.size < FEWEST:
        usual_start = min(int(starts.min()), LATE)
        return usual_start, min(FOREVER, _TWICE * usual_start)
    usual_start, longest_start = np.quantile(dry_starts, _STARTS)
    return usual_start, min(longest_start, _TWICE * usual_start)


def _possible_gaps(queued_gaps: Times, busy_gaps: Times) -> list[int]:
    """Return the gaps that a device may need, in ns, by those behind queued and busy times."""
    if queued_gaps.size >= FEWEST:
        return [round(float(np.median(queued_gaps)))]
    if busy_gaps.size >= FEWEST:
        least_gap = float(np.quantile(busy_gaps, _LEAST))
        return [0, round(least_gap)]
    return [0, FOREVER]


def _until_ready(timings: Timings, rivals: IntervalSet, usual_start: float) -> tuple[Times, Flags]:
    """Return when each was ready, and whether it was not while others' work ran before it.

    It was not ready if the device was idle for longer than a start takes, though the command buffer
    had been committed. Others' work at the end of that, right before it, only kept it waiting.
    """
    run = rivals.interval_start(timings.free_times - 1)
    start_before = timings.started - usual_start
    apart = (run < timings.committed) | (start_before > timings.free_times)
    ready = np.where(apart, timings.started, run)
    usual_starts = timings.committed + round(usual_start)
    expected = np.maximum(usual_starts, timings.own_free)
    waiting_since = np.minimum(expected, ready)
    idle = ready - expected - rivals.measure_within(waiting_since, ready)
    is_late = idle > usual_start
    unready = is_late & (timings.free_times > timings.own_free)
    return ready, unready
