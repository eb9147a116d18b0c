"""Durations of two kinds: their two levels, or the border between a faster and a slower part."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis.intervals import Times

SIGMA = 1.4826  # standard deviation / median absolute deviation of a normal distribution
LEAST_SPREAD = 0.01  # of a typical step: no clock and no scheduler is steadier
_ENDS = (0.05, 0.95)  # quantiles; extremes beyond them must not separate the modes by themselves


@dataclass(frozen=True, eq=False)
class Modes:
    """Two speeds: the slow steps, the time of a fast and of a slow one (ns), and the changes.

    `separation` is the distance of both over the wider one's robust standard deviation.
    """

    slow: NDArray[np.bool_]
    fast_time: float
    slow_time: float
    changes: int
    separation: float

    def are_two_kinds(
        self, *, excess: float, share: float, separation: float, changes: int
    ) -> bool:
        """Return whether these are two speeds: clearly apart, neither rare, alternating."""
        return (
            self.excess >= excess
            and self.minority >= share
            and self.separation >= separation
            and self.changes >= changes
        )

    @property
    def minority(self) -> float:
        """The share of the rarer speed."""
        share = float(self.slow.mean())
        return min(share, 1 - share)

    @property
    def excess(self) -> float:
        """The additional time of a slow step, as a share of a fast one; inf if that takes none."""
        if self.fast_time:
            return self.slow_time / self.fast_time - 1
        return float("inf")


def modes(times: Times) -> Modes:
    """Split the steps into fast and slow ones."""
    limits = np.quantile(times, _ENDS)
    capped = np.clip(times, *limits).astype(np.float64)
    ordered = np.sort(capped)
    split = best_split(ordered)
    slow = capped > ordered[split - 1]
    if not slow.any():
        middle = float(np.median(times))
        return Modes(slow, middle, middle, 0, 0.0)
    fast_time = float(np.median(times[~slow]))
    slow_time = float(np.median(times[slow]))
    wider = max(spread(times[~slow]), spread(times[slow]), LEAST_SPREAD * fast_time)
    changes = int(np.count_nonzero(np.diff(slow)))
    separation = (slow_time - fast_time) / wider
    return Modes(slow, fast_time, slow_time, changes, separation)


def best_split(values: NDArray[np.float64], smallest_part: int = 1) -> int:
    """Return the length of the first of two parts of a row that are most uniform.

    The split is the one of least squares, as that of k-means for two clusters in one dimension,
    found exactly; each part has at least `smallest_part` values.
    """
    last_place = values.size - smallest_part + 1
    places = np.arange(smallest_part, last_place)
    sums = np.cumsum(values)
    left_sum = sums[places - 1]
    right = sums[-1] - sums[places - 1]
    left_score = left_sum**2 / places
    right_score = right**2 / (values.size - places)
    return int(places[np.argmax(left_score + right_score)])


def spread(times: NDArray[np.float64] | Times) -> float:
    """Return a robust standard deviation: the scaled median of absolute deviations."""
    distances = np.abs(times - np.median(times))
    return SIGMA * float(np.median(distances))


_SIDE = 8  # iterations on either side, at least
_NEAR = 4  # iterations on either side of the border that must have the level of their side
_CLEAR = 6.0  # robust deviations between both levels
_AT_ONCE = 0.75  # share of the rise that occurs between two neighbours


def find_border(times: NDArray[np.float64]) -> int | None:
    """Return the place from which the times are higher, both sides steady; None without one."""
    if times.size < 2 * _SIDE:
        return None
    border = best_split(times, _SIDE)
    sides = times[:border], times[border:]
    lower_level, upper_level = (float(np.median(side)) for side in sides)
    level_behind = np.median(times[border : border + _NEAR])
    level_before = np.median(times[border - _NEAR : border])
    near = level_behind - level_before
    middle = (lower_level + upper_level) / 2
    near *= times[border - 1] < middle < times[border]
    largest_spread = max(map(spread, sides))
    clear = upper_level - lower_level > _CLEAR * largest_spread and near > _AT_ONCE * (
        upper_level - lower_level
    )
    if upper_level > lower_level and clear:
        return border
    return None
