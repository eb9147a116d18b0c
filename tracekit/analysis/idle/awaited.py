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
    commit had waited for, and so on. Where a commit waited for nothing, it is
    the latest commit before it of its thread that did, and all times are that commit's. All is
    NEVER where there was none. `waits` and `begun`, when the host began to encode, are those of
    the command buffer itself; `before` are the waits of the latest commit that waited, and `every`
    is when the host began to encode any of them, in order; `several` threads may have committed.
    """

    waits: Waits
    before: Waits
    begun: Times
    every: Times
    several: bool
    lives: tuple[Lives, ...]

    @property
    def bounds(self) -> Iterator[Times]:
        """All moments at which one of them may begin to hold a device up, or cease to, in parts."""
        yield self.begun
        for lives in self.lives:
            yield from lives.parts

    def of(self, chosen: Flags) -> "Awaited":
        """Return those of some of the command buffers."""
        return Awaited(
            self.waits[chosen],
            self.before[chosen],
            self.begun[chosen],
            self.every,
            self.several,
            tuple(Lives(*(part[chosen] for part in each.parts)) for each in self.lives),
        )


def awaited_of(timeline: pd.DataFrame, waits: Waits) -> Awaited:
    """Return what the commits of the rows of the table `timeline` waited for, by their waits."""
    none = len(timeline)
    found = np.full(none + 1, none)
    earlier = np.full(none + 1, none)
    threads = threads_of(timeline)
    for thread in threads:
        own = _lags(thread, waits[thread.rows])
        for lag in np.unique(own[own > 0]).tolist():
            places = thread.awaited(lag)
            chosen = (own == lag) & (places >= 0)
            found[thread.rows[chosen]] = thread.rows[places[chosen]]
        last = np.maximum.accumulate(np.where(own > 0, np.arange(own.size), -1))
        free = (own == 0) & (last >= 0)
        earlier[thread.rows[free]] = thread.rows[last[free]]
    devices = int(timeline["device"].max()) + 1 if none else 1
    begun = timeline["begun"].to_numpy(dtype=np.int64, na_value=NEVER)
    before = np.append(waits, Wait.NO)[earlier[:-1]]
    lives = _hops(Lives.of(timeline), found, earlier, 2 * devices - 1)
    return Awaited(waits, before, begun, np.sort(begun), len(threads) > 1, lives)


def _lags(thread: Thread, waits: Waits) -> Waits:
    """Return which report each commit waited for, or may have waited for; 0: none."""
    lags = np.maximum(waits, Wait.NO)
    for lag in range(thread.reports, 0, -1):
        may_be = (thread.committed == NEVER) | (thread.report(lag) <= thread.committed)
        lags[(waits == Wait.UNKNOWN) & may_be] = lag
    return lags


def _hops(every: Lives, found: Places, earlier: Places, number: int) -> tuple[Lives, ...]:
    """Follow each commit back to what it waited for, so many times."""
    parts = [np.append(part, NEVER) for part in every.parts]
    lives: list[Lives] = []
    place = np.arange(every.started.size)
    for _ in range(number):
        skips = earlier[place] < every.started.size
        hop = np.where(skips, earlier[place], found[place])
        committed = parts[0][hop]
        others = (np.where(skips, committed, part[hop]) for part in parts[1:])
        lives.append(Lives(committed, *others))
        place = hop
    return tuple(lives)
