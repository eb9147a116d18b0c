"""Changes that come in small parts: what a night's commit became, by a chain of nights.

A reference that moves along, such as `HEAD~1`, hides what becomes worse by less than the
threshold each night. So changes are chained through commits: tonight's reference was measured as
the candidate of an earlier night, and so on. A chain of logarithms adds up, and so do the
variances of its links; a chain that lies beyond the threshold by more than its own uncertainty
explains is a regression. `bench/drift_simulation.py` counts false alarms.
"""

import math
import shlex
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

from tracekit.base import short_commit
from tracekit.compare import Interval, Shown
from tracekit.nightly.history.night import Accepted, Entry, Judged, Night, Outcome

SURE = 2.5
"""Standard deviations of a chain beyond which equal nights do not explain it."""
_FEW = 3  # links, of which nothing can be said of how nights differ
_BETWEEN_ENDS = 2 * 1.96  # standard deviations between the ends of a 95 % interval


@dataclass(frozen=True)
class Link:
    """One night's change from its reference, on a scale on which changes add up."""

    started: str
    reference: str
    candidate: str
    change: float
    deviation: float


@dataclass(frozen=True)
class Drift:
    """A change for the worse over several nights.

    Attributes:
        nights: How many of them the chain has.
        since: When the first of them began.
        first: The commit that the chain begins with, the reference of its first night.
        last: The commit that it ends with.
        change: The whole change: a ratio less one, or a difference.
        low: Lower end of its 95 % interval.
        high: Its upper end.
    """

    nights: int
    since: str
    first: str
    last: str
    change: float
    low: float
    high: float


def drift_of(links: Sequence[Link], judged: Judged) -> Drift | None:
    """Return the change that the chain to the last link shows, where it is worse.

    Args:
        links: The changes of nights, oldest first; the last one is tonight's.
        judged: The metric, its direction and its threshold.
    """
    sign = {"lower": 1, "higher": -1}.get(judged.better, 0)
    ratio = judged.scale == "ratio"
    threshold = math.log1p(judged.threshold) if ratio else judged.threshold
    chain = list(_back(links))
    if len(chain) < 2:  # noqa: PLR2004  tonight's own change is judged by its pairs
        return None
    # Nights differ by more than their pairs show, as each has its own heat and memory layout.
    between = statistics.variance(link.change for link in chain) if len(chain) > _FEW else 0.0
    changes = np.cumsum([link.change for link in chain])
    variances = np.cumsum([max(link.deviation**2, between) for link in chain])
    beyond = sign * changes / np.sqrt(np.maximum(variances, np.finfo(float).tiny))
    beyond[(sign * changes < threshold) | (np.arange(len(chain)) == 0)] = 0
    length = int(np.argmax(beyond))
    if beyond[length] < SURE:
        return None
    half = _BETWEEN_ENDS / 2 * math.sqrt(variances[length])
    change, first = float(changes[length]), chain[length]
    ends = (change, change - half, change + half)
    plain = [math.expm1(end) if ratio else end for end in ends]
    return Drift(length + 1, first.started, first.reference, chain[0].candidate, *plain)


def _back(links: Sequence[Link]) -> Iterator[Link]:
    """Yield the links of the chain that ends with the last one, latest first."""
    by_candidate: dict[str, Link] = {}
    for link in links[:-1]:
        by_candidate.setdefault(link.candidate, link)
    link = links[-1] if links else None
    while link is not None:
        yield link
        link = by_candidate.pop(link.reference, None)


def links_of(nights: Sequence[Night], entry: Entry, metric: str) -> list[Link]:
    """Return the changes of a metric in nights that did the same work, and in `entry`, the last."""
    entries = [
        (night.started, one)
        for night in nights
        for one in night.entries
        if (one.capture, one.work) == (entry.capture, entry.work)
    ]
    found = (_link(started, one, metric) for started, one in [*entries, ("", entry)])
    return [link for link in found if link is not None]


def _link(started: str, entry: Entry, metric: str) -> Link | None:
    judged = next((one for one in entry.judged if one.metric == metric), None)
    commits = (entry.reference.commit if entry.reference else "", entry.candidate.commit)
    if judged is None or judged.expected or not all(commits) or commits[0] == commits[1]:
        return None
    values = (judged.change, judged.low, judged.high)
    if None in values:
        return None
    ends = [math.log1p(one or 0.0) if judged.scale == "ratio" else (one or 0.0) for one in values]
    return Link(started, *commits, ends[0], (ends[2] - ends[1]) / _BETWEEN_ENDS)


def with_drift(
    entry: Entry,
    earlier: Sequence[Night],
    accepted: Accepted | None = None,
    workloads: Path | None = None,
) -> Entry:
    """Return an entry with metrics that a chain of nights shows to be worse as regressions.

    Args:
        entry: A capture of tonight that has ended.
        workloads: The folder of the plan's own workloads.
        earlier: Nights of the same plan on the same machine, oldest first.
        accepted: What was accepted last: a chain begins behind that night.
    """
    ids = [night.id for night in earlier]
    begin = ids.index(accepted.night) + 1 if accepted and accepted.night in ids else 0
    judged = tuple(_judged(one, entry, earlier[begin:], workloads) for one in entry.judged)
    changed = [new for new, old in zip(judged, entry.judged, strict=True) if new is not old]
    if not changed:
        return entry
    reason = " ".join(f"{one.metric}: {one.reason}" for one in changed)
    if entry.outcome in {Outcome.REGRESSION, Outcome.FAILED}:
        reason = f"{entry.reason} {reason}"
    return replace(entry, judged=judged, outcome=Outcome.REGRESSION, reason=reason)


def _judged(
    judged: Judged, entry: Entry, earlier: Sequence[Night], workloads: Path | None
) -> Judged:
    if not judged.gated or judged.outcome not in {Outcome.OK, Outcome.INCONCLUSIVE}:
        return judged
    found = drift_of(links_of(earlier, entry, judged.metric), judged)
    if found is None or found.last != entry.candidate.commit:
        return judged
    search = f"To find the commit: `{bisect_command(found, judged, entry, workloads)}`."
    why = f"{judged.reason} {sentence(found, judged)} {search}".strip()
    return replace(judged, outcome=Outcome.REGRESSION, reason=why)


def sentence(drift: Drift, judged: Judged) -> str:
    """Say what a chain of nights shows."""
    shown = Shown(judged.scale, judged.unit)
    whole = shown.whole(drift.change, Interval(drift.change, drift.low, drift.high))
    commits = f"{short_commit(drift.first)}..{short_commit(drift.last)}"
    return (
        f"Over the last {drift.nights} nights, since {drift.since[:10]}, the changes add up to "
        f"{whole} in {commits}: worse, beyond the threshold of {shown.amount(judged.threshold)}."
    )


def bisect_command(drift: Drift, judged: Judged, entry: Entry, workloads: Path | None) -> str:
    """Return the command line that finds the commit with most of the change."""
    work = entry.candidate
    values = [f"{name}={_text(value)}" for name, value in work.parameters.items()]
    first, last = short_commit(drift.first), short_commit(drift.last)
    words = ["tracekit", "ab", f"{work.workload}@{first}", *values, "--", *values]
    words += ["--metric", judged.metric, "--threshold", f"{abs(drift.change) / 2:.3f}", "--bisect"]
    if workloads is not None:
        words += ["--workloads", str(workloads)]
    return f"git bisect start {last} {first} && git bisect run {shlex.join(words)}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
