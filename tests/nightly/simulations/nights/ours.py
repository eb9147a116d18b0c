"""Nights judged by tracekit's own gate, second sessions included."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from nights.noise import METRIC, Noise, pairs, tonight
from tracekit.nightly.gate.decision import POLICY, Policy
from tracekit.nightly.gate.judge import judge, needs_second_session
from tracekit.nightly.history.night import Judged, Outcome
from tracekit.nightly.history.pairs import changes
from tracekit.nightly.plan.plan import Gated

_AGAIN = 2


@dataclass(frozen=True)
class Design:
    """How a night is done.

    Attributes:
        name: What tables call it.
        count: Pairs of a session.
        accepted: Pairs of the accepted baseline, of two sessions a night; 0 where no change is
            expected.
        policy: What it takes to decide.
        threshold: The least change for the worse that matters, as a ratio.
    """

    name: str
    count: int = 10
    accepted: int = 0
    policy: Policy = POLICY
    threshold: float = 0.03


@dataclass(frozen=True)
class Ended:
    """How nights ended, and in how many of them there was a second session."""

    nights: int
    outcomes: Counter[Outcome]
    second: int
    alarms: tuple[bool, ...]


def baseline(design: Design, noise: Noise, random: np.random.Generator) -> tuple[float, ...]:
    """Measure equal nights that are accepted together; empty where none is."""
    found: list[float] = []
    for _ in range(0, design.accepted, _AGAIN * design.count):
        equal = tonight(noise, 0.0, random)
        for session in range(_AGAIN):
            count = min(design.count, design.accepted - len(found))
            found += changes(pairs(noise, equal, count, session + 1, random), METRIC, "ratio")
    return tuple(found)


def judged_night(
    design: Design,
    noise: Noise,
    effect: float,
    random: np.random.Generator,
    expected: tuple[float, ...] = (),
) -> tuple[Judged, bool]:
    """Do one night, and return what became of it and whether a second session was needed."""
    gated = Gated(METRIC, design.threshold)
    slower = tonight(noise, effect, random)
    seen = pairs(noise, slower, design.count, 1, random)

    def judged() -> Judged:
        policy, accepted = design.policy, expected or None
        return judge(gated, seen, unit="ns", better="lower", expected=accepted, policy=policy)

    first = judged()
    if not needs_second_session([first], (), ()):
        return first, False
    seen += pairs(noise, slower, design.count, _AGAIN, random)
    return judged(), True


def judged_nights(design: Design, noise: Noise, effect: float, nights: int, seed: int) -> Ended:
    """Do many nights that have nothing to do with each other."""
    random = np.random.default_rng(seed)
    ended = [
        judged_night(design, noise, effect, random, baseline(design, noise, random))
        for _ in range(nights)
    ]
    outcomes = [one.outcome or Outcome.INCONCLUSIVE for one, _ in ended]
    return Ended(
        nights=nights,
        outcomes=Counter(outcomes),
        second=sum(second for _, second in ended),
        alarms=tuple(one is Outcome.REGRESSION for one in outcomes),
    )


def alarms_since(
    design: Design, noise: Noise, effect: float, nights: int, random: np.random.Generator
) -> float:
    """Accept once, do so many nights since, and return the share of them that are regressions."""
    accepted = baseline(design, noise, random)
    ended = (judged_night(design, noise, effect, random, accepted)[0] for _ in range(nights))
    return sum(one.outcome is Outcome.REGRESSION for one in ended) / nights
