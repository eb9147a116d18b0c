"""One capture of a night: measured, looked at, measured again where something shows."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tracekit.compare.accepted import Accepted
from tracekit.machine.state import State, contaminated, unjudged
from tracekit.machine.watch import Watch
from tracekit.nightly.findings import findings_of
from tracekit.nightly.gate.entry import judge_entry
from tracekit.nightly.gate.outcomes import needs_second_sitting, outcome_of
from tracekit.nightly.history.night import Entry, Pair
from tracekit.nightly.session.measuring import measure
from tracekit.nightly.session.prepared import Prepared
from tracekit.nightly.session.tracing import trace
from tracekit.nightly.session.values import overhead
from tracekit.nightly.terms import Terms

_AGAIN = 2


@dataclass(frozen=True)
class Sitter:
    """What it takes to measure one capture.

    Attributes:
        prepared: The capture, whose sides are ready.
        terms: What it shares with the other captures.
        accepted: What was accepted of the same work; None for nothing.
        watch: Looks at the machine.
    """

    prepared: Prepared
    terms: Terms
    accepted: Accepted | None
    watch: Watch

    @property
    def name(self) -> str:
        """The capture's name."""
        return self.prepared.capture.name

    @property
    def entry(self) -> Entry:
        """What is known of the capture so far."""
        return self.terms.keeper.entry(self.name)

    def sit(self) -> None:
        """Measure, judge, and measure again where something is to be reproduced.

        Raises:
            TracekitError: The capture failed; see `tracekit.nightly.session`.
            BudgetSpentError: The night's time is spent; the pairs so far are kept.
        """
        self._sitting(1)
        self.judge()
        judged, findings = self.entry.judged, self.entry.findings
        if needs_second_sitting(judged, findings, self.prepared.capture.fail_on):
            self._sitting(_AGAIN)
            self.judge()
        outcome, reason = outcome_of(self.entry, self.prepared.capture.fail_on)
        self.terms.keeper.put(replace(self.entry, outcome=outcome, reason=reason))

    def judge(self) -> None:
        """Judge what there is: metrics, findings, what tracing cost."""
        entry, capture = self.entry, self.prepared.capture
        learned = self.prepared.learned
        own = [one for one in entry.pairs if one.sitting == 1]
        traced, untraced = ([one for one in own if one.traced is kind] for kind in (True, False))
        self.terms.keeper.put(
            replace(
                entry,
                judged=judge_entry(capture, entry.pairs, learned.results, self.accepted),
                findings=findings_of(entry.pairs, self.terms.keeper.folder.folder),
                overhead=overhead(traced, untraced) if traced else None,
                backend=learned.backend,
            )
        )
        self.terms.keeper.warn(self.remarks())

    def remarks(self) -> tuple[str, ...]:
        """Return what a reader must know of how it was measured."""
        states = [one for pair in self.entry.pairs for one in _states(pair)]
        unknown = [one for one in (unjudged(states),) if one]
        return (*self.prepared.learned.remarks, *self.watch.remarks, *unknown)

    def _sitting(self, sitting: int) -> None:
        self._untraced(sitting)
        if traced := self.prepared.capture.traced:
            self._keep(self._trace(sitting), "traced capture", sitting, range(1, traced + 1))
            self._reconsider(sitting)

    def _untraced(self, sitting: int) -> None:
        """Measure as many pairs as are to count, and those that do not count once more."""
        wanted, retries, first = self.prepared.capture.pairs, self.terms.plan.retries, 1
        more = wanted
        while more > 0:
            numbers = range(first, first + more)
            self._keep(self._measure(sitting, first, more), "pair", sitting, numbers)
            self._reconsider(sitting)
            pairs = self._pairs(sitting, traced=False)
            first = len(pairs) + 1
            good = sum(not one.contaminated for one in pairs)
            more = min(wanted - good, retries - (len(pairs) - wanted))

    def _keep(self, pairs: Iterator[Pair], what: str, sitting: int, numbers: range) -> None:
        again = ", to see whether it can be reproduced" if sitting == _AGAIN else ""
        self.terms.progress(f"{self.name}: {what} {numbers[0]} of {numbers[-1]}{again}")
        for pair in pairs:
            self.terms.keeper.add(self.name, pair if pair.traced else self._weighed(pair))
            if pair.number < numbers[-1]:
                more = f"{what} {pair.number + 1} of {numbers[-1]}"
                self.terms.progress(f"{self.name}: {more}{again}")

    def _measure(self, sitting: int, first: int, count: int) -> Iterator[Pair]:
        return measure(
            self.prepared,
            sitting=sitting,
            first=first,
            pairs=count,
            watch=self.watch,
            canary=self.terms.plan.state.canary is not None,
            deadline=self.terms.deadline,
        )

    def _trace(self, sitting: int) -> Iterator[Pair]:
        return trace(self.prepared, sitting=sitting, watch=self.watch, deadline=self.terms.deadline)

    def _reconsider(self, sitting: int) -> None:
        """Weigh the pairs of a sitting: its best is known better now, and traces were not yet."""
        pairs = tuple(
            self._weighed(one) if one.sitting == sitting else one for one in self.entry.pairs
        )
        self.terms.keeper.put(replace(self.entry, pairs=pairs))

    def _weighed(self, pair: Pair) -> Pair:
        """Say why a pair does not count, where it does not."""
        seen = [
            state
            for one in (*self.entry.pairs, pair)
            if one.sitting == pair.sitting
            for state in _states(one)
        ]
        found = contaminated(pair.before, pair.after, seen, self.terms.plan.state)
        own = pair.contaminated if pair.traced else ()  # a trace without rows says so itself
        return replace(pair, contaminated=tuple(dict.fromkeys((*own, *found))))

    def _pairs(self, sitting: int, *, traced: bool) -> list[Pair]:
        return [one for one in self.entry.pairs if one.sitting == sitting and one.traced is traced]


def _states(pair: Pair) -> Iterator[State]:
    yield from (one for one in (pair.before, pair.after) if one is not None)
