"""Judge the nights of a history again, and list what would end otherwise today.

python bench/judged_again.py bench/nights/history.db

A history keeps each pair of each night. Here they are judged by today's rules: with what had been
accepted by then, with the levels of the nights before, and by the thresholds that nights note. No
night notes how many pairs were asked for: the pairs that count are taken for them. The history
itself stays as it is.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nights.rates import table
from tracekit.nightly.gate.drift import with_drift
from tracekit.nightly.gate.judge import Quantity, judge_entry, night_outcome, outcome_of
from tracekit.nightly.history.night import Accepted, Described, Entry, Night
from tracekit.nightly.history.steps import Series
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.plan import Capture, Gated, Reference


@dataclass(frozen=True)
class Other:
    """What ends otherwise: a metric of a capture in a night, or a whole night without one."""

    night: str
    what: str
    then: str
    now: str
    why: str


def judged_again(store: Store) -> Iterator[tuple[Night, Night]]:
    """Yield each night as it was judged, and as it is today, oldest first."""
    series, nights = store.series(), store.nights()
    for night in nights:
        accepted: dict[str, Accepted] = {}
        for one in store.acceptances(night.machine):
            if one.night < night.id:
                accepted[one.capture] = one
        entries = tuple(_entry(one, accepted.get(one.capture)) for one in night.entries)
        new = with_drift(replace(night, entries=entries), _before(series, night), accepted, {})
        outcome, reason = night_outcome(new.entries, partial=night.partial)
        yield night, replace(new, outcome=outcome, reason=reason)


def _entry(entry: Entry, accepted: Accepted | None) -> Entry:
    """Judge what was measured again; what failed before it was stays as it was."""
    if not entry.judged:
        return entry
    metrics = tuple(
        Gated(one.metric, one.threshold, one.scale, gate=one.gated) for one in entry.judged
    )
    results = {one.metric: Quantity(one.unit, one.better) for one in entry.judged}
    first = [pair for pair in entry.pairs if pair.sitting == 1]
    capture = Capture(
        entry.capture,
        entry.candidate.workload,
        reference=_asked(entry),
        pairs=sum(not (pair.traced or pair.contaminated) for pair in first),
        traced=sum(pair.traced for pair in first),
        metrics=metrics,
    )
    held = accepted if accepted and accepted.work == entry.work and accepted.changes else None
    same = entry.candidate.commit if _same(entry.candidate, entry.reference) else ""
    judged = judge_entry(capture, entry.pairs, results, held, same_commit=same)
    outcome, reason = outcome_of(replace(entry, judged=judged))
    return replace(entry, judged=judged, outcome=outcome, reason=reason)


def _asked(entry: Entry) -> Reference | None:
    """Return what the plan asked for, as far as a night notes it."""
    if entry.reference is None:
        return None
    other = entry.reference.workload if entry.reference.workload != entry.candidate.workload else ""
    alike = entry.reference.parameters == entry.candidate.parameters
    return Reference(workload=other, parameters={} if alike else entry.reference.parameters)


def _same(candidate: Described, reference: Described | None) -> bool:
    """Tell whether both sides were the same code, of a commit, in like interpreters."""
    return reference is not None and candidate.commit != "" and (
        replace(candidate, words="") == replace(reference, words="")
    )  # fmt: skip


def _before(series: Sequence[Series], night: Night) -> list[Series]:
    return [
        replace(one, points=tuple(point for point in one.points if point.at < night.started))
        for one in series
        if (one.machine, one.plan) == (night.machine, night.plan)
    ]


def others(pairs: Iterator[tuple[Night, Night]]) -> Iterator[Other]:
    """Yield what ends otherwise."""
    for old, new in pairs:
        found = [
            Other(old.id, f"{entry.capture} {now.metric}", str(was.outcome), str(now.outcome),
                  now.reason)
            for before, entry in zip(old.entries, new.entries, strict=True)
            for was, now in zip(before.judged, entry.judged, strict=True)
            if was.outcome != now.outcome
        ]  # fmt: skip
        if not found and old.outcome != new.outcome:
            found = [Other(old.id, "", str(old.outcome), str(new.outcome), new.reason)]
        yield from found


def main() -> None:
    """Print a row for each metric of each night that ends otherwise."""
    with Store.connect(sys.argv[1], make=False) as store:
        every = list(judged_again(store))
    rows = [(one.night, one.what, one.then, one.now, one.why) for one in others(iter(every))]
    print(f"{len(every)} nights, {len({row[0] for row in rows})} of them end otherwise.\n")
    if rows:
        print(table(("night", "what", "then", "now", "why"), rows))


if __name__ == "__main__":
    main()
