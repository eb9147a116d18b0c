"""Anchors: older commits that a capture with a moving reference is now and then compared with."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from tracekit.base import TracekitError
from tracekit.nightly.gate.past import Past, past_of
from tracekit.nightly.history.night import ANCHORED, Accepted, Night
from tracekit.nightly.history.steps import Point, Series, levels
from tracekit.nightly.plan.followed import UNTRACED
from tracekit.nightly.plan.plan import Capture, Reference
from tracekit.nightly.session.worktree import repository

_NEAR = 0.5  # the part of the threshold that nights may lose before the anchor is measured


def with_previous(capture: Capture, earlier_series: Sequence[Series], folder: Path) -> Capture:
    """Return a capture with the commit that the night before measured, if the plan asks for it.

    That is the last commit that was measured without other changes and is still in the repository.
    """
    reference = capture.reference
    if reference is None or not reference.previous_night:
        return capture
    points: list[Point] = []
    for series in earlier_series:
        if series.capture == capture.name:
            points.extend(series.points)
    for point in sorted(points, key=lambda night: night.at, reverse=True):
        if point.value is None or not point.commit.isalnum():
            continue
        with suppress(TracekitError):
            commit = repository(folder).commit(point.commit)
            return replace(capture, reference=replace(reference, revision=commit))
    return capture


def anchors_due(
    night: Night,
    captures: Iterable[Capture],
    earlier_series: Sequence[Series],
    accepted: dict[str, Accepted],
) -> Iterator[Capture]:
    """Yield the measurements against an anchor that are due tonight, as captures of their own.

    One is due after as many nights as the plan says, and once nights have lost half of a threshold.
    The anchor is the commit of the last accepted night, else the reference of the first night.
    """
    entries = {entry.capture: entry for entry in night.entries}
    for capture in captures:
        reference = capture.reference
        entry = entries.get(capture.name)
        if entry is None or entry.reference is None or reference is None:
            continue
        pasts: list[Past] = []
        for judged in entry.judged:
            if not judged.gated:
                continue
            past = past_of(night, capture.name, judged, earlier_series, accepted)
            if past is not None:
                pasts.append(past)
        commit = _anchor(pasts)
        if not commit or commit in {entry.reference.commit, entry.candidate.commit}:
            continue
        if any(_since(past) >= reference.anchor_every or _near(past) for past in pasts):
            yield _anchored(capture, reference, commit)


def _anchored(capture: Capture, reference: Reference, commit: str) -> Capture:
    """Return a capture as it is measured against an anchor: untraced, with nothing to check."""
    metrics = [metric for metric in capture.metrics if metric.metric in UNTRACED or metric.gate]
    anchored_reference = replace(reference, revision=commit, merge_base="", previous_night=False)
    return replace(
        capture,
        name=capture.name + ANCHORED,
        reference=anchored_reference,
        metrics=tuple(metrics),
        traced=0,
        checks=(),
        parity="off",
        fail_on=(),
    )


def _anchor(pasts: Sequence[Past]) -> str:
    """Return the commit of the anchor; empty if no earlier night measured anything."""
    for past in pasts:
        if past.anchors:
            return past.anchors[-1].reference_commit
        for point in past.series.points[:-1]:
            if point.change is not None and point.reference_commit.isalnum():
                return point.reference_commit
    return ""


def _since(past: Past) -> int:
    """Return the number of nights since the anchor was last measured, tonight included."""
    last_anchor_time = ""
    for anchor in past.anchors:
        if anchor.change is not None:
            last_anchor_time = max(last_anchor_time, anchor.at)
    return sum(point.at > last_anchor_time for point in past.series.points)


def _near(past: Past) -> bool:
    """Tell whether tonight's level lies close to the threshold."""
    values = levels(past.series, past.anchors).values
    if len(values) == 0:
        return False
    latest_loss = past.turn * values[-1]
    return bool(latest_loss >= _NEAR * past.threshold)
