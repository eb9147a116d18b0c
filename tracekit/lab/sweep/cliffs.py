"""Cliffs and crossovers of a sweep over sizes.

A sound implementation takes no less time for more work, and no more time for each unit of it: from
one size to the next, its time grows by a factor between 1 and that of the work. An edge outside
these bounds is a cliff. Launching the smaller size twice, or padding to the larger one, would be
quicker there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Literal

import numpy as np

from tracekit.base import InputError, paired

THRESHOLD = 0.05
_LEAST_CORRELATED = 10  # ratios of which a correlation is estimated
_MOST_CORRELATED = 0.98
FALSE_ALARMS = 0.01
"""Sweeps without a cliff in which one is found all the same, as a share."""


@dataclass(frozen=True)
class SweepPoint:
    """One size: the work of a call in any unit, and samples of its time in any unit.

    Samples of all points of a sweep are those of the same rounds, in order.
    """

    size: int
    work: float
    samples: Sequence[float]


@dataclass(frozen=True)
class Cliff:
    """An edge between neighbouring sizes whose time changes as no sound implementation's does.

    It is a "rise" if a unit of work takes longer at the larger size, and a "drop" if the whole
    larger call takes less time than the smaller one. `ratio` is the time at the larger size over
    that at the smaller one, with the bounds of its interval; `work_ratio` is the same of the work.
    `excess` is the factor beyond the bound. It is 1.5 if a unit of work takes half as long again
    (a rise), or the smaller call takes half as long again as the larger one (a drop).
    """

    smaller_size: int
    larger_size: int
    kind: Literal["rise", "drop"]
    ratio: float
    lower_bound: float
    upper_bound: float
    work_ratio: float
    excess: float


@dataclass(frozen=True)
class UnjudgedEdge:
    """An edge of which nothing is known, with the reason."""

    smaller_size: int
    larger_size: int
    reason: str


@dataclass(frozen=True)
class FoundCliffs:
    """The cliffs of one sweep by size, and the edges that could not be judged."""

    cliffs: tuple[Cliff, ...]
    unjudged: tuple[UnjudgedEdge, ...] = ()


@dataclass(frozen=True)
class Crossover:
    """Two sizes at which different implementations are surely quicker.

    At the sizes between them neither is.
    """

    smaller_size: int
    larger_size: int
    quicker_before: str
    quicker_after: str


def find_cliffs(
    points: Sequence[SweepPoint],
    *,
    threshold: float = THRESHOLD,
    false_alarms: float = FALSE_ALARMS,
    spread: float | None = None,
) -> FoundCliffs:
    """Return the edges whose time leaves the bounds of a sound implementation.

    An edge is a cliff if the whole interval of the ratio of its times lies more than `threshold`
    beyond a bound. The interval is that of `paired.paired_ratio`, of neighbours in a round. Its
    confidence is 1 - `false_alarms` / edges, so that a sweep without a cliff has a false one with
    at most that probability (the Bonferroni inequality; R. G. Miller, Simultaneous Statistical
    Inference, 2nd ed., section 1.4). Rounds in a row whose ratios depend on each other count as
    one (`_join_dependent`).

    With `spread` each size has one published time instead of samples. Such a time may be too high
    or too low by that share. Nothing bounds false alarms then.

    Raise InputError if sizes do not rise, or work shrinks.
    """
    _require_order(points)
    edges = list(pairwise(points))
    confidence = 1 - false_alarms / max(1, len(edges))
    ratios = _ratios_of(edges, confidence, spread)
    cliffs: list[Cliff] = []
    unjudged: list[UnjudgedEdge] = []
    for (smaller, larger), ratio in zip(edges, ratios, strict=True):
        if ratio.median is None or ratio.lower_bound is None or ratio.upper_bound is None:
            reason = _lacking_pairs(ratio.pairs, confidence)
            unjudged.append(UnjudgedEdge(smaller.size, larger.size, reason))
            continue
        work_ratio = larger.work / smaller.work
        kind = None
        excess = 1.0
        if ratio.lower_bound > work_ratio * (1 + threshold):
            kind = "rise"
            excess = ratio.median / work_ratio
        elif ratio.upper_bound * (1 + threshold) < 1:
            kind = "drop"
            excess = 1 / ratio.median
        if kind is not None:
            cliff = Cliff(
                smaller_size=smaller.size,
                larger_size=larger.size,
                kind=kind,
                ratio=ratio.median,
                lower_bound=ratio.lower_bound,
                upper_bound=ratio.upper_bound,
                work_ratio=work_ratio,
                excess=excess,
            )
            cliffs.append(cliff)
    return FoundCliffs(tuple(cliffs), tuple(unjudged))


def find_crossovers(
    points: Sequence[SweepPoint],
    other_points: Sequence[SweepPoint],
    names: tuple[str, str],
    *,
    false_alarms: float = FALSE_ALARMS,
    spread: float | None = None,
) -> tuple[Crossover, ...]:
    """Return the changes of the quicker of two implementations, which have these names.

    One is quicker at a size if the interval of the ratio of both times excludes 1; confidence and
    `spread` are those of `find_cliffs`, with sizes for edges. Sizes that only one of them has are
    left out.
    """
    points_by_size = {point.size: point for point in points}
    pairs: list[tuple[SweepPoint, SweepPoint]] = []
    for other_point in other_points:
        point = points_by_size.get(other_point.size)
        if point is not None:
            pairs.append((point, other_point))
    confidence = 1 - false_alarms / max(1, len(pairs))
    ratios = _ratios_of(pairs, confidence, spread)
    crossovers: list[Crossover] = []
    last_winner: tuple[int, str] | None = None
    for (point, _), ratio in zip(pairs, ratios, strict=True):
        winner = _find_quicker(ratio, names)
        if winner is None:
            continue
        if last_winner is not None and last_winner[1] != winner:
            crossovers.append(Crossover(last_winner[0], point.size, last_winner[1], winner))
        last_winner = (point.size, winner)
    return tuple(crossovers)


def _find_quicker(ratio: paired.Paired, names: tuple[str, str]) -> str | None:
    """Return the name that is surely quicker, by the second's time over the first's."""
    if ratio.lower_bound is not None and ratio.lower_bound > 1:
        return names[0]
    if ratio.upper_bound is not None and ratio.upper_bound < 1:
        return names[1]
    return None


def _require_order(points: Sequence[SweepPoint]) -> None:
    for point in points:
        if not point.work > 0:
            raise InputError(f"The work at size {point.size} must be above 0; it is {point.work}.")
    for smaller, larger in pairwise(points):
        if larger.size <= smaller.size:
            raise InputError(f"Sizes of a sweep must rise; {larger.size} follows {smaller.size}.")
        if larger.work < smaller.work:
            raise InputError(f"From size {smaller.size} to {larger.size}, the work shrinks.")


def _ratios_of(
    pairs: Sequence[tuple[SweepPoint, SweepPoint]], confidence: float, spread: float | None
) -> list[paired.Paired]:
    """Return the ratio of the times of each two points, the second over the first."""
    ratios = list(map(_divide_samples, pairs))
    if spread is not None:
        factor = (1 + spread) ** 2  # both times may be wrong, in opposite directions
        return [paired.Paired(value, value / factor, value * factor, 1) for value, *_ in ratios]
    correlations = list(map(_correlate_rounds, ratios))
    usual_correlation = median(correlations) if correlations else 0.0
    results: list[paired.Paired] = []
    for values, correlation in zip(ratios, correlations, strict=True):
        joined_ratios = _join_dependent(values, max(correlation, usual_correlation))
        ones = [1.0] * len(joined_ratios)
        results.append(paired.paired_ratio(joined_ratios, ones, confidence=confidence))
    return results


def _divide_samples(pair: tuple[SweepPoint, SweepPoint]) -> list[float]:
    base_point, point = pair
    samples = zip(point.samples, base_point.samples, strict=False)  # one may lack the last round
    return [numerator / denominator for numerator, denominator in samples]


def _correlate_rounds(ratios: Sequence[float]) -> float:
    """Return the correlation of the ranks of ratios in neighbouring rounds, at least 0.

    The estimate r of n ratios is too low by (1 + 3 r) / n, which is corrected (M. G. Kendall,
    Biometrika 41, 1954, page 403).
    """
    count = len(ratios)
    if count < _LEAST_CORRELATED:
        return 0.0
    _, places = np.unique(ratios, return_inverse=True)
    ranks = places - places.mean()
    scale = float(ranks @ ranks)
    if not scale:
        return 0.0
    estimate = float(ranks[1:] @ ranks[:-1]) / scale
    corrected = (count * estimate + 1) / (count - 3)
    return min(_MOST_CORRELATED, max(0.0, corrected))


def _join_dependent(ratios: Sequence[float], correlation: float) -> list[float]:
    """Return medians of stretches of ratios; the stretches are about independent.

    Stretches have (1 + r) / (1 - r) ratios, and r is the correlation of neighbours: by that factor,
    noise of first order inflates the variance of a mean (A. M. Law, Simulation Modeling and
    Analysis, 5th ed., section 9.5.3, batch means).
    """
    length = round((1 + correlation) / (1 - correlation))
    starts = range(0, len(ratios) - length + 1, length)
    return [median(ratios[start : start + length]) for start in starts]


def _lacking_pairs(pairs: int, confidence: float) -> str:
    least_pairs = paired.least_pairs(confidence)
    return f"{pairs} independent rounds have both sizes, and an interval takes {least_pairs}"
