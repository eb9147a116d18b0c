"""Drift over several nights that no single night shows, its beginning, and the anchor.

The levels of the nights before judge each night too (`history/steps.py`). A metric is a regression
if tonight and the night before lie beyond the threshold together, each by half of it, and by more
than equal nights explain, above three earlier nights in a row; or if tonight lies so above the
beginning of a chain. A change that grew a little each night up to tonight is reported as a drift,
with its range and its rate, and without a search for a commit.
`tests/nightly/simulations/drift_simulation.py` counts false alarms, and the nights until a drift is
found. A reference that moves along is measured now and then against an anchor, which stays.
"""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

from tracekit.base import Verdict, units
from tracekit.nightly.gate.decision import POLICY
from tracekit.nightly.gate.past import Past, past_of
from tracekit.nightly.history.night import (
    ANCHORED,
    INTERRUPTED,
    Accepted,
    Entry,
    Judged,
    Night,
    Outcome,
)
from tracekit.nightly.history.pairs import plain_change
from tracekit.nightly.history.steps import SURE, NightLevels, Series, levels, moves, trend_of
from tracekit.nightly.history.trend_changes import Ramp
from tracekit.workload import plan

_WINDOW = 3  # nights in a row that form a level to compare with; one alone may be odd
_LATEST = 2  # nights that must lie above it, tonight included
_HALF = 1.96  # deviations of half a 95 % interval
_Lost = tuple[int, float, float]  # the night before, -1 before the first; the loss; its deviation


@dataclass(frozen=True)
class Drift:
    """A change for the worse over several nights, `since` the first of them started.

    `base_commit` is the commit before these nights, `last_commit` tonight's; each is empty if the
    files belong to no commit. The change over all nights is a ratio less one, or a difference, with
    its 95 % interval.
    """

    nights: int
    since: str
    base_commit: str
    last_commit: str
    change: float
    lower_bound: float
    upper_bound: float


def drift_of(past: Past) -> Drift | None:
    """Return the change for the worse that several nights show together, up to tonight."""
    night_levels = levels(past.series, past.anchors)
    if len(night_levels.nights) < _LATEST or past.turn == 0:
        return None
    alarms: list[_Lost] = []
    for contrast in _contrasts(night_levels, past):
        _, change, deviation = contrast
        if change >= past.threshold and change >= SURE * deviation:
            alarms.append(contrast)
    if not alarms or night_levels.nights[-1] != len(past.series.points) - 1:
        return None
    return _drift(past, night_levels, *_latest(alarms))


def beginning_of(past: Past) -> Drift | None:
    """Return the change since the night from which a metric is worse; None if nights show none."""
    night_levels = levels(past.series, past.anchors)
    if not night_levels.nights or past.turn == 0:
        return None
    each_night = np.eye(len(night_levels.nights))
    *earlier_levels, tonight = past.turn * each_night
    losses: list[_Lost] = []
    for place, level in enumerate(earlier_levels):
        losses.append((place, *night_levels.total(tonight - level)))
    losses.reverse()
    losses.append((-1, *night_levels.total(tonight)))
    largest_loss = max(change for _, change, _ in losses)
    if largest_loss > 0:
        return _drift(past, night_levels, *_latest(losses))
    return None


def ramp_of(past: Past) -> Ramp | None:
    """Return the drift for the worse that continues tonight; None if there is none."""
    ramps = trend_of(past.series, past.anchors).ramps
    if not ramps:
        return None
    ramp = ramps[-1]
    last_place = len(past.series.points) - 1
    continues_tonight = ramp.last_night == last_place
    if continues_tonight and past.turn * ramp.rate > 0:
        return ramp
    return None


def _latest(losses: Sequence[_Lost]) -> _Lost:
    """Return the loss since the latest night before which more may well not have been lost."""
    largest_loss = max(change for _, change, _ in losses)
    candidates: list[_Lost] = []
    for loss in losses:
        _, change, deviation = loss
        nearly_largest = max(largest_loss - _HALF * deviation, largest_loss / 2)
        if change >= nearly_largest:
            candidates.append(loss)
    return candidates[0]


def _contrasts(night_levels: NightLevels, past: Past) -> Iterator[_Lost]:
    """Yield how far tonight lies above earlier levels, the latest level first.

    Each contrast is the last night of the earlier level, -1 for the beginning of the chain; the
    change for the worse; and its standard deviation.
    """
    each_night = np.eye(len(night_levels.nights))
    nights = past.turn * each_night
    least_difference = POLICY.agreement * past.threshold
    last_begin = len(nights) - _LATEST - _WINDOW
    for begin in reversed(range(last_begin + 1)):
        level = nights[begin : begin + _WINDOW].mean(axis=0)
        differences = (nights[-_LATEST:] - level) @ night_levels.values
        if differences.min() >= least_difference:  # otherwise it may be a single odd night
            weights = nights[-_LATEST:].mean(axis=0) - level
            yield begin + _WINDOW - 1, *night_levels.total(weights)
    if moves(past.series):  # against a fixed commit, tonight's own pairs judge tonight
        total_loss = night_levels.total(nights[-1])
        yield -1, *total_loss


def _drift(
    past: Past, night_levels: NightLevels, base_place: int, worse: float, deviation: float
) -> Drift:
    points = [past.series.points[place] for place in night_levels.nights]
    base_commit = points[0].reference_commit
    if base_place >= 0:
        base_commit = points[base_place].commit
    first_place = min(base_place + 1, len(points) - 1)
    change = past.turn * worse
    half = _HALF * deviation
    scale = past.series.scale
    nights = len(points) - base_place - 1
    lower_bound = plain_change(change - half, scale)
    upper_bound = plain_change(change + half, scale)
    return Drift(
        nights=nights,
        since=points[first_place].at,
        base_commit=base_commit,
        last_commit=points[-1].commit,
        change=plain_change(change, scale),
        lower_bound=lower_bound,
        upper_bound=upper_bound,
    )


def with_drift(
    night: Night,
    earlier_series: Sequence[Series],
    accepted: dict[str, Accepted],
    workloads: dict[str, Path | None],
) -> Night:
    """Return a night in which metrics that several nights show to be worse are regressions.

    One regression is one finding. The first metric of a capture that is worse says since which
    night, in which commits, or at which rate it drifts, and `Entry.search` how to find the commit.
    The other metrics do not repeat it, nor does the anchor of the same capture.
    """
    entries: dict[str, Entry] = {}
    for entry in night.entries:
        capture = entry.capture.removesuffix(ANCHORED)
        pasts: list[Past | None] = []
        for judged in entry.judged:
            past = None
            if judged.gated:
                past = past_of(night, capture, judged, earlier_series, accepted)
            pasts.append(past)
        capture_drifts = _with_drift(entry, pasts, workloads.get(capture))
        entries[entry.capture] = capture_drifts
    anchor_names = [name for name in entries if name.endswith(ANCHORED)]
    for name in anchor_names:
        capture = name.removesuffix(ANCHORED)
        if capture in entries:
            capture_entry, anchor = _join(entries[capture], entries[name])
            entries[capture] = capture_entry
            entries[name] = anchor
    return replace(night, entries=tuple(entries.values()))


def _with_drift(entry: Entry, pasts: Sequence[Past | None], workloads: Path | None) -> Entry:
    """Return an entry judged by the past of each metric too; None leaves a metric as it is."""
    judged: list[Judged] = []
    search = ""
    is_dated = False
    for old, past in zip(entry.judged, pasts, strict=True):
        if past is None:
            judged.append(old)
            continue
        new = _judge_drift(old, entry, past)
        if new.outcome is Outcome.REGRESSION and not is_dated:
            origin = _origin(new, old, past)
            search = _search(origin.drift, new, entry, workloads)
            is_dated = bool(origin.words)
            sentences = [new.reason, *origin.words]
            new = replace(new, reason=" ".join(sentences))
        judged.append(new)
    return _conclude_entry(entry, judged, search)


def _conclude_entry(entry: Entry, judged: Sequence[Judged], search: str) -> Entry:
    """Return an entry with the judged metrics; those that are worse decide how it ends."""
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
    """Return a capture and its anchor; a regression of both remains the capture's alone."""
    regressed_in_anchor: dict[str, Judged] = {}
    for metric in anchor.judged:
        if metric.outcome is Outcome.REGRESSION:
            regressed_in_anchor[metric.metric] = metric
    against = anchor.reference.words if anchor.reference else "it"
    shared_names: set[str] = set()
    capture_metrics: list[Judged] = []
    for metric in capture_entry.judged:
        anchor_metric = regressed_in_anchor.get(metric.metric)
        if metric.outcome is Outcome.REGRESSION and anchor_metric is not None:
            shared_names.add(metric.metric)
            words = f"Against the anchor, {against}: {_describe_change(anchor_metric)}."
            explained_metric = replace(metric, reason=f"{metric.reason} {words}")
            capture_metrics.append(explained_metric)
        else:
            capture_metrics.append(metric)
    if not shared_names:
        return capture_entry, anchor
    joined_anchor = _without_regressions(anchor, shared_names, capture_entry.capture)
    joined_entry = _conclude_entry(capture_entry, capture_metrics, capture_entry.search)
    return joined_entry, joined_anchor


def _without_regressions(anchor: Entry, names: set[str], capture: str) -> Entry:
    """Return an anchor in which the metrics of these names are not judged: their capture is."""
    metrics: list[Judged] = []
    for metric in anchor.judged:
        if metric.metric in names:
            metrics.append(replace(metric, outcome=None, verdict=""))
        else:
            metrics.append(metric)
    joined = replace(anchor, judged=tuple(metrics), search="")
    if any(metric.outcome is Outcome.REGRESSION for metric in metrics):
        return joined
    reason = f"Its regression is that of {capture}."
    return replace(joined, outcome=Outcome.UNJUDGED, reason=reason)


def _describe_change(judged: Judged) -> str:
    change = 0.0
    if judged.change is not None:
        change = judged.change
    return judged.formatter.format_change(change, judged.low, judged.high)


def _judge_drift(judged: Judged, entry: Entry, past: Past) -> Judged:
    """Return a metric as a regression, with the reason, if several nights show one."""
    is_open_ended = judged.outcome in {Outcome.OK, Outcome.INCONCLUSIVE}
    if not is_open_ended or entry.reference_kind == "anchor":
        return judged
    drift = drift_of(past)
    if drift is None:
        return judged
    reason = judged.reason
    if ramp_of(past) is None:  # the sentence of a ramp has the range itself
        reason = f"{reason} {sentence(drift, judged)}".strip()
    return replace(judged, outcome=Outcome.REGRESSION, verdict=Verdict.WORSE.value, reason=reason)


@dataclass(frozen=True)
class _RegressionOrigin:
    """The origin of a regression in sentences, and the `drift` whose commits can be searched."""

    words: tuple[str, ...] = ()
    drift: Drift | None = None


def _origin(judged: Judged, own_judgement: Judged, past: Past) -> _RegressionOrigin:
    """Return the origin of a regression; `own_judgement` is the metric judged by its own pairs."""
    ramp = ramp_of(past)
    if ramp is not None:
        return _RegressionOrigin((_drift_words(ramp, past, judged),))
    if own_judgement.outcome is not Outcome.REGRESSION:
        # The sentence on several nights has the date already.
        return _RegressionOrigin((), drift_of(past))
    beginning = beginning_of(past)
    if beginning is None:
        return _RegressionOrigin()
    return _RegressionOrigin(tuple(_describe_origin(beginning)), beginning)


def sentence(drift: Drift, judged: Judged) -> str:
    """Return a sentence on the change that several nights show."""
    formatter = judged.formatter
    change_words = formatter.format_change(drift.change, drift.lower_bound, drift.upper_bound)
    threshold = formatter.amount(judged.threshold)
    return (
        f"Over the last {drift.nights} nights, since {drift.since[:10]}, the changes add up to "
        f"{change_words}{_commits(drift)}: worse, beyond the threshold of "
        f"{threshold}."
    )


def _drift_words(ramp: Ramp, past: Past, judged: Judged) -> str:
    """Return a sentence on the rate at which a metric drifts, with its nights and commits."""
    points = past.series.points
    first_point = points[ramp.first_night]
    if ramp.first_night:
        base_commit = points[ramp.first_night - 1].commit
    else:
        base_commit = first_point.reference_commit
    rate = judged.formatter.change(ramp.rate)
    change = judged.formatter.change(ramp.change)
    nights = ramp.last_night - ramp.first_night + 1
    commits = _range(base_commit, points[ramp.last_night].commit)
    first_day = first_point.at[:10]
    threshold = judged.formatter.amount(judged.threshold)
    return (
        f"It drifts by {rate} a night, {change} over the last {nights} nights, since "
        f"{first_day}{commits}: worse, beyond the threshold of "
        f"{threshold}, and no single commit made it."
    )


def _describe_origin(drift: Drift) -> list[str]:
    commits = _commits(drift)
    if drift.nights != 1:
        first_day = drift.since[:10]
        return [f"It came in the last {drift.nights} nights, since {first_day}{commits}."]
    if commits:
        return [f"It came tonight{commits}."]
    return []


def _commits(drift: Drift) -> str:
    return _range(drift.base_commit, drift.last_commit)


def _range(base_commit: str, last_commit: str) -> str:
    if not base_commit or base_commit == last_commit:
        return ""
    return f", in {units.short_commit(base_commit)}..{units.short_commit(last_commit)}"


def _search(drift: Drift | None, judged: Judged, entry: Entry, workloads: Path | None) -> str:
    """Return the command line that finds the commit with most of the change; empty for none."""
    if drift is None or drift.base_commit == drift.last_commit:
        return ""
    has_commits = drift.base_commit.isalnum() and drift.last_commit.isalnum()
    if not has_commits:
        return ""
    work = entry.candidate
    if work.workload == plan.ANY_PROGRAM:
        return ""
    base_commit = units.short_commit(drift.base_commit)
    last_commit = units.short_commit(drift.last_commit)
    half_change = abs(drift.change) / 2
    values = [f"{name}={_text(value)}" for name, value in work.parameters.items()]
    base_work = f"{work.workload}@{base_commit}"
    words = ["tracekit", "bench", "ab", base_work, *values, "--", *values]
    words += ["--metric", judged.metric, "--threshold", f"{half_change:.3f}", "--bisect"]
    if workloads is not None:
        words += ["--workloads", str(workloads)]
    command = shlex.join(words)
    return f"git bisect start {last_commit} {base_commit} && git bisect run {command}"


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()
