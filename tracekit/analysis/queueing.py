"""Who waited behind whom: work of several threads of the target on one device.

A command queue runs command buffers in the order of their commits. So a short piece of work that
one thread commits waits for all that another thread committed before it to the same queue, however
long that takes, while the device is never idle.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import NEVER, IntervalSet, Times, Window

FEWEST = 8
"""Fewer turns than this show no habit of a thread."""
_FEWEST_AHEAD = 3  # turns of the other thread
_MOST_THREADS = 8  # that are compared, those with most work on the device
_LONGER = 2.0  # times a typical turn, that the work ahead of it takes
_MOSTLY = 0.5  # of the wait, in which the other thread's work ran
_RARELY = 0.1  # of the turns
_AT_ONCE = 0.1  # of the other's turn: a thread that follows so soon hands over the same work
_NEARLY_AS_MANY = (0.8, 1.25)
_NEARLY_ALL = 0.8

_SUFFIX = r"\s*(0x[0-9a-fA-F]+)?\s*\([^()]*(\([^()]*\))?[^()]*\)\s*$"


def thread_names(
    threads: pd.DataFrame | None,
    submissions: pd.DataFrame | None,
    encoders: pd.DataFrame | None,
) -> dict[int, str]:
    """Return the name of each thread of the target by its id, such as “Main Thread” (0x65)."""
    found: dict[int, str] = {}
    for frame, column in ((threads, "name"), (submissions, "thread"), (encoders, "thread")):
        if frame is None or column not in frame or "tid" not in frame:
            continue
        own = frame.loc[frame["target"] & frame["tid"].notna(), ["tid", column]]
        own = own.drop_duplicates("tid")
        names = own[column].astype("string").str.replace(_SUFFIX, "", regex=True)
        for tid, name in zip(own["tid"].astype(int), names.fillna("").str.strip(), strict=True):
            if name:
                found.setdefault(tid, f"“{name}” ({tid:#x})")
    return found


def turns_table(timeline: pd.DataFrame) -> pd.DataFrame:
    """Return the table `turns`: what each thread asked of a device, from wait to wait.

    A thread's turn begins with a command buffer that it commits when all that it committed before
    is reported; one that seldom lets the queue run dry has a turn for each command buffer. Columns:
    `device`, `thread` (its id), `committed`, `started`, `ended` (ns), `busy` (ns of device work),
    `buffers`, `waits` (whether the thread waits for one turn before it begins the next).
    """
    known = timeline[timeline["committed"].notna() & timeline["thread"].notna()]
    if known.empty:
        raise Unavailable("which threads committed the target's command buffers is not known.")
    tables = [_turns(rows) for _, rows in known.groupby(["device", "thread"], sort=True)]
    return pd.concat(tables, ignore_index=True).sort_values("committed", ignore_index=True)


def _turns(rows: pd.DataFrame) -> pd.DataFrame:
    rows = rows.sort_values("committed", kind="stable")
    committed = rows["committed"].to_numpy(dtype=np.int64)
    done = rows["completed"].fillna(rows["ended"]).to_numpy(dtype=np.int64)
    reported = np.maximum.accumulate(done)
    begins = np.concatenate(([True], committed[1:] >= reported[:-1]))
    waits = bool(begins.sum() >= FEWEST)
    if not waits:
        begins = np.ones(len(rows), bool)
    ways = {"committed": "min", "started": "min", "ended": "max", "busy": "sum"}
    turns = rows.groupby(np.cumsum(begins)).agg(
        {"device": "first", "thread": "first", **ways, "known": "size"}
    )
    named = turns.rename(columns={"known": "buffers"}).assign(waits=waits)
    return named.astype(dict.fromkeys(ways, "int64"))


@dataclass(frozen=True, eq=False)
class Behind:
    """Turns of one thread that waited behind another thread's work; ns.

    `starts` and `ends` bound these turns from their commit on, `waits` is how long the other's work
    ran in each. Of `turns` in all the others typically started `usual` after their commit; a turn
    typically takes `own`. `win` is what they would have won by running beside the other's work,
    each then at half its speed: the wait without the turn's own length.
    """

    thread: int
    other: int
    turns: int
    own: int
    usual: int
    starts: Times
    ends: Times
    waits: Times
    grouped: bool

    @property
    def win(self) -> int:
        """What they would have won together by running beside the other's work."""
        return int(np.maximum(self.waits - self.own, 0).sum())


def waits_behind(turns: pd.DataFrame, timeline: pd.DataFrame, loop: Window) -> Iterator[Behind]:
    """Yield the threads whose turns wait behind those of another thread, in one queue.

    Only where the two are no parts of one stream of work: turns of the waiting thread are shorter
    by half or more, seldom as long as the other's, and the other thread does not commit right
    behind each of them. Nor where turns overtake what was committed before: such have queues of
    their own. A thread that keeps several turns in flight waits for no single one of them; there
    the other's turns have to be long themselves.
    """
    inside = turns[(turns["committed"] >= loop.start) & (turns["committed"] < loop.end)]
    for _, there in inside.groupby("device", sort=True):
        work = there.groupby("thread")["busy"].sum().sort_values(ascending=False)
        threads = [int(thread) for thread in work.index[:_MOST_THREADS]]
        for one in threads:
            for other in threads:
                if one == other:
                    continue
                found = _behind(there, _buffers_of(timeline, there, other), one, other)
                if found is not None:
                    yield found


def _buffers_of(timeline: pd.DataFrame, there: pd.DataFrame, thread: int) -> pd.DataFrame:
    """Return the command buffers of a thread on the device of some turns."""
    device = there["device"].iloc[0]
    chosen = (timeline["device"] == device) & (timeline["thread"] == thread).fillna(value=False)
    return timeline[chosen & timeline["committed"].notna()]


def _behind(there: pd.DataFrame, ahead: pd.DataFrame, thread: int, other: int) -> Behind | None:
    own = _Turns.of(there[there["thread"] == thread])
    others = _Turns.of(there[there["thread"] == other])
    if own.number < FEWEST or others.number < _FEWEST_AHEAD:
        return None
    ran = IntervalSet.of(_times(ahead, "started"), _times(ahead, "ended"))
    covered = ran.within(own.committed, own.ended)
    usual = int(np.median(own.busy))
    late = own.ended - own.committed - own.busy
    waited = (covered >= usual) & (covered >= _MOSTLY * late)
    if waited.sum() < _FEWEST_AHEAD or np.median(covered[waited]) < _LONGER * usual:
        return None
    length = float(np.median(covered[waited]))
    if (own.busy >= length / _LONGER).mean() > _RARELY:
        return None
    if not own.drains and np.median(others.busy) < _LONGER * usual:
        return None
    if _overtakes(own, ahead) or _is_one_stream(own, others, length):
        return None
    free = (own.started - own.committed)[~waited]
    return Behind(
        thread,
        other,
        own.number,
        usual,
        int(np.median(free)) if free.size else 0,
        own.committed[waited],
        own.ended[waited],
        covered[waited],
        grouped=own.grouped,
    )


@dataclass(frozen=True, eq=False)
class _Turns:
    committed: Times
    started: Times
    ended: Times
    busy: Times
    grouped: bool
    drains: bool

    @classmethod
    def of(cls, turns: pd.DataFrame) -> "_Turns":
        times = (_times(turns, name) for name in ("committed", "started", "ended", "busy"))
        grouped = bool((turns["buffers"] > 1).any())
        return cls(*times, grouped=grouped, drains=bool(turns["waits"].all()))

    @property
    def number(self) -> int:
        return self.committed.size


def _times(frame: pd.DataFrame, name: str) -> Times:
    return frame[name].to_numpy(dtype=np.int64)


def _overtakes(own: _Turns, ahead: pd.DataFrame) -> bool:
    """Tell whether turns start before work of the other ends that was committed before them."""
    order = np.argsort(_times(ahead, "committed"), kind="stable")
    committed = _times(ahead, "committed")[order]
    ends = np.maximum.accumulate(_times(ahead, "ended")[order])
    last = np.append(NEVER, ends)[np.searchsorted(committed, own.committed)]
    had_to_wait = last > own.committed
    if not had_to_wait.any():
        return False
    early = (own.started < last) & had_to_wait
    return bool(early.sum() > _RARELY * had_to_wait.sum())


def _is_one_stream(own: _Turns, others: _Turns, length: float) -> bool:
    """Tell whether each turn of the other is handed over right behind one of this thread.

    So it is where several threads encode the parts of one graph.
    """
    least, most = _NEARLY_AS_MANY
    if not least <= own.number / others.number <= most:
        return False
    before = np.searchsorted(own.committed, others.committed, side="right") - 1
    lag = others.committed - own.committed[np.maximum(before, 0)]
    soon: NDArray[np.bool_] = (before >= 0) & (lag <= _AT_ONCE * length)
    return bool(soon.mean() >= _NEARLY_ALL)


def name_of(thread: int, names: Mapping[int, str]) -> str:
    """Return what a thread is called."""
    return names.get(thread, f"{thread:#x}")
