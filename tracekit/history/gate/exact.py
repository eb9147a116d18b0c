"""The rule for counts of few traces, such as compiles in the steady state: no interval needed.

A count that repeats exactly needs no statistics, and one or two traces allow none. So where
whole numbers are compared by their difference, in fewer pairs than an interval takes, a change
is one if every pair shows it, of both sittings.
"""

from collections.abc import Sequence

from tracekit.history.gate.decision import Decision, Found


def is_exact(sides: Sequence[float]) -> bool:
    """Tell whether all values of both sides are whole numbers."""
    return bool(sides) and all(one == round(one) for one in sides)


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
    elif all(beyond[0]) and all(beyond[1]) and all(sittings):
        return Decision(Found.WORSE, True)
    elif 2 * sum(together) > len(together):
        return Decision(Found.APART, False)
    elif any(together):
        return Decision(Found.GONE, False)
    changes = [one for each in sittings for one in each]
    better = all(one - best <= -threshold for one in changes)
    return Decision(Found.BETTER if better else Found.SAME)
