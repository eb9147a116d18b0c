"""The waits of each commit: the command buffers that held it up, one behind another."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis.idle.lives import Lives
from tracekit.analysis.idle.sampled_waits import Waits
from tracekit.analysis.idle.slopes import Places, Wait
from tracekit.analysis.idle.threads import Flags, Thread, threads_of
from tracekit.analysis.intervals import NEVER, Times


@dataclass(frozen=True, eq=False)
class Awaited:
    """The command buffers for which the commit of each command buffer waited.

    If that is not known, it is the latest report that had come before it. The first of `lives`
    has, for each, the command buffer whose report it was; the next one the one that this one's
    commit had waited for, and so on. If a commit waited for nothing, it is the latest commit
    before it of its thread that did, and all times are that commit's; without one, all times are
    NEVER. `waits` and `encoding_starts`, when the host began to encode, are those of the command
    buffer itself; `earlier_waits` are the waits of the latest commit that waited, and
    `all_encoding_starts` is when the host began to encode any of them, in order. With
    `has_several_threads`, several threads may have committed.
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
        lives: list[Lives] = []
        for hop in self.lives:
            committed, started, ended, completed = hop.parts
            chosen_lives = Lives(
                committed[chosen], started[chosen], ended[chosen], completed[chosen]
            )
            lives.append(chosen_lives)
        return Awaited(
            self.waits[chosen],
            self.earlier_waits[chosen],
            self.encoding_starts[chosen],
            self.all_encoding_starts,
            self.has_several_threads,
            tuple(lives),
        )


def awaited_of(timeline: pd.DataFrame, waits: Waits) -> Awaited:
    """Return the command buffers for which commits in the table `timeline` waited, by `waits`."""
    no_row = len(timeline)
    awaited_rows = np.full(no_row + 1, no_row)
    earlier_rows = np.full(no_row + 1, no_row)
    threads = threads_of(timeline)
    for thread in threads:
        lags = _lags(thread, waits[thread.rows])
        for lag in np.unique(lags[lags > 0]).tolist():
            places = thread.find_awaited(lag)
            chosen = (lags == lag) & (places >= 0)
            awaited_places = places[chosen]
            awaited_rows[thread.rows[chosen]] = thread.rows[awaited_places]
        waiting_places = np.where(lags > 0, np.arange(lags.size), -1)
        last_waiting = np.maximum.accumulate(waiting_places)
        without_wait = (lags == 0) & (last_waiting >= 0)
        earlier_places = last_waiting[without_wait]
        earlier_rows[thread.rows[without_wait]] = thread.rows[earlier_places]
    devices = 1
    if no_row:
        devices = int(timeline["device"].max()) + 1
    target_lives = Lives.from_timeline(timeline)
    encoding_starts = timeline["encoding_start"].to_numpy(dtype=np.int64, na_value=NEVER)
    waits_and_none = np.append(waits, Wait.NO)
    all_encoding_starts = np.sort(encoding_starts)
    has_several_threads = len(threads) > 1
    lives = _hops(target_lives, awaited_rows, earlier_rows, 2 * devices - 1)
    last_waits = waits_and_none[earlier_rows[:-1]]
    return Awaited(
        waits=waits,
        earlier_waits=last_waits,
        encoding_starts=encoding_starts,
        all_encoding_starts=all_encoding_starts,
        has_several_threads=has_several_threads,
        lives=lives,
    )


def _lags(thread: Thread, waits: Waits) -> Waits:
    """Return the report that each commit waited for, or may have waited for; 0: none."""
    lags = np.maximum(waits, Wait.NO)
    for lag in range(thread.reports, 0, -1):
        is_unknown = thread.committed == NEVER
        is_reported_before = thread.report(lag) <= thread.committed
        may_be = is_unknown | is_reported_before
        lags[(waits == Wait.UNKNOWN) & may_be] = lag
    return lags


def _hops(
    target_lives: Lives, awaited_rows: Places, earlier_rows: Places, number: int
) -> tuple[Lives, ...]:
    """Follow each commit back to the command buffer that it waited for, `number` times."""
    all_committed = np.append(target_lives.committed, NEVER)
    all_started = np.append(target_lives.started, NEVER)
    all_ended = np.append(target_lives.ended, NEVER)
    all_completed = np.append(target_lives.completed, NEVER)
    lives: list[Lives] = []
    place = np.arange(target_lives.started.size)
    for _ in range(number):
        skips = earlier_rows[place] < target_lives.started.size
        hop = np.where(skips, earlier_rows[place], awaited_rows[place])
        committed = all_committed[hop]
        started = np.where(skips, committed, all_started[hop])
        ended = np.where(skips, committed, all_ended[hop])
        completed = np.where(skips, committed, all_completed[hop])
        lives.append(Lives(committed, started, ended, completed))
        place = hop
    return tuple(lives)
