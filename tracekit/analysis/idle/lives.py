"""The lives of the command buffers on one device: committed, started, ended, reported."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from tracekit.analysis.intervals import NEVER, IntervalSet, Times

FEWEST = 8
"""Fewer starts than this on a device that had run dry do not show how long a start takes."""


@dataclass(frozen=True, eq=False)
class Lives:
    """One entry for each command buffer on a device, ordered by start; ns.

    `started` and `ended` are always known; the others are NEVER if they are not.
    """

    committed: Times
    started: Times
    ended: Times
    completed: Times

    @classmethod
    def from_timeline(cls, timeline: pd.DataFrame) -> "Lives":
        """Take them from rows of the table `timeline`."""
        committed = timeline["committed"].to_numpy(dtype=np.int64, na_value=NEVER)
        completed = timeline["completed"].to_numpy(dtype=np.int64, na_value=NEVER)
        return cls(
            committed=committed,
            started=timeline["started"].to_numpy(dtype=np.int64),
            ended=timeline["ended"].to_numpy(dtype=np.int64),
            completed=completed,
        )

    @property
    def parts(self) -> tuple[Times, Times, Times, Times]:
        """All four columns."""
        return self.committed, self.started, self.ended, self.completed

    @cached_property
    def running(self) -> IntervalSet:
        """When one had started and not ended."""
        return IntervalSet.from_spans(self.started, self.ended)

    @cached_property
    def on_the_way_there(self) -> IntervalSet:
        """When one was committed and not started."""
        is_committed = self.committed != NEVER
        starts = self.started[is_committed]
        return IntervalSet.from_spans(self.committed[is_committed], starts)

    @cached_property
    def on_the_way_back(self) -> IntervalSet:
        """When one had ended and was not reported complete."""
        is_reported = self.completed != NEVER
        reports = self.completed[is_reported]
        return IntervalSet.from_spans(self.ended[is_reported], reports)

    @property
    def bounds(self) -> Iterator[Times]:
        """All moments at which a part of a life begins or ends, in parts, each in order."""
        for part in (self.running, self.on_the_way_there, self.on_the_way_back):
            yield part.starts
            yield part.ends

    @property
    def usual_start(self) -> float:
        """The median time of a start on a device that had run dry, in ns; 0 if it is not known."""
        running_ends = np.maximum.accumulate(self.ended)[:-1]
        latest_ends = np.concatenate(([NEVER], running_ends))
        is_after_all = self.committed >= latest_ends[: self.started.size]
        dry = (self.committed != NEVER) & is_after_all
        if np.count_nonzero(dry) < FEWEST:
            return 0.0
        start_latencies = self.started - self.committed
        return float(np.median(start_latencies[dry]))
