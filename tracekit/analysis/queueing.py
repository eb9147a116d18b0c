"""Waits behind other work: work of several threads of the target on one device.

A command queue runs command buffers in the order of their commits. So a short piece of work that
one thread commits waits for all earlier commits of another thread to the same queue, however long
that takes, while the device is never idle.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import NEVER, IntervalSet, Times, Window

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
    for frame, column in ((threads, "name"), (submissions, "thread"), (encoders, "thread")):
        if frame is None or column not in frame or "tid" not in frame:
            continue
        is_named = frame["tid"].notna() & frame[column].notna() & frame["target"]
        places = np.flatnonzero(is_named)
        tids = frame["tid"].to_numpy(dtype=np.int64, na_value=0)[places]
        _, firsts = np.unique(tids, return_index=True)
        for first in np.sort(firsts):
            tid = int(tids[first])
            text = str(frame[column].iloc[places[first]])
            name = re.sub(_SUFFIX, "", text, flags=re.ASCII).strip()
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
    """Return the bursts of one thread on one device."""
    rows = rows.sort_values("committed", kind="stable")
    committed = rows["committed"].to_numpy(dtype=np.int64)
    end_times = rows["completed"].fillna(rows["ended"]).to_numpy(dtype=np.int64)
    latest_ends = np.maximum.accumulate(end_times)
    is_first = np.append(True, committed[1:] >= latest_ends[:-1])
    waits = bool(is_first.sum() >= FEWEST)
    if not waits:
        is_first = np.ones(len(rows), bool)
    firsts = np.flatnonzero(is_first)
    columns = {
        "device": rows["device"].iloc[firsts].array,
        "thread": rows["thread"].iloc[firsts].array,
        "committed": committed[firsts],
        "started": np.minimum.reduceat(rows["started"].to_numpy(np.int64), firsts),
        "ended": np.maximum.reduceat(rows["ended"].to_numpy(np.int64), firsts),
        "busy": np.add.reduceat(rows["busy"].to_numpy(np.int64), firsts),
        "buffers": np.diff(firsts, append=len(rows)),
        "waits": waits,
    }
    return pd.DataFrame(columns)


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
    for device, rows in loop.rows(bursts, "committed").groupby("device", sort=True):
        is_on_device = timeline["device"] == device
        buffers = timeline[is_on_device & timeline["committed"].notna()]
        busy_times = rows.groupby("thread")["busy"].sum().sort_values(ascending=False)
        busiest_threads = [int(thread) for thread in busy_times.index[:_MOST_THREADS]]
        for thread, blocker in permutations(busiest_threads, 2):
            is_of_blocker = (buffers["thread"] == blocker).fillna(value=False)
            is_of_others = buffers["thread"] != thread
            behind = _behind(
                _ThreadBursts.from_table(rows[rows["thread"] == thread]),
                _ThreadBursts.from_table(rows[rows["thread"] == blocker]),
                buffers[is_of_blocker],
                np.sort(_times(buffers[is_of_others], "committed")),
            )
            if behind is not None:
                yield behind


@dataclass(frozen=True, eq=False)
class _ThreadBursts:
    """The bursts of one thread on one device, by their commits; ns.

    They are `grouped` if some have several command buffers. The thread `drains` its queue if it
    waits for one burst before it begins the next.
    """

    thread: int
    committed: Times
    started: Times
    ended: Times
    busy: Times
    grouped: bool
    drains: bool

    @classmethod
    def from_table(cls, bursts: pd.DataFrame) -> "_ThreadBursts":
        return cls(
            thread=int(bursts["thread"].iloc[0]),
            committed=_times(bursts, "committed"),
            started=_times(bursts, "started"),
            ended=_times(bursts, "ended"),
            busy=_times(bursts, "busy"),
            grouped=bool((bursts["buffers"] > 1).any()),
            drains=bool(bursts["waits"].all()),
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
    delays = waiting.ended - waiting.committed - waiting.busy
    chosen = (covered >= waiting.length) & (covered >= _MOSTLY * delays)
    if chosen.sum() < _FEWEST_AHEAD:
        return None
    if not _is_short_beside(waiting, blocking, float(np.median(covered[chosen]))):
        return None
    if _overtakes(waiting, blocker_buffers):
        return None  # it has a queue of its own
    if _shares_stream(waiting, blocking, waiting.committed[chosen], other_commits):
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


def _shares_stream(
    waiting: _ThreadBursts, blocking: _ThreadBursts, commits: Times, other_commits: Times
) -> bool:
    """Return whether either of two threads always commits right after others.

    `commits` are those of the bursts that waited.
    """
    soon = _AT_ONCE * waiting.period
    if _follows(blocking.committed, waiting.committed, soon):
        return True
    return _follows(commits, other_commits, min(_SOON, soon))


def _follows(times: Times, other_times: Times, soon: float) -> bool:
    """Return whether nearly all moments follow one of the others, which are ordered, within `soon`.

    They do if several threads, or a pool of them, submit parts of one stream of work; threads with
    work of their own follow each other so soon only by chance.
    """
    earlier_counts = np.searchsorted(other_times, times, side="right")
    previous_times = np.append(NEVER, other_times)[earlier_counts]
    is_soon = (previous_times != NEVER) & (times - previous_times <= soon)
    return bool(is_soon.mean() >= _NEARLY_ALL)


def name_of(thread: int, names: Mapping[int, str]) -> str:
    """Return the name of a thread."""
    return names.get(thread, f"{thread:#x}")
