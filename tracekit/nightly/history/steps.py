"""One metric over nights, what changed in it, and where the code of each night lies.

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
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

import numpy as np

from tracekit.compare import NORMAL_MAD, Scale, Shown
from tracekit.nightly.history.changes import Changes, LevelStep, Ramp, trend
from tracekit.nightly.history.night import ANCHORED, Outcome
from tracekit.nightly.history.stretches import SHORTEST, Floats


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
    def formatter(self) -> Shown:
        """How its changes are put into words."""
        return Shown(self.scale, self.unit)


def is_searched(series: Series) -> bool:
    """Tell whether a series has enough nights with a value for a step to be found."""
    usable = [point for point in series.points if (point.change, point.value) != (None, None)]
    return len(usable) >= 2 * SHORTEST


SURE = 3.0
"""Standard deviations beyond which equal nights do not explain a change over several of them."""
_FEW = 3  # changes, of which nothing can be said of how nights differ
_BETWEEN_ENDS = 2 * 1.96  # standard deviations between the ends of a 95 % interval
_UNKNOWN = 1.0  # the deviation of a change without an interval: it says next to nothing


@dataclass(frozen=True, eq=False)
class NightLevels:
    """Places on a scale on which changes add up, of the nights that commits connect with the last.

    `nights` are their places in the series, oldest first, and `values` how far each night's
    candidate lies from the reference of the first of them, with their covariance: a table, or its
    diagonal where nights are independent.
    """

    nights: tuple[int, ...]
    values: Floats
    covariance: Floats

    def total(self, weights: Floats) -> tuple[float, float]:
        """Return a weighted sum of the levels, and its standard deviation."""
        covariance = self.covariance
        if covariance.ndim == 1:
            variance = float(weights**2 @ covariance)
        else:
            variance = float(weights @ covariance @ weights)
        return float(weights @ self.values), math.sqrt(max(variance, 0.0))


def moves(series: Series) -> bool:
    """Tell whether the reference is not the same commit in all nights."""
    return len({point.reference_commit for point in series.points if point.change is not None}) > 1


def anchors_of(series: Series, all_series: Sequence[Series]) -> tuple[Point, ...]:
    """Return the points of a series' nights that were measured against an anchor."""
    anchor_key = (series.machine, series.plan, series.capture + ANCHORED, series.metric)
    return tuple(
        point
        for other_series in all_series
        if (other_series.machine, other_series.plan, other_series.capture, other_series.metric)
        == anchor_key
        for point in other_series.points
    )


def levels(series: Series, anchors: Sequence[Point] = ()) -> NightLevels:
    """Return the levels of a series."""
    known_places = [place for place, point in enumerate(series.points) if point.change is not None]
    distances = [_distance(series.points[place], series) for place in known_places]
    if not known_places:
        return NightLevels((), np.zeros(0), np.zeros((0, 0)))
    night_variance = _estimate_night_variance(
        [change for change, _ in distances], steady=not moves(series)
    )
    if not moves(series):  # each night has a level of its own, though its commit may be the same
        values, deviations = np.array(distances).T
        return NightLevels(tuple(known_places), values, np.maximum(deviations**2, night_variance))
    edges = [
        (*_ends(point), change, max(deviation**2, night_variance))
        for point in (*(series.points[place] for place in known_places), *anchors)
        for change, deviation in (_distance(point, series),)
        if point.change is not None and point.reference_commit
    ]
    edges = [edge for edge in edges if edge[0] != edge[1]]  # the same code: no distance at all
    reached = _find_connected_commits(edges, _ends(series.points[known_places[-1]])[1])
    connected_places = [
        place for place in known_places if _ends(series.points[place])[1] in reached
    ]
    return _adjust_levels(series, connected_places, [edge for edge in edges if edge[0] in reached])


_Edge = tuple[str, str, float, float]


def _ends(point: Point) -> tuple[str, str]:
    """Return the reference and the candidate of a night; files of no commit are the night's own."""
    candidate = point.commit if point.commit.isalnum() else point.night
    return point.reference_commit, candidate


def _distance(point: Point, series: Series) -> tuple[float, float]:
    """Return a night's change and its standard deviation, where changes add up."""
    raw_values = (point.change, point.low, point.high)
    ratio = series.scale == "ratio"
    change, lower_bound, upper_bound = (
        math.log1p(value or 0.0) if ratio else (value or 0.0) for value in raw_values
    )
    unknown = point.low is None or point.high is None
    return change, _UNKNOWN if unknown else (upper_bound - lower_bound) / _BETWEEN_ENDS


def _estimate_night_variance(changes: Sequence[float], *, steady: bool) -> float:
    """Return how nights vary: by more than their pairs show, as each has its own heat and memory.

    Against a commit that stays it is by how neighbours differ, which a step hardly touches.
    """
    differences = np.diff(changes) / math.sqrt(2) if steady else np.asarray(changes)
    if len(differences) <= _FEW:
        return 0.0
    deviation = NORMAL_MAD * statistics.median(
        np.abs(differences - np.median(differences)).tolist()
    )
    return deviation**2


def _find_connected_commits(edges: Sequence[_Edge], last_commit: str) -> set[str]:
    """Return the commits that distances connect with the last one, that included."""
    commits = {last_commit}
    while more := {end for edge in edges if commits & {*edge[:2]} for end in edge[:2]} - commits:
        commits |= more
    return commits


def _adjust_levels(
    series: Series, connected_places: Sequence[int], edges: Sequence[_Edge]
) -> NightLevels:
    origin, own_first = _ends(series.points[connected_places[0]])
    origin = origin if any(origin in edge[:2] for edge in edges) else own_first
    names = dict.fromkeys(name for edge in edges for name in edge[:2] if name != origin)
    places = {
        name: place for place, name in enumerate([*names, origin])
    }  # the first is 0, and last
    design = np.zeros((len(edges), len(places)))
    for row, (reference, candidate, _, _) in zip(design, edges, strict=True):
        row[places[reference]], row[places[candidate]] = -1, 1
    changes, variances = np.array([edge[2:] for edge in edges]).reshape(-1, 2).T
    weighted = design[:, :-1].T / np.maximum(variances, np.finfo(float).tiny ** 0.5)
    covariance = np.zeros((len(places), len(places)))
    covariance[:-1, :-1] = np.linalg.inv(weighted @ design[:, :-1])
    values = np.append(covariance[:-1, :-1] @ weighted @ changes, 0.0)
    candidate_places = [places[_ends(series.points[place])[1]] for place in connected_places]
    return NightLevels(
        tuple(connected_places),
        values[candidate_places],
        covariance[np.ix_(candidate_places, candidate_places)],
    )


def trend_of(series: Series, anchors: Sequence[Point] = ()) -> Changes:
    """Find the steps and drifts of a series, of half its threshold at least.

    Where there is a reference they are of levels, as what slows down both sides is the machine's:
    `before` and `after` are changes from the reference of the first night. Else they are of values.
    What the uncertainty of a chain explains by itself is neither.
    """
    min_change = series.threshold / 2
    if all(point.change is None for point in series.points):
        return trend(
            [point.value for point in series.points], scale=series.scale, min_change=min_change
        )
    ratio = series.scale == "ratio"
    night_levels = levels(series, anchors)
    values: list[float | None] = [None] * len(series.points)
    for place, level in zip(night_levels.nights, night_levels.values.tolist(), strict=True):
        values[place] = math.exp(level) if ratio else level
    changes = trend(values, scale=series.scale, min_change=min_change)
    if moves(series):
        changes = Changes(
            tuple(
                step
                for step in changes.steps
                if _is_certain(step, changes, night_levels, ratio=ratio)
            ),
            tuple(ramp for ramp in changes.ramps if _is_sure(ramp, night_levels, ratio=ratio)),
        )
    zero = 1.0 if ratio else 0.0
    return Changes(
        tuple(_from_reference(step, zero) for step in changes.steps),
        tuple(_from_reference(ramp, zero) for ramp in changes.ramps),
    )


def steps_of(series: Series, anchors: Sequence[Point] = ()) -> tuple[LevelStep, ...]:
    """Return the steps alone of `trend_of`."""
    return trend_of(series, anchors).steps


_Change = TypeVar("_Change", LevelStep, Ramp)


def _from_reference(change: _Change, zero: float) -> _Change:
    return replace(
        change,
        level_before=change.level_before - zero,
        level_after=change.level_after - zero,
        basis="change",
    )


def _is_certain(step: LevelStep, trend: Changes, night_levels: NightLevels, *, ratio: bool) -> bool:
    """Tell whether a step of a chain is more than its links leave open."""
    ends = [ramp.first_night for ramp in trend.ramps] + [
        ramp.last_night + 1 for ramp in trend.ramps
    ]
    cuts = sorted(
        {0, *(trend_step.index for trend_step in trend.steps), *ends, night_levels.nights[-1] + 1}
    )
    place = cuts.index(step.index)
    nights = np.array(night_levels.nights)
    nights_before = (nights >= cuts[place - 1]) & (nights < step.index)
    nights_after = (nights >= step.index) & (nights < cuts[place + 1])
    return _is_beyond(
        step.change,
        nights_after / nights_after.sum() - nights_before / nights_before.sum(),
        night_levels,
        ratio=ratio,
    )


def _is_sure(ramp: Ramp, night_levels: NightLevels, *, ratio: bool) -> bool:
    """Tell whether a drift of a chain is more than its links leave open."""
    nights = np.array(night_levels.nights)
    weights = (nights == ramp.last_night).astype(float) - (nights == ramp.first_night)
    return _is_beyond(ramp.change, weights, night_levels, ratio=ratio)


def _is_beyond(change: float, weights: Floats, night_levels: NightLevels, *, ratio: bool) -> bool:
    _, deviation = night_levels.total(weights)
    return abs(math.log1p(change) if ratio else change) > SURE * deviation
