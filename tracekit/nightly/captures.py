"""The captures of a night: made ready, checked, measured, measured again where needed."""

import os
import time
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
from tracekit.nightly.session.program import BudgetSpentError, BusyError, ParityError
from tracekit.nightly.session.tracing import trace
from tracekit.nightly.session.values import overhead
from tracekit.nightly.session.worktree import kind_of
from tracekit.record import Progress


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
            traces=sum(rule in one for one in own),
            of=len(own),
            in_reference=sum(rule in one for one in others),
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


_AGAIN = 2


@dataclass(frozen=True)
class CaptureRunner:
    """Measures one capture whose sides are ready."""

    prepared: Prepared
    terms: "Carrier"
    watch: Watch

    @property
    def entry(self) -> Entry:
        """What is known of the capture so far."""
        return self.terms.keeper.entry(self.prepared.capture.name)

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
        entry, prepared, capture = self.entry, self.prepared, self.prepared.capture
        own = [pair for pair in entry.pairs if pair.sitting == 1]
        traced, untraced = ([one for one in own if one.traced is kind] for kind in (True, False))
        self.terms.keeper.put(
            replace(
                entry,
                judged=judge_entry(
                    capture,
                    entry.pairs,
                    prepared.results,
                    self.terms.accepted.get(capture.name),
                    same_commit=prepared.same_commit,
                ),
                findings=findings_of(entry.pairs, self.terms.keeper.folder.folder),
                overhead=overhead(traced, untraced) if traced else None,
                backend=prepared.backend,
            )
        )
        unknown = unjudged([state for pair in self.entry.pairs for state in _states(pair)])
        self.terms.keeper.warn(filter(None, (*prepared.remarks, *self.watch.remarks, unknown)))

    def _session(self, session: int) -> None:
        """Measure as many pairs as are to count, those that do not count once more; then trace."""
        prepared, plan = self.prepared, self.terms.plan
        wanted, first = prepared.capture.pairs, 1
        more = wanted
        while more > 0:
            found = measure(
                prepared,
                session=session,
                first=first,
                pairs=more,
                watch=self.watch,
                calibrate=plan.state.calibration is not None,
            )
            self._keep(found, "pair", session, range(first, first + more))
            own = [one for one in self.entry.pairs if one.sitting == session and not one.traced]
            first = len(own) + 1
            good = sum(not pair.contaminated for pair in own)
            more = min(wanted - good, plan.retries - (len(own) - wanted))
        if traced := prepared.capture.traced:
            found = trace(prepared, session=session, watch=self.watch)
            self._keep(found, "traced capture", session, range(1, traced + 1))

    def _keep(self, pairs: Iterator[Pair], what: str, session: int, numbers: range) -> None:
        """Keep pairs as they come; then weigh all of the session, whose best is known better."""
        name = self.prepared.capture.name
        again = ", to see whether it can be reproduced" if session == _AGAIN else ""
        self.terms.progress(f"{name}: {what} {numbers[0]} of {numbers[-1]}{again}")
        for pair in pairs:
            self.terms.keeper.add(name, pair if pair.traced else self._weighed(pair))
            if pair.number < numbers[-1]:
                more = f"{what} {pair.number + 1} of {numbers[-1]}"
                self.terms.progress(f"{name}: {more}{again}")
        weighed = tuple(
            self._weighed(pair) if pair.sitting == session else pair for pair in self.entry.pairs
        )
        self.terms.keeper.put(replace(self.entry, pairs=weighed))

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


def _states(pair: Pair) -> Iterator[State]:
    yield from (one for one in (pair.before, pair.after) if one is not None)


_EVERY = 15.0  # seconds between two looks at a machine that is not ready
_STOPPED_BEFORE = "It was not measured, for the night was stopped before."
_STOPPED = "It was interrupted."
_NOT_BEGUN = "It was not measured, for what was checked first does not hold."


@dataclass
class Carrier:
    """Carries out the captures of a plan, one after the other.

    Attributes:
        plan: The night's plan.
        captures: Those of its captures that are carried out.
        keeper: Takes what was measured as soon as it is there.
        accepted: What was accepted of captures, by name. It was asked before anything was
            measured: a history that goes away in the night takes nothing with it.
        deadline: When the night's time is spent, in monotonic seconds.
        progress: Hears what is being done.
        partial: Whether some were not measured, or not to their end.
        interrupted: Whether somebody asked to stop.
    """

    plan: NightPlan
    captures: Sequence[Capture]
    keeper: Keeper
    accepted: Mapping[str, Accepted]
    deadline: float
    progress: Progress
    partial: bool = False
    interrupted: bool = False
    _unsound: bool = False

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
            ready = [self._ready(stack, capture) for capture in self.captures]
            for one in filter(None, ready):
                if self.partial:
                    self._end(one.capture.name, Outcome.INCONCLUSIVE, _STOPPED_BEFORE)
                elif self._unsound:
                    self._end(one.capture.name, Outcome.INCONCLUSIVE, _NOT_BEGUN)
                else:
                    self._measure(one)
        self.partial |= self._unsound or len(self.keeper.night.entries) < len(self.captures)

    def _ready(self, stack: ExitStack, capture: Capture) -> Prepared | None:
        """Make a capture ready and check it; None where it is not to be measured."""
        if self.partial:
            return None
        self.progress(f"{capture.name}: making ready")
        work = work_of(capture, self.plan.file.parent)
        planned = Described(capture.workload, capture.parameters, words=capture.workload)
        entry = Entry(capture.name, work, planned)
        self.keeper.put(entry)
        with self._ending(capture.name):
            folder = self.keeper.folder.folder
            one = stack.enter_context(prepared(capture, self.plan, folder, deadline=self.deadline))
            sides = one.described
            entry = replace(
                entry,
                candidate=sides["candidate"],
                reference=sides.get("reference"),
                reference_kind=kind_of(capture, self.plan.file.parent),
            )
            self.keeper.put(entry)
            if one.same_commit:
                self.progress(f"{capture.name}: {same_code(one.same_commit)}")
            self.progress(f"{capture.name}: checking")
            self.keeper.put(replace(entry, parity=check(one)))
            return one
        return None

    def _measure(self, one: Prepared) -> None:
        with self._ending(one.capture.name), Watch(one.capture.telemetry) as watch:
            self._wait(one.capture.name, watch)
            runner = CaptureRunner(one, self, watch)
            try:
                runner.measure()
            except (BudgetSpentError, KeyboardInterrupt):
                runner.judge()
                raise

    def _wait(self, name: str, watch: Watch) -> None:
        """Wait until a pair could count; raise BusyError where that takes longer than planned."""
        until = min(time.monotonic() + self.plan.wait, self.deadline)
        while self.plan.wait:
            state = watch.before({os.getpid()})
            reasons = contaminated(state, None, [state], self.plan.state)
            if not reasons:
                return
            left = until - time.monotonic()
            if left <= 0:
                raise BusyError(
                    f"Nothing was measured, for the machine was not ready within "
                    f"{self.plan.wait / 60:g} min: {reasons[0]}",
                    hint="`wait` in the plan says how long a night waits for it.",
                )
            self.progress(f"{name}: waiting for the machine: {reasons[0]}")
            time.sleep(min(_EVERY, left))

    @contextmanager
    def _ending(self, capture: str) -> Generator[None]:
        """Write down how a capture ended where it did not come to its end."""
        try:
            yield
        except BudgetSpentError as error:
            self.partial = True
            self._end(capture, Outcome.INCONCLUSIVE, _told(error))
        except BusyError as error:
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
        entry = self.keeper.entry(capture)
        worse = [judged for judged in entry.judged if judged.outcome is Outcome.REGRESSION]
        if worse:
            outcome = Outcome.REGRESSION
            reason = " ".join([*(f"{one.metric}: {one.reason}" for one in worse), reason])
        self.keeper.put(replace(entry, outcome=outcome, reason=reason))


def _told(error: TracekitError) -> str:
    return f"{error.message} {error.hint}".strip()
