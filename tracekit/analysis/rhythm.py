"""The causes of uneven steps: events that cover slow steps, and the share that they explain."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.beats import Beats
from tracekit.analysis.happenings import (
    BESIDE,
    COMPILED,
    LONGER_WORK,
    WITHOUT_WORK,
    Happening,
    Happenings,
)
from tracekit.analysis.intervals import IntervalSet, Times
from tracekit.analysis.intervals import spans as bounds
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.rule import Fact

UNEXPLAINED = ""
_LISTED = 3  # causes that are named
_MOST = 0.5  # share of a slow step's excess that a happening must cover to explain it


@dataclass(frozen=True, eq=False)
class Explanation:
    """The cause of each slow step, in order; ns.

    A cause is the description of a happening, or `UNEXPLAINED`; `mechanisms` are those of all
    happenings, by their descriptions. `excess` is the step's time beyond the usual, `compiled` and
    `idle` the parts of it in compiles and without work of the target on the device.
    """

    causes: tuple[str, ...]
    mechanisms: Mapping[str, Mechanism]
    excess: NDArray[np.float64]
    compiled: NDArray[np.float64]
    idle: NDArray[np.float64]

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism behind the most common cause."""
        common_cause, _ = Counter(self.causes).most_common(1)[0]
        return self.mechanisms.get(common_cause, Mechanism.SPIKES_UNEXPLAINED)

    @property
    def cause_words(self) -> str:
        """The causes in words, the most common first, each with its number; "" without any."""
        known_causes = [cause for cause in self.causes if cause != UNEXPLAINED]
        counts = Counter(known_causes)
        if len(counts) == 1 and len(self.causes) == counts.total():
            return next(iter(counts))
        common_causes = counts.most_common(_LISTED)
        counted_causes = [f"{cause} ({number:,})" for cause, number in common_causes]
        return ", ".join(counted_causes)

    @property
    def unexplained_count(self) -> int:
        """The number of steps that no recorded event explains."""
        return self.causes.count(UNEXPLAINED)

    @property
    def lost_time(self) -> float:
        """The excess in ns, without compiles, and without steps with longer work of the target."""
        is_lost = np.array([cause != LONGER_WORK for cause in self.causes], dtype=np.bool_)
        return float((self.excess - self.compiled)[is_lost].sum())

    @property
    def is_mostly_idle(self) -> bool:
        """Whether the device was idle for most of the time."""
        idle_time = self.idle.sum()
        return bool(idle_time > _MOST * self.excess.sum())

    @property
    def enclosing_rule(self) -> str:
        """The rule that also counts most of the time: bubbles, if the device was idle."""
        return "bubbles" if self.is_mostly_idle else ""


def explain(
    beats: Beats, slow: NDArray[np.bool_], excess: NDArray[np.float64], happenings: Happenings
) -> Explanation:
    """Find for each slow step the most relevant happening that covers most of its excess.

    Only the part of a happening beyond that of the other steps counts: an event in all of them
    explains nothing. A state, which persists, counts beyond its share in the other steps. `excess`
    is the time of each beat beyond the usual, in ns.
    """
    needed = _MOST * excess[slow]
    causes = np.full(needed.size, UNEXPLAINED, dtype=object)
    compiled = np.zeros(needed.size)
    idle = np.zeros(needed.size)
    # Work of other processes is named also if it is seen on other channels only.
    mechanisms = {BESIDE: Mechanism.OTHER_PROCESS}
    for happening in happenings.ranked_happenings:
        mechanisms[happening.description] = happening.mechanism
        beyond = _measure_beyond_usual(beats, slow, happening)
        if happening.description == COMPILED:
            compiled = np.clip(beyond, 0, excess[slow])
        if happening.description == WITHOUT_WORK:
            idle = np.clip(beyond, 0, excess[slow])
        explains = (causes == UNEXPLAINED) & (beyond >= needed)
        causes[explains] = happening.description
    idle_alone = np.clip(idle - compiled, 0, None)
    return Explanation(tuple(causes), mechanisms, excess[slow], compiled, idle_alone)


def _measure_beyond_usual(
    beats: Beats, slow: NDArray[np.bool_], happening: Happening
) -> NDArray[np.float64]:
    """Return how long a happening lasted in each slow step beyond the other steps, in ns."""
    covered = happening.when.measure_within(beats.starts, beats.ends)
    if not happening.is_state:
        return covered[slow] - np.median(covered[~slow])
    other_time = max(1, beats.times[~slow].sum())
    usual_share = covered[~slow].sum() / other_time
    return covered[slow] - usual_share * beats.times[slow]


def beside_others(
    beats: Beats, far: NDArray[np.bool_], other_intervals: pd.DataFrame
) -> NDArray[np.bool_]:
    """Return in which of the far longer beats the device also ran for other processes.

    All channels count because they share the cores, so that the same work takes longer with another
    process. Such work counts if it lasted for half of the additional device time.
    """
    other_work = IntervalSet.from_spans(*bounds(other_intervals))
    shared = other_work.measure_within(beats.starts, beats.ends)
    usual_shared = np.median(shared[~far])
    beyond = shared - usual_shared
    usual_work = np.median(beats.work[~far])
    longer = beats.work - usual_work
    return far & (beyond >= _MOST * longer)


def facts_of_spread(values: Times | NDArray[np.float64]) -> tuple[Fact, ...]:
    """Return the 5th, 50th and 95th percentiles of times, in ns."""
    percentiles = np.percentile(values, (5, 50, 95))
    low_percentile, middle, high_percentile = percentiles.tolist()
    return (
        Fact("low", low_percentile, "ns"),
        Fact("middle", middle, "ns"),
        Fact("high", high_percentile, "ns"),
    )
