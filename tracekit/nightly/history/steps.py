"""One metric over nights, its changes, and the level of the code of each night.

A night measures how far its candidate is from its reference. Commits are points, and nights are
measured distances between them, as in levelling: the places that fit all distances best, weighed
by their variances, are the solution of least squares. Against one fixed commit these are the
changes themselves. If the reference moves along, they are a chain, whose uncertainty grows with
its length, until a night that also measured the anchor ties both ends together.

Source of the network: C. D. Ghilani, Adjustment Computations, 6th ed., chapter 12.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from tracekit.base import verdicts
from tracekit.comparison import shifts
from tracekit.nightly.history.changes import trend
from tracekit.nightly.history.night import ANCHORED, Outcome
from tracekit.nightly.history.stretches import SHORTEST, Floats
from tracekit.nightly.history.trend_changes import Changes, LevelStep, Ramp


@dataclass(frozen=True)
class Point:
    """The measurement of a series in one night, which began `at`, ISO 8601 in UTC.

    `value` is the median of the candidate's pairs that count, `least` and `most` are the extreme
    ones. `change` is the distance of the candidate from the `reference` of that night, on the
    series' scale, with its 95 % interval; an expected change is not subtracted. Each is None if it
    is not known. `outcome` is None if the metric is followed only. `commit` is the candidate's.
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
    scale: verdicts.Scale = "ratio"
    threshold: float = 0.03
    gated: bool = True
    points: tuple[Point, ...] = ()

    @property
    def formatter(self) -> verdicts.Shown:
        """The formatter that puts its changes into words."""
        return verdicts.Shown(self.scale, self.unit)


def is_searched(series: Series) -> bool:
    """Tell whether a series has enough nights with a value for a step to be found."""
    usable_count = 0
    for point in series.points:
        if point.change is not None or point.value is not None:
            usable_count += 1
    return usable_count >= 2 * SHORTEST


SURE = 3.0
"""Standard deviations beyond which equal nights do not explain a change over several of them."""
_FEW = 3  # changes: too few to show how nights differ
_BETWEEN_ENDS = 2 * 1.96  # standard deviations between the ends of a 95 % interval
_UNKNOWN = 1.0  # the deviation of a change without an interval: it says next to nothing


@dataclass(frozen=True, eq=False)
class NightLevels:
    """Places on a scale on which changes add up, of the nights that commits connect with the last.

    `nights` are their places in the series, oldest first. `values` are the distances of each
    night's candidate from the reference of the first of them, with their covariance: a table, or
    its diagonal if nights are independent.
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
        deviation = math.sqrt(max(variance, 0.0))
        return float(weights @ self.values), deviation


def moves(series: Series) -> bool:
    """Tell whether the reference is not the same commit in all nights."""
    references = {point.reference_commit for point in series.points if point.change is not None}
    return len(references) > 1


def anchors_of(series: Series, all_series: Sequence[Series]) -> tuple[Point, ...]:
    """Return the points of a series' nights that were measured against an anchor."""
    anchor_key = (series.machine, series.plan, series.capture + ANCHORED, series.metric)
    points: list[Point] = []
    for other_series in all_series:
        key = (
            other_series.machine,
            other_series.plan,
            other_series.capture,
            other_series.metric,
        )
        if key == anchor_key:
            points += other_series.points
    return tuple(points)


def levels(series: Series, anchors: Sequence[Point] = ()) -> NightLevels:
    """Return the levels of a series."""
    known_places: list[int] = []
    known_points: list[Point] = []
    for place, point in enumerate(series.points):
        if point.change is not None:
            known_places.append(place)
            known_points.append(point)
    if not known_places:
        return NightLevels((), np.zeros(0), np.zeros((0, 0)))
    distances = [_distance(point, series) for point in known_points]
    values, deviations = np.array(distances).T
    has_one_reference = not moves(series)
    night_variance = _estimate_night_variance(values, steady=has_one_reference)
    if has_one_reference:  # each night has a level of its own, though its commit may be the same
        variances = np.maximum(deviations**2, night_variance)
        return NightLevels(tuple(known_places), values, variances)
    all_points = [*known_points, *anchors]
    edges = _edges(all_points, series, night_variance)
    _, newest_candidate = _ends(known_points[-1])
    connected_commits = _find_connected_commits(edges, newest_candidate)
    connected_edges = [edge for edge in edges if edge.reference in connected_commits]
    connected_places: list[int] = []
    for place, point in zip(known_places, known_points, strict=True):
        _, candidate = _ends(point)
        if candidate in connected_commits:
            connected_places.append(place)
    return _adjust_levels(series, connected_places, connected_edges)


class _Edge(NamedTuple):
    """A measured distance between two commits, where changes add up."""

    reference: str
    candidate: str
    change: float
    variance: float


def _edges(points: Sequence[Point], series: Series, night_variance: float) -> list[_Edge]:
    """Return the distances that nights measured between different commits."""
    edges: list[_Edge] = []
    for point in points:
        if point.change is None or not point.reference_commit:
            continue
        reference, candidate = _ends(point)
        if reference == candidate:  # the same code: no distance at all
            continue
        change, deviation = _distance(point, series)
        variance = max(deviation**2, night_variance)
        edges.append(_Edge(reference, candidate, change, variance))
    return edges


def _ends(point: Point) -> tuple[str, str]:
    """Return the reference and the candidate; files without a commit are the night's own."""
    candidate = point.commit if point.commit.isalnum() else point.night
    return point.reference_commit, candidate


def _distance(point: Point, series: Series) -> tuple[float, float]:
    """Return a night's change and its standard deviation, on the scale where changes add up."""
    change = _to_additive(point.change, series)
    if point.low is None or point.high is None:
        return change, _UNKNOWN
    highest = _to_additive(point.high, series)
    lowest = _to_additive(point.low, series)
    width = highest - lowest
    return change, width / _BETWEEN_ENDS


def _to_additive(change: float | None, series: Series) -> float:
    if change is None:
        return 0.0
    if series.scale != "ratio":
        return change
    return math.log1p(change)


def _estimate_night_variance(changes: Floats, *, steady: bool) -> float:
    """Return the variance of nights: more than their pairs show, due to heat and memory of each.

    Against a reference that stays, the differences of neighbours show it, which a step hardly
    touches.
    """
    differences = np.diff(changes) / math.sqrt(2) if steady else changes
    if len(differences) <= _FEW:
        return 0.0
    median_difference = np.median(differences)
    deviations = np.abs(differences - median_difference)
    deviation = shifts.NORMAL_MAD * statistics.median(deviations.tolist())
    return deviation**2


def _find_connected_commits(edges: Sequence[_Edge], last_commit: str) -> set[str]:
    """Return the commits that distances connect with the last one, that included."""
    commits = {last_commit}
    previous_count = 0
    while len(commits) > previous_count:
        previous_count = len(commits)
        for edge in edges:
            if edge.reference in commits or edge.candidate in commits:
                commits |= {edge.reference, edge.candidate}
    return commits


def _adjust_levels(
    series: Series, connected_places: Sequence[int], edges: Sequence[_Edge]
) -> NightLevels:
    """Return the levels that fit all distances best; the origin is the first night's reference."""
    commits: dict[str, None] = {}
    for edge in edges:
        commits[edge.reference] = None
        commits[edge.candidate] = None
    first_point = series.points[connected_places[0]]
    origin, first_candidate = _ends(first_point)
    if origin not in commits:
        origin = first_candidate
    commits.pop(origin, None)
    commits[origin] = None  # its level is 0, and the last
    columns = {commit: column for column, commit in enumerate(commits)}
    design = np.zeros((len(edges), len(columns)))
    changes = np.zeros(len(edges))
    variances = np.zeros(len(edges))
    for row, edge in enumerate(edges):
        design[row, columns[edge.reference]] = -1
        design[row, columns[edge.candidate]] = 1
        changes[row] = edge.change
        variances[row] = edge.variance
    least_variance = np.finfo(float).tiny ** 0.5
    weighted = design[:, :-1].T / np.maximum(variances, least_variance)
    covariance = np.zeros((len(columns), len(columns)))
    information = weighted @ design[:, :-1]
    covariance[:-1, :-1] = np.linalg.inv(information)
    fitted_values = covariance[:-1, :-1] @ weighted @ changes
    values = np.append(fitted_values, 0.0)
    candidate_columns: list[int] = []
    for place in connected_places:
        _, candidate = _ends(series.points[place])
        candidate_columns.append(columns[candidate])
    night_covariance = covariance[np.ix_(candidate_columns, candidate_columns)]
    return NightLevels(
        tuple(connected_places),
        values[candidate_columns],
        night_covariance,
    )


def trend_of(series: Series, anchors: Sequence[Point] = ()) -> Changes:
    """Find the steps and drifts of a series, of half its threshold at least.

    With a reference they are steps of levels, because a slowdown of both sides is the machine's:
    `level_before` and `level_after` are changes from the reference of the first night. Without one
    they are steps of values. A change that the uncertainty of a chain explains is left out.
    """
    min_change = series.threshold / 2
    if all(point.change is None for point in series.points):
        point_values = [point.value for point in series.points]
        return trend(point_values, scale=series.scale, min_change=min_change)
    ratio = series.scale == "ratio"
    night_levels = levels(series, anchors)
    values: list[float | None] = [None] * len(series.points)
    known_levels = zip(night_levels.nights, night_levels.values.tolist(), strict=True)
    for place, level in known_levels:
        values[place] = math.exp(level) if ratio else level
    changes = trend(values, scale=series.scale, min_change=min_change)
    if moves(series):
        changes = _keep_certain(changes, night_levels, ratio=ratio)
    zero = 1.0 if ratio else 0.0
    steps = tuple(_from_reference(step, zero) for step in changes.steps)
    ramps = tuple(_from_reference(ramp, zero) for ramp in changes.ramps)
    return Changes(
        steps,
        ramps,
    )


def _keep_certain(changes: Changes, night_levels: NightLevels, *, ratio: bool) -> Changes:
    """Return the steps and drifts of a chain that are more than its links leave open."""
    steps: list[LevelStep] = []
    for step in changes.steps:
        is_certain = _is_certain(step, changes, night_levels, ratio=ratio)
        if is_certain:
            steps.append(step)
    ramps: list[Ramp] = []
    for ramp in changes.ramps:
        is_certain = _is_sure(ramp, night_levels, ratio=ratio)
        if is_certain:
            ramps.append(ramp)
    return Changes(tuple(steps), tuple(ramps))


def steps_of(series: Series, anchors: Sequence[Point] = ()) -> tuple[LevelStep, ...]:
    """Return the steps alone of `trend_of`."""
    return trend_of(series, anchors).steps


_Change = TypeVar("_Change", LevelStep, Ramp)


def _from_reference(change: _Change, zero: float) -> _Change:
    level_before = change.level_before - zero
    level_after = change.level_after - zero
    return replace(
        change,
        level_before=level_before,
        level_after=level_after,
        basis="change",
    )


def _is_certain(step: LevelStep, trend: Changes, night_levels: NightLevels, *, ratio: bool) -> bool:
    """Tell whether a step of a chain is more than its links leave open."""
    edges = {0, night_levels.nights[-1] + 1}
    edges.update(trend_step.index for trend_step in trend.steps)
    for ramp in trend.ramps:
        edges |= {ramp.first_night, ramp.last_night + 1}
    cuts = sorted(edges)
    place = cuts.index(step.index)
    nights = np.array(night_levels.nights)
    after_previous_cut = nights >= cuts[place - 1]
    nights_before = after_previous_cut & (nights < step.index)
    before_next_cut = nights < cuts[place + 1]
    nights_after = (nights >= step.index) & before_next_cut
    weights = nights_after / nights_after.sum() - nights_before / nights_before.sum()
    return _is_beyond(
        step.change,
        weights,
        night_levels,
        ratio=ratio,
    )


def _is_sure(ramp: Ramp, night_levels: NightLevels, *, ratio: bool) -> bool:
    """Tell whether a drift of a chain is more than its links leave open."""
    nights = np.array(night_levels.nights)
    is_last = (nights == ramp.last_night).astype(float)
    weights = is_last - (nights == ramp.first_night)
    return _is_beyond(ramp.change, weights, night_levels, ratio=ratio)


def _is_beyond(change: float, weights: Floats, night_levels: NightLevels, *, ratio: bool) -> bool:
    _, deviation = night_levels.total(weights)
    additive_change = math.log1p(change) if ratio else change
    return abs(additive_change) > SURE * deviation
