"""How the times of made nights vary. All is on logarithms, where slow-downs add up."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracekit.nightly.history.night import Pair

METRIC = "step_p50"
_STEP = 20e6  # ns
_ORDERS = ("abba", "baab")
_SLOWED = (0.1, 0.5)  # how much longer a turn takes that something came into
_FREEDOM = 3  # of Student's t: the heaviest tails of which there is a variance

Floats = NDArray[np.float64]


def _normal(random: np.random.Generator, count: int) -> Floats:
    return random.normal(0, 1, count)


def _heavy(random: np.random.Generator, count: int) -> Floats:
    return random.standard_t(_FREEDOM, count)


def _disturbed(random: np.random.Generator, count: int) -> Floats:
    return random.normal(0, 1, count) * np.where(random.random(count) < 1 / 6, 8, 1)


def _lopsided(random: np.random.Generator, count: int) -> Floats:
    return random.exponential(1, count) - math.log(2)


VARYING: Mapping[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal": _normal,
    "Student's t, 3 degrees": _heavy,
    "normal, one pair of 6 off by 8 times": _disturbed,
    "to one side only (exponential)": _lopsided,
}


@dataclass(frozen=True)
class Noise:
    """What makes equal work take other times; deviations are ratios, 0.02 is 2 %.

    Attributes:
        name: What tables call it.
        night: From night to night, all of a night alike: the clock, heat, what else runs.
        within: Of one run, in one night. Half of its variance is a process's, which stays the
            same over its turns, and half is that of its two turns.
        drift: How much slower the end of a session is than its start.
        odd: The share of turns that something came into; then all else has heavy tails too.
        session: Of the candidate against the reference, from session to session: what neither
            turns nor fresh processes take out.
        bias: Of the candidate against the reference, from night to night, both sessions alike.
        measured: Changes of equal pairs that somebody measured, drawn from instead of all this.
    """

    name: str
    night: float = 0.02
    within: float = 0.01
    drift: float = 0.05
    odd: float = 0.0
    session: float = 0.0
    bias: float = 0.0
    measured: tuple[float, ...] = ()


def pairs(
    noise: Noise, effect: float, count: int, session: int, random: np.random.Generator
) -> list[Pair]:
    """Make the pairs of a session: four turns each, whose order takes turns.

    Args:
        noise: How times vary.
        effect: How much longer the candidate takes, as a ratio.
        count: How many pairs.
        session: Which session of the night it is.
        random: Where chance comes from.
    """
    if noise.measured:
        changes = random.choice(noise.measured, count) + math.log1p(effect)
        return [_pair(session, at, (one, one), (0.0, 0.0)) for at, one in enumerate(changes)]
    sides = runs(noise, (2, count), random)[..., None] + _turns(noise, (2, count, 2), random)
    sides[0] += math.log1p(effect) + random.normal(0, noise.session)
    sides += random.normal(0, noise.night)
    moments = np.linspace(0, math.log1p(noise.drift), 4 * count).reshape(count, 4)
    made: list[Pair] = []
    for at in range(count):
        order = _ORDERS[at % 2]
        for side, name in enumerate("ab"):
            sides[side, at] += moments[
                at, [place for place, one in enumerate(order) if one == name]
            ]
        made.append(_pair(session, at, sides[0, at].tolist(), sides[1, at].tolist()))
    return made


def tonight(noise: Noise, effect: float, random: np.random.Generator) -> float:
    """Return an effect as one night has it in all of its sessions."""
    if not noise.bias:
        return effect
    return math.expm1(math.log1p(effect) + random.normal(0, noise.bias))


def histories(
    noise: Noise, count: int, nights: int, size: int, random: np.random.Generator
) -> Floats:
    """Make the logarithms of single runs: so many histories of so many nights of `size` runs."""
    found = runs(noise, (count, nights, size), random)
    found += _turns(noise, (count, nights, size, 2), random).mean(axis=-1)
    found += random.normal(0, noise.night, (count, nights, 1))
    return found + np.linspace(0, math.log1p(noise.drift), size)


def runs(noise: Noise, shape: tuple[int, ...], random: np.random.Generator) -> Floats:
    """Make what processes differ by."""
    return _drawn(noise, noise.within / math.sqrt(2), shape, random)


def _turns(noise: Noise, shape: tuple[int, ...], random: np.random.Generator) -> Floats:
    """Make what turns of a process differ by."""
    slowed = np.where(random.random(shape) < noise.odd, random.uniform(*_SLOWED, shape), 0.0)
    return _drawn(noise, noise.within, shape, random) + np.log1p(slowed)


def _drawn(
    noise: Noise, deviation: float, shape: tuple[int, ...], random: np.random.Generator
) -> Floats:
    if noise.odd:
        spread = math.sqrt(_FREEDOM / (_FREEDOM - 2))
        return random.standard_t(_FREEDOM, shape) * deviation / spread
    return random.normal(0, deviation, shape)


def _pair(session: int, at: int, new: Sequence[float], old: Sequence[float]) -> Pair:
    return Pair(
        session=session,
        number=at + 1,
        order=_ORDERS[at % 2],
        candidate={METRIC: tuple(_STEP * math.exp(one) for one in new)},
        reference={METRIC: tuple(_STEP * math.exp(one) for one in old)},
    )
