"""The past of a metric: its nights since the last accepted change, and those of its anchor."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tracekit.nightly.history.documents import measured_of
from tracekit.nightly.history.night import ANCHORED, Accepted, Entry, Judged, Night
from tracekit.nightly.history.steps import Point, Series, moves

_CHAINED = 60  # nights to look back


@dataclass(frozen=True)
class Past:
    """A metric up to tonight, from the last accepted night on, and the points of its anchor."""

    series: Series
    anchors: tuple[Point, ...] = ()

    @property
    def turn(self) -> int:
        """The factor that turns changes so that those above 0 are for the worse."""
        return {"lower": 1, "higher": -1}.get(self.series.better, 0)

    @property
    def threshold(self) -> float:
        """The threshold on the scale on which changes add up."""
        if self.series.scale == "ratio":
            return math.log1p(self.series.threshold)
        return self.series.threshold


def past_of(
    night: Night,
    capture: str,
    judged: Judged,
    earlier_series: Sequence[Series],
    accepted: dict[str, Accepted],
) -> Past | None:
    """Return a metric of a capture up to tonight; None if tonight does not have it."""
    own_entry, own_metric = next(_find_judged(night, capture, judged.metric), (None, None))
    if own_entry is None or own_metric is None or own_entry.reference is None:
        return None
    points = _points(earlier_series, capture, judged.metric, own_entry.work)
    points.append(_tonight(night, own_entry, own_metric))
    anchors = _points(earlier_series, capture + ANCHORED, judged.metric)
    anchored_entries = _find_judged(night, capture + ANCHORED, own_metric.metric)
    for anchor_entry, anchor_metric in anchored_entries:
        anchors.append(_tonight(night, anchor_entry, anchor_metric))
    latest_points = tuple(points[-_CHAINED:])
    series = Series(
        machine=night.machine,
        plan=night.plan,
        capture=capture,
        work=own_entry.work,
        metric=own_metric.metric,
        unit=own_metric.unit,
        better=own_metric.better,
        scale=own_metric.scale,
        threshold=own_metric.threshold,
        gated=own_metric.gated,
        points=latest_points,
    )
    past = Past(series, tuple(anchors))
    return _since_accepted(past, accepted.get(capture))


def _since_accepted(past: Past, baseline: Accepted | None) -> Past:
    """Return the part of a past from the accepted night on; all of it without one.

    The part begins with the accepted night, or in a chain with the next link.
    """
    if baseline is None:
        return past
    for place, point in enumerate(past.series.points):
        if point.night != baseline.night:
            continue
        begin = place + 1 if moves(past.series) else place
        later_points = past.series.points[begin:]
        series = replace(past.series, points=later_points)
        first_time = series.points[0].at
        anchors = [anchor for anchor in past.anchors if anchor.at >= first_time]
        return Past(series, tuple(anchors))
    return past


def _find_judged(night: Night, capture: str, metric: str) -> Iterator[tuple[Entry, Judged]]:
    for entry in night.entries:
        if entry.capture != capture:
            continue
        for judged in entry.judged:
            if judged.metric == metric:
                yield entry, judged


def _points(
    earlier_series: Sequence[Series], capture: str, metric: str, work: str | None = None
) -> list[Point]:
    """Return the points of a metric, oldest first; `work` None is any work."""
    points: list[Point] = []
    for series in earlier_series:
        is_same_metric = (series.capture, series.metric) == (capture, metric)
        if is_same_metric and work in {None, series.work}:
            points.extend(series.points)
    return sorted(points, key=lambda point: point.at)


def _tonight(night: Night, entry: Entry, judged: Judged) -> Point:
    measurement = measured_of(entry.pairs, judged)
    reference_commit = ""
    if entry.reference:
        reference_commit = entry.reference.commit
    return Point(
        night.id,
        night.started,
        judged.candidate,
        change=measurement["measured"],
        low=measurement["measured_low"],
        high=measurement["measured_high"],
        commit=entry.candidate.commit,
        reference_commit=reference_commit,
    )
