"""The captures of a night: made ready, checked, measured, measured again where needed."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tracekit.analysis import Finding, load
from tracekit.base import InterruptedRunError, Recording, TracekitError
from tracekit.machine import State, Watch, contaminated, unjudged
from tracekit.nightly.folder import Keeper, work_of
from tracekit.nightly.gate.judge import judge_entry, same_code
from tracekit.nightly.gate.outcomes import needs_second_sitting, outcome_of
from tracekit.nightly.history.night import Accepted, Described, Entry, Outcome, Pair, TracedFinding
from tracekit.nightly.plan.plan import Capture, NightPlan
from tracekit.nightly.session.measuring import check, measure
from tracekit.nightly.session.prepared import Prepared, prepared
from tracekit.nightly.session.program import BudgetSpentError, ParityError
from tracekit.nightly.session.tracing import trace
from tracekit.nightly.session.values import overhead
from tracekit.record import Progress


@dataclass(frozen=True)
class Terms:
    """What all captures of a night share.

    Attributes:
        plan: The night's plan.
        keeper: Takes what was measured as soon as it is there.
        accepted: What was accepted of captures, by name. It was asked before anything was
            measured: a history that goes away in the night takes nothing with it.
        deadline: When the night's time is spent, in monotonic seconds.
        progress: Hears what is being done.
    """

    plan: NightPlan
    keeper: Keeper
    accepted: Mapping[str, Accepted]
    deadline: float
    progress: Progress


def findings_of(pairs: Sequence[Pair], folder: Path) -> tuple[TracedFinding, ...]:
    """Return the findings in the candidate's traces that count, the most frequent first.

    If a rule finds several things in a trace, the first of them counts.

    Args:
        pairs: All pairs of a capture.
        folder: The night's folder, where the runs are.

    Raises:
        TracekitError: A run has no result, or one that cannot be read.
    """
    counted = [pair for pair in pairs if pair.traced and pair.runs and not pair.contaminated]
    own = [_findings(folder / one.runs[0]) for one in counted]
    others = [_findings(folder / one.runs[1]) for one in counted if len(one.runs) > 1]
    first: dict[str, Finding] = {}
    for found in own:
        first = found | first
    rules = [
        TracedFinding(
            rule=rule,
            message=finding.message,
            severity=str(finding.severity),
            traces=_having(rule, own),
            of=len(own),
            in_reference=_having(rule, others),
            saving_per_token=finding.saving_per_token,
            saving=finding.saving,
        )
        for rule, finding in first.items()
    ]
    return tuple(sorted(rules, key=lambda one: -one.traces))


def _findings(run: Path) -> dict[str, Finding]:
    found: dict[str, Finding] = {}
    for finding in load(Recording(run).result_file).findings:
        found.setdefault(finding.rule, finding)
    return found


def _having(rule: str, traces: Sequence[dict[str, Finding]]) -> int:
    return sum(rule in one for one in traces)


_AGAIN = 2


@dataclass(frozen=True)
class CaptureRunner:
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

    def measure(self) -> None:
        """Measure, judge, and measure again where something is to be reproduced.

        Raises:
            TracekitError: The capture failed; see `tracekit.nightly.session`.
            BudgetSpentError: The night's time is spent; the pairs so far are kept.
        """
        self._session(1)
        self.judge()
        judged, findings = self.entry.judged, self.entry.findings
        if needs_second_sitting(judged, findings, self.prepared.capture.fail_on):
            self._session(_AGAIN)
            self.judge()
        outcome, reason = outcome_of(self.entry, self.prepared.capture.fail_on)
        self.terms.keeper.put(replace(self.entry, outcome=outcome, reason=reason))

    def judge(self) -> None:
        """Judge what there is: metrics, findings, what tracing cost."""
        entry, capture = self.entry, self.prepared.capture
        learned = self.prepared.learned
        own = [pair for pair in entry.pairs if pair.sitting == 1]
        traced, untraced = ([one for one in own if one.traced is kind] for kind in (True, False))
        self.terms.keeper.put(
            replace(
                entry,
                judged=judge_entry(
                    capture,
                    entry.pairs,
                    learned.results,
                    self.accepted,
                    same_commit=self.prepared.same_commit,
                ),
                findings=findings_of(entry.pairs, self.terms.keeper.folder.folder),
                overhead=overhead(traced, untraced) if traced else None,
                backend=learned.backend,
            )
        )
        self.terms.keeper.warn(self.remarks())

    def remarks(self) -> tuple[str, ...]:
        """Return what a reader must know of how it was measured."""
        states = [state for pair in self.entry.pairs for state in _states(pair)]
        unknown = [one for one in (unjudged(states),) if one]
        return (*self.prepared.learned.remarks, *self.watch.remarks, *unknown)

    def _session(self, session: int) -> None:
        self._untraced(session)
        if traced := self.prepared.capture.traced:
            self._keep(self._trace(session), "traced capture", session, range(1, traced + 1))
            self._reconsider(session)

    def _untraced(self, session: int) -> None:
        """Measure as many pairs as are to count, and those that do not count once more."""
        wanted, retries, first = self.prepared.capture.pairs, self.terms.plan.retries, 1
        more = wanted
        while more > 0:
            numbers = range(first, first + more)
            self._keep(self._measure(session, first, more), "pair", session, numbers)
            self._reconsider(session)
            pairs = self._pairs(session, traced=False)
            first = len(pairs) + 1
            good = sum(not pair.contaminated for pair in pairs)
            more = min(wanted - good, retries - (len(pairs) - wanted))

    def _keep(self, pairs: Iterator[Pair], what: str, session: int, numbers: range) -> None:
        again = ", to see whether it can be reproduced" if session == _AGAIN else ""
        self.terms.progress(f"{self.name}: {what} {numbers[0]} of {numbers[-1]}{again}")
        for pair in pairs:
            self.terms.keeper.add(self.name, pair if pair.traced else self._weighed(pair))
            if pair.number < numbers[-1]:
                more = f"{what} {pair.number + 1} of {numbers[-1]}"
                self.terms.progress(f"{self.name}: {more}{again}")

    def _measure(self, session: int, first: int, count: int) -> Iterator[Pair]:
        return measure(
            self.prepared,
            session=session,
            first=first,
            pairs=count,
            watch=self.watch,
            calibrate=self.terms.plan.state.calibration is not None,
        )

    def _trace(self, session: int) -> Iterator[Pair]:
        return trace(self.prepared, session=session, watch=self.watch)

    def _reconsider(self, session: int) -> None:
        """Weigh the pairs of a session: its best is known better now, and traces were not yet."""
        pairs = tuple(
            self._weighed(pair) if pair.sitting == session else pair for pair in self.entry.pairs
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

    def _pairs(self, session: int, *, traced: bool) -> list[Pair]:
        return [
            pair for pair in self.entry.pairs if pair.sitting == session and pair.traced is traced
        ]


def _states(pair: Pair) -> Iterator[State]:
    yield from (one for one in (pair.before, pair.after) if one is not None)


_STOPPED_BEFORE = "It was not measured, for the night was stopped before."
_STOPPED = "It was interrupted."
_NOT_BEGUN = "It was not measured, for what was checked first does not hold."


class Carrier:
    """Carries out the captures of a plan, one after the other.

    `partial` tells that some were not measured, or not to their end; `interrupted` that somebody
    asked to stop.
    """

    def __init__(self, terms: Terms, captures: Sequence[Capture]) -> None:
        self._terms, self._captures = terms, captures
        self._keeper = terms.keeper
        self.partial = False
        self.interrupted = False
        self._unsound = False

    def carry_out(self) -> None:
        """Make all captures ready and check them; measure them if all that was checked holds."""
        try:
            self._carry_out()
        except KeyboardInterrupt:
            self.partial = self.interrupted = True
        except BaseException:
            self.partial = True
            raise

    def _carry_out(self) -> None:
        with ExitStack() as stack:
            ready = [
                one for one in (self._ready(stack, capture) for capture in self._captures) if one
            ]
            for one in ready:
                if self.partial:
                    self._end(one.capture.name, Outcome.INCONCLUSIVE, _STOPPED_BEFORE)
                elif self._unsound:
                    self._end(one.capture.name, Outcome.INCONCLUSIVE, _NOT_BEGUN)
                else:
                    self._measure(one)
        self.partial |= self._unsound or len(self._keeper.night.entries) < len(self._captures)

    def _ready(self, stack: ExitStack, capture: Capture) -> Prepared | None:
        """Make a capture ready and check it; None where it is not to be measured."""
        if self.partial:
            return None
        self._terms.progress(f"{capture.name}: making ready")
        work = work_of(capture, self._terms.plan.file.parent)
        planned = Described(capture.workload, capture.parameters, words=capture.workload)
        self._keeper.put(Entry(capture.name, work, planned))
        with self._ending(capture.name):
            one = stack.enter_context(
                prepared(
                    capture,
                    self._terms.plan,
                    self._keeper.folder.folder,
                    deadline=self._terms.deadline,
                )
            )
            self._describe(one)
            if one.same_commit:
                self._terms.progress(f"{capture.name}: {same_code(one.same_commit)}")
            self._terms.progress(f"{capture.name}: checking")
            parity = check(one)
            self._keeper.put(replace(self._keeper.entry(capture.name), parity=parity))
            return one
        return None

    def _describe(self, one: Prepared) -> None:
        entry = self._keeper.entry(one.capture.name)
        described = one.described
        self._keeper.put(
            replace(
                entry,
                candidate=described["candidate"],
                reference=described.get("reference"),
            )
        )

    def _measure(self, one: Prepared) -> None:
        entry = self._keeper.entry(one.capture.name)
        accepted = self._terms.accepted.get(entry.capture)
        with self._ending(entry.capture), Watch(one.capture.telemetry) as watch:
            runner = CaptureRunner(one, self._terms, accepted, watch)
            try:
                runner.measure()
            except (BudgetSpentError, KeyboardInterrupt):
                runner.judge()
                raise

    @contextmanager
    def _ending(self, capture: str) -> Generator[None]:
        """Write down how a capture ended where it did not come to its end."""
        try:
            yield
        except BudgetSpentError as error:
            self.partial = True
            self._end(capture, Outcome.INCONCLUSIVE, _told(error))
        except (KeyboardInterrupt, InterruptedRunError):
            self.partial = self.interrupted = True
            self._end(capture, Outcome.INCONCLUSIVE, _STOPPED)
        except ParityError as error:
            self._unsound = True
            self._end(capture, Outcome.FAILED, _told(error))
        except TracekitError as error:
            self._end(capture, Outcome.FAILED, _told(error))

    def _end(self, capture: str, outcome: Outcome, reason: str) -> None:
        """Write down how a capture ended; a regression that was reproduced stays one."""
        entry = self._keeper.entry(capture)
        worse = [judged for judged in entry.judged if judged.outcome is Outcome.REGRESSION]
        if worse:
            outcome = Outcome.REGRESSION
            reason = " ".join([*(f"{one.metric}: {one.reason}" for one in worse), reason])
        self._keeper.put(replace(entry, outcome=outcome, reason=reason))


def _told(error: TracekitError) -> str:
    return f"{error.message} {error.hint}".strip()
