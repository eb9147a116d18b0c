"""What each commit waited for: the command buffers that held it up, one behind another."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis.idle.lives import Lives
from tracekit.analysis.idle.slopes import Places, Wait
from tracekit.analysis.idle.threads import Flags, Thread, threads_of
from tracekit.analysis.idle.waits import Waits
from tracekit.analysis.intervals import NEVER, Times


@dataclass(frozen=True, eq=False)
class Awaited:
    """What each command buffer's commit waited for.

    Where that is not known, it is the latest report that had come before it. The first of `lives`
    has, for each, the command buffer whose report it was; the next one the one that this one's
    commit had waited for, and so on. Where a commit waited for nothing, it is the latest commit
    before it of its thread that did, and all times are that commit's. All is NEVER where there was
    none. `waits` and `encoding_starts`, when the host began to encode, are those of the command
    buffer itself; `earlier_waits` are the waits of the latest commit that waited, and
    `all_encoding_starts` is when the host began to encode any of them, in order;
    `has_several_threads` threads may have committed.
    """

    waits: Waits
    earlier_waits: Waits
    encoding_starts: Times
    all_encoding_starts: Times
    has_several_threads: bool
    lives: tuple[Lives, ...]

    @property
    def bounds(self) -> Iterator[Times]:
        """All moments at which one of them may begin to hold a device up, or cease to, in parts."""
        yield self.encoding_starts
        for lives in self.lives:
            yield from lives.parts

    def select(self, chosen: Flags) -> "Awaited":
        """Return those of some of the command buffers."""
        return Awaited(
            self.waits[chosen],
            self.earlier_waits[chosen],
            self.encoding_starts[chosen],
            self.all_encoding_starts,
            self.has_several_threads,
            tuple(Lives(*(part[chosen] for part in hop.parts)) for hop in self.lives),
        )


def awaited_of(timeline: pd.DataFrame, waits: Waits) -> Awaited:
    """Return what the commits of the rows of the table `timeline` waited for, by their waits."""
    no_row = len(timeline)
    awaited_rows = np.full(no_row + 1, no_row)
    earlier_rows = np.full(no_row + 1, no_row)
    threads = threads_of(timeline)
    for thread in threads:
        lags = _lags(thread, waits[thread.rows])
        for lag in np.unique(lags[lags > 0]).tolist():
            places = thread.find_awaited(lag)
            chosen = (lags == lag) & (places >= 0)
            awaited_rows[thread.rows[chosen]] = thread.rows[places[chosen]]
        last_waiting = np.maximum.accumulate(np.where(lags > 0, np.arange(lags.size), -1))
        without_wait = (lags == 0) & (last_waiting >= 0)
        earlier_rows[thread.rows[without_wait]] = thread.rows[last_waiting[without_wait]]
    devices = int(timeline["device"].max()) + 1 if no_row else 1
    encoding_starts = timeline["begun"].to_numpy(dtype=np.int64, na_value=NEVER)
    earlier_waits = np.append(waits, Wait.NO)[earlier_rows[:-1]]
    lives = _hops(Lives.from_timeline(timeline), awaited_rows, earlier_rows, 2 * devices - 1)
    return Awaited(
        waits, earlier_waits, encoding_starts, np.sort(encoding_starts), len(threads) > 1, lives
    )


def _lags(thread: Thread, waits: Waits) -> Waits:
    """Return which report each commit waited for, or may have waited for; 0: none."""
    lags = np.maximum(waits, Wait.NO)
    for lag in range(thread.reports, 0, -1):
        may_be = (thread.committed == NEVER) | (thread.report(lag) <= thread.committed)
        lags[(waits == Wait.UNKNOWN) & may_be] = lag
    return lags


def _hops(
    target_lives: Lives, awaited_rows: Places, earlier_rows: Places, number: int
) -> tuple[Lives, ...]:
    """Follow each commit back to what it waited for, so many times."""
    parts = [np.append(part, NEVER) for part in target_lives.parts]
    lives: list[Lives] = []
    place = np.arange(target_lives.started.size)
    for _ in range(number):
        skips = earlier_rows[place] < target_lives.started.size
        hop = np.where(skips, earlier_rows[place], awaited_rows[place])
        committed = parts[0][hop]
        other_parts = (np.where(skips, committed, part[hop]) for part in parts[1:])
        lives.append(Lives(committed, *other_parts))
        place = hop
    return tuple(lives)
