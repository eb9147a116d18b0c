"""Made series of nights, flat or with one step, and how well change points are found in them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from nights.divisive import change_points
from nights.noise import METRIC, Floats, Noise, histories, pairs
from nights.rates import Rate
from tracekit.comparison.shifts import find_middle
from tracekit.nightly.history.changes import steps
from tracekit.nightly.history.pairs import changes

NIGHTS = 30
STEP = 0.05
_THRESHOLD = 0.03
_RUNS = 10
_ODD, _OFF = 1 / 15, 0.1
_HALF = 0.5
Finder = Callable[[Floats], list[int]]


def ours(logs: Floats) -> list[int]:
    """The steps of `tracekit.nightly.history.changes`, of half the threshold at least."""
    found = steps(np.exp(logs).tolist(), scale="ratio", min_change=_THRESHOLD / 2)
    return [step.index for step in found]


def divisive(logs: Floats) -> list[int]:
    """E-divisive with a t-test, p < 0.001, of the whole threshold at least."""
    return change_points(logs, math.log1p(_THRESHOLD))


FINDERS: Mapping[str, Finder] = {"tracekit": ours, "E-divisive, p < 0.001, 3 %": divisive}


@dataclass(frozen=True)
class Seen:
    """How many points flat series have, and how often a step is dated within a night.

    Attributes:
        points: Points that are false, in all flat series together.
        dated: How often, by how many nights there are since the step.
    """

    points: int
    dated: Mapping[int, Rate]


def seen(finder: Finder, flat: Floats, since: tuple[int, ...] = (3, 5, 10)) -> Seen:
    """Look for change points in flat series, and in the same with a step so many nights ago."""
    dated: dict[int, Rate] = {}
    for nights in since:
        begins = NIGHTS - nights
        moved = flat + np.where(np.arange(NIGHTS) >= begins, math.log1p(STEP), 0.0)
        hits = sum(any(abs(one - begins) <= 1 for one in finder(series)) for series in moved)
        dated[nights] = Rate(hits, len(flat))
    return Seen(sum(len(finder(one)) for one in flat), dated)


def changes_over_nights(within: float, count: int, random: np.random.Generator) -> Floats:
    """Make series of the change from the reference, one session of ten pairs a night."""
    noise = Noise("", within=within)
    nights = [
        find_middle(changes(pairs(noise, 0.0, _RUNS, 1, random), METRIC, "ratio"))
        for _ in range(count * NIGHTS)
    ]
    return np.array(nights).reshape(count, NIGHTS)


def values_over_nights(night: float, count: int, random: np.random.Generator) -> Floats:
    """Make series of the night's median, where there is no reference."""
    noise = Noise("", night=night)
    return np.median(histories(noise, count, NIGHTS, _RUNS, random), axis=-1)


def odd_nights(within: float, count: int, random: np.random.Generator) -> Floats:
    """Make series of changes in which one night of 15 is off by 10 %, either way."""
    flat = changes_over_nights(within, count, random)
    signs = random.choice([-1.0, 1.0], flat.shape)
    return flat + np.where(random.random(flat.shape) < _ODD, signs * math.log1p(_OFF), 0.0)


def alike_neighbours(night: float, count: int, random: np.random.Generator) -> Floats:
    """Make series of values in which what a night is off by goes over to the next, by half."""
    made = random.normal(0, night, (count, NIGHTS))
    for at in range(1, NIGHTS):
        made[:, at] = _HALF * made[:, at - 1] + math.sqrt(1 - _HALF**2) * made[:, at]
    return made


SERIES: Mapping[str, Callable[[int, np.random.Generator], Floats]] = {
    "changes, within 1 %": partial(changes_over_nights, 0.01),
    "changes, within 2 %": partial(changes_over_nights, 0.02),
    "changes, within 3 %": partial(changes_over_nights, 0.03),
    "changes, within 2 %, odd nights": partial(odd_nights, 0.02),
    "values, from night to night 0.5 %": partial(values_over_nights, 0.005),
    "values, from night to night 2 %": partial(values_over_nights, 0.02),
    "values, from night to night 4 %": partial(values_over_nights, 0.04),
    "values, 2 %, neighbours alike": partial(alike_neighbours, 0.02),
}
