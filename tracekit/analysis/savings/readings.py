"""The ways to read the schedule of a recording: who waited for what, and what a device needs."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from tracekit.analysis.idle.gaps import loaded_time
from tracekit.analysis.idle.pieces import LATE
from tracekit.analysis.idle.slopes import Places, Wait
from tracekit.analysis.idle.threads import MOST_REPORTS, Thread, threads_of
from tracekit.analysis.idle.waits import WORKS, Waits, sampled_share
from tracekit.analysis.idle.work import Surroundings, union_target_rows
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

_STRETCHES, _EACH = 4, 512  # command buffers that are replayed where there are very many
_UNSURE = 0.05  # of the waits, from which those that are not known are read in both ways
_STARTS = (0.5, 0.9)  # the quantiles of starts that count as usual and as the longest
_TWICE = 2.0  # times a usual start, beyond which something held it up
_LEAST = 0.25  # the quantile of times between command buffers that is a gap of the device's own
_HELD = 1.5  # times a usual gap, up to which a start was held up by it
_UNTOLD = 0.5  # of the reports; one that is not known came as long after the end as others
_FAR = 3.0  # times the usual time between two commits, from which one comes late
_PROMPT = 0.2  # of the time between two reports, within which a commit comes right behind one
_MOSTLY = 0.75  # of the late commits, that come so
_NEAR = 2.0  # times that time, within which a commit comes right behind a report


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

    Raise Unavailable where commits or reports are not known, or there are hardly any.
    """
    rows = _rows(timeline, loop)
    unsure = waits == Wait.UNKNOWN
    waits_known = bool(unsure.mean() <= _UNSURE)
    ways = [waits] if waits_known else [waits, np.where(unsure, Wait.NO, waits)]
    load = union_target_rows(loaded)
    sample = rows.size > _STRETCHES * _EACH
    if sample:
        rows, load = _sample_rows(timeline, rows, load)
    timeline = timeline.iloc[rows]
    upkeep = upkeep_of(timeline, around)
    timings = timings_of(timeline, gaps, iterations, encoders, upkeep, rivals_of(device, loop))
    schedules = [
        reading
        for way in ways
        for schedule in _by_samples(
            timings, _schedule(timings, _find_awaited(timeline, way[rows]), load), cpu_profile
        )
        for reading in _by_gaps(timings, schedule)
    ]
    spun = len({schedule.host_before.tobytes() for schedule in schedules}) > len(ways)
    return Readings(tuple(schedules), loaded_time(loaded), waits_known and not spun, sample)


def _rows(timeline: pd.DataFrame, loop: Loop) -> Places:
    """Return the rows of the loop whose commit is known."""
    committed, started, completed = (
        times_of(timeline, name) for name in ("committed", "started", "completed")
    )
    if (committed == NEVER).mean() > _UNSURE or (completed == NEVER).mean() > _UNTOLD:
        raise Unavailable(
            "too few command buffers of the target have both a commit and a completion."
        )
    in_loop = (started >= loop.start) & (started < loop.end) & (committed != NEVER)
    rows = np.flatnonzero(in_loop)
    if rows.size < FEWEST:
        raise Unavailable(f"{loop.name} has hardly any command buffers.")
    return rows


def _sample_rows(
    timeline: pd.DataFrame, rows: Places, load: IntervalSet
) -> tuple[Places, IntervalSet]:
    """Return some stretches of the rows, evenly spread, and the load within them."""
    begins = np.linspace(0, rows.size - _EACH, _STRETCHES).astype(int)
    rows = rows[(begins[:, np.newaxis] + np.arange(_EACH)).ravel()]
    committed = times_of(timeline, "committed")[rows].reshape(_STRETCHES, _EACH)
    stretches = IntervalSet.from_spans(committed.min(axis=1), committed.max(axis=1))
    return rows, load.without(load.without(stretches))


def _find_awaited(timeline: pd.DataFrame, waits: Waits) -> Places:
    """Return the place of the command buffer whose report each commit waited for; -1 for none.

    Places are those in the order of commits.
    """
    awaited_rows = np.full(len(timeline), -1)
    for thread in threads_of(timeline):
        rows = thread.rows
        way = waits[rows]
        for lag in np.unique(way[way > Wait.NO]).tolist():
            places = thread.find_awaited(lag)
            chosen = (way == lag) & (places >= 0)
            awaited_rows[rows[chosen]] = rows[places[chosen]]
        places = _likeliest(thread, way)
        awaited_rows[rows[places >= 0]] = rows[places[places >= 0]]
    order = np.argsort(times_of(timeline, "committed"), kind="stable")
    place = np.full(len(timeline) + 1, -1)
    place[order] = np.arange(order.size)
    return place[awaited_rows[order]]


def _likeliest(thread: Thread, way: Waits) -> Places:
    """Return which report a commit waited for of which that is not known; -1 for none, or known.

    It is the one behind which the commit comes as others do, of those since the last commit. So it
    is for single commits that come far later than others right behind a report, whatever the habit
    of their thread: behind a report as others come behind the last commit, or, where there are
    many, far nearer to a report than reports are to each other.
    """
    number = thread.rows.size
    last_commits = np.append(NEVER, thread.committed[:-1])[:number]
    is_first = last_commits == NEVER
    apart = thread.committed - np.where(is_first, thread.committed, last_commits)
    median_distance = float(np.median(apart[~is_first])) if (~is_first).any() else 0.0
    latest = thread.report(1)
    waited = (way == Wait.YES) & (latest <= thread.committed) & (latest != NEVER)
    behind = (
        float(np.median((thread.committed - latest)[waited])) if waited.any() else median_distance
    )
    order = np.argsort(thread.completed, kind="stable")
    reports = thread.completed[order]
    come = np.searchsorted(reports, thread.committed, side="right")
    late = (way == Wait.NO) & (apart > _FAR * median_distance) & (come > 1)
    delays = thread.committed - reports[np.maximum(come - 1, 0)]
    spaces = reports[np.maximum(come - 1, 0)] - reports[np.maximum(come - 2, 0)]
    prompt = late & (delays <= _PROMPT * spaces)
    habit = np.count_nonzero(late) >= FEWEST and prompt.sum() >= _MOSTLY * late.sum()
    awaited_rows = np.full(number, -1)
    best = np.full(number, np.inf)
    for lag in range(1, MOST_REPORTS + 1):
        place = np.maximum(come - lag, 0)
        report = reports[place]
        since = (come >= lag) & (report != NEVER) & (report > last_commits) & ~is_first
        delays = thread.committed - np.where(since, report, thread.committed)
        deviations = np.abs(delays - behind)
        near = late & (delays <= _NEAR * max(median_distance, behind))
        near |= prompt & habit & (lag == 1)
        chosen = since & (deviations < best) & ((way == Wait.UNKNOWN) | near)
        awaited_rows[chosen], best[chosen] = order[place[chosen]], deviations[chosen]
    return awaited_rows


def _schedule(timings: Timings, awaits: Places, load: IntervalSet) -> Schedule:
    """Read the schedule, with nothing of the gaps yet."""
    report = np.where(awaits >= 0, timings.completed[awaits], NEVER)
    valid = (timings.last_commits != NEVER) & (report <= timings.committed)
    awaits = np.where(valid, awaits, -1)
    waited = awaits >= 0
    last_commits = np.where(
        timings.last_commits == NEVER, timings.committed[0], timings.last_commits
    )
    since = np.where(waited, np.maximum(last_commits, report), last_commits)
    host = load.measure_within(since, np.maximum(since, timings.committed))
    wake = np.where(
        timings.begin_times == NEVER, host, np.clip(timings.begin_times - since, 0, host)
    )
    length = timings.end_times - timings.started
    work = np.minimum(timings.busy, length)
    return Schedule(
        thread=timings.thread,
        device=timings.device,
        iteration=timings.iteration,
        commit=load.measure_within(np.full(host.size, timings.committed[0]), timings.committed),
        awaits=awaits,
        host_before=np.where(waited, _measure_encoding(timings, last_commits, since), 0),
        host=host,
        wake=wake,
        fixed=np.where(
            host >= QUIET,
            host,
            np.minimum(timings.upkeep.measure_within(since, timings.committed), host),
        ),
        start=timings.started - timings.committed,
        gap=np.full(host.size, NEVER),
        work=work,
        inner=length - work,
        back=timings.completed - timings.end_times,
        boundary=timings.boundary,
        late=timings.late,
        rivals=_under_load(timings, load),
    )


def _under_load(timings: Timings, load: IntervalSet) -> Rivals:
    """Return the rivals by the schedule's own time, without those in pauses."""
    rivals = timings.rivals
    under_load = load.contains(rivals.start) & (rivals.start >= timings.committed[0])
    starts = rivals.start[under_load]
    since = load.measure_within(np.full(starts.size, timings.committed[0]), starts)
    return Rivals(rivals.device[under_load], since, rivals.length[under_load])


def _measure_encoding(timings: Timings, last_commits: Times, report: Times) -> Times:
    """Return how long the host was seen to encode between its last commit and a report."""
    opened = np.where(
        timings.begin_times == NEVER, report, np.maximum(timings.begin_times, last_commits)
    )
    encoding_times = np.maximum(report - opened, 0)
    for number, encoding in enumerate(timings.encoding):
        if encoding.starts.size:
            rows = timings.thread == number
            encoding_times[rows] = encoding.measure_within(
                last_commits[rows], np.maximum(last_commits, report)[rows]
            )
    return encoding_times


def _by_samples(
    timings: Timings, schedule: Schedule, samples: pd.DataFrame | None
) -> Iterator[Schedule]:
    """Yield the readings of what threads did that were sampled at work before a report came."""
    host_before = schedule.host_before.copy()
    waited = schedule.awaits >= 0
    report = np.where(waited, timings.completed[schedule.awaits], NEVER)
    for number, thread in enumerate(timings.ids):
        rows = waited & (schedule.thread == number)
        span = IntervalSet.from_spans(timings.last_commits[rows], report[rows])
        lower, upper = sampled_share(span, samples, np.array([thread]))
        if lower > WORKS:
            sampled_times = (lower + upper) / 2 * (report - timings.last_commits)[rows]
            host_before[rows] = np.maximum(host_before[rows], sampled_times.astype(np.int64))
    if (host_before > schedule.host_before).any():
        yield replace(schedule, host_before=host_before)
    yield schedule


def _by_gaps(timings: Timings, schedule: Schedule) -> Iterator[Schedule]:
    """Yield the readings of what a device needs between command buffers that are there in time.

    Of those that were committed longer before the device was through than a start takes, it is all
    that passed. The others have their usual gap; where hardly any were, nothing, or the lower
    quartile of what passed before others, or a whole start. What starts late is late by all that
    its start takes beyond a usual one, other processes' work in that time included.
    """
    there = schedule.start
    dry = there[timings.dry & (timings.free_times != NEVER)]
    usual_start, longest = min(int(there.min()), LATE), FOREVER
    if dry.size >= FEWEST:
        usual_start, longest = np.quantile(dry, _STARTS)
    longest = min(longest, _TWICE * usual_start)
    queued = ~timings.dry & (timings.free_times - timings.committed >= longest)
    room = timings.started - np.where(
        timings.free_times == NEVER, timings.committed, timings.free_times
    )
    behind = room[~timings.dry]
    if np.count_nonzero(queued) >= FEWEST:
        gaps = [round(float(np.median(room[queued])))]
    elif behind.size >= FEWEST:
        gaps = [0, round(float(np.quantile(behind, _LEAST)))]
    else:
        gaps = [0, FOREVER]
    rivals = IntervalSet.from_spans(
        timings.rivals.start, timings.rivals.start + timings.rivals.length
    )
    ready, unready = _until_ready(timings, rivals, usual_start)
    there = np.where(unready, ready - timings.committed, there)
    busy = ~timings.dry & ~unready
    queued &= busy
    delay_times = schedule.late + rivals.measure_within(timings.committed, timings.started)
    late = np.minimum(delay_times, np.maximum(there - round(usual_start), 0))
    for gap in gaps:
        least_gaps = np.minimum(gap, np.minimum(there, room))
        is_held_up = queued | (busy & (there > usual_start) & (room <= _HELD * gap))
        yield replace(
            schedule,
            start=np.where(is_held_up, np.minimum(there, round(usual_start)), there),
            gap=np.where(is_held_up, room, least_gaps),
            late=np.where(is_held_up | (schedule.late == 0), schedule.late, late),
        )


def _until_ready(timings: Timings, rivals: IntervalSet, usual_start: float) -> tuple[Times, Flags]:
    """Return when each was ready, and whether it was not while others' work ran before it.

    So it is where the device was idle for longer than a start takes, though the command buffer had
    been committed. Others' work at the end of that, right before it, only kept it waiting.
    """
    run = rivals.interval_start(timings.free_times - 1)
    apart = (run < timings.committed) | (timings.started - usual_start > timings.free_times)
    ready = np.where(apart, timings.started, run)
    expected = np.maximum(timings.committed + round(usual_start), timings.own_free)
    idle = ready - expected - rivals.measure_within(np.minimum(expected, ready), ready)
    return ready, (idle > usual_start) & (timings.free_times > timings.own_free)
