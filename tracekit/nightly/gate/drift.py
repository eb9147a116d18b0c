"""What nights add up to: drift that no single night shows, where it began, and the anchor.

Every night is judged through the levels of the nights before it too (`history/steps.py`). A
metric is a regression if tonight and the night before lie beyond the threshold together, each by
half of it, and by more than equal nights explain, above three earlier nights in a row; or tonight
above the beginning of a chain. A change that came a little each night up to tonight is said as a
drift, with its range and its rate, and no commit is searched for. `bench/drift_simulation.py`
counts false alarms, and how soon drift is found. A reference that moves along is measured against
an anchor now and then, which stays.
"""

import math
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

from tracekit.base import TracekitError, Verdict, short_commit
from tracekit.nightly.gate.decision import POLICY, plain_change
from tracekit.nightly.history.changes import Ramp
from tracekit.nightly.history.night import (
    ANCHORED,
    INTERRUPTED,
    Accepted,
    Entry,
    Judged,
    Night,
    Outcome,
)
from tracekit.nightly.history.steps import SURE, NightLevels, Point, Series, levels, moves, trend_of
from tracekit.nightly.history.store.documents import measured_of
from tracekit.nightly.plan.plan import Capture
from tracekit.nightly.plan.reading import UNTRACED
from tracekit.nightly.session.worktree import repository
from tracekit.workload import ANY_PROGRAM

_CHAINED = 60  # nights that are looked back
_WINDOW = 3  # nights in a row whose level is one to compare with; one alone may be odd
_LATEST = 2  # nights that must lie above it, tonight included
_HALF = 1.96  # deviations of half a 95 % interval
_Lost = tuple[int, float, float]  # since which night, -1 for before the first; how much; deviation


@dataclass(frozen=True)
class Drift:
    """A change for the worse over so many nights, `since` the first of them began.

    `base_commit` is the commit before them, `last_commit` tonight's; each is empty for files of no
    commit. The whole change is a ratio less one, or a difference, with its 95 % interval.
    """

    nights: int
    since: str
    base_commit: str
    last_commit: str
    change: float
    lower_bound: float
    upper_bound: float


@dataclass(frozen=True)
class Past:
    """A metric up to tonight, from what was accepted last on, and what is known of its anchor."""

    series: Series
    anchors: tuple[Point, ...] = ()

    @property
    def turn(self) -> int:
        """What changes are multiplied by so that those above 0 are for the worse."""
        return {"lower": 1, "higher": -1}.get(self.series.better, 0)

    @property
    def threshold(self) -> float:
        """The threshold where changes add up."""
        plain_threshold = self.series.threshold
        return math.log1p(plain_threshold) if self.series.scale == "ratio" else plain_threshold


def drift_of(past: Past) -> Drift | None:
    """Return the change for the worse that several nights show together, up to tonight."""
    night_levels = levels(past.series, past.anchors)
    if len(night_levels.nights) < _LATEST or past.turn == 0:
        return None
    alarms = [
        contrast
        for contrast in _contrasts(night_levels, past)
        if contrast[1] >= past.threshold and contrast[1] >= SURE * contrast[2]
    ]
    if not alarms or night_levels.nights[-1] != len(past.series.points) - 1:
        return None
    return _drift(past, night_levels, *_latest(alarms))


def beginning_of(past: Past) -> Drift | None:
    """Return since when a metric that is worse tonight is so; None where nights do not show it."""
    night_levels = levels(past.series, past.anchors)
    if not night_levels.nights or past.turn == 0:
        return None
    *earlier_levels, tonight = past.turn * np.eye(len(night_levels.nights))
    losses = [
        (place, *night_levels.total(tonight - level)) for place, level in enumerate(earlier_levels)
    ]
    losses = [*reversed(losses), (-1, *night_levels.total(tonight))]
    return (
        _drift(past, night_levels, *_latest(losses))
        if max(loss[1] for loss in losses) > 0
        else None
    )


def ramp_of(past: Past) -> Ramp | None:
    """Return the drift for the worse that goes on tonight; None where no drift does."""
    ramps = trend_of(past.series, past.anchors).ramps
    if not ramps or ramps[-1].last_night != len(past.series.points) - 1:
        return None
    return ramps[-1] if past.turn * ramps[-1].rate > 0 else None


def _latest(losses: Sequence[_Lost]) -> _Lost:
    """Return since when all was lost: the latest before which more may well not have been."""
    largest_loss = max(change for _, change, _ in losses)
    return next(
        (place, change, deviation)
        for place, change, deviation in losses
        if change >= max(largest_loss - _HALF * deviation, largest_loss / 2)
    )


def _contrasts(night_levels: NightLevels, past: Past) -> Iterator[_Lost]:
    """Yield how far tonight lies above earlier levels, the latest first.

    Each is the last night of the earlier level, -1 for the beginning of the chain; the change for
    the worse; and its standard deviation.
    """
    nights = past.turn * np.eye(len(night_levels.nights))
    for begin in reversed(range(len(nights) - _LATEST - _WINDOW + 1)):
        level = nights[begin : begin + _WINDOW].mean(axis=0)
        differences = (nights[-_LATEST:] - level) @ night_levels.values
        if (
            differences.min() >= POLICY.agreement * past.threshold
        ):  # else it may be a single odd night
            weights = nights[-_LATEST:].mean(axis=0) - level
            yield begin + _WINDOW - 1, *night_levels.total(weights)
    if moves(past.series):  # against a commit that stays tonight is judged by its own pairs
        yield -1, *night_levels.total(nights[-1])


def _drift(
    past: Past, night_levels: NightLevels, base_place: int, worse: float, deviation: float
) -> Drift:
    points = [past.series.points[place] for place in night_levels.nights]
    base_commit = points[base_place].commit if base_place >= 0 else points[0].reference_commit
    change, half = past.turn * worse, _HALF * deviation
    ends = (change, change - half, change + half)
    plain_ends = (plain_change(end, past.series.scale) for end in ends)
    since = points[min(base_place + 1, len(points) - 1)].at
    return Drift(len(points) - base_place - 1, since, base_commit, points[-1].commit, *plain_ends)


def with_drift(
    night: Night,
    earlier_series: Sequence[Series],
    accepted: dict[str, Accepted],
    workloads: dict[str, Path | None],
) -> Night:
    """Return a night in which metrics that nights together show to be worse are regressions.

    One regression is one finding: the first metric of a capture that is worse says since which
    night, in which commits, or at which rate it drifts, and `Entry.search` how to find the commit.
    The others do not say it again, and neither does the anchor of the same capture.
    """
    entries: dict[str, Entry] = {}
    for entry in night.entries:
        name = entry.capture.removesuffix(ANCHORED)
        judged: list[Judged] = []
        search = ""
        dated = False
        for old in entry.judged:
            past = past_of(night, name, old, earlier_series, accepted)
            if past is None or not old.gated:
                judged.append(old)
                continue
            new = _judge_drift(old, entry, past)
            if new.outcome is Outcome.REGRESSION and not dated:
                origin = _origin(new, old, past)
                search = _search(origin.drift, new, entry, workloads.get(name))
                dated = bool(origin.words)
                new = replace(new, reason=" ".join([new.reason, *origin.words]))
            judged.append(new)
        entries[entry.capture] = _conclude_entry(entry, judged, search)
    for name in [name for name in entries if name.endswith(ANCHORED)]:
        capture = name.removesuffix(ANCHORED)
        if capture in entries:
            entries[capture], entries[name] = _join(entries[capture], entries[name])
    return replace(night, entries=tuple(entries.values()))


def _conclude_entry(entry: Entry, judged: Sequence[Judged], search: str) -> Entry:
    """Return an entry with what became of its metrics, and how it ends by those that are worse."""
    new = replace(entry, judged=tuple(judged), search=search)
    worse = [metric for metric in judged if metric.outcome is Outcome.REGRESSION]
    if not worse or new == entry:
        return new
    parts = [f"{metric.metric}: {metric.reason}" for metric in worse]
    if entry.outcome is Outcome.FAILED:
        parts.insert(0, entry.reason)
    if entry.reason.endswith(INTERRUPTED):
        parts.append(INTERRUPTED)
    return replace(new, outcome=Outcome.REGRESSION, reason=" ".join(parts))


def _join(capture_entry: Entry, anchor: Entry) -> tuple[Entry, Entry]:
    """Return a capture and its anchor, in which a regression of both is the capture's alone."""
    theirs = {metric.metric: metric for metric in anchor.judged}
    shared_metrics = {
        metric.metric
        for metric in capture_entry.judged
        if metric.outcome is Outcome.REGRESSION
        if metric.metric in theirs and theirs[metric.metric].outcome is Outcome.REGRESSION
    }
    if not shared_metrics:
        return capture_entry, anchor
    against = anchor.reference.words if anchor.reference else "it"
    capture_metrics: list[Judged] = []
    for metric in capture_entry.judged:
        if metric.metric in shared_metrics:
            words = f"Against the anchor, {against}: {_describe_change(theirs[metric.metric])}."
            capture_metrics.append(replace(metric, reason=f"{metric.reason} {words}"))
        else:
            capture_metrics.append(metric)
    anchor_metrics = [
        replace(metric, outcome=None, verdict="") if metric.metric in shared_metrics else metric
        for metric in anchor.judged
    ]
    joined = replace(anchor, judged=tuple(anchor_metrics), search="")
    if all(metric.outcome is not Outcome.REGRESSION for metric in anchor_metrics):
        reason = f"Its regression is that of {capture_entry.capture}."
        joined = replace(joined, outcome=Outcome.UNJUDGED, reason=reason)
    return _conclude_entry(capture_entry, capture_metrics, capture_entry.search), joined


def _describe_change(judged: Judged) -> str:
    change = 0.0 if judged.change is None else judged.change
    return judged.formatter.format_change(change, judged.low, judged.high)


def past_of(
    night: Night,
    capture: str,
    judged: Judged,
    earlier_series: Sequence[Series],
    accepted: dict[str, Accepted],
) -> Past | None:
    """Return a metric of a capture up to tonight; None where tonight does not have it."""
    own_entry, own_metric = next(_find_judged(night, capture, judged.metric), (None, None))
    if own_entry is None or own_metric is None or own_entry.reference is None:
        return None
    points = _points(earlier_series, capture, judged.metric, own_entry.work)
    points += [_tonight(night, own_entry, own_metric)]
    anchors = _points(earlier_series, capture + ANCHORED, judged.metric)
    anchors += [
        _tonight(night, *anchor_match)
        for anchor_match in _find_judged(night, capture + ANCHORED, own_metric.metric)
    ]
    series = Series(
        *(
            night.machine,
            night.plan,
            capture,
            own_entry.work,
            own_metric.metric,
            own_metric.unit,
            own_metric.better,
        ),
        *(own_metric.scale, own_metric.threshold, own_metric.gated),
        points=tuple(points[-_CHAINED:]),
    )
    baseline = accepted.get(capture)
    places = [
        place
        for place, point in enumerate(series.points)
        if baseline and point.night == baseline.night
    ]
    if places:  # of a chain the next link is the first, else the accepted night is where it begins
        begin = places[0] + moves(series)
        series = replace(series, points=series.points[begin:])
        anchors = [anchor for anchor in anchors if anchor.at >= series.points[0].at]
    return Past(series, tuple(anchors))


def _find_judged(night: Night, capture: str, metric: str) -> Iterator[tuple[Entry, Judged]]:
    for entry in night.entries:
        if entry.capture == capture:
            yield from ((entry, judged) for judged in entry.judged if judged.metric == metric)


def _points(
    earlier_series: Sequence[Series], capture: str, metric: str, work: str | None = None
) -> list[Point]:
    points = [
        point
        for series in earlier_series
        if (series.capture, series.metric) == (capture, metric) and work in {None, series.work}
        for point in series.points
    ]
    return sorted(points, key=lambda point: point.at)


def _tonight(night: Night, entry: Entry, judged: Judged) -> Point:
    measurement = measured_of(entry.pairs, judged)
    return Point(
        night.id,
        night.started,
        judged.candidate,
        change=measurement["measured"],
        low=measurement["measured_low"],
        high=measurement["measured_high"],
        commit=entry.candidate.commit,
        reference_commit=entry.reference.commit if entry.reference else "",
    )


def _judge_drift(judged: Judged, entry: Entry, past: Past) -> Judged:
    """Return a metric as a regression if nights together show it, and why."""
    open_ended = judged.outcome in {Outcome.OK, Outcome.INCONCLUSIVE}
    if not open_ended or entry.reference_kind == "anchor":
        return judged
    drift = drift_of(past)
    if drift is None:
        return judged
    drifts = ramp_of(past) is not None  # its own sentence has the range
    reason = judged.reason if drifts else f"{judged.reason} {sentence(drift, judged)}".strip()
    return replace(judged, outcome=Outcome.REGRESSION, verdict=Verdict.WORSE.value, reason=reason)


@dataclass(frozen=True)
class _RegressionOrigin:
    """Where a regression came from, in sentences; the `drift` whose commits can be searched."""

    words: tuple[str, ...] = ()
    drift: Drift | None = None


def _origin(judged: Judged, own_judgement: Judged, past: Past) -> _RegressionOrigin:
    """Return where a regression came from; `own_judgement` is the metric as its own pairs ended."""
    ramp = ramp_of(past)
    if ramp is not None:
        return _RegressionOrigin((_drift_words(ramp, past, judged),))
    if (
        own_judgement.outcome is not Outcome.REGRESSION
    ):  # what nights together show is dated by itself
        return _RegressionOrigin((), drift_of(past))
    beginning = beginning_of(past)
    return (
        _RegressionOrigin()
        if beginning is None
        else _RegressionOrigin(tuple(_describe_origin(beginning)), beginning)
    )


def sentence(drift: Drift, judged: Judged) -> str:
    """Say what several nights show."""
    change_words = judged.formatter.format_change(
        drift.change, drift.lower_bound, drift.upper_bound
    )
    return (
        f"Over the last {drift.nights} nights, since {drift.since[:10]}, the changes add up to "
        f"{change_words}{_commits(drift)}: worse, beyond the threshold of "
        f"{judged.formatter.amount(judged.threshold)}."
    )


def _drift_words(ramp: Ramp, past: Past, judged: Judged) -> str:
    """Say at which rate a metric drifts, over which nights and commits."""
    points = past.series.points
    first_point = points[ramp.first_night]
    base_commit = (
        points[ramp.first_night - 1].commit if ramp.first_night else first_point.reference_commit
    )
    rate = judged.formatter.change(ramp.rate)
    change = judged.formatter.change(ramp.change)
    nights = ramp.last_night - ramp.first_night + 1
    commits = _range(base_commit, points[ramp.last_night].commit)
    return (
        f"It drifts by {rate} a night, {change} over the last {nights} nights, since "
        f"{first_point.at[:10]}{commits}: worse, beyond the threshold of "
        f"{judged.formatter.amount(judged.threshold)}, and no single commit made it."
    )


def _describe_origin(drift: Drift) -> list[str]:
    commits = _commits(drift)
    if drift.nights == 1:
        return [f"It came tonight{commits}."] if commits else []
    return [f"It came in the last {drift.nights} nights, since {drift.since[:10]}{commits}."]


def _commits(drift: Drift) -> str:
    return _range(drift.base_commit, drift.last_commit)


def _range(base_commit: str, last_commit: str) -> str:
    if not base_commit or base_commit == last_commit:
        return ""
    return f", in {short_commit(base_commit)}..{short_commit(last_commit)}"


def _search(drift: Drift | None, judged: Judged, entry: Entry, workloads: Path | None) -> str:
    """Return the command line that finds the commit with most of the change; empty for none."""
    if drift is None or drift.base_commit == drift.last_commit:
        return ""
    if not (drift.base_commit.isalnum() and drift.last_commit.isalnum()):
        return ""
    work = entry.candidate
    if work.workload == ANY_PROGRAM:
        return ""
    values = [f"{name}={_text(value)}" for name, value in work.parameters.items()]
    base_commit, last_commit = (
        short_commit(commit) for commit in (drift.base_commit, drift.last_commit)
    )
    words = ["tracekit", "ab", f"{work.workload}@{base_commit}", *values, "--", *values]
    words += ["--metric", judged.metric, "--threshold", f"{abs(drift.change) / 2:.3f}", "--bisect"]
    if workloads is not None:
        words += ["--workloads", str(workloads)]
    return f"git bisect start {last_commit} {base_commit} && git bisect run {shlex.join(words)}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


_NEAR = 0.5  # of the threshold: as much of it nights may lose before the anchor is measured


def with_previous(capture: Capture, earlier_series: Sequence[Series], folder: Path) -> Capture:
    """Return a capture with the commit that the night before measured, where it asks for that.

    It is the last one that was measured without other changes and that the repository still has.
    """
    reference = capture.reference
    if reference is None or not reference.previous_night:
        return capture
    points = [
        point
        for series in earlier_series
        if series.capture == capture.name
        for point in series.points
        if point.value is not None and point.commit.isalnum()
    ]
    for point in sorted(points, key=lambda night: night.at, reverse=True):
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
    """Yield what is to be measured against an anchor tonight, as captures of their own.

    It is due after as many nights as the plan says, and where they have lost half of a threshold.
    The anchor is the commit of the night accepted last, else the reference of the first night.
    """
    entries = {entry.capture: entry for entry in night.entries}
    for capture in captures:
        reference, entry = capture.reference, entries.get(capture.name)
        if entry is None or entry.reference is None or reference is None:
            continue
        gated = [judged for judged in entry.judged if judged.gated]
        optional_pasts = (
            past_of(night, capture.name, judged, earlier_series, accepted) for judged in gated
        )
        pasts = [past for past in optional_pasts if past is not None]
        commit = _anchor(pasts)
        if not commit or commit in {entry.reference.commit, entry.candidate.commit}:
            continue
        if any(_since(past) >= reference.anchor_every or _near(past) for past in pasts):
            metrics = tuple(
                metric for metric in capture.metrics if metric.metric in UNTRACED or metric.gate
            )
            yield replace(
                capture,
                name=capture.name + ANCHORED,
                reference=replace(reference, revision=commit, merge_base="", previous_night=False),
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
    last_anchor_time = max(
        (anchor.at for anchor in past.anchors if anchor.change is not None), default=""
    )
    return sum(point.at > last_anchor_time for point in past.series.points)


def _near(past: Past) -> bool:
    values = levels(past.series, past.anchors).values
    return bool(len(values)) and past.turn * values[-1] >= _NEAR * past.threshold
