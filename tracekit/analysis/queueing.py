"""Waits behind other work: work of several threads of the target on one device.

A command queue runs command buffers in the order of their commits. So a short piece of work that
one thread commits waits for all earlier commits of another thread to the same queue, however long
that takes, while the device is never idle.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import FOREVER, NEVER, IntervalSet, Times, Window

FEWEST = 8
"""Fewer bursts than this show no habit of a thread."""
_FEWEST_AHEAD = 3  # bursts of the other thread
_MOST_THREADS = 8  # that are compared, those with most work on the device
_LONGER = 2.0  # ratio of the work ahead of a burst to a typical burst
_MOSTLY = 0.5  # of the wait, in which the other thread's work ran
_RARELY = 0.1  # of the bursts
_AT_ONCE = 0.1  # of the time between two bursts: a thread that follows so soon shares their stream
_SOON = 1_000_000  # ns: the host's time to submit the rest of work that another thread began
_NEARLY_ALL = 0.8

_SUFFIX = r"\s*(0x[0-9a-fA-F]+)?\s*\([^()]*(\([^()]*\))?[^()]*\)\s*$"


def thread_names(
    threads: pd.DataFrame | None,
    submissions: pd.DataFrame | None,
    encoders: pd.DataFrame | None,
) -> dict[int, str]:
    """Return the name of each thread of the target by its id, such as “Main Thread” (0x65)."""
    names_by_tid: dict[int, str] = {}
    named_frames = ((threads, "name"), (submissions, "thread"), (encoders, "thread"))
    for frame, column in named_frames:
        if frame is None or column not in frame or "tid" not in frame:
            continue
        has_tid = frame["tid"].notna()
        has_name = frame[column].notna()
        is_named = frame["target"] & has_tid & has_name
        named_rows = frame.loc[is_named, ["tid", column]]
        rows = named_rows.drop_duplicates("tid")
        written_names = rows[column].astype("string")
        names = written_names.str.replace(_SUFFIX, "", regex=True)
        stripped_names = names.str.strip()
        named_threads = zip(rows["tid"].astype(int), stripped_names, strict=True)
        for tid, name in named_threads:
            if name:
                names_by_tid.setdefault(tid, f"“{name}” ({tid:#x})")
    return names_by_tid


def bursts_table(timeline: pd.DataFrame) -> pd.DataFrame:
    """Return the table `bursts`: the work that each thread requests of a device, from wait to wait.

    A thread's burst begins with a command buffer that it commits when all of its earlier commits
    are reported; a thread that seldom lets the queue run dry has a burst for each command buffer.
    Columns: `device`, `thread` (its id), `committed`, `started`, `ended` (ns), `busy` (ns of device
    work), `buffers`, `waits` (whether the thread waits for one burst before it begins the next).
    """
    has_commit = timeline["committed"].notna()
    has_thread = timeline["thread"].notna()
    known_rows = timeline[has_commit & has_thread]
    if known_rows.empty:
        raise Unavailable("which threads committed the target's command buffers is not known.")
    rows_by_thread = known_rows.groupby(["device", "thread"], sort=True)
    tables = [_bursts(rows) for _, rows in rows_by_thread]
    return pd.concat(tables, ignore_index=True).sort_values("committed", ignore_index=True)


def _bursts(rows: pd.DataFrame) -> pd.DataFrame:
    rows = rows.sort_values("committed", kind="stable")
    committed = rows["committed"].to_numpy(dtype=np.int64)
    end_times = rows["completed"].fillna(rows["ended"])
    done = end_times.to_numpy(dtype=np.int64)
    reported = np.maximum.accumulate(done)
    is_after_report = committed[1:] >= reported[:-1]
    begins = np.concatenate(([True], is_after_report))
    waits = bool(begins.sum() >= FEWEST)
    if not waits:
        begins = np.ones(len(rows), bool)
    ways = {"committed": "min", "started": "min", "ended": "max", "busy": "sum"}
    burst_numbers = np.cumsum(begins)
    ways_of_columns = {"device": "first", "thread": "first", **ways, "known": "size"}
    bursts = rows.groupby(burst_numbers).agg(
        ways_of_columns
    )  # any column counts the rows of a group
    table = bursts.rename(columns={"known": "buffers"}).assign(waits=waits)
    return table.astype(dict.fromkeys(ways, "int64"))


@dataclass(frozen=True, eq=False)
class Behind:
    """Bursts of one thread that waited behind another thread's work; ns.

    `starts` and `ends` bound these bursts from their commit on, `waits` is the time in each for
    which work of `blocker` ran. `bursts` is the number of all bursts; those that did not wait
    typically started `usual_delay` after their commit. A burst typically takes `length`. `grouped`
    tells whether bursts have several command buffers.
    """

    thread: int
    blocker: int
    bursts: int
    length: int
    usual_delay: int
    starts: Times
    ends: Times
    waits: Times
    grouped: bool

    @property
    def win(self) -> int:
        """The time that the bursts would save by running concurrently with the blocker; ns.

        Each would then run at half its speed: the saving is the wait less the burst's own length.
        """
        waits_beyond = np.maximum(self.waits - self.length, 0)
        return int(waits_beyond.sum())


def waits_behind(bursts: pd.DataFrame, timeline: pd.DataFrame, loop: Window) -> Iterator[Behind]:
    """Yield the threads whose bursts wait behind those of another thread, in one queue.

    The two threads must not share one stream of work: bursts of the waiting thread are shorter by
    half or more, seldom as long as the blocker's, and neither thread always commits right after the
    other. Bursts that overtake earlier commits do not count either: they have a separate queue. A
    thread that keeps several bursts in flight does not wait for any single one of them; for such a
    thread the blocker's own bursts must be long.
    """
    starts_in_loop = bursts["committed"] >= loop.start
    ends_in_loop = bursts["committed"] < loop.end
    loop_bursts = bursts[starts_in_loop & ends_in_loop]
    for device, rows in loop_bursts.groupby("device", sort=True):
        busy_times = rows.groupby("thread")["busy"].sum()
        busy = busy_times.sort_values(ascending=False)
        busiest_threads = busy.index[:_MOST_THREADS]
        threads = [int(thread) for thread in busiest_threads]
        is_on_device = timeline["device"] == device
        has_commit = timeline["committed"].notna()
        buffers = timeline[is_on_device & has_commit]
        for thread, blocker in permutations(threads, 2):
            waiting_rows = rows[rows["thread"] == thread]
            waiting = _ThreadBursts.from_table(waiting_rows)
            blocking_rows = rows[rows["thread"] == blocker]
            blocking = _ThreadBursts.from_table(blocking_rows)
            is_of_blocker = (buffers["thread"] == blocker).fillna(value=False)
            blocker_buffers = buffers[is_of_blocker]
            other_buffers = buffers[buffers["thread"] != thread]
            other_commits = np.sort(_times(other_buffers, "committed"))
            behind = _behind(waiting, blocking, blocker_buffers, other_commits)
            if behind is not None:
                yield behind


@dataclass(frozen=True, eq=False)
class _ThreadBursts:
    """The bursts of one thread on one device, by their commits; ns."""

    thread: int
    committed: Times
    started: Times
    ended: Times
    busy: Times
    grouped: bool
    drains: bool

    @classmethod
    def from_table(cls, bursts: pd.DataFrame) -> "_ThreadBursts":
        first_thread = int(bursts["thread"].iloc[0])
        is_grouped = bool((bursts["buffers"] > 1).any())
        drains = bool(bursts["waits"].all())
        return cls(
            thread=first_thread,
            committed=_times(bursts, "committed"),
            started=_times(bursts, "started"),
            ended=_times(bursts, "ended"),
            busy=_times(bursts, "busy"),
            grouped=is_grouped,
            drains=drains,
        )

    @property
    def number(self) -> int:
        return self.committed.size

    @property
    def length(self) -> int:
        """The device time of a typical burst."""
        return int(np.median(self.busy))

    @property
    def period(self) -> float:
        """The typical time between the commits of two bursts."""
        return float(np.median(np.diff(self.committed)))


def _behind(
    waiting: _ThreadBursts,
    blocking: _ThreadBursts,
    blocker_buffers: pd.DataFrame,
    other_commits: Times,
) -> Behind | None:
    """Return the bursts that waited, if the two threads share a queue.

    `blocker_buffers` are the command buffers of the blocking thread, `other_commits` the commits of
    all threads but the waiting one.
    """
    if waiting.number < FEWEST or blocking.number < _FEWEST_AHEAD:
        return None
    blocker_work = IntervalSet.from_spans(
        _times(blocker_buffers, "started"), _times(blocker_buffers, "ended")
    )
    covered = blocker_work.measure_within(waiting.committed, waiting.ended)
    late = waiting.ended - waiting.committed - waiting.busy
    is_covered = covered >= waiting.length
    chosen = is_covered & (covered >= _MOSTLY * late)
    if chosen.sum() < _FEWEST_AHEAD:
        return None
    soon = _AT_ONCE * waiting.period
    if (
        not _is_short_beside(waiting, blocking, float(np.median(covered[chosen])))
        or _overtakes(waiting, blocker_buffers)
        or _follows(blocking.committed, waiting.committed, soon)
        or _follows(waiting.committed[chosen], other_commits, min(_SOON, soon))
    ):
        return None
    unblocked_delays = (waiting.started - waiting.committed)[~chosen]
    usual_delay = 0
    if unblocked_delays.size:
        usual_delay = int(np.median(unblocked_delays))
    return Behind(
        thread=waiting.thread,
        blocker=blocking.thread,
        bursts=waiting.number,
        length=waiting.length,
        usual_delay=usual_delay,
        starts=waiting.committed[chosen],
        ends=waiting.ended[chosen],
        waits=covered[chosen],
        grouped=waiting.grouped,
    )


def _is_short_beside(waiting: _ThreadBursts, blocking: _ThreadBursts, wait: float) -> bool:
    """Return whether nearly all bursts of a thread are short compared with their wait."""
    if wait < _LONGER * waiting.length:
        return False
    is_long = waiting.busy >= wait / _LONGER
    if is_long.mean() > _RARELY:
        return False
    return waiting.drains or blocking.length >= _LONGER * waiting.length


def _times(frame: pd.DataFrame, name: str) -> Times:
    return frame[name].to_numpy(dtype=np.int64)


def _overtakes(waiting: _ThreadBursts, blocker_buffers: pd.DataFrame) -> bool:
    """Return whether bursts start before the end of the other's work that was committed earlier."""
    order = np.argsort(_times(blocker_buffers, "committed"), kind="stable")
    committed = _times(blocker_buffers, "committed")[order]
    ordered_ends = _times(blocker_buffers, "ended")[order]
    ends = np.maximum.accumulate(ordered_ends)
    places = np.searchsorted(committed, waiting.committed)
    latest_ends = np.append(NEVER, ends)[places]
    had_to_wait = latest_ends > waiting.committed
    early = (waiting.started < latest_ends) & had_to_wait
    return bool(early.sum() > _RARELY * had_to_wait.sum())


def _follows(times: Times, other_times: Times, soon: float) -> bool:
    """Return whether nearly all moments follow one of the others, which are ordered, within `soon`.

    They do if several threads, or a pool of them, submit parts of one stream of work; threads with
    work of their own follow each other so soon only by chance.
    """
    previous_places = np.searchsorted(other_times, times, side="right") - 1
    lag = np.where(
        previous_places < 0, FOREVER, times - other_times[np.maximum(previous_places, 0)]
    )
    return bool((lag <= soon).mean() >= _NEARLY_ALL)


def name_of(thread: int, names: Mapping[int, str]) -> str:
    """Return the name of a thread."""
    return names.get(thread, f"{thread:#x}")
