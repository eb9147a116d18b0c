"""Nights judged by tracekit's own gate, second sittings included."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from nights.noise import METRIC, Noise, pairs
from tracekit.history.gate import POLICY, Policy, changes, judge, needs_second_sitting
from tracekit.history.night import Judged, Outcome
from tracekit.nightplan import Gated


@dataclass(frozen=True)
class Design:
    """How a night is done.

    Attributes:
        name: What tables call it.
        count: Pairs of a sitting.
        accepted: Pairs of the accepted baseline; 0 where no change is expected.
        policy: What it takes to decide.
        threshold: The least change for the worse that matters, as a ratio.
        signs: Whether the median pair and a sign test decide instead of tracekit's gate.
    """

    name: str
    count: int = 10
    accepted: int = 0
    policy: Policy = POLICY
    threshold: float = 0.03
    signs: bool = False


@dataclass(frozen=True)
class Ended:
    """How nights ended, and in how many of them there was a second sitting."""

    nights: int
    outcomes: Counter[Outcome]
    second: int
    alarms: tuple[bool, ...]


def judged_night(
    design: Design, noise: Noise, effect: float, random: np.random.Generator
) -> tuple[Judged, bool]:
    """Do one night, and return what became of it and whether a second sitting was needed."""
    gated = Gated(METRIC, design.threshold)
    expected = None
    if design.accepted:
        accepted = pairs(noise, 0.0, design.accepted, 1, random)
        expected = changes(accepted, METRIC, "ratio")
    seen = pairs(noise, effect, design.count, 1, random)

    def judged() -> Judged:
        policy = design.policy
        return judge(gated, seen, unit="ns", better="lower", expected=expected, policy=policy)

    first = judged()
    if not needs_second_sitting([first], (), ()):
        return first, False
    seen += pairs(noise, effect, design.count, 2, random)
    return judged(), True


def judged_nights(design: Design, noise: Noise, effect: float, nights: int, seed: int) -> Ended:
    """Do many nights that have nothing to do with each other."""
    random = np.random.default_rng(seed)
    ended = [judged_night(design, noise, effect, random) for _ in range(nights)]
    outcomes = [one.outcome or Outcome.INCONCLUSIVE for one, _ in ended]
    return Ended(
        nights=nights,
        outcomes=Counter(outcomes),
        second=sum(second for _, second in ended),
        alarms=tuple(one is Outcome.REGRESSION for one in outcomes),
    )
