"""A reference that moves along: the commit of the night before, and the anchor that stays."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from tracekit.base import TracekitError
from tracekit.nightly.gate.drift import Past, past_of
from tracekit.nightly.history.night import ANCHORED, Accepted, Night
from tracekit.nightly.history.steps import Series
from tracekit.nightly.plan.plan import Capture
from tracekit.nightly.plan.reading import UNTRACED
from tracekit.nightly.session.worktree import repository

_NEAR = 0.5  # of the threshold: as much of it nights may lose before the anchor is measured


def with_previous(capture: Capture, earlier: Sequence[Series], folder: Path) -> Capture:
    """Return a capture with the commit that the night before measured, where it asks for that.

    It is the last one that was measured without other changes and that the repository still has.
    """
    reference = capture.reference
    if reference is None or not reference.previous_night:
        return capture
    points = [
        point
        for one in earlier
        if one.capture == capture.name
        for point in one.points
        if point.value is not None and point.commit.isalnum()
    ]
    for point in sorted(points, key=lambda one: one.at, reverse=True):
        with suppress(TracekitError):
            commit = repository(folder).commit(point.commit)
            return replace(capture, reference=replace(reference, revision=commit))
    return capture


def anchors_due(
    night: Night,
    captures: Sequence[Capture],
    earlier: Sequence[Series],
    accepted: dict[str, Accepted],
) -> Iterator[Capture]:
    """Yield what is to be measured against an anchor tonight, as captures of their own.

    It is due after as many nights as the plan says, and where the chain of nights has lost half of
    a threshold. The anchor is the commit of the night that was accepted last, else the reference
    of the first night.
    """
    for capture in captures:
        reference = capture.reference
        entry = next((one for one in night.entries if one.capture == capture.name), None)
        if entry is None or entry.reference is None or reference is None:
            continue
        pasts = [
            past
            for one in entry.judged
            if one.gated and (past := past_of(night, capture.name, one, earlier, accepted))
        ]
        commit = _anchor(pasts)
        if not commit or commit in {entry.reference.commit, entry.candidate.commit}:
            continue
        if any(_since(past) >= reference.anchor_every or _near(past) for past in pasts):
            anchor = replace(reference, revision=commit, merge_base="", previous_night=False)
            metrics = tuple(one for one in capture.metrics if one.metric in UNTRACED or one.gate)
            yield replace(
                capture,
                name=capture.name + ANCHORED,
                reference=anchor,
                metrics=metrics,
                traced=0,
                checks=(),
                parity="off",
                fail_on=(),
            )


def _anchor(pasts: Sequence[Past]) -> str:
    """Return the commit of the anchor; empty where no night before measured anything."""
    for past in pasts:
        if past.anchors:
            return past.anchors[-1].reference_commit
        for point in past.series.points[:-1]:
            if point.change is not None and point.reference_commit.isalnum():
                return point.reference_commit
    return ""


def _since(past: Past) -> int:
    """Return how many nights have passed since the anchor was measured, tonight included."""
    last = max((one.at for one in past.anchors if one.change is not None), default="")
    return sum(point.at > last for point in past.series.points)


def _near(past: Past) -> bool:
    values = past.levels().values
    return bool(len(values)) and past.turn * values[-1] >= _NEAR * past.threshold
