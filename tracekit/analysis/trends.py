"""The trend of a number over the iterations of a loop: its slope, and the slope's certainty.

The slope is that of Theil and Sen, the median of the slopes of all pairs, which a few odd
iterations do not move. Its interval is Sen's (1968): the slopes whose ranks are as far from the
middle as Kendall's S may be by chance. If the residuals are correlated from one iteration to the
next, there are fewer independent ones than iterations, and the interval is wider by √((1 + r) / (1
- r)), with r the correlation of neighbours (Bayley and Hammersley 1946).
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

FEWEST = 8
"""Fewer values than this have no trend."""
_MOST = 400  # values of which all pairs are used; more are reduced to as many group medians
_SURE = 1.96  # standard errors on both sides of a 95 % interval
_LARGEST = 0.99  # correlation of neighbours above which the slope is unknown
_HALF = 0.5

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class TrendLine:
    """A line through numbers, in their unit, and per place.

    `slope` lies between `lower` and `upper` with a confidence of 95 %; `first_value` and
    `last_value` are the line's values at the first and the last place. `halves` are the slopes of
    the first and the second half alone.
    """

    number: int
    slope: float
    lower: float
    upper: float
    first_value: float
    last_value: float
    halves: tuple[float, float]

    @property
    def rise(self) -> float:
        """The rise of the line from its first place to its last."""
        return self.last_value - self.first_value

    @property
    def share(self) -> float:
        """The rise as a share of the first value."""
        if self.first_value > 0:
            return self.rise / self.first_value
        return 0.0

    @property
    def least_share(self) -> float:
        """The least rise, by the lower bound, as a share of the first value."""
        if not self.slope or self.first_value <= 0:
            return 0.0
        return self.share * self.lower / self.slope

    @property
    def is_steady(self) -> bool:
        """Whether either half has half of the slope or more: the rise lasts from start to end.

        A single jump has next to no slope in one of its halves; a rise that levels off has none in
        its second half.
        """
        return all(half * self.slope > 0 and half / self.slope >= _HALF for half in self.halves)

    def predict(self, place: float) -> float:
        """Return the value of the line at a place, counted from the first one."""
        return self.first_value + self.slope * place


def fit_trend(values: ArrayLike) -> TrendLine | None:
    """Return the line through numbers in a row; NaN values are unknown.

    None if fewer than `FEWEST` values are known.
    """
    numbers = np.asarray(values, dtype=np.float64)
    finite_places = np.flatnonzero(np.isfinite(numbers))
    places = finite_places.astype(np.float64)
    numbers = numbers[np.isfinite(numbers)]
    if numbers.size < FEWEST:
        return None
    x, y = _group_medians(places, numbers)
    slopes = _slopes(x, y)
    slope = float(np.median(slopes))
    residuals = y - slope * x
    levels = residuals
    level = float(np.median(levels))
    lower, upper = _interval(slopes, y, y - slope * x)
    middle = x.size // 2
    early_slopes = _slopes(x[:middle], y[:middle])
    early = float(np.median(early_slopes))
    late_slopes = _slopes(x[middle:], y[middle:])
    late = float(np.median(late_slopes))
    number = int(places.size)
    first_value = level + slope * float(places[0])
    last_value = level + slope * float(places[-1])
    return TrendLine(
        number=number,
        slope=slope,
        lower=lower,
        upper=upper,
        first_value=first_value,
        last_value=last_value,
        halves=(early, late),
    )


def balance_pairs(values: ArrayLike) -> int:
    """Return the number of rising pairs of values less that of falling ones, by Mann and Kendall.

    Of eight values there are 28 pairs, and 285 of the 40,320 orders have a balance of 20 or more.
    """
    numbers = np.asarray(values)
    balance = 0
    for earlier, later in combinations(range(numbers.size), 2):
        balance += int(np.sign(numbers[later] - numbers[earlier]))
    return balance


def _group_medians(places: Numbers, numbers: Numbers) -> tuple[Numbers, Numbers]:
    """Return the values, or if there are very many, the medians of equal groups of them."""
    size = -(-numbers.size // _MOST)
    if size == 1:
        return places, numbers
    trimmed_size = numbers.size // size * size
    placed_blocks = places[:trimmed_size].reshape(-1, size)
    x = np.median(placed_blocks, axis=1)
    number_blocks = numbers[:trimmed_size].reshape(-1, size)
    y = np.median(number_blocks, axis=1)
    return x, y


def _slopes(x: Numbers, y: Numbers) -> Numbers:
    """Return the slopes of all pairs, in order."""
    earlier_places, later_places = np.triu_indices(x.size, 1)
    rises = y[later_places] - y[earlier_places]
    runs = x[later_places] - x[earlier_places]
    return np.sort(rises / runs)


def _interval(slopes: Numbers, y: Numbers, residuals: Numbers) -> tuple[float, float]:
    """Return the 95 % interval of the median slope; infinite bounds if it is unknown."""
    number = y.size
    ties = np.unique(y, return_counts=True)[1].astype(np.float64)
    variance = number * (number - 1) * (2 * number + 5)
    tie_terms = ties * (ties - 1) * (2 * ties + 5)
    variance -= float(tie_terms.sum())
    deviations = residuals - np.median(residuals)
    squares = float((deviations**2).sum())
    correlation = 0.0
    if squares:
        correlation = float((deviations[1:] * deviations[:-1]).sum()) / squares
    correlation = min(max(correlation, 0.0), _LARGEST)
    reach = _SURE * np.sqrt(max(0.0, variance) / 18 * (1 + correlation) / (1 - correlation))
    exact_lower = (slopes.size - reach) / 2
    lower_rank = int(np.floor(exact_lower))
    exact_upper = (slopes.size + reach) / 2
    upper_rank = int(np.ceil(exact_upper))
    lower = -np.inf
    if lower_rank >= 0:
        lower = float(slopes[lower_rank])
    upper = np.inf
    if upper_rank < slopes.size:
        upper = float(slopes[upper_rank])
    return lower, upper
