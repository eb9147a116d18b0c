"""The captures of a night: made ready, checked, measured, measured again where needed."""

import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from tracekit.analysis import Finding, load
from tracekit.base import InterruptedRunError, Recording, TracekitError, duration, least_pairs
from tracekit.machine import (
    State,
    Watch,
    busy_words,
    describe_unjudged,
    find_busiest,
    find_rejections,
)
from tracekit.nightly.folder import Keeper, work_of
from tracekit.nightly.gate.judge import judge_entry, needs_second_session, outcome_of, same_code
from tracekit.nightly.gate.rejected import rejected_words
from tracekit.nightly.history.night import (
    INTERRUPTED,
    Accepted,
    Described,
    Entry,
    Outcome,
    Pair,
    TracedFinding,
)
from tracekit.nightly.plan.plan import Capture, NightPlan
from tracekit.nightly.session.child import PreparedCapture, prepared
from tracekit.nightly.session.measuring import check, measure, overhead, trace
from tracekit.nightly.session.program import BudgetSpentError, ParityError
from tracekit.nightly.session.worktree import kind_of
from tracekit.record import Progress


def findings_of(pairs: Sequence[Pair], folder: Path) -> tuple[TracedFinding, ...]:
    """Return the findings in the candidate's traces that count, the most frequent first.

    If a rule finds several things in a trace, the first of them counts. The runs of pairs are in
    `folder`, the night's.
    """
    counting_pairs = [pair for pair in pairs if pair.traced and pair.runs and not pair.contaminated]
    candidate_findings = [_findings(folder / pair.runs[0]) for pair in counting_pairs]
    reference_findings = [
        _findings(folder / run) for pair in counting_pairs for run in pair.runs[1:]
    ]
    first_findings = {
        rule: rule_finding
        for trace_findings in reversed(candidate_findings)
        for rule, rule_finding in trace_findings.items()
    }
    rules = [
        TracedFinding(
            rule=rule,
            message=finding.message,
            severity=str(finding.severity),
            traces=sum(rule in trace_findings for trace_findings in candidate_findings),
            of=len(candidate_findings),
            in_reference=sum(rule in reference_trace for reference_trace in reference_findings),
            saving_per_token=finding.saving_per_token,
            saving=finding.saving,
        )
        for rule, finding in first_findings.items()
    ]
    return tuple(sorted(rules, key=lambda finding: -finding.traces))


def _findings(run: Path) -> dict[str, Finding]:
    """Return the first finding of each rule; a rule found as an effect of another counts too."""
    findings = load(Recording(run).result_file).findings
    findings_by_rule: dict[str, Finding] = {}
    for finding in findings:
        findings_by_rule.setdefault(finding.rule, finding)
    for effect in (effect for finding in findings for effect in finding.as_effects()):
        findings_by_rule.setdefault(effect.rule, effect)
    return findings_by_rule


def _states(pairs: Iterable[Pair], session: int = 0) -> list[State]:
    session_pairs = (pair for pair in pairs if session in {0, pair.sitting})
    return [
        state for pair in session_pairs for state in (pair.before, pair.after) if state is not None
    ]


_AGAIN = 2
_EVERY = 5.0  # seconds between two looks at a machine that is not ready
_STOPPED_BEFORE = "It was not measured, for the night was stopped before."
_NOT_BEGUN = "It was not measured, for what was checked first does not hold."


@dataclass(frozen=True)
class Session:
    """The seam of a night: what makes captures ready, checks, measures and traces them."""

    prepared: Callable[..., AbstractContextManager[PreparedCapture]] = prepared
    check: Callable[[PreparedCapture], str] = check
    measure: Callable[..., Iterator[Pair]] = measure
    trace: Callable[..., Iterator[Pair]] = trace


@dataclass
class Carrier:
    """Carries out the captures of a plan, one after the other.

    `accepted` is what was, by capture; the night's time is spent at `deadline`, in monotonic
    seconds. It is `partial` where some were not measured, or not to their end, and `interrupted`
    where somebody asked to stop.
    """

    plan: NightPlan
    captures: Sequence[Capture]
    keeper: Keeper
    accepted: Mapping[str, Accepted]
    deadline: float
    progress: Progress
    partial: bool = False
    interrupted: bool = False
    session: Session = field(default_factory=Session)
    _unsound: bool = False

    def carry_out(self) -> None:
        """Make all captures ready and check them; measure them if all that was checked holds."""
        try:
            with ExitStack() as stack:
                ready = [self._ready(stack, capture) for capture in self.captures]
                for task in filter(None, ready):
                    if self.partial or self._unsound:
                        reason = _STOPPED_BEFORE if self.partial else _NOT_BEGUN
                        self._end(task.capture.name, Outcome.INCONCLUSIVE, reason)
                    else:
                        self._measure(task)
            self.partial |= self._unsound or len(self.keeper.night.entries) < len(self.captures)
        except KeyboardInterrupt:
            self.partial = self.interrupted = True
        except BaseException:
            self.partial = True
            raise

    def _ready(self, stack: ExitStack, capture: Capture) -> PreparedCapture | None:
        """Make a capture ready and check it; None where it is not to be measured."""
        if self.partial:
            return None
        self.progress(f"{capture.name}: making ready")
        work = work_of(capture, self.plan.file.parent)
        planned = Described(capture.workload, capture.parameters, words=capture.workload)
        entry = Entry(capture.name, work, planned)
        self.keeper.put_entry(entry)
        with self._ending(capture.name):
            folder = self.keeper.folder.folder
            ready = self.session.prepared(capture, self.plan, folder, deadline=self.deadline)
            task = stack.enter_context(ready)
            sides, kind = task.described, kind_of(capture, self.plan.file.parent)
            entry = replace(entry, candidate=sides["candidate"], reference_kind=kind)
            entry = replace(entry, reference=sides.get("reference"))
            self.keeper.put_entry(entry)
            if task.same_commit:
                self.progress(f"{capture.name}: {same_code(task.same_commit)}")
            self.progress(f"{capture.name}: checking")
            self.keeper.put_entry(replace(entry, parity=self.session.check(task)))
            return task
        return None

    def _measure(self, task: PreparedCapture) -> None:
        with self._ending(task.capture.name), Watch(task.capture.telemetry) as watch:
            busy = self._wait(task.capture.name, watch)
            try:
                self._until_reproduced(task, watch, busy)
            except (BudgetSpentError, KeyboardInterrupt):
                self._judge(task, watch)
                raise

    def _until_reproduced(self, task: PreparedCapture, watch: Watch, busy: str) -> None:
        """Measure, judge, and measure again where something is to be reproduced.

        `busy` says why the machine was not ready; empty where it was.
        """
        fail_on = task.capture.fail_on
        self._session(task, watch, 1, busy=bool(busy))
        entry = self._judge(task, watch)
        if needs_second_session(entry.judged, entry.findings, fail_on):
            self._session(task, watch, _AGAIN)
            entry = self._judge(task, watch)
        outcome, reason = outcome_of(entry, fail_on)
        if rejected := rejected_words(task.capture, entry.pairs, task.results):
            reason = " ".join(filter(None, (reason, busy, rejected)))
        self.keeper.put_entry(replace(entry, outcome=outcome, reason=reason))

    def _judge(self, task: PreparedCapture, watch: Watch) -> Entry:
        """Judge what there is: metrics, findings, what tracing cost."""
        capture, entry = task.capture, self.keeper.entry(task.capture.name)
        accepted, same_commit = self.accepted.get(capture.name), task.same_commit
        first_session_pairs = [pair for pair in entry.pairs if pair.sitting == 1]
        traced, untraced = (
            [session_pair for session_pair in first_session_pairs if session_pair.traced is kind]
            for kind in (True, False)
        )
        entry = replace(
            entry,
            judged=judge_entry(
                capture, entry.pairs, task.results, accepted, same_commit=same_commit
            ),
            findings=findings_of(entry.pairs, self.keeper.folder.folder),
            overhead=overhead(traced, untraced) if traced else None,
            backend=task.backend,
        )
        self.keeper.put_entry(entry)
        unknown = describe_unjudged(_states(entry.pairs))
        self.keeper.warn(filter(None, (*task.remarks, *watch.remarks, unknown)))
        return entry

    def _session(
        self, task: PreparedCapture, watch: Watch, session: int, *, busy: bool = False
    ) -> None:
        """Measure as many pairs as are to count, those that do not count once more; then trace.

        On a `busy` machine a few pairs come first, and if none of them counts, that is all.
        """
        wanted_count, first_number = task.capture.pairs, 1
        more = min(wanted_count, least_pairs()) if busy else wanted_count
        while more > 0:
            calibrate = self.plan.state.calibration is not None
            new_pairs = self.session.measure(
                task,
                session=session,
                first_number=first_number,
                pairs=more,
                watch=watch,
                calibrate=calibrate,
            )
            self._keep(
                task.capture.name,
                new_pairs,
                "pair",
                session,
                range(first_number, first_number + more),
            )
            pairs = self.keeper.entry(task.capture.name).pairs
            session_pairs = [pair for pair in pairs if pair.sitting == session and not pair.traced]
            first_number = len(session_pairs) + 1
            good = sum(not pair.contaminated for pair in session_pairs)
            if busy and not good:
                return
            more = min(wanted_count - good, self.plan.retries - (len(session_pairs) - wanted_count))
        if traced := task.capture.traced:
            new_pairs = self.session.trace(task, session=session, watch=watch)
            self._keep(
                task.capture.name, new_pairs, "traced capture", session, range(1, traced + 1)
            )

    def _keep(
        self, name: str, pairs: Iterator[Pair], kind: str, session: int, numbers: range
    ) -> None:
        """Keep pairs as they come; then weigh all of the session, whose best is known better."""
        again = ", to see whether it can be reproduced" if session == _AGAIN else ""
        self.progress(f"{name}: {kind} {numbers[0]} of {numbers[-1]}{again}")
        for pair in pairs:
            self.keeper.add(name, pair if pair.traced else self._update_rejection(name, pair))
            if pair.number < numbers[-1]:
                more = f"{kind} {pair.number + 1} of {numbers[-1]}"
                self.progress(f"{name}: {more}{again}")
        entry = self.keeper.entry(name)
        weighed = tuple(
            self._update_rejection(name, pair) if pair.sitting == session else pair
            for pair in entry.pairs
        )
        self.keeper.put_entry(replace(entry, pairs=weighed))

    def _update_rejection(self, name: str, pair: Pair) -> Pair:
        """Say why a pair does not count, where it does not."""
        states = _states((*self.keeper.entry(name).pairs, pair), pair.sitting)
        reasons = find_rejections(pair.before, pair.after, states, self.plan.state)
        trace_reasons = (
            pair.contaminated if pair.traced else ()
        )  # a trace without rows says so itself
        return replace(pair, contaminated=tuple(dict.fromkeys((*trace_reasons, *reasons))))

    def _wait(self, name: str, watch: Watch) -> str:
        """Wait until a pair could count; return why it could not, where that takes too long."""
        until = min(time.monotonic() + self.plan.wait, self.deadline)
        while self.plan.wait:
            state = watch.before({os.getpid()})
            reasons = find_rejections(state, None, [state], self.plan.state)
            if not reasons:
                return ""
            who = busy_words(find_busiest())
            reason = f"{reasons[0].rstrip('.')}; {who}." if who else reasons[0]
            self.progress(f"{name}: waiting for the machine: {reason}")
            remaining_seconds = until - time.monotonic()
            if remaining_seconds <= 0:
                waited = duration(self.plan.wait * 1e9)
                return f"The machine was not ready within {waited}: {reason}"
            time.sleep(min(_EVERY, remaining_seconds))
        return ""

    @contextmanager
    def _ending(self, capture: str) -> Generator[None]:
        """Write down how a capture ended where it did not come to its end."""
        try:
            yield
        except (KeyboardInterrupt, InterruptedRunError):
            self.partial = self.interrupted = True
            self._end(capture, Outcome.INCONCLUSIVE, INTERRUPTED)
        except TracekitError as error:
            self.partial |= isinstance(error, BudgetSpentError)
            self._unsound |= isinstance(error, ParityError)
            budget_spent = isinstance(error, BudgetSpentError)
            outcome = Outcome.INCONCLUSIVE if budget_spent else Outcome.FAILED
            self._end(capture, outcome, f"{error.message} {error.hint}".strip())

    def _end(self, capture: str, outcome: Outcome, reason: str) -> None:
        """Write down how a capture ended; a regression that was reproduced stays one."""
        entry = self.keeper.entry(capture)
        worse = [judged for judged in entry.judged if judged.outcome is Outcome.REGRESSION]
        if worse:
            outcome = Outcome.REGRESSION
            reason = " ".join([*(f"{judged.metric}: {judged.reason}" for judged in worse), reason])
        self.keeper.put_entry(replace(entry, outcome=outcome, reason=reason))
