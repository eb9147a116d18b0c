"""What changed in values of one night each: steps, which stayed, and drifts, a little each night.

The values are cut into stretches that stay level, and again into stretches of which some drift; the
criterion (`history/stretches.py`) decides whether a drift explains the nights better than steps. A
step has a date, and so a commit; a drift has a range and a rate, and no night of its own.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tracekit.compare import NORMAL_MAD, Scale, shift
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

_PLAUSIBLE = 2.0  # a cut elsewhere that costs as many deviations more is not ruled out
_FLOOR = 0.5  # of the least change that matters: nights that are more alike than this do not count
_WINDOW = 300  # values that are searched for drifts at once
_AROUND = 100  # nights on both sides of a step, among which it may be a drift
_SURE_JUMP = 3.0  # deviations of what two lines leave open, that a step beside a drift must pass
_ROUNDING = 1e-6  # of a night: lines that meet at a night have left it after it
_REFITS = 4  # times that a series is cut again by a smaller deviation
_CLOSE = 0.8  # of the deviation: what stretches leave over is less where it was too large
_DRIFTED = 2.0  # nights of a drift that a step beside it must be more than


@dataclass(frozen=True)
class LevelStep:
    """A change that stayed, from the night `index` on: a place in the series, gaps included.

    `before` and `after` are medians of the stretches on both sides, of the candidate's values or of
    its changes from the reference, as `of` says. `change` is a ratio less one, or a difference; its
    95 % interval takes the night as known, and is None where stretches are too short. The stretch
    may have begun between `earliest` and `latest`.
    """

    index: int
    before: float
    after: float
    change: float
    low: float | None = None
    high: float | None = None
    earliest: int = 0
    latest: int = 0
    of: Literal["value", "change"] = "value"


@dataclass(frozen=True)
class Ramp:
    """A drift: a change that came a little each night, over the nights `first` to `last`.

    Both are places in the series, gaps included. `before` and `after` are the fitted line's ends,
    of values or changes as `of` says; `change` is the whole change, and `rate` that of one measured
    night, each a ratio less one, or a difference.
    """

    first: int
    last: int
    before: float
    after: float
    change: float
    rate: float
    of: Literal["value", "change"] = "value"


@dataclass(frozen=True)
class Changes:
    """What changed in a series: steps and drifts, each oldest first."""

    steps: tuple[LevelStep, ...] = ()
    ramps: tuple[Ramp, ...] = ()


def steps(
    values: Sequence[float | None], *, scale: Scale = "ratio", least: float = 0.015
) -> tuple[LevelStep, ...]:
    """Return the steps alone of `trend`."""
    return trend(values, scale=scale, least=least).steps


def trend(
    values: Sequence[float | None], *, scale: Scale = "ratio", least: float = 0.015
) -> Changes:
    """Find the steps and drifts in values of one night each, oldest first, of at least `least`.

    None, a value that is no number, and one of which there is no ratio where ratios are asked for,
    are gaps. `least` is a ratio less one, or a difference, above 0.
    """
    places = [place for place, value in enumerate(values) if _usable(value, scale)]
    known = [float(value) for value in values if value is not None and _usable(value, scale)]
    if len(known) < 2 * SHORTEST:
        return Changes()
    scaled = np.log(known) if scale == "ratio" else np.asarray(known, float)
    limit = math.log1p(least) if scale == "ratio" else least
    fitted = _Fitted(scaled, limit, _deviation(scaled, limit), tuple(places), scale)
    stretches = _stretches(fitted)
    for _ in range(_REFITS):
        closer = _look_closer(fitted, stretches)
        if closer is None:
            break
        fitted = closer
        stretches = _stretches(fitted)
    if any(each.rate for each in stretches):
        fitted = _settle(fitted, scaled, stretches)
    return _trend(fitted, stretches)


@dataclass(frozen=True, eq=False)
class _Fitted:
    """Known values where changes add up, the least change that matters, and their places."""

    values: Floats
    limit: float
    deviation: float
    places: tuple[int, ...]
    scale: Scale

    def plain(self, value: float) -> float:
        return math.exp(value) if self.scale == "ratio" else value

    def moved(self, change: float) -> float:
        return math.expm1(change) if self.scale == "ratio" else change


def _usable(value: float | None, scale: Scale) -> bool:
    return value is not None and math.isfinite(value) and (scale == "difference" or value > 0)


def _deviation(values: Floats, limit: float) -> float:
    """Return how far a night deviates, by how near ones differ, which a step hardly touches.

    Nights up to three apart are taken, for next to each other they may be alike.
    """
    deviations = [_FLOOR * limit]
    for lag in range(1, SHORTEST + 1):
        apart = values[lag:] - values[:-lag]
        middle = float(np.median(np.abs(apart - np.median(apart))))
        deviations.append(NORMAL_MAD * middle / math.sqrt(2))
    return max(deviations)


def _look_closer(fitted: _Fitted, stretches: Sequence[Stretch]) -> _Fitted | None:
    """Return the same with a deviation that hides less; None where it was close enough.

    Where many nights change, neighbours differ by that too, and the deviation of a night looks
    larger than it is. What the stretches leave over is nearer to it.
    """
    if len(stretches) == 1 and not stretches[0].rate:
        return None
    left = max(left_over(fitted.values, stretches), _FLOOR * fitted.limit)
    return replace(fitted, deviation=left) if left < _CLOSE * fitted.deviation else None


def _stretches(fitted: _Fitted) -> list[Stretch]:
    """Return the stretches of a series, those that drift included."""
    levels = _without_odd(fitted, level_stretches(fitted.values, fitted.deviation))
    nights = len(fitted.values)
    if len(levels) == 1:
        return levels
    if nights <= _WINDOW:
        drifting = _drifting(fitted, 0, nights)
        return drifting or _merge(levels, fitted)
    stretches = levels
    for begin, end in [(0, nights), *_windows(levels, nights)]:
        if any(each.rate and each.begin < end and begin < each.end for each in stretches):
            continue  # a longer drift explains these nights
        stretches = _with_drifts(fitted, stretches, _drifting(fitted, begin, end))
    return _merge(stretches, fitted)


def _without_odd(fitted: _Fitted, levels: Sequence[Stretch]) -> list[Stretch]:
    """Return level stretches without those few nights that are a step there and back only if odd.

    An odd night counts for as many deviations as it has; two of them next to each other would be a
    stretch, with a third that is not odd.
    """
    merged_levels = list(levels)
    place = 1
    while place < len(merged_levels) - 1:
        three = merged_levels[place - 1 : place + 2]
        begin, end = three[0].begin, three[-1].end
        joined = _line(fitted, begin, end)
        values = fitted.values[begin:end]
        short = three[1].end - three[1].begin <= SHORTEST + 1
        if short and _costs_less(fitted, values, [joined], three):
            merged_levels[place - 1 : place + 2] = [joined]
        else:
            place += 1
    return merged_levels


def _costs_less(
    fitted: _Fitted, values: Floats, stretches: Sequence[Stretch], others: Sequence[Stretch]
) -> bool:
    return cost(values, stretches, fitted.deviation) <= cost(values, others, fitted.deviation)


def _windows(levels: Sequence[Stretch], nights: int) -> list[tuple[int, int]]:
    """Return the nights around steps, those together that are near each other."""
    windows: list[tuple[int, int]] = []
    for cut in (stretch.begin for stretch in levels[1:]):
        begin = max(0, cut - _AROUND)
        end = min(nights, cut + _AROUND)
        if windows and begin < windows[-1][1]:
            begin = windows.pop()[0]
        windows.append((begin, end))
    return windows


def _drifting(fitted: _Fitted, begin: int, end: int) -> list[Stretch]:
    """Return the stretches of the nights [begin, end); empty where none of them drifts.

    More nights than a window has are taken together, by their medians.
    """
    together = math.ceil((end - begin) / _WINDOW)
    count = (end - begin) // together
    end = begin + count * together
    values = fitted.values[begin:end]
    if together > 1:
        values = np.median(values.reshape(count, together), axis=1)
    deviation = fitted.deviation if together == 1 else _deviation(values, fitted.limit)
    floor = _FLOOR * fitted.limit
    stretches: list[Stretch] = []
    for each in drifting_stretches(values, deviation, fitted.limit, floor):
        first = begin + each.begin * together
        last = begin + each.end * together
        rate = each.rate / together if abs(each.change) >= fitted.limit else 0.0
        stretches.append(_line(fitted, first, last, rate))
    if all(not each.rate for each in stretches):
        return []
    closer = _settle(fitted, fitted.values[begin:end], stretches)
    bent = [_lasting(closer, each) for each in _bent(closer, _merge(stretches, fitted))]
    return bent if any(each.rate for each in bent) else []


def _settle(fitted: _Fitted, values: Floats, stretches: Sequence[Stretch]) -> _Fitted:
    """Return the same with what drifts leave over as the deviation, where that is less."""
    left = max(left_over(values, stretches), _FLOOR * fitted.limit)
    return replace(fitted, deviation=min(fitted.deviation, left))


def _lasting(fitted: _Fitted, stretch: Stretch) -> Stretch:
    """Return a stretch, level where what is left of its drift after a bend is too little."""
    short = stretch.end - stretch.begin < SHORTEST_DRIFT
    small = abs(stretch.change) < fitted.limit
    return _line(fitted, stretch.begin, stretch.end) if short or small else stretch


def _bent(fitted: _Fitted, stretches: Sequence[Stretch]) -> list[Stretch]:
    """Return the stretches with a bend in place of each jump that explains the nights no better.

    Where a drift begins or ends is uncertain, and a line cut beside its bend has a jump.
    """
    bent = list(stretches)
    for place in range(len(bent) - 1):
        before, after = bent[place : place + 2]
        bend = _bend(fitted, before, after)
        if bend is not None:
            bent[place] = replace(before, end=bend)
            bent[place + 1] = replace(after, begin=bend)
    return bent


def _bend(fitted: _Fitted, before: Stretch, after: Stretch) -> int | None:
    """Return the first night after two lines meet; None where a jump costs less, or they do not."""
    if before.rate == after.rate:
        return None
    meet = (before.level - after.level) / (after.rate - before.rate)
    bend = math.floor(meet + _ROUNDING) + 1
    if not before.begin < bend < after.end:
        return None
    jumping = np.concatenate([before.values(), after.values()])
    lines = replace(before, end=bend).values(), replace(after, begin=bend).values()
    values = fitted.values[before.begin : after.end]
    more = np.abs(values - np.concatenate(lines)).sum() - np.abs(values - jumping).sum()
    return bend if more <= PENALTY * fitted.deviation else None


def _line(fitted: _Fitted, begin: int, end: int, rate: float = 0.0) -> Stretch:
    nights = np.arange(begin, end)
    return Stretch(begin, end, float(np.median(fitted.values[begin:end] - rate * nights)), rate)


def _with_drifts(
    fitted: _Fitted, stretches: Sequence[Stretch], drifting: Sequence[Stretch]
) -> list[Stretch]:
    """Return the stretches with those that drift in their places."""
    drifts = [each for each in drifting if each.rate]
    if not drifts:
        return list(stretches)
    first = drifts[0].begin
    last = drifts[-1].end
    inner = [each for each in drifting if first <= each.begin < last]
    before = [
        _line(fitted, each.begin, min(each.end, first), each.rate)
        for each in stretches
        if each.begin < first
    ]
    after = [
        _line(fitted, max(each.begin, last), each.end, each.rate)
        for each in stretches
        if each.end > last
    ]
    return [*before, *inner, *after]


def _merge(stretches: Sequence[Stretch], fitted: _Fitted) -> list[Stretch]:
    """Join level neighbours until all are apart by the limit, the most alike ones first."""
    stretches = list(stretches)
    while True:
        apart = {
            place: abs(after.level - before.level)
            for place, (before, after) in enumerate(itertools.pairwise(stretches))
            if before.rate == after.rate == 0
        }
        least = min(apart, key=apart.__getitem__, default=None)
        if least is None or apart[least] >= fitted.limit:
            return stretches
        joined = _line(fitted, stretches[least].begin, stretches[least + 1].end)
        stretches[least : least + 2] = [joined]


def _trend(fitted: _Fitted, stretches: Sequence[Stretch]) -> Changes:
    """Return the steps between stretches, and the drifts that no step divides."""
    found: list[LevelStep] = []
    drifts: list[list[Stretch]] = []
    for before, after in itertools.pairwise([None, *stretches]):
        stepped = before is not None and after is not None and _is_step(fitted, before, after)
        if before is not None and after is not None and stepped:
            found.append(_step(fitted, before, after))
        if after is None or not after.rate:
            continue
        goes_on = before is not None and before.rate * after.rate > 0 and not stepped
        if goes_on:
            drifts[-1].append(after)
        else:
            drifts.append([after])
    return Changes(tuple(found), tuple(_ramp(fitted, each) for each in drifts))


def _is_step(fitted: _Fitted, before: Stretch, after: Stretch) -> bool:
    """Tell whether the values jump between two stretches: by more than a drift beside them."""
    if before.rate == after.rate == 0:
        return True
    jump = abs(_jump(before, after))
    doubt = sum(4 / (each.end - each.begin) for each in (before, after)) ** 0.5
    drifted = _DRIFTED * max(abs(before.rate), abs(after.rate))
    return jump >= max(fitted.limit, drifted, _SURE_JUMP * doubt * fitted.deviation)


def _jump(before: Stretch, after: Stretch) -> float:
    """Return how far a stretch begins from where the one before it would have gone on."""
    if before.rate == after.rate == 0:
        return after.level - before.level
    between = after.begin - 0.5
    return after.value(between) - before.value(between)


def _ramp(fitted: _Fitted, drifts: Sequence[Stretch]) -> Ramp:
    begin = drifts[0].begin
    end = drifts[-1].end
    before = drifts[0].value(begin)
    after = drifts[-1].value(end - 1)
    return Ramp(
        first=fitted.places[begin],
        last=fitted.places[end - 1],
        before=fitted.plain(before),
        after=fitted.plain(after),
        change=fitted.moved(after - before),
        rate=fitted.moved((after - before) / (end - 1 - begin)),
    )


def _step(fitted: _Fitted, before: Stretch, after: Stretch) -> LevelStep:
    dates = _date_step(fitted, before, after)
    begin, at, end = before.begin, dates.best, after.end
    nights = np.arange(begin, end) - (at - 0.5)
    rates = np.where(nights < 0, before.rate, after.rate)
    straight = fitted.values[begin:end] - rates * nights
    old, new = straight[: at - begin], straight[at - begin :]
    interval = shift(new.tolist(), old.tolist())
    return LevelStep(
        index=fitted.places[at],
        before=fitted.plain(float(np.median(old))),
        after=fitted.plain(float(np.median(new))),
        change=fitted.moved(float(np.median(new)) - float(np.median(old))),
        low=fitted.moved(interval.low) if interval else None,
        high=fitted.moved(interval.high) if interval else None,
        earliest=fitted.places[dates.earliest],
        latest=fitted.places[dates.latest],
    )


@dataclass(frozen=True)
class _Dated:
    """Where a stretch begins, and from where to where it may."""

    best: int
    earliest: int
    latest: int


def _date_step(fitted: _Fitted, before: Stretch, after: Stretch) -> _Dated:
    """Return where the second of two stretches begins.

    Beside a drift that is where both lines explain the nights best, as a long history was cut in
    steps of several nights.
    """
    begin, end = before.begin, after.end
    values = fitted.values[begin:end]
    if before.rate == after.rate == 0:
        upward = prefix_costs(values.tolist())
        downward = prefix_costs(values[::-1].tolist())[::-1]
        best = after.begin
    else:
        longer = replace(before, end=end).values()
        earlier = replace(after, begin=begin).values()
        upward = np.append(0.0, np.cumsum(np.abs(values - longer)))
        downward = np.append(np.cumsum(np.abs(values - earlier)[::-1])[::-1], 0.0)
        best = begin + 1 + int(np.argmin((upward + downward)[1:-1]))
    costs = (upward + downward) / fitted.deviation
    plausible = np.flatnonzero(costs[1:-1] <= costs[best - begin] + _PLAUSIBLE)
    return _Dated(best, begin + 1 + int(plausible[0]), begin + 1 + int(plausible[-1]))
