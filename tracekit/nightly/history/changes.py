"""Changes in values of one night each: steps, which stayed, and drifts, a little each night.

The values are cut into stretches that stay level, and again into stretches of which some drift; the
criterion (`history/stretches.py`) decides whether a drift explains the nights better than steps. A
step has a date, and so a commit; a drift has a range and a rate, and no night of its own.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tracekit.base import verdicts
from tracekit.comparison import shifts
from tracekit.nightly.history.stretches import (
    PENALTY,
    SHORTEST,
    SHORTEST_DRIFT,
    Floats,
    Stretch,
    cost,
    drifting_stretches,
    left_over,
    level_stretches,
    prefix_costs,
)
from tracekit.nightly.history.trend_changes import Changes, LevelStep, Ramp

_PLAUSIBLE = 2.0  # a cut elsewhere that costs as many deviations more is not ruled out
_FLOOR = 0.5  # of the least change that matters: nights that are more alike than this do not count
_WINDOW = 300  # values that are searched for drifts at once
_AROUND = 100  # nights on both sides of a step, among which it may be a drift
_SURE_JUMP = 3.0  # deviations of the doubt of two lines, that a step next to a drift must exceed
_ROUNDING = 1e-6  # of a night: lines that meet at a night bend after it
_REFITS = 4  # times that a series is cut again by a smaller deviation
_CLOSE = 0.8  # of the deviation: if the residuals of stretches are less, it was too large
_DRIFTED = 2.0  # nights of a drift that a step next to it must exceed


def steps(
    values: Sequence[float | None], *, scale: verdicts.Scale = "ratio", min_change: float = 0.015
) -> tuple[LevelStep, ...]:
    """Return only the steps of `trend`."""
    return trend(values, scale=scale, min_change=min_change).steps


def trend(
    values: Sequence[float | None], *, scale: verdicts.Scale = "ratio", min_change: float = 0.015
) -> Changes:
    """Find the steps and drifts of at least `min_change` in values of one night each, oldest first.

    A value is a gap if it is None, not finite, or not above 0 on the ratio scale. `min_change` is a
    ratio less one, or a difference, above 0.
    """
    places: list[int] = []
    known_values: list[float] = []
    for place, value in enumerate(values):
        if value is not None and _is_usable(value, scale):
            places.append(place)
            known_values.append(float(value))
    if len(known_values) < 2 * SHORTEST:
        return Changes()
    scaled = np.log(known_values) if scale == "ratio" else np.asarray(known_values, float)
    limit = math.log1p(min_change) if scale == "ratio" else min_change
    fitted = _Fitted(scaled, limit, _deviation(scaled, limit), tuple(places), scale)
    stretches = _stretches(fitted)
    for _ in range(_REFITS):
        refitted = _with_smaller_deviation(fitted, stretches)
        if refitted is None:
            break
        fitted = refitted
        stretches = _stretches(fitted)
    if _has_drift(stretches):
        fitted = _with_deviation_of(stretches, fitted, scaled)
    return _make_changes(fitted, stretches)


def _has_drift(stretches: Sequence[Stretch]) -> bool:
    return any(stretch.rate for stretch in stretches)


@dataclass(frozen=True, eq=False)
class _Fitted:
    """Known values on the scale where changes add up, the least change that matters, and places."""

    values: Floats
    limit: float
    deviation: float
    places: tuple[int, ...]
    scale: verdicts.Scale

    def to_plain_value(self, value: float) -> float:
        if self.scale != "ratio":
            return value
        return math.exp(value)

    def to_plain_change(self, change: float) -> float:
        if self.scale != "ratio":
            return change
        return math.expm1(change)


def _is_usable(value: float, scale: verdicts.Scale) -> bool:
    if scale == "ratio" and value <= 0:
        return False
    return math.isfinite(value)


def _deviation(values: Floats, limit: float) -> float:
    """Return the deviation of a night, by differences of near ones, which a step hardly touches.

    Nights up to three apart are compared, because nights next to each other may be alike.
    """
    deviations = [_FLOOR * limit]
    for lag in range(1, SHORTEST + 1):
        apart = values[lag:] - values[:-lag]
        lag_deviations = np.abs(apart - np.median(apart))
        middle = float(np.median(lag_deviations))
        deviations.append(shifts.NORMAL_MAD * middle / math.sqrt(2))
    return max(deviations)


def _residual_deviation(fitted: _Fitted, values: Floats, stretches: Sequence[Stretch]) -> float:
    """Return the deviation of a night by the residuals of stretches, at least the floor.

    `values` are those of the stretches only.
    """
    return max(left_over(values, stretches), _FLOOR * fitted.limit)


def _with_smaller_deviation(fitted: _Fitted, stretches: Sequence[Stretch]) -> _Fitted | None:
    """Return the series with the deviation that its stretches leave, to cut it again by that.

    If many nights change, neighbours differ by that too, and the deviation of a night looks larger
    than it is. Return None if cutting again is of no use: the series is one level stretch, or its
    residuals are at least the share `_CLOSE` of the deviation.
    """
    if len(stretches) == 1 and not stretches[0].rate:
        return None
    deviation = _residual_deviation(fitted, fitted.values, stretches)
    if deviation >= _CLOSE * fitted.deviation:
        return None
    return replace(fitted, deviation=deviation)


def _with_deviation_of(stretches: Sequence[Stretch], fitted: _Fitted, values: Floats) -> _Fitted:
    """Return the series with the deviation that drifts leave, if it is less, to judge jumps by.

    Unlike `_with_smaller_deviation`, it takes any smaller deviation: the series is not cut again.
    """
    deviation = _residual_deviation(fitted, values, stretches)
    return replace(fitted, deviation=min(fitted.deviation, deviation))


def _stretches(fitted: _Fitted) -> list[Stretch]:
    """Return the stretches of a series, those that drift included."""
    all_levels = level_stretches(fitted.values, fitted.deviation)
    levels = _without_odd(fitted, all_levels)
    nights = len(fitted.values)
    if len(levels) == 1:
        return levels
    if nights <= _WINDOW:
        drifting = _drifting(fitted, 0, nights)
        return drifting or _merge(levels, fitted)
    stretches = levels
    for begin, end in [(0, nights), *_windows(levels, nights)]:
        overlapping = [each for each in stretches if each.begin < end and begin < each.end]
        if _has_drift(overlapping):
            continue  # a longer drift explains these nights
        stretches = _with_drifts(fitted, stretches, _drifting(fitted, begin, end))
    return _merge(stretches, fitted)


def _without_odd(fitted: _Fitted, levels: Sequence[Stretch]) -> list[Stretch]:
    """Return level stretches without the short ones that are only a few odd nights.

    An odd night counts for as many deviations as it has; two of them next to each other would be a
    stretch, with a third that is not odd.
    """
    merged_levels = list(levels)
    place = 1
    while place < len(merged_levels) - 1:
        three = merged_levels[place - 1 : place + 2]
        begin = three[0].begin
        end = three[-1].end
        joined = _line(fitted, begin, end)
        values = fitted.values[begin:end]
        short = three[1].end - three[1].begin <= SHORTEST + 1
        if short and _costs_less(fitted, values, [joined], three):
            merged_levels[place - 1 : place + 2] = [joined]
        else:
            place += 1
    return merged_levels


def _costs_less(
    fitted: _Fitted,
    values: Floats,
    stretches: Sequence[Stretch],
    other_stretches: Sequence[Stretch],
) -> bool:
    stretches_cost = cost(values, stretches, fitted.deviation)
    return stretches_cost <= cost(values, other_stretches, fitted.deviation)


def _windows(levels: Sequence[Stretch], nights: int) -> list[tuple[int, int]]:
    """Return the nights around steps, with near steps in one window."""
    windows: list[tuple[int, int]] = []
    for stretch in levels[1:]:
        begin = max(0, stretch.begin - _AROUND)
        end = min(nights, stretch.begin + _AROUND)
        if windows and begin < windows[-1][1]:
            begin = windows.pop()[0]
        windows.append((begin, end))
    return windows


def _drifting(fitted: _Fitted, begin: int, end: int) -> list[Stretch]:
    """Return the stretches of the nights [begin, end); empty if none of them drifts.

    More nights than a window has are taken together, by their medians.
    """
    block_size = math.ceil((end - begin) / _WINDOW)
    count = (end - begin) // block_size
    end = begin + count * block_size
    selected_values = fitted.values[begin:end]
    values = selected_values
    deviation = fitted.deviation
    if block_size > 1:
        blocks = values.reshape(count, block_size)
        values = np.median(blocks, axis=1)
        deviation = _deviation(values, fitted.limit)
    floor = _FLOOR * fitted.limit
    stretches: list[Stretch] = []
    for stretch in drifting_stretches(values, deviation, fitted.limit, floor):
        stretch_begin = begin + stretch.begin * block_size
        stretch_end = begin + stretch.end * block_size
        rate = 0.0
        if abs(stretch.change) >= fitted.limit:
            rate = stretch.rate / block_size
        stretches.append(_line(fitted, stretch_begin, stretch_end, rate))
    if not _has_drift(stretches):
        return []
    settled = _with_deviation_of(stretches, fitted, fitted.values[begin:end])
    merged = _merge(stretches, fitted)
    bent = [_lasting(settled, each) for each in _bent(settled, merged)]
    return bent if _has_drift(bent) else []


def _lasting(fitted: _Fitted, stretch: Stretch) -> Stretch:
    """Return a stretch, made level if too little of its drift is left after a bend."""
    is_short = stretch.end - stretch.begin < SHORTEST_DRIFT
    is_small = abs(stretch.change) < fitted.limit
    if is_short or is_small:
        return _line(fitted, stretch.begin, stretch.end)
    return stretch


def _bent(fitted: _Fitted, stretches: Sequence[Stretch]) -> list[Stretch]:
    """Return the stretches with a bend in place of each jump that explains the nights no better.

    The ends of a drift are uncertain, and a line that is cut next to its bend has a jump.
    """
    bent = list(stretches)
    for place in range(len(bent) - 1):
        previous_stretch, next_stretch = bent[place : place + 2]
        bend = _bend(fitted, previous_stretch, next_stretch)
        if bend is not None:
            bent[place] = replace(previous_stretch, end=bend)
            bent[place + 1] = replace(next_stretch, begin=bend)
    return bent


def _bend(fitted: _Fitted, previous_stretch: Stretch, next_stretch: Stretch) -> int | None:
    """Return the first night after two lines meet; None if a jump costs less, or they do not."""
    if previous_stretch.rate == next_stretch.rate:
        return None
    level_difference = previous_stretch.level - next_stretch.level
    meet = level_difference / (next_stretch.rate - previous_stretch.rate)
    bend = math.floor(meet + _ROUNDING) + 1
    if not previous_stretch.begin < bend < next_stretch.end:
        return None
    values = fitted.values[previous_stretch.begin : next_stretch.end]
    jumping = np.concatenate([previous_stretch.values(), next_stretch.values()])
    line_before = replace(previous_stretch, end=bend).values()
    line_after = replace(next_stretch, begin=bend).values()
    bending = np.concatenate((line_before, line_after))
    bending_cost = np.abs(values - bending).sum()
    jumping_cost = np.abs(values - jumping).sum()
    more = bending_cost - jumping_cost
    if more <= PENALTY * fitted.deviation:
        return bend
    return None


def _line(fitted: _Fitted, begin: int, end: int, rate: float = 0.0) -> Stretch:
    nights = np.arange(begin, end)
    level = np.median(fitted.values[begin:end] - rate * nights)
    return Stretch(begin, end, float(level), rate)


def _with_drifts(
    fitted: _Fitted, stretches: Sequence[Stretch], drifting: Sequence[Stretch]
) -> list[Stretch]:
    """Return the stretches with those that drift in their places."""
    drifts = [stretch for stretch in drifting if stretch.rate]
    if not drifts:
        return list(stretches)
    drifts_begin = drifts[0].begin
    drifts_end = drifts[-1].end
    inner = [stretch for stretch in drifting if drifts_begin <= stretch.begin < drifts_end]
    stretches_before: list[Stretch] = []
    stretches_after: list[Stretch] = []
    for stretch in stretches:
        if stretch.begin < drifts_begin:
            end = min(stretch.end, drifts_begin)
            stretches_before.append(_line(fitted, stretch.begin, end, stretch.rate))
        if stretch.end > drifts_end:
            begin = max(stretch.begin, drifts_end)
            stretches_after.append(_line(fitted, begin, stretch.end, stretch.rate))
    return [*stretches_before, *inner, *stretches_after]


def _merge(stretches: Sequence[Stretch], fitted: _Fitted) -> list[Stretch]:
    """Join level neighbours until all are apart by the limit, the most alike ones first."""
    stretches = list(stretches)
    while True:
        closest_place = None
        smallest_difference = fitted.limit
        for place, (previous_stretch, next_stretch) in enumerate(itertools.pairwise(stretches)):
            difference = abs(next_stretch.level - previous_stretch.level)
            are_level = previous_stretch.rate == next_stretch.rate == 0
            if are_level and difference < smallest_difference:
                closest_place = place
                smallest_difference = difference
        if closest_place is None:
            return stretches
        before_closest = stretches[closest_place]
        after_closest = stretches[closest_place + 1]
        joined = _line(fitted, before_closest.begin, after_closest.end)
        stretches[closest_place : closest_place + 2] = [joined]


def _make_changes(fitted: _Fitted, stretches: Sequence[Stretch]) -> Changes:
    """Return the steps between stretches, and the drifts: stretches in a row without a step."""
    level_steps: list[LevelStep] = []
    drifts: list[list[Stretch]] = []
    previous_stretch = None
    for stretch in stretches:
        goes_on = False
        if previous_stretch is not None:
            if _is_step(fitted, previous_stretch, stretch):
                level_steps.append(_step(fitted, previous_stretch, stretch))
            else:
                goes_on = previous_stretch.rate * stretch.rate > 0
        if goes_on:
            drifts[-1].append(stretch)
        elif stretch.rate:
            drifts.append([stretch])
        previous_stretch = stretch
    ramps = tuple(_ramp(fitted, drift) for drift in drifts)
    return Changes(tuple(level_steps), ramps)


def _is_step(fitted: _Fitted, previous_stretch: Stretch, next_stretch: Stretch) -> bool:
    """Tell whether the values jump between two stretches: by more than a drift next to them."""
    if previous_stretch.rate == next_stretch.rate == 0:
        return True
    jump = abs(_jump(previous_stretch, next_stretch))
    doubt = (_variance_at_end(previous_stretch) + _variance_at_end(next_stretch)) ** 0.5
    steepest_rate = max(abs(previous_stretch.rate), abs(next_stretch.rate))
    drifted = _DRIFTED * steepest_rate
    sure_jump = _SURE_JUMP * doubt * fitted.deviation
    return jump >= max(fitted.limit, drifted, sure_jump)


def _variance_at_end(stretch: Stretch) -> float:
    """Return the variance of a fitted line at its first or last night, that of a night being 1.

    By least squares a line through n evenly spaced nights has the variance 1/n + d² / S at the
    distance d from its middle, where S = n (n² - 1) / 12. At its end, d = (n - 1) / 2, that is
    (4 n - 2) / (n (n + 1)), or nearly 4 / n.
    """
    return 4 / (stretch.end - stretch.begin)


def _jump(previous_stretch: Stretch, next_stretch: Stretch) -> float:
    """Return the distance of the begin of a stretch from the continued line of the one before."""
    if previous_stretch.rate == next_stretch.rate == 0:
        return next_stretch.level - previous_stretch.level
    boundary = next_stretch.begin - 0.5
    return next_stretch.value(boundary) - previous_stretch.value(boundary)


def _ramp(fitted: _Fitted, drifts: Sequence[Stretch]) -> Ramp:
    begin = drifts[0].begin
    end = drifts[-1].end
    level_before = drifts[0].value(begin)
    level_after = drifts[-1].value(end - 1)
    level_change = level_after - level_before
    night_count = end - 1 - begin
    change = fitted.to_plain_change(level_change)
    rate = fitted.to_plain_change(level_change / night_count)
    return Ramp(
        first_night=fitted.places[begin],
        last_night=fitted.places[end - 1],
        level_before=fitted.to_plain_value(level_before),
        level_after=fitted.to_plain_value(level_after),
        change=change,
        rate=rate,
    )


def _step(fitted: _Fitted, previous_stretch: Stretch, next_stretch: Stretch) -> LevelStep:
    dates = _date_step(fitted, previous_stretch, next_stretch)
    begin = previous_stretch.begin
    boundary = dates.best
    end = next_stretch.end
    nights = np.arange(begin, end) - (boundary - 0.5)
    rates = np.where(nights < 0, previous_stretch.rate, next_stretch.rate)
    straight = fitted.values[begin:end] - rates * nights
    old = straight[: boundary - begin]
    new = straight[boundary - begin :]
    level_before = float(np.median(old))
    level_after = float(np.median(new))
    change = fitted.to_plain_change(level_after - level_before)
    step = LevelStep(
        index=fitted.places[boundary],
        level_before=fitted.to_plain_value(level_before),
        level_after=fitted.to_plain_value(level_after),
        change=change,
        earliest=fitted.places[dates.earliest],
        latest=fitted.places[dates.latest],
    )
    interval = shifts.find_interval(new.tolist(), old.tolist())
    if interval is None:
        return step
    lower_bound = fitted.to_plain_change(interval.lower_bound)
    upper_bound = fitted.to_plain_change(interval.upper_bound)
    return replace(
        step,
        lower_bound=lower_bound,
        upper_bound=upper_bound,
    )


@dataclass(frozen=True)
class _Dated:
    """The first night of a stretch, and the range of nights that it may begin at."""

    best: int
    earliest: int
    latest: int


def _date_step(fitted: _Fitted, previous_stretch: Stretch, next_stretch: Stretch) -> _Dated:
    """Return the first night of the second of two stretches.

    Next to a drift it is the night at which both lines explain the nights best, because a long
    history was cut in steps of several nights.
    """
    begin = previous_stretch.begin
    end = next_stretch.end
    values = fitted.values[begin:end]
    if previous_stretch.rate == next_stretch.rate == 0:
        upward = prefix_costs(values.tolist())
        costs_backward = prefix_costs(values[::-1].tolist())
        downward = costs_backward[::-1]
        best = next_stretch.begin
    else:
        longer = replace(previous_stretch, end=end).values()
        extended_next = replace(next_stretch, begin=begin).values()
        upward = np.append(0.0, np.cumsum(np.abs(values - longer)))
        distances = np.abs(values - extended_next)
        downward = np.append(np.cumsum(distances[::-1])[::-1], 0.0)
        inner_costs = (upward + downward)[1:-1]
        best = begin + 1 + int(np.argmin(inner_costs))
    costs = (upward + downward) / fitted.deviation
    limit = costs[best - begin] + _PLAUSIBLE
    plausible = np.flatnonzero(costs[1:-1] <= limit)
    first_plausible = begin + 1 + int(plausible[0])
    last_plausible = begin + 1 + int(plausible[-1])
    return _Dated(best, first_plausible, last_plausible)
