"""What pairs say of a metric: the change of the candidate from the reference in each."""

import math
import statistics
from collections.abc import Sequence

from tracekit.compare.verdicts import Scale
from tracekit.nightly.history.night import Pair, Side


def changes(pairs: Sequence[Pair], metric: str, scale: Scale) -> tuple[float, ...]:
    """Return the change in each pair that counts, on a scale on which changes add up.

    A side's value is the median of its turns; a change is the logarithm of the ratio where the
    metric is compared by ratio, else the difference. Pairs in which either is not known, or not in
    as many turns as the other, or of which there is no ratio, are left out, as contaminated ones
    are: drift falls on both sides alike only where all turns are known.
    """
    found = (change(pair, metric, scale) for pair in pairs_of(pairs, metric) if counts(pair))
    return tuple(one for one in found if one is not None)


def change(pair: Pair, metric: str, scale: Scale) -> float | None:
    """Return the change in one pair; None where there is none."""
    new, old = value(pair, metric, "candidate"), value(pair, metric, "reference")
    if new is None or old is None:
        return None
    if len(pair.candidate[metric]) != len(pair.reference[metric]):
        return None
    if scale == "difference":
        return new - old
    return math.log(new) - math.log(old) if new > 0 and old > 0 else None


def pairs_of(pairs: Sequence[Pair], metric: str) -> tuple[Pair, ...]:
    """Return the pairs that measure a metric, those that do not count included.

    They are the untraced ones where any of them knows it, for tracing costs time; else those that
    were traced.
    """
    for traced in (False, True):
        own = tuple(pair for pair in pairs if pair.traced is traced)
        if any(metric in side for pair in own for side in (pair.candidate, pair.reference)):
            return own
    return ()


def counts(pair: Pair) -> bool:
    """Tell whether the machine was as it must be."""
    return not pair.contaminated


def value(pair: Pair, metric: str, side: Side) -> float | None:
    """Return the median of a side's turns; None where there is none, or a turn is no number."""
    turns = (pair.candidate if side == "candidate" else pair.reference).get(metric, ())
    if not turns or not all(math.isfinite(one) for one in turns):
        return None
    return statistics.median(turns)


def values(pairs: Sequence[Pair], metric: str, side: Side) -> tuple[float, ...]:
    """Return a side's value in each pair that counts and knows it."""
    found = (value(pair, metric, side) for pair in pairs_of(pairs, metric) if counts(pair))
    return tuple(one for one in found if one is not None)
