"""Series with known changes, by kind, and whether a trend names them rightly.

Noise is 0.9 % from night to night, as of nights against a commit that stays. A tenth of the series
have an odd night or two.
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tracekit.nightly.history.changes import trend
from tracekit.nightly.history.trend_changes import Changes, LevelStep, Ramp

NOISE = 0.009
_ODD = (0.25, -0.2)


@dataclass(frozen=True)
class Truth:
    """What a series was made of: dates of steps, and (first, last, rate) of drifts."""

    values: list[float]
    steps: tuple[int, ...] = ()
    drifts: tuple[tuple[int, int, float], ...] = ()


def _make_truth(
    source: random.Random,
    nights: int,
    *,
    steps: Sequence[tuple[int, float]] = (),
    drifts: Sequence[tuple[int, int, float]] = (),
    odd: int = 0,
) -> Truth:
    logs = [source.gauss(0, NOISE) for _ in range(nights)]
    for step_night, size in steps:
        for night in range(step_night, nights):
            logs[night] += math.log1p(size)
    for first_night, last_night, rate in drifts:
        for night in range(first_night, nights):
            logs[night] += math.log1p(rate) * (min(night, last_night) - first_night)
    for night in source.sample(range(nights), odd):
        logs[night] += source.choice(_ODD)
    return Truth([math.exp(log) for log in logs], tuple(at for at, _ in steps), tuple(drifts))


def _draw_signed(source: random.Random, size: float) -> float:
    return source.choice((-1, 1)) * size


def flat(source: random.Random) -> Truth:
    """Nothing changes."""
    return _make_truth(source, source.randint(20, 60))


def odd(source: random.Random) -> Truth:
    """Nothing changes, but two nights are odd."""
    return _make_truth(source, source.randint(20, 60), odd=2)


def step(source: random.Random) -> Truth:
    """One step of 5 to 12 %, five nights or more from both ends."""
    nights = source.randint(20, 60)
    size = _draw_signed(source, source.uniform(0.05, 0.12))
    return _make_truth(source, nights, steps=[(source.randint(5, nights - 5), size)])


def two_steps(source: random.Random) -> Truth:
    """A step of 5 to 12 % up or down, another eight nights or more later, and an odd night."""
    nights = source.randint(30, 60)
    first_night = source.randint(7, nights - 16)
    second = source.randint(first_night + 8, nights - 7)
    sizes = [_draw_signed(source, source.uniform(0.05, 0.12)) for _ in range(2)]
    return _make_truth(source, nights, steps=[(first_night, sizes[0]), (second, sizes[1])], odd=1)


def ramp(source: random.Random) -> Truth:
    """All nights drift, by 0.5 to 3 % each."""
    nights = source.randint(12, 60)
    rate = _draw_signed(source, source.uniform(0.005, 0.03))
    return _make_truth(source, nights, drifts=[(0, nights - 1, rate)])


def bent(source: random.Random) -> Truth:
    """A drift of 1 to 3 % a night begins, and in half of the series ends."""
    nights = source.randint(30, 60)
    first_night = source.randint(8, nights - 16)
    last_night = source.choice((nights - 1, min(nights - 6, first_night + source.randint(10, 20))))
    rate = _draw_signed(source, source.uniform(0.01, 0.03))
    return _make_truth(source, nights, drifts=[(first_night, last_night, rate)])


def odd_ramp(source: random.Random) -> Truth:
    """All nights drift, and two are odd."""
    nights = source.randint(20, 60)
    rate = _draw_signed(source, source.uniform(0.005, 0.03))
    return _make_truth(source, nights, drifts=[(0, nights - 1, rate)], odd=2)


def stepped_ramp(source: random.Random) -> Truth:
    """All nights drift by 0.5 to 1.5 %, and one has a step of 10 to 20 % too."""
    nights = source.randint(24, 60)
    step_night = source.randint(9, nights - 9)
    rate = _draw_signed(source, source.uniform(0.005, 0.015))
    size = _draw_signed(source, source.uniform(0.10, 0.20))
    return _make_truth(source, nights, steps=[(step_night, size)], drifts=[(0, nights - 1, rate)])


KINDS: dict[str, Callable[[random.Random], Truth]] = {
    "flat": flat,
    "outliers": odd,
    "step": step,
    "two steps and an outlier": two_steps,
    "ramp": ramp,
    "a ramp between levels": bent,
    "ramp with outliers": odd_ramp,
    "ramp with a step": stepped_ramp,
}


def is_dated(level_step: LevelStep, night: int) -> bool:
    """Tell whether a step is dated within a night, or within what it leaves open."""
    return (
        min(level_step.earliest, level_step.index - 1)
        <= night
        <= max(level_step.latest, level_step.index + 1)
    )


def is_measured(found_ramp: Ramp, drift: tuple[int, int, float], nights: int) -> bool:
    """Tell whether a drift is as fast as it was within a quarter, and where it was.

    A bend is as far off as the noise hides it: by three deviations over the rate, three at least.
    """
    first_night, last_night, rate = drift
    near = max(3.0, 3 * NOISE / abs(rate))
    near_first = abs(found_ramp.first_night - first_night) <= near
    near_last = abs(found_ramp.last_night - last_night) <= near
    return abs(found_ramp.rate - rate) <= abs(rate) / 4 and near_first and near_last and nights > 0


def is_named(truth: Truth, changes: Changes) -> bool:
    """Tell whether all changes are there, as what they were, and no other is."""
    if len(changes.steps) != len(truth.steps):
        return False
    if not all(map(is_dated, changes.steps, truth.steps)):
        return False
    if not truth.drifts:
        return not changes.ramps
    if not truth.steps:
        nights = len(truth.values)
        return len(changes.ramps) == 1 and is_measured(changes.ramps[0], truth.drifts[0], nights)
    [(_, _, rate)] = truth.drifts  # a step divides the drift
    return bool(changes.ramps) and all(
        abs(found_ramp.rate - rate) <= abs(rate) / 2 for found_ramp in changes.ramps
    )


@dataclass(frozen=True)
class Score:
    """How many series of a kind were made, named rightly, and have a step that is none."""

    made_count: int
    named_count: int
    stepped: int


def score(kind: str, seed: int, count: int) -> Score:
    """Return how the trend of so many series of a kind is named."""
    source = random.Random(f"{kind} {seed}")
    named_count = stepped = 0
    for _ in range(count):
        truth = KINDS[kind](source)
        changes = trend(truth.values)
        named_count += is_named(truth, changes)
        stepped += len(changes.steps) > len(truth.steps)
    return Score(count, named_count, stepped)
