"""A series cut into stretches that stay level or drift, with the least sum of distances.

The criterion is the Potts functional with absolute deviations: the distances of the values from
their stretch, in deviations of a night, and a penalty for each stretch. Plain distances, not
squares, keep a single odd night from being two cuts. A stretch that drifts pays more than one that
stays level, because it also has a rate. Source of the criterion and of its exact solution by a
dynamic program over levels: M. Storath and others, Jump-penalized least absolute values estimation
of scalar or circle-valued signals, Information and Inference 6 (2017).

The best level of a stretch is one of its values, so the program keeps the least cost of each value
as the level of the current stretch. That is a row of numbers a night, in place of a table of all
stretches. With a rate, the levels are those of the values less the sum of the rate.

`bench/change_points.py` times it, and a campaign test counts its correct results.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SHORTEST = 3  # nights of a level stretch; of fewer an odd night or two are half of it
SHORTEST_DRIFT = 5  # nights of a stretch that drifts; fewer are a step on an uncertain date
PENALTY = 5.0  # in deviations of a night
DRIFT_PENALTY = PENALTY  # more for a stretch with a rate: one drift costs as much as one step
_NORMAL_MEAN = 1.2533  # a normal deviation over the mean distance
_ODD = 4.5  # deviations: the most that a night counts for next to drifts, so that two make no step
_MOST_RATES = 10  # that are tried at once
_ROUNDS = 3  # in which rates are fitted to the stretches that they made
_ALIKE = 0.1  # of a rate: two that differ by less are tried once
_TINY = 1e-9  # deviations: sums that differ by less are equal


@dataclass(frozen=True)
class Stretch:
    """Values [begin, end) on a line: its `level` at place 0 of the series, and its `rate`."""

    begin: int
    end: int
    level: float
    rate: float = 0.0

    def value(self, place: float) -> float:
        """Return the line's value at a place in the series."""
        return self.level + self.rate * place

    def values(self) -> Floats:
        """Return the line's values, one a night."""
        nights = np.arange(self.begin, self.end, dtype=np.float64)
        return self.level + self.rate * nights

    @property
    def change(self) -> float:
        """The change from the first night to the last."""
        return self.rate * (self.end - 1 - self.begin)


def level_stretches(values: Floats, deviation: float) -> list[Stretch]:
    """Return the stretches of the least cost among those that stay level, oldest first."""
    return _partition(values, deviation, [0.0])


def drifting_stretches(
    values: Floats, deviation: float, limit: float, floor: float
) -> list[Stretch]:
    """Return the stretches of the least cost, of which some may drift by `limit` or more.

    They drift only if that also costs less in deviations of the residuals, because a large step in
    few nights makes `deviation` large. No deviation is below `floor`.
    """
    levels = level_stretches(values, deviation)
    rates = _rates(values, deviation, limit)
    stretches = levels
    for _ in range(_ROUNDS):
        if not rates:
            break
        stretches = _partition(values, deviation, [0.0, *rates])
        drifts = [stretch for stretch in stretches if stretch.rate]
        closer_rates = [_rate(values[stretch.begin : stretch.end]) for stretch in drifts]
        stretch_rates = [stretch.rate for stretch in drifts]
        rates = _distinct([*closer_rates, *stretch_rates])
    residual_of_levels = left_over(values, levels)
    residual_of_stretches = left_over(values, stretches)
    residual = min(residual_of_levels, residual_of_stretches)
    deviation = min(deviation, max(residual, floor))
    cost_of_stretches = cost(values, stretches, deviation)
    cost_of_levels = cost(values, levels, deviation)
    if cost_of_stretches < cost_of_levels:
        return stretches
    return levels


def _distances(values: Floats, stretches: Sequence[Stretch]) -> float:
    residuals = np.abs(values - _lines(stretches))
    return float(residuals.sum())


def _lines(stretches: Sequence[Stretch]) -> Floats:
    """Return the values of the lines of stretches that follow each other."""
    return np.concatenate([stretch.values() for stretch in stretches])


def left_over(values: Floats, stretches: Sequence[Stretch]) -> float:
    """Return the deviation of values from stretches, whose levels and rates are fitted to them."""
    fitted_parameters = 0
    for stretch in stretches:
        fitted_parameters += 2 if stretch.rate else 1
    degrees_of_freedom = max(1, len(values) - fitted_parameters)
    return _NORMAL_MEAN * _distances(values, stretches) / degrees_of_freedom


def cost(values: Floats, stretches: Sequence[Stretch], deviation: float) -> float:
    """Return the cost of stretches that follow each other, with at most `_ODD` for a night.

    `values` are those of the stretches only.
    """
    penalties = 0.0
    for stretch in stretches:
        penalties += PENALTY
        if stretch.rate:
            penalties += DRIFT_PENALTY
    residuals = np.abs(values - _lines(stretches))
    apart = np.minimum(residuals / deviation, _ODD)
    return float(apart.sum()) + penalties


def _partition(values: Floats, deviation: float, rates: Sequence[float]) -> list[Stretch]:
    """Return the stretches that cost least, each with one of the rates; the first rate is 0."""
    nights = len(values)
    slopes = np.array(rates)[:, None]
    trends = slopes * np.arange(nights)
    levels = np.sort(values - trends, axis=1)
    if len(rates) == 1:
        levels = np.unique(levels)[None, :]
    penalties = np.where(slopes == 0, PENALTY, PENALTY + DRIFT_PENALTY)
    costs = np.full(levels.shape, np.inf)  # of the stretch at hand with this level, and all before
    entries = np.zeros(levels.shape, np.int64)
    least_costs = np.full(nights + 1, np.inf)
    least_costs[0] = -PENALTY
    origins = np.zeros(nights + 1, np.int64)
    chosen = np.zeros(nights + 1, np.int64)
    recent: list[Floats] = []
    for end in range(1, nights + 1):
        flattened_value = values[end - 1] - slopes * (end - 1)
        apart = np.abs(levels - flattened_value)
        apart /= deviation
        if len(rates) > 1:
            np.minimum(apart, _ODD, out=apart)
        recent = [*recent[1 - SHORTEST_DRIFT :], apart]
        costs += apart
        row_groups = ((slice(0, 1), SHORTEST), (slice(1, None), SHORTEST_DRIFT))
        for rows, shortest in row_groups:
            if end < shortest or rows.start >= len(rates):
                continue
            entry = least_costs[end - shortest] + penalties[rows]
            recent_distances = [distances[rows] for distances in recent[-shortest:]]
            fresh = sum(recent_distances, entry)
            better = fresh < costs[rows]
            np.copyto(costs[rows], fresh, where=better)
            np.copyto(entries[rows], end - shortest, where=better)
        row = int(np.argmin(costs.min(axis=1)))
        least_costs[end] = costs[row].min()
        chosen[end] = row
        if np.isfinite(least_costs[end]):
            nearly_least = costs[row] <= least_costs[end] + _TINY
            origins[end] = entries[row][nearly_least].min()
    return _stretches(values, rates, origins, chosen)


def _stretches(
    values: Floats, rates: Sequence[float], origins: NDArray[np.int64], chosen: NDArray[np.int64]
) -> list[Stretch]:
    stretches: list[Stretch] = []
    end = len(values)
    while end:
        begin = int(origins[end])
        rate = rates[int(chosen[end])]
        trend = rate * np.arange(begin, end)
        level = float(np.median(values[begin:end] - trend))
        stretches.insert(0, Stretch(begin, end, level, rate))
        end = begin
    return stretches


def _rates(values: Floats, deviation: float, limit: float) -> list[float]:
    """Return rates to try: the medians of differences in windows of several lengths.

    A rate is tried if it adds up to `limit` and to two deviations within its window.
    """
    weighed: list[tuple[float, float]] = []
    length = SHORTEST_DRIFT + 1
    while length <= 2 * len(values):
        window = min(length, len(values))
        spacing = max(1, window // 3)
        for begin in range(0, len(values) - window + 1, spacing):
            rate = _rate(values[begin : begin + window])
            change = abs(rate) * (window - 1)
            if change >= max(limit, 2 * deviation):
                weighed.append((change * window**0.5, rate))
        length = length * 3 // 2
    ordered = [rate for _, rate in sorted(weighed, reverse=True)]
    return _distinct(ordered)[:_MOST_RATES]


def _rate(values: Floats) -> float:
    """Return the median rate of values half a stretch apart: a few odd ones do not move it."""
    lag = max(1, len(values) // 2)
    lag_changes = values[lag:] - values[:-lag]
    return float(np.median(lag_changes)) / lag


def _distinct(rates: Sequence[float]) -> list[float]:
    distinct: list[float] = []
    for rate in rates:
        if rate and not _is_like_one_of(rate, distinct):
            distinct.append(rate)
    return distinct


def _is_like_one_of(rate: float, distinct_rates: Sequence[float]) -> bool:
    return any(abs(rate - other_rate) <= _ALIKE * abs(other_rate) for other_rate in distinct_rates)


def ends_of_line(values: Floats) -> tuple[float, float]:
    """Return the first and the last value of a line with the drift of the values."""
    rate = _rate(values)
    trend = rate * np.arange(len(values))
    level = float(np.median(values - trend))
    return level, level + rate * (len(values) - 1)


def prefix_costs(values: Sequence[float]) -> Floats:
    """Return the sum of distances from their median of the first 0, 1, 2 … of the values."""
    costs = np.zeros(len(values) + 1)
    lower_half: list[float] = []  # the lower half, negative: heaps have the least on top
    upper_half: list[float] = []
    lower_sum = upper_sum = 0.0
    for end, value in enumerate(values, 1):
        if len(lower_half) > len(upper_half):
            moved = -heapq.heappushpop(lower_half, -value)
            heapq.heappush(upper_half, moved)
            lower_sum = lower_sum + value - moved
            upper_sum = upper_sum + moved
            costs[end] = max(upper_sum - lower_sum, 0.0)
        else:
            moved = heapq.heappushpop(upper_half, value)
            heapq.heappush(lower_half, -moved)
            lower_sum = lower_sum + moved
            upper_sum = upper_sum + value - moved
            costs[end] = max(upper_sum - lower_sum - lower_half[0], 0.0)
    return costs
