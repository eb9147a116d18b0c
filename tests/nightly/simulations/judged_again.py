"""Judge the nights of a history again, and list the outcomes that would differ today.

python tests/nightly/simulations/judged_again.py bench/nights/history.db

A history keeps each pair of each night. Here they are judged by today's rules: with what had been
accepted by then, with the levels of the nights before, and by the thresholds that nights note. No
night notes how many pairs were asked for: the pairs that count are taken for them. The history
itself stays as it is.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace

from nights.rates import table
from tracekit.nightly.gate.drift import with_drift
from tracekit.nightly.gate.judge import judge_entry, night_outcome, outcome_of
from tracekit.nightly.history.night import Accepted, Described, Entry, Night, Quantity
from tracekit.nightly.history.steps import Series
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.plan import Capture, Gated, Reference


@dataclass(frozen=True)
class Other:
    """An outcome that differs: a metric of a capture in a night, or a whole night without one."""

    night: str
    what: str
    then: str
    now: str
    why: str


def judged_again(store: Store) -> Iterator[tuple[Night, Night]]:
    """Yield each night as it was judged, and as it is today, oldest first."""
    series = store.series()
    for night in store.nights():
        accepted: dict[str, Accepted] = {}
        for acceptance in store.acceptances(night.machine):
            if acceptance.night < night.id:
                accepted[acceptance.capture] = acceptance
        entries = tuple(_entry(entry, accepted.get(entry.capture)) for entry in night.entries)
        judged = replace(night, entries=entries)
        judged = with_drift(judged, _before(series, night), accepted, {})
        outcome, reason = night_outcome(judged.entries, partial=night.partial)
        yield night, replace(judged, outcome=outcome, reason=reason)


def _entry(entry: Entry, accepted: Accepted | None) -> Entry:
    """Judge an entry again; one that failed before it was measured stays as it was."""
    if not entry.judged:
        return entry
    metrics: list[Gated] = []
    results: dict[str, Quantity] = {}
    for verdict in entry.judged:
        gated = Gated(verdict.metric, verdict.threshold, verdict.scale, gate=verdict.gated)
        metrics.append(gated)
        results[verdict.metric] = Quantity(verdict.unit, verdict.better)
    first_session = [pair for pair in entry.pairs if pair.session == 1]
    capture = Capture(
        entry.capture,
        entry.candidate.workload,
        reference=_asked(entry),
        pairs=sum(not (pair.traced or pair.rejections) for pair in first_session),
        traced=sum(pair.traced for pair in first_session),
        metrics=tuple(metrics),
    )
    applicable = None
    if accepted and accepted.work == entry.work and accepted.changes:
        applicable = accepted
    same_commit = ""
    if _same(entry.candidate, entry.reference):
        same_commit = entry.candidate.commit
    judged = judge_entry(capture, entry.pairs, results, applicable, same_commit=same_commit)
    outcome, reason = outcome_of(replace(entry, judged=judged))
    return replace(entry, judged=judged, outcome=outcome, reason=reason)


def _asked(entry: Entry) -> Reference | None:
    """Return the reference that the plan asked for, as far as a night notes it."""
    reference = entry.reference
    if reference is None:
        return None
    workload = ""
    if reference.workload != entry.candidate.workload:
        workload = reference.workload
    if reference.parameters == entry.candidate.parameters:
        return Reference(workload=workload, parameters={})
    return Reference(workload=workload, parameters=reference.parameters)


def _same(candidate: Described, reference: Described | None) -> bool:
    """Return whether both sides were the same code, of a commit, in like interpreters."""
    if reference is None or candidate.commit == "":
        return False
    return replace(candidate, words="") == replace(reference, words="")


def _before(series: Sequence[Series], night: Night) -> list[Series]:
    """Return the series of a night's machine and plan, up to its start."""
    earlier_series: list[Series] = []
    for one_series in series:
        if one_series.machine == night.machine and one_series.plan == night.plan:
            points = tuple(point for point in one_series.points if point.at < night.started)
            earlier_series.append(replace(one_series, points=points))
    return earlier_series


def others(pairs: Iterator[tuple[Night, Night]]) -> Iterator[Other]:
    """Yield the outcomes that differ: those of metrics, else those of the night."""
    for old, new in pairs:
        differing = list(_differing_metrics(old, new))
        yield from differing
        if not differing and old.outcome != new.outcome:
            yield Other(old.id, "", str(old.outcome), str(new.outcome), new.reason)


def _differing_metrics(old: Night, new: Night) -> Iterator[Other]:
    for old_entry, new_entry in zip(old.entries, new.entries, strict=True):
        for then, now in zip(old_entry.judged, new_entry.judged, strict=True):
            if then.outcome != now.outcome:
                name = f"{new_entry.capture} {now.metric}"
                yield Other(old.id, name, str(then.outcome), str(now.outcome), now.reason)


def main() -> None:
    """Print a row for each metric of each night whose outcome differs."""
    with Store.connect(sys.argv[1], make=False) as store:
        every = list(judged_again(store))
    rows = [astuple(other) for other in others(iter(every))]
    differing_nights = {row[0] for row in rows}
    print(f"{len(every)} nights, {len(differing_nights)} of them end otherwise.\n")
    if rows:
        print(table(("night", "what", "then", "now", "why"), rows))


if __name__ == "__main__":
    main()
