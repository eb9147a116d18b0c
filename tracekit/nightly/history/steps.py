"""One metric over nights, its change points, and where the code of each night lies.

The series is cut into stretches so that what nights lie away from their stretch's median, summed
up, and a penalty for each cut are least together. Sums of plain distances, not of squares, keep a
single odd night from being two cuts. Source of the criterion, known as the Potts functional with
absolute deviations: M. Storath and others, Jump-penalized least absolute values estimation of
scalar or circle-valued signals, Information and Inference 6 (2017).

The penalty and the rest were chosen by `bench/gate_simulation.py`.

A night measures how far its candidate is from its reference. Commits are points, and nights are
measured distances between them, as in levelling: the places that fit all distances best, weighed
by their variances, are the solution of least squares. Against one fixed commit these are the
changes themselves. Where the reference moves along they are a chain, whose uncertainty grows with
its length, until a night that measured the anchor too ties both ends together.

Source of the network: C. D. Ghilani, Adjustment Computations, 6th ed., chapter 12.
"""

import heapq
import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tracekit.compare import NORMAL_MAD, Scale, Shown, shift
from tracekit.nightly.history.night import ANCHORED, Outcome


@dataclass(frozen=True)
class Point:
    """What one night says of a series, which began `at`, ISO 8601 in UTC.

    `value` is the median of the candidate's pairs that count, `least` and `most` are the extreme
    ones; `change` is the candidate from the `reference` of that night, on the series' scale, with
    its 95 % interval; what is expected is not taken off. Each is None where it is not known.
    `outcome` is None where the metric is followed only. `commit` is the candidate's.
    """

    night: str
    at: str
    value: float | None
    reference: float | None = None
    change: float | None = None
    low: float | None = None
    high: float | None = None
    least: float | None = None
    most: float | None = None
    pairs: int = 0
    outcome: Outcome | None = None
    reason: str = ""
    night_outcome: Outcome | None = None
    commit: str = ""
    environment: dict[str, Any] = field(default_factory=dict[str, Any])
    folder: str = ""
    reference_commit: str = ""


@dataclass(frozen=True)
class Series:
    """One metric of one capture on one machine, oldest night first.

    Its nights did the same work against the same reference; a plan that changes either begins
    another series. `threshold` and `gated` are those of the last night.
    """

    machine: str
    plan: str
    capture: str
    work: str
    metric: str
    unit: str
    better: Literal["lower", "higher", "neither"]
    scale: Scale = "ratio"
    threshold: float = 0.03
    gated: bool = True
    points: tuple[Point, ...] = ()

    @property
    def shown(self) -> Shown:
        """How its changes are put into words."""
        return Shown(self.scale, self.unit)


SHORTEST = 3  # nights of a stretch; of fewer an odd night or two are half of it
PENALTY = 5.0  # in deviations of a night
_PLAUSIBLE = 2.0  # a cut elsewhere that costs as many deviations more is not ruled out
_FLOOR = 0.5  # of the least change that matters: nights that are more alike than this do not count

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Step:
    """A change that stayed, from the night `index` on: a place in the series, gaps included.

    `before` and `after` are medians of the stretches on both sides, of the candidate's values or of
    its changes from the reference, as `of` says. `change` is a ratio less one, or a difference; its
    95 % interval takes the night as known, and is None where stretches are too short. The stretch
    may have begun between `earliest` and `latest`.
    """

    index: int
    before: float
    after: float
    change: float
    low: float | None = None
    high: float | None = None
    earliest: int = 0
    latest: int = 0
    of: Literal["value", "change"] = "value"


def is_searched(series: Series) -> bool:
    """Tell whether a series has enough nights with a value for a step to be found."""
    usable = [point for point in series.points if (point.change, point.value) != (None, None)]
    return len(usable) >= 2 * SHORTEST


def steps(
    values: Sequence[float | None], *, scale: Scale = "ratio", least: float = 0.015
) -> tuple[Step, ...]:
    """Find the steps in values of one night each, oldest first, of at least `least`.

    None, a value that is no number, and one of which there is no ratio where ratios are asked for,
    are gaps. `least` is a ratio less one, or a difference, above 0.
    """
    places = [place for place, value in enumerate(values) if _usable(value, scale)]
    known = [float(value) for value in values if value is not None and _usable(value, scale)]
    if len(known) < 2 * SHORTEST:
        return ()
    scaled = np.log(known) if scale == "ratio" else np.asarray(known, float)
    limit = math.log1p(least) if scale == "ratio" else least
    costs = _costs(scaled.tolist()) / _deviation(scaled, limit)
    ends = _merged(scaled, _cut(costs), limit)
    return tuple(
        _step(scaled, costs, places, ends[at - 1 : at + 2], scale) for at in range(1, len(ends) - 1)
    )


def _usable(value: float | None, scale: Scale) -> bool:
    return value is not None and math.isfinite(value) and (scale == "difference" or value > 0)


def _deviation(values: Floats, limit: float) -> float:
    """Return how far a night deviates, by how near ones differ, which a step hardly touches.

    Nights up to three apart are taken, for next to each other they may be alike.
    """
    found = [_FLOOR * limit]
    for lag in range(1, SHORTEST + 1):
        apart = values[lag:] - values[:-lag]
        middle = float(np.median(np.abs(apart - np.median(apart))))
        found.append(NORMAL_MAD * middle / math.sqrt(2))
    return max(found)


def _costs(values: Sequence[float]) -> Floats:
    """Return what values lie away from their median, summed up, for each stretch [first, end)."""
    costs = np.zeros((len(values) + 1, len(values) + 1))
    for first in range(len(values)):
        below: list[float] = []  # the lower half, negative: heaps have the least on top
        above: list[float] = []
        low = high = 0.0
        for end, value in enumerate(values[first:], first + 1):
            if len(below) > len(above):
                moved = -heapq.heappushpop(below, -value)
                heapq.heappush(above, moved)
                low, high = low + value - moved, high + moved
                costs[first, end] = max(high - low, 0.0)
            else:
                moved = heapq.heappushpop(above, value)
                heapq.heappush(below, -moved)
                low, high = low + moved, high + value - moved
                costs[first, end] = max(high - low - below[0], 0.0)
    return costs


def _cut(costs: Floats) -> list[int]:
    """Return the ends of the stretches that cost least together, 0 first."""
    nights = len(costs) - 1
    best = np.full(nights + 1, np.inf)
    best[0] = -PENALTY
    begun = [0] * (nights + 1)
    for end in range(SHORTEST, nights + 1):
        totals = best[: end - SHORTEST + 1] + costs[: end - SHORTEST + 1, end] + PENALTY
        begun[end] = int(np.argmin(totals))
        best[end] = totals[begun[end]]
    ends = [nights]
    while ends[0]:
        ends.insert(0, begun[ends[0]])
    return ends


def _merged(values: Floats, ends: list[int], limit: float) -> list[int]:
    """Join stretches until all neighbours are apart by the limit, the most alike ones first."""
    ends = list(ends)
    while len(ends) > 2:  # noqa: PLR2004  a single stretch has two ends
        middles = [float(np.median(values[a:b])) for a, b in itertools.pairwise(ends)]
        apart = [abs(after - before) for before, after in itertools.pairwise(middles)]
        least = min(range(len(apart)), key=apart.__getitem__)
        if apart[least] >= limit:
            break
        del ends[least + 1]
    return ends


def _step(
    values: Floats, costs: Floats, places: Sequence[int], ends: Sequence[int], scale: Scale
) -> Step:
    begin, at, end = ends
    before, after = values[begin:at].tolist(), values[at:end].tolist()
    old, new = statistics.median(before), statistics.median(after)
    found = shift(after, before)
    ratio = scale == "ratio"
    plain, moved = (math.exp, math.expm1) if ratio else (float, float)
    cuts = range(begin + 1, end)
    dated = [
        cut
        for cut in cuts
        if costs[begin, cut] + costs[cut, end] <= costs[begin, at] + costs[at, end] + _PLAUSIBLE
    ]
    return Step(
        index=places[at],
        before=plain(old),
        after=plain(new),
        change=moved(new - old),
        low=moved(found.low) if found else None,
        high=moved(found.high) if found else None,
        earliest=places[min(dated)],
        latest=places[max(dated)],
    )


SURE = 3.0
"""Standard deviations beyond which equal nights do not explain a change over several of them."""
_FEW = 3  # changes, of which nothing can be said of how nights differ
_BETWEEN_ENDS = 2 * 1.96  # standard deviations between the ends of a 95 % interval
_UNKNOWN = 1.0  # the deviation of a change without an interval: it says next to nothing


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

    Where there is a reference they are of levels, as what slows down both sides is the machine's:
    `before` and `after` are changes from the reference of the first night. Else they are of values.
    A step of a chain that its own uncertainty explains is none.
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
