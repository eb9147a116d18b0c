"""The rule for counts of few traces, such as compiles in the steady state: no interval needed.

A count that repeats exactly needs no statistics, and one or two traces allow none. So where
whole numbers are compared by their difference, in fewer pairs than an interval takes, a change
is one if every pair shows it, of both sittings. Times and sizes are whole numbers too, of ns and
of bytes, and vary: only what is counted is a count.
"""

from collections.abc import Sequence

from tracekit.nightly.gate.decision import Decision, Found

_COUNTS = {"count", "level", ""}


def is_exact(sides: Sequence[float], unit: str) -> bool:
    """Tell whether all values of both sides are counts: whole numbers, in a unit of counts."""
    return unit in _COUNTS and bool(sides) and all(float(one).is_integer() for one in sides)


def decide_exactly(
    sittings: Sequence[Sequence[float]], expected: Sequence[float], threshold: float
) -> Decision:
    """Decide by whether each pair is beyond the threshold; arguments as of `decide`.

    What was expected is the worst of the baseline's changes for a change for the worse, and the
    best of them for one for the better.
    """
    worst, best = max(expected, default=0.0), min(expected, default=0.0)
    beyond = [[one - worst >= threshold for one in each] for each in sittings]
    together = [one for each in beyond for one in each]
    if len(sittings) == 1:
        if any(together):
            return Decision(Found.UNREPEATED, False)
    elif not all(sittings):
        if any(together):
            return Decision(Found.SHORT, False)
    elif all(together):
        return Decision(Found.WORSE, True)
    elif 2 * sum(together) > len(together):
        return Decision(Found.MIXED, False)
    elif any(together):
        return Decision(Found.GONE, False)
    changes = [one for each in sittings for one in each]
    better = all(one - best <= -threshold for one in changes)
    return Decision(Found.BETTER if better else Found.SAME)
