"""Where the code of each night lies: the changes of nights put together through their commits.

A night measures how far its candidate is from its reference. Commits are points, and nights are
measured distances between them, as in levelling: the places that fit all distances best, weighed
by their variances, are the solution of least squares. Against one fixed commit these are the
changes themselves. Where the reference moves along they are a chain, whose uncertainty grows with
its length, until a night that measured the anchor too ties both ends together.

Source of the network: C. D. Ghilani, Adjustment Computations, 6th ed., chapter 12.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracekit.compare import NORMAL_MAD
from tracekit.nightly.history.night import ANCHORED
from tracekit.nightly.history.steps import Point, Series, Step, steps

SURE = 3.0
"""Standard deviations beyond which equal nights do not explain a change over several of them."""
_FEW = 3  # changes, of which nothing can be said of how nights differ
_BETWEEN_ENDS = 2 * 1.96  # standard deviations between the ends of a 95 % interval
_UNKNOWN = 1.0  # the deviation of a change without an interval: it says next to nothing

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Levels:
    """Places on a scale on which changes add up, of the nights that commits connect with the last.

    `nights` are their places in the series, oldest first, and `values` how far each night's
    candidate lies from the reference of the first of them, with their covariance.
    """

    nights: tuple[int, ...]
    values: Floats
    covariance: Floats

    def total(self, weights: Floats) -> tuple[float, float]:
        """Return a weighted sum of the levels, and its standard deviation."""
        variance = float(weights @ self.covariance @ weights)
        return float(weights @ self.values), math.sqrt(max(variance, 0.0))


def moves(series: Series) -> bool:
    """Tell whether the reference is not the same commit in all nights."""
    return len({point.reference_commit for point in series.points if point.change is not None}) > 1


def anchors_of(series: Series, every: Sequence[Series]) -> tuple[Point, ...]:
    """Return what the nights of a series measured against an anchor; `every` are all series."""
    own = (series.machine, series.plan, series.capture + ANCHORED, series.metric)
    return tuple(
        point
        for other in every
        if (other.machine, other.plan, other.capture, other.metric) == own
        for point in other.points
    )


def levels(series: Series, anchors: Sequence[Point] = ()) -> Levels:
    """Return the levels of a series."""
    known = [place for place, point in enumerate(series.points) if point.change is not None]
    distances = [_distance(series.points[place], series) for place in known]
    if not known:
        return Levels((), np.zeros(0), np.zeros((0, 0)))
    between = _between([change for change, _ in distances], steady=not moves(series))
    if not moves(series):  # each night has a level of its own, though its commit may be the same
        values, deviations = np.array(distances).T
        return Levels(tuple(known), values, np.diag(np.maximum(deviations**2, between)))
    edges = [
        (*_ends(point), change, max(deviation**2, between))
        for point in (*(series.points[place] for place in known), *anchors)
        for change, deviation in (_distance(point, series),)
        if point.change is not None and point.reference_commit
    ]
    edges = [edge for edge in edges if edge[0] != edge[1]]  # the same code: no distance at all
    reached = _reached(edges, _ends(series.points[known[-1]])[1])
    kept = [place for place in known if _ends(series.points[place])[1] in reached]
    return _adjusted(series, kept, [edge for edge in edges if edge[0] in reached])


_Edge = tuple[str, str, float, float]


def _ends(point: Point) -> tuple[str, str]:
    """Return the reference and the candidate of a night; files of no commit are the night's own."""
    own = point.commit if point.commit.isalnum() else point.night
    return point.reference_commit, own


def _distance(point: Point, series: Series) -> tuple[float, float]:
    """Return a night's change and its standard deviation, where changes add up."""
    known = (point.change, point.low, point.high)
    ratio = series.scale == "ratio"
    change, low, high = (math.log1p(value or 0.0) if ratio else (value or 0.0) for value in known)
    unknown = point.low is None or point.high is None
    return change, _UNKNOWN if unknown else (high - low) / _BETWEEN_ENDS


def _between(changes: Sequence[float], *, steady: bool) -> float:
    """Return how nights vary: by more than their pairs show, as each has its own heat and memory.

    Against a commit that stays it is by how neighbours differ, which a step hardly touches.
    """
    found = np.diff(changes) / math.sqrt(2) if steady else np.asarray(changes)
    if len(found) <= _FEW:
        return 0.0
    deviation = NORMAL_MAD * statistics.median(np.abs(found - np.median(found)).tolist())
    return deviation**2


def _reached(edges: Sequence[_Edge], last: str) -> set[str]:
    """Return the commits that distances connect with the last one, that included."""
    found = {last}
    while more := {end for edge in edges if found & {*edge[:2]} for end in edge[:2]} - found:
        found |= more
    return found


def _adjusted(series: Series, kept: Sequence[int], edges: Sequence[_Edge]) -> Levels:
    """Return the levels that fit the distances best."""
    first, own_first = _ends(series.points[kept[0]])
    first = first if any(first in edge[:2] for edge in edges) else own_first
    names = dict.fromkeys(name for edge in edges for name in edge[:2] if name != first)
    places = {name: place for place, name in enumerate([*names, first])}  # the first is 0, and last
    design = np.zeros((len(edges), len(places)))
    for row, (reference, candidate, _, _) in zip(design, edges, strict=True):
        row[places[reference]], row[places[candidate]] = -1, 1
    changes, variances = np.array([edge[2:] for edge in edges]).reshape(-1, 2).T
    weighted = design[:, :-1].T / np.maximum(variances, np.finfo(float).tiny ** 0.5)
    covariance = np.zeros((len(places), len(places)))
    covariance[:-1, :-1] = np.linalg.inv(weighted @ design[:, :-1])
    values = np.append(covariance[:-1, :-1] @ weighted @ changes, 0.0)
    own = [places[_ends(series.points[place])[1]] for place in kept]
    return Levels(tuple(kept), values[own], covariance[np.ix_(own, own)])


def steps_of(series: Series, anchors: Sequence[Point] = ()) -> tuple[Step, ...]:
    """Find the steps of a series, oldest first, of half its threshold at least.

    They are looked for in the levels of nights where there is a reference, for what slows down both
    sides alike is the machine's; then `before` and `after` are changes from the reference of the
    first night, as `Point.change`. Else they are looked for in the values. A step of a chain that
    its own uncertainty explains is none.
    """
    least = series.threshold / 2
    if all(point.change is None for point in series.points):
        return steps([point.value for point in series.points], scale=series.scale, least=least)
    ratio = series.scale == "ratio"
    placed = levels(series, anchors)
    values: list[float | None] = [None] * len(series.points)
    for place, level in zip(placed.nights, placed.values.tolist(), strict=True):
        values[place] = math.exp(level) if ratio else level
    found = steps(values, scale=series.scale, least=least)
    if moves(series):
        found = tuple(step for step in found if _is_certain(step, found, placed, ratio=ratio))
    zero = 1.0 if ratio else 0.0
    return tuple(
        replace(step, before=step.before - zero, after=step.after - zero, of="change")
        for step in found
    )


def _is_certain(step: Step, found: Sequence[Step], placed: Levels, *, ratio: bool) -> bool:
    """Tell whether a step of a chain is more than its links leave open."""
    cuts = [0, *(other.index for other in found), placed.nights[-1] + 1]
    at = cuts.index(step.index)
    nights = np.array(placed.nights)
    before = (nights >= cuts[at - 1]) & (nights < step.index)
    after = (nights >= step.index) & (nights < cuts[at + 1])
    weights = after / after.sum() - before / before.sum()
    _, deviation = placed.total(weights)
    return abs(math.log1p(step.change) if ratio else step.change) > SURE * deviation
