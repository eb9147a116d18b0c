"""The schedule of a recording: who waited for what, and how long each part of it took.

Each command buffer goes the same way: its thread computes, waits for a report or does not, computes
again and commits; the command buffer starts on its device, runs, and is reported. The numbers are
the recording's own, one by one, so that a replay without a lever gives the recording again.

What a recording does not tell is read in two ways, and a saving is then a range:

- whether a thread waited for a report, where `waits` says unknown. It waited for the latest report
  that had come; or it computed all the time.
- whether a thread that samples show at work before a report came computed, or spun in its wait.
- what a device needs between two command buffers where the next one is there in time, if none ever
  was: nothing; or as long as a start takes on a device that had run dry.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.idle.gaps import loaded_time
from tracekit.analysis.idle.lives import Lives
from tracekit.analysis.idle.pieces import LATE, Cause
from tracekit.analysis.idle.slopes import Places, Wait
from tracekit.analysis.idle.threads import MOST_REPORTS, Thread, threads_of
from tracekit.analysis.idle.waits import WORKS, Waits, sampled_share
from tracekit.analysis.idle.work import Surroundings, covered
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import FOREVER, NEVER, IntervalSet, Times, in_order, spans
from tracekit.analysis.iterations import QUIET, Loop
from tracekit.analysis.scope import Device

FEWEST = 8
"""Fewer command buffers than this, or boundaries, show no habit."""
_STRETCHES, _EACH = 8, 512  # command buffers that are replayed where there are very many
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

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Rivals:
    """Work of other processes on the devices, by its start, from the schedule's own start; ns."""

    device: Places
    start: Times
    length: Times


@dataclass(frozen=True, eq=False)
class Schedule:
    """One entry for each command buffer, in the order of commits; times in ns.

    `awaits` is the place of the command buffer whose report its thread waited for before the
    commit, -1 for none. The host computed for `before` between its last commit and that wait, and
    for `host` after it; without a wait all is `host`. Of that, `wake` passed before it was seen to
    encode, and in `fixed` pipelines were compiled, memory was wired, or nobody asked the thread.
    `start` is the way there on a device that had run dry, `gap` the pause behind the command buffer
    before it on a busy one, `work` and `inner` the time of its work and of pauses within, `back`
    the way back. `boundary` and `late` are what a gap of those causes took before it; `iteration`
    is the number of its iteration, -1 outside of any. `commit` is when it was committed, from the
    start of the schedule, which leaves pauses out.
    """

    thread: Places
    device: Places
    iteration: Places
    commit: Times
    awaits: Places
    before: Times
    host: Times
    wake: Times
    fixed: Times
    start: Times
    gap: Times
    work: Times
    inner: Times
    back: Times
    boundary: Times
    late: Times
    rivals: Rivals

    @property
    def number(self) -> int:
        """How many command buffers there are."""
        return self.thread.size

    @property
    def waits(self) -> int:
        """How many commits waited for a report."""
        return int(np.count_nonzero(self.awaits >= 0))

    def part(self, begin: int, end: int) -> "Schedule":
        """Return a stretch; what lies before it is awaited no more."""
        part = self.pick(np.arange(begin, end))
        awaits = part.awaits - begin
        origin = part.commit[0]
        inside = (self.rivals.start >= origin) & (self.rivals.start <= part.commit[-1])
        rivals = Rivals(
            self.rivals.device[inside],
            self.rivals.start[inside] - origin,
            self.rivals.length[inside],
        )
        return replace(
            part,
            commit=part.commit - origin,
            awaits=np.where(awaits >= 0, awaits, -1),
            rivals=rivals,
        )

    def pick(self, rows: Places) -> "Schedule":
        """Return some of the command buffers, with all rivals."""
        columns = {
            each.name: getattr(self, each.name)[rows]
            for each in fields(self)
            if each.name != "rivals"
        }
        return replace(self, **columns)

    def stretches(self) -> Iterator["Schedule"]:
        """Yield the whole, or some stretches of it, evenly spread, where it is very long."""
        if self.number <= _STRETCHES * _EACH:
            yield self
            return
        for begin in np.linspace(0, self.number - _EACH, _STRETCHES).astype(int).tolist():
            yield self.part(begin, begin + _EACH)


@dataclass(frozen=True, eq=False)
class Readings:
    """All ways in which the schedule of a recording can be read, and how long there was load.

    Where it is not `decided`, some read as the host's own time what others read as a wait.
    """

    schedules: tuple[Schedule, ...]
    load: int
    decided: bool = True


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
    committed, completed = _times(timeline, "committed"), _times(timeline, "completed")
    if (committed == NEVER).mean() > _UNSURE or (completed == NEVER).mean() > _UNTOLD:
        raise Unavailable(
            "too few command buffers of the target have both a commit and a completion."
        )
    order = np.argsort(committed, kind="stable")
    started = _times(timeline, "started")[order]
    order = order[(started >= loop.start) & (started < loop.end) & (committed[order] != NEVER)]
    if order.size < FEWEST:
        raise Unavailable(f"{loop.name} has hardly any command buffers.")
    wiring = around.wiring.without(Lives.of(timeline).on_the_way_there)
    upkeep = IntervalSet.union_of([around.compiled, wiring])
    load = covered(loaded)
    rivals = _rivals(device, loop)
    lives = _lives(timeline, order, iterations, encoders, upkeep, rivals)
    lives = replace(lives, **_lost(lives, gaps))
    unsure = waits == Wait.UNKNOWN
    known = bool(unsure.mean() <= _UNSURE)
    ways = [waits] if known else [waits, np.where(unsure, Wait.NO, waits)]
    schedules = [
        reading
        for way in ways
        for schedule in _by_samples(
            lives, _schedule(lives, _awaited(timeline, way, order), load), cpu_profile
        )
        for reading in _by_gaps(lives, schedule)
    ]
    spun = len({schedule.before.tobytes() for schedule in schedules}) > len(ways)
    return Readings(tuple(schedules), loaded_time(loaded), known and not spun)


def _times(timeline: pd.DataFrame, name: str) -> Times:
    return timeline[name].to_numpy(dtype=np.int64, na_value=NEVER)


@dataclass(frozen=True, eq=False)
class _Recorded:
    """Moments of the command buffers of the loop, in the order of commits; NEVER: not known.

    `ids` are those of the threads. `last` is the commit before of the same thread, `free` when the
    device was through with all that it had started before. `encoding` is when each thread had an
    encoder open, `upkeep` when pipelines were compiled, or memory was wired for nothing on its way.
    `rivals` have the times of the trace.
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
    encoding: list[IntervalSet]
    upkeep: IntervalSet
    boundary: Times
    late: Times
    rivals: Rivals

    @property
    def dry(self) -> Flags:
        """Whether the device had nothing else when each was committed."""
        return self.committed >= self.free


def _lives(
    timeline: pd.DataFrame,
    order: Places,
    iterations: pd.DataFrame | None,
    encoders: pd.DataFrame | None,
    upkeep: IntervalSet,
    rivals: Rivals,
) -> _Recorded:
    names = ("begun", "committed", "started", "ended", "completed", "busy", "device")
    begun, committed, started, ended, completed, busy, device = (
        _times(timeline, name)[order] for name in names
    )
    told = completed != NEVER
    usual = round(float(np.median((completed - ended)[told])))
    ids, thread = _threads(timeline, order)
    last = pd.Series(committed).groupby(thread).shift(fill_value=NEVER).to_numpy()
    none = np.zeros(order.size, np.int64)
    return _Recorded(
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
        last=last,
        free=_free(device, started, ended, rivals),
        encoding=[_encoding(encoders, each) for each in ids],
        upkeep=upkeep,
        boundary=none,
        late=none,
        rivals=rivals,
    )


def _threads(timeline: pd.DataFrame, order: Places) -> tuple[list[int], Places]:
    """Return the ids of the threads and the number of each row's; one where they are not known."""
    if "thread" not in timeline or timeline["thread"].isna().any():
        return [NEVER], np.zeros(order.size, np.intp)
    ids, thread = np.unique(_times(timeline, "thread")[order], return_inverse=True)
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


def _rivals(device: Device, loop: Loop) -> Rivals:
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


def _lost(lives: _Recorded, gaps: pd.DataFrame) -> dict[str, Times]:
    """Return what boundaries, and late starts beyond a usual one, took before each of them."""
    boundary = _lost_by(Cause.BETWEEN_BUFFERS, lives, gaps)
    late = _lost_by(Cause.LATE_START, lives, gaps)
    starts = (lives.started - lives.committed)[lives.dry & (late == 0)]
    usual = np.where(lives.dry, _usual(starts), _usual(boundary[boundary > 0]))
    return {"boundary": boundary, "late": np.maximum(late - usual, 0)}


def _usual(times: Times) -> int:
    """Return the usual one of some times; what a late start begins with where they are few."""
    return round(float(np.median(times))) if times.size >= FEWEST else LATE


def _lost_by(cause: Cause, lives: _Recorded, gaps: pd.DataFrame) -> Times:
    """Return the time of a cause in the gap that ended with the start of each."""
    lost = np.zeros(lives.started.size, np.int64)
    if gaps.empty:
        return lost
    ends = gaps["start"].to_numpy(np.int64) + gaps["duration"].to_numpy(np.int64)
    taken = np.where(gaps["cause"] == str(cause), gaps["duration"].to_numpy(np.int64), 0)
    pieces = pd.DataFrame({"gap": gaps["gap"], "end": ends, "lost": taken})
    pieces["device"] = gaps["device"].astype("int64") if "device" in gaps else 0
    whole = pieces.groupby("gap").agg({"end": "max", "lost": "sum", "device": "first"})
    by_start = whole[whole["lost"] > 0].set_index(["device", "end"])["lost"]
    numbers = np.unique(lives.device, return_inverse=True)[1]
    keys = pd.MultiIndex.from_arrays([numbers, lives.started])
    return by_start.reindex(keys, fill_value=0).to_numpy(np.int64)


def _awaited(timeline: pd.DataFrame, waits: Waits, order: Places) -> Places:
    """Return the place of the command buffer whose report each commit waited for; -1 for none."""
    found = np.full(len(timeline), -1)
    for thread in threads_of(timeline):
        rows = thread.rows
        way = waits[rows]
        for lag in np.unique(way[way > Wait.NO]).tolist():
            places = thread.awaited(lag)
            chosen = (way == lag) & (places >= 0)
            found[rows[chosen]] = rows[places[chosen]]
        places = _likeliest(thread, way)
        found[rows[places >= 0]] = rows[places[places >= 0]]
    place = np.full(len(timeline) + 1, -1)
    place[order] = np.arange(order.size)
    return place[found[order]]


def _likeliest(thread: Thread, way: Waits) -> Places:
    """Return which report a commit waited for of which that is not known; -1 for none, or known.

    It is the one behind which the commit comes as others do, of those since the last commit. So it
    is for single commits that come far later than others right behind a report, whatever the habit
    of their thread: behind a report as others come behind the last commit, or, where there are
    many, far nearer to a report than reports are to each other.
    """
    number = thread.rows.size
    last = np.append(NEVER, thread.committed[:-1])[:number]
    first = last == NEVER
    apart = thread.committed - np.where(first, thread.committed, last)
    usual = float(np.median(apart[~first])) if (~first).any() else 0.0
    latest = thread.report(1)
    waited = (way == Wait.YES) & (latest <= thread.committed) & (latest != NEVER)
    behind = float(np.median((thread.committed - latest)[waited])) if waited.any() else usual
    order = np.argsort(thread.completed, kind="stable")
    reports = thread.completed[order]
    come = np.searchsorted(reports, thread.committed, side="right")
    late = (way == Wait.NO) & (apart > _FAR * usual) & (come > 1)
    after = thread.committed - reports[np.maximum(come - 1, 0)]
    spaces = reports[np.maximum(come - 1, 0)] - reports[np.maximum(come - 2, 0)]
    prompt = late & (after <= _PROMPT * spaces)
    habit = np.count_nonzero(late) >= FEWEST and prompt.sum() >= _MOSTLY * late.sum()
    found = np.full(number, -1)
    best = np.full(number, np.inf)
    for lag in range(1, MOST_REPORTS + 1):
        place = np.maximum(come - lag, 0)
        report = reports[place]
        since = (come >= lag) & (report != NEVER) & (report > last) & ~first
        after = thread.committed - np.where(since, report, thread.committed)
        away = np.abs(after - behind)
        near = late & (after <= _NEAR * max(usual, behind))
        near |= prompt & habit & (lag == 1)
        chosen = since & (away < best) & ((way == Wait.UNKNOWN) | near)
        found[chosen], best[chosen] = order[place[chosen]], away[chosen]
    return found


def _schedule(lives: _Recorded, awaits: Places, load: IntervalSet) -> Schedule:
    """Read the schedule, with nothing of the gaps yet."""
    report = np.where(awaits >= 0, lives.completed[awaits], NEVER)
    valid = (lives.last != NEVER) & (report <= lives.committed)
    awaits = np.where(valid, awaits, -1)
    waited = awaits >= 0
    last = np.where(lives.last == NEVER, lives.committed[0], lives.last)
    since = np.where(waited, np.maximum(last, report), last)
    host = load.within(since, np.maximum(since, lives.committed))
    wake = np.where(lives.begun == NEVER, host, np.clip(lives.begun - since, 0, host))
    length = lives.ended - lives.started
    work = np.minimum(lives.busy, length)
    return Schedule(
        thread=lives.thread,
        device=lives.device,
        iteration=lives.iteration,
        commit=load.within(np.full(host.size, lives.committed[0]), lives.committed),
        awaits=awaits,
        before=np.where(waited, _before(lives, last, since), 0),
        host=host,
        wake=wake,
        fixed=np.where(
            host >= QUIET, host, np.minimum(lives.upkeep.within(since, lives.committed), host)
        ),
        start=lives.started - lives.committed,
        gap=np.full(host.size, NEVER),
        work=work,
        inner=length - work,
        back=lives.completed - lives.ended,
        boundary=lives.boundary,
        late=lives.late,
        rivals=_under_load(lives, load),
    )


def _under_load(lives: _Recorded, load: IntervalSet) -> Rivals:
    """Return the rivals by the schedule's own time, without those in pauses."""
    rivals = lives.rivals
    inside = load.contains(rivals.start) & (rivals.start >= lives.committed[0])
    starts = rivals.start[inside]
    since = load.within(np.full(starts.size, lives.committed[0]), starts)
    return Rivals(rivals.device[inside], since, rivals.length[inside])


def _before(lives: _Recorded, last: Times, report: Times) -> Times:
    """Return how long the host was seen to encode between its last commit and a report."""
    opened = np.where(lives.begun == NEVER, report, np.maximum(lives.begun, last))
    seen = np.maximum(report - opened, 0)
    for number, encoding in enumerate(lives.encoding):
        if encoding.starts.size:
            rows = lives.thread == number
            seen[rows] = encoding.within(last[rows], np.maximum(last, report)[rows])
    return seen


def _by_samples(
    lives: _Recorded, schedule: Schedule, samples: pd.DataFrame | None
) -> Iterator[Schedule]:
    """Yield the readings of what threads did that were sampled at work before a report came."""
    before = schedule.before.copy()
    waited = schedule.awaits >= 0
    report = np.where(waited, lives.completed[schedule.awaits], NEVER)
    for number, thread in enumerate(lives.ids):
        rows = waited & (schedule.thread == number)
        span = IntervalSet.of(lives.last[rows], report[rows])
        lower, upper = sampled_share(span, samples, np.array([thread]))
        if lower > WORKS:
            seen = (lower + upper) / 2 * (report - lives.last)[rows]
            before[rows] = np.maximum(before[rows], seen.astype(np.int64))
    if (before > schedule.before).any():
        yield replace(schedule, before=before)
    yield schedule


def _by_gaps(lives: _Recorded, schedule: Schedule) -> Iterator[Schedule]:
    """Yield the readings of what a device needs between command buffers that are there in time.

    Of those that were committed longer before the device was through than a start takes, it is all
    that passed. The others have their usual gap; where hardly any were, nothing, or the lower
    quartile of what passed before others, or a whole start.
    """
    there = schedule.start
    dry = there[lives.dry & (lives.free != NEVER)]
    if dry.size < FEWEST:
        dry = np.minimum(there.min(), LATE)
    usual, longest = np.quantile(dry, _STARTS)
    longest = min(longest, _TWICE * usual)
    queued = ~lives.dry & (lives.free - lives.committed >= longest)
    room = lives.started - np.where(lives.free == NEVER, lives.committed, lives.free)
    behind = room[~lives.dry]
    if np.count_nonzero(queued) >= FEWEST:
        gaps = [round(float(np.median(room[queued])))]
    elif behind.size >= FEWEST:
        gaps = [0, round(float(np.quantile(behind, _LEAST)))]
    else:
        gaps = [0, FOREVER]
    for gap in gaps:
        least = np.minimum(gap, np.minimum(there, room))
        held = queued | (~lives.dry & (there > usual) & (room <= _HELD * gap))
        yield replace(
            schedule,
            start=np.where(held, np.minimum(there, round(usual)), there),
            gap=np.where(held, room, least),
        )
