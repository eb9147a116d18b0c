"""Values and changes of the pairs of a night."""

import math
import statistics
from collections.abc import Sequence

from tracekit.base import verdicts
from tracekit.nightly.history.night import Pair, Side


def changes(pairs: Sequence[Pair], metric: str, scale: verdicts.Scale) -> tuple[float, ...]:
    """Return the change in each pair that counts, on a scale on which changes add up.

    A side's value is the median of its turns; a change is the logarithm of the ratio, else the
    difference. Pairs whose change is not known are left out, as rejected pairs are, and pairs
    with more turns of one side: drift affects both sides alike only if all turns are known.
    """
    pair_changes: list[float] = []
    for pair in pairs_of(pairs, metric):
        if pair.rejections:
            continue
        pair_change = change(pair, metric, scale)
        if pair_change is not None:
            pair_changes.append(pair_change)
    return tuple(pair_changes)


def change(pair: Pair, metric: str, scale: verdicts.Scale) -> float | None:
    """Return the change in one pair; None if it has none."""
    new = value(pair, metric, "candidate")
    old = value(pair, metric, "reference")
    if new is None or old is None:
        return None
    candidate_count = len(pair.candidate[metric])
    reference_count = len(pair.reference[metric])
    if candidate_count != reference_count:
        return None
    if scale == "difference":
        return new - old
    if new > 0 and old > 0:
        return math.log(new) - math.log(old)
    return None


def plain_change(change: float, scale: verdicts.Scale) -> float:
    """Return a change from the scale on which changes add up as a ratio less one, or difference."""
    if scale != "ratio":
        return change
    return math.expm1(change)


def pairs_of(pairs: Sequence[Pair], metric: str) -> tuple[Pair, ...]:
    """Return the pairs that measure a metric, including those that do not count.

    These are the untraced pairs if any of them has the metric, because tracing takes time; else
    the traced pairs.
    """
    for traced in (False, True):
        matching_pairs = tuple(pair for pair in pairs if pair.traced is traced)
        if any(metric in pair.candidate or metric in pair.reference for pair in matching_pairs):
            return matching_pairs
    return ()


def value(pair: Pair, metric: str, side: Side) -> float | None:
    """Return the median of a side's turns; None without turns, or if a turn is not finite."""
    side_values = pair.candidate if side == "candidate" else pair.reference
    turns = side_values.get(metric, ())
    if not turns or not all(map(math.isfinite, turns)):
        return None
    return statistics.median(turns)


def values(pairs: Sequence[Pair], metric: str, side: Side) -> tuple[float, ...]:
    """Return a side's value in each pair that counts and has one."""
    side_values: list[float] = []
    for pair in pairs_of(pairs, metric):
        if pair.rejections:
            continue
        side_value = value(pair, metric, side)
        if side_value is not None:
            side_values.append(side_value)
    return tuple(side_values)
