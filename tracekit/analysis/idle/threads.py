"""The threads that commit: which reports had come, and which were missing, before each commit."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.idle.slopes import Places
from tracekit.analysis.intervals import NEVER, Times

_FEWEST_REPORTS = 2
MOST_REPORTS = 6
"""The largest number of reports by which a commit is judged, the latest first."""
_MOSTLY = 0.9  # share of the gaps in which no more reports are missing

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Thread:
    """The command buffers that one thread committed, in the order of commits; NEVER: not known.

    `name` is the thread's id; `rows` is the place of each in the table `timeline`, `device` the
    number of its device.
    """

    name: int
    rows: Places
    device: Times
    encoding_starts: Times
    committed: Times
    ended: Times
    completed: Times

    @cached_property
    def _latest(self) -> list[Places]:
        """The places of those with the latest reports up to each, the latest first; -1: none."""
        sources = np.arange(self.rows.size)
        times = self.completed
        latest_places: list[Places] = []
        for _ in range(MOST_REPORTS):
            best = np.maximum.accumulate(times)
            shifted_best = np.append(NEVER, best[:-1])
            earlier_best = shifted_best[: best.size]
            is_later = times > earlier_best
            later_places = np.where(is_later, np.arange(best.size), -1)
            place = np.maximum.accumulate(later_places)
            latest = np.where(place < 0, -1, sources[place])
            latest_places.append(latest)
            shifted_latest = np.append(-1, latest[:-1])
            displaced = shifted_latest[: best.size]
            sources = np.where(is_later, displaced, sources)
            times = np.minimum(times, earlier_best)
        return latest_places

    def find_awaited(self, lag: int) -> Places:
        """Return for each the place of the one with the latest report but `lag` - 1; -1: none.

        Only command buffers that were committed before it count.
        """
        shifted_latest = np.append(-1, self._latest[lag - 1][:-1])
        return shifted_latest[: self.rows.size]

    def report(self, lag: int) -> Times:
        """Return for each the latest report but `lag` - 1 of all that were committed before it."""
        reports = np.append(self.completed, NEVER)
        return reports[self.find_awaited(lag)]

    def has_known_reports(self, lag: int) -> Flags:
        """Return for each whether the reports of `lag` before it, or of all, are known."""
        summed_reports = np.cumsum(self.completed != NEVER)
        known_counts = np.concatenate(([0], summed_reports))
        places = np.arange(self.rows.size)
        first_places = np.maximum(places - lag, 0)
        known_reports = known_counts[places] - known_counts[first_places]
        return known_reports == places - first_places

    @cached_property
    def reports(self) -> int:
        """How many reports are missing, at most, in most gaps when the device has run dry."""
        latest_ends = np.maximum.accumulate(self.ended)[:-1]
        sorted_reports = np.sort(self.completed)
        come = np.searchsorted(sorted_reports, latest_ends, side="right")
        is_after_all = self.committed[1:] > latest_ends
        dry = is_after_all & (latest_ends != NEVER)
        earlier_counts = np.arange(1, self.rows.size)
        missing = (earlier_counts - come)[dry]
        if not missing.size:
            return _FEWEST_REPORTS
        most_missing = int(np.quantile(missing, _MOSTLY))
        return min(max(most_missing, _FEWEST_REPORTS), MOST_REPORTS)


def _column(timeline: pd.DataFrame, name: str, default: int = NEVER) -> Times:
    if name not in timeline:
        return np.full(len(timeline), default)
    return timeline[name].to_numpy(dtype=np.int64, na_value=NEVER)


def threads_of(timeline: pd.DataFrame) -> list[Thread]:
    """Return the threads that committed; one of all command buffers if that is not known."""
    device = _column(timeline, "device", default=0)
    encoding_starts = _column(timeline, "encoding_start")
    committed = _column(timeline, "committed")
    started = _column(timeline, "started")
    ended = _column(timeline, "ended")
    completed = _column(timeline, "completed")
    owner = np.full(len(timeline), NEVER)
    if "thread" in timeline and timeline["thread"].notna().all():
        owner = timeline["thread"].to_numpy(dtype=np.int64)
    known_times = np.where(committed == NEVER, started, committed)
    order = np.argsort(known_times, kind="stable")
    threads: list[Thread] = []
    for thread_id in np.unique(owner).tolist():
        rows = order[owner[order] == thread_id]
        thread = Thread(
            name=thread_id,
            rows=rows,
            device=device[rows],
            encoding_starts=encoding_starts[rows],
            committed=committed[rows],
            ended=ended[rows],
            completed=completed[rows],
        )
        threads.append(thread)
    return threads
