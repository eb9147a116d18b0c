"""The captures of a night: made ready, checked, measured, and measured again if needed."""

import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from tracekit import comparison
from tracekit.analysis import Finding, Result
from tracekit.base import InterruptedRunError, Recording, TracekitError, paired, units
from tracekit.machine import State, Watch, describe_unjudged, find_rejections
from tracekit.machine import busy as machine_busy
from tracekit.nightly.folder import NightWriter, work_of
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
from tracekit.nightly.session.checks import check
from tracekit.nightly.session.child import PreparedCapture, prepared
from tracekit.nightly.session.measuring import measure
from tracekit.nightly.session.program import BudgetSpentError, ParityError
from tracekit.nightly.session.tracing import trace
from tracekit.nightly.session.turn_values import overhead
from tracekit.nightly.session.worktree import kind_of
from tracekit.record import Progress


def findings_of(pairs: Sequence[Pair], folder: Path) -> tuple[TracedFinding, ...]:
    """Return the findings in the candidate's traces that count, the most frequent first.

    If a rule finds several things in a trace, the first of them counts. The runs of pairs are in
    `folder`, the night's.
    """
    candidate_traces: list[dict[str, Finding]] = []
    reference_traces: list[dict[str, Finding]] = []
    for pair in pairs:
        if pair.traced and pair.runs and not pair.rejections:
            candidate_run, *reference_runs = pair.runs
            candidate_traces.append(_findings(folder / candidate_run))
            runs_findings = [_findings(folder / run) for run in reference_runs]
            reference_traces += runs_findings
    first_findings: dict[str, Finding] = {}
    for trace_findings in reversed(candidate_traces):
        first_findings.update(trace_findings)
    findings: list[TracedFinding] = []
    for rule, finding in first_findings.items():
        traces = _count_with(rule, candidate_traces)
        in_reference = _count_with(rule, reference_traces)
        traced_finding = TracedFinding(
            rule=rule,
            message=finding.message,
            severity=str(finding.severity),
            traces=traces,
            of=len(candidate_traces),
            in_reference=in_reference,
            saving_per_token=finding.saving_per_token,
            saving=finding.saving,
        )
        findings.append(traced_finding)
    findings.sort(key=lambda finding: -finding.traces)
    return tuple(findings)


def explain_regression(pairs: Sequence[Pair], folder: Path) -> str:
    """Return the bound of the candidate's added time: compute, memory or synchronization.

    It is that of the first traced pair that counts; empty without one, or if the trace of the
    candidate is not slower. The runs of pairs are in `folder`, the night's.
    """
    for pair in pairs:
        if not pair.traced or pair.rejections or len(pair.runs) < _BOTH:
            continue
        candidate_run, reference_run, *_ = pair.runs
        with suppress(TracekitError):
            compared = comparison.runs.compare_paths(
                [folder / reference_run], [folder / candidate_run], force=True
            )
            return compared.comparison.bound
    return ""


_BOTH = 2  # runs of a pair


def _count_with(rule: str, traces: Sequence[Mapping[str, Finding]]) -> int:
    """Return how many traces have a finding of a rule."""
    return sum(rule in trace_findings for trace_findings in traces)


def _findings(run: Path) -> dict[str, Finding]:
    """Return the first finding of each rule; a rule found as an effect of another counts too."""
    findings = Result.load(Recording(run).result_file).findings
    findings_by_rule: dict[str, Finding] = {}
    for finding in findings:
        findings_by_rule.setdefault(finding.rule, finding)
    for finding in findings:
        for effect in finding.as_effects():
            findings_by_rule.setdefault(effect.rule, effect)
    return findings_by_rule


def _states(pairs: Iterable[Pair], session: int = 0) -> list[State]:
    """Return the states of the machine at all pairs, or at those of a session."""
    states: list[State] = []
    for pair in pairs:
        if session in {0, pair.session}:
            states += filter(None, (pair.before, pair.after))
    return states


_AGAIN = 2
_EVERY = 5.0  # seconds between two looks at a machine that is not ready
_STOPPED_BEFORE = "It was not measured, because the night was stopped before."
_NOT_STARTED = "It was not measured, because an earlier check failed."


@dataclass(frozen=True)
class NightSteps:
    """The functions that prepare, check, measure and trace captures; a test gives its own."""

    prepared: Callable[..., AbstractContextManager[PreparedCapture]] = prepared
    check: Callable[[PreparedCapture], str] = check
    measure: Callable[..., Iterator[Pair]] = measure
    trace: Callable[..., Iterator[Pair]] = trace


@dataclass
class CaptureRunner:
    """Measures the captures of a plan, one after the other.

    `accepted` are the acceptances by capture. The night's time is spent at `deadline`, in monotonic
    seconds. It is `partial` if some captures were not measured, or not to their end, and
    `interrupted` if somebody asked to stop.
    """

    plan: NightPlan
    captures: Sequence[Capture]
    writer: NightWriter
    accepted: Mapping[str, Accepted]
    deadline: float
    progress: Progress
    partial: bool = False
    interrupted: bool = False
    steps: NightSteps = field(default_factory=NightSteps)
    _unsound: bool = False

    def run(self) -> None:
        """Make all captures ready and check them; measure them if all checks hold."""
        try:
            with ExitStack() as stack:
                tasks = [self._ready(stack, capture) for capture in self.captures]
                for task in tasks:
                    if task is not None:
                        self._measure_or_skip(task)
            self.partial |= self._unsound or len(self.writer.night.entries) < len(self.captures)
        except KeyboardInterrupt:
            self.partial = self.interrupted = True
        except BaseException:
            self.partial = True
            raise

    def _measure_or_skip(self, task: PreparedCapture) -> None:
        """Measure a capture, unless the night was stopped, or a check failed."""
        if self.partial:
            self._end(task.capture.name, Outcome.INCONCLUSIVE, _STOPPED_BEFORE)
        elif self._unsound:
            self._end(task.capture.name, Outcome.INCONCLUSIVE, _NOT_STARTED)
        else:
            self._measure(task)

    def _ready(self, stack: ExitStack, capture: Capture) -> PreparedCapture | None:
        """Make a capture ready and check it; None if it is not to be measured."""
        if self.partial:
            return None
        self.progress(f"{capture.name}: making ready")
        work = work_of(capture, self.plan.file.parent)
        planned = Described(capture.workload, capture.parameters, words=capture.workload)
        entry = Entry(capture.name, work, planned)
        self.writer.put_entry(entry)
        with self._ending(capture.name):
            folder = self.writer.folder.folder
            ready = self.steps.prepared(capture, self.plan, folder, deadline=self.deadline)
            task = stack.enter_context(ready)
            entry = replace(
                entry,
                candidate=task.described["candidate"],
                reference=task.described.get("reference"),
                reference_kind=kind_of(capture, self.plan.file.parent),
            )
            self.writer.put_entry(entry)
            if task.same_commit:
                self.progress(f"{capture.name}: {same_code(task.same_commit)}")
            self.progress(f"{capture.name}: checking")
            self.writer.put_entry(replace(entry, parity=self.steps.check(task)))
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
        """Measure, judge, and measure again if something is to be reproduced.

        `busy` says why the machine was not ready; empty if it was.
        """
        fail_on = task.capture.fail_on
        self._session(task, watch, 1, busy=bool(busy))
        entry = self._judge(task, watch)
        if needs_second_session(entry.judged, entry.findings, fail_on):
            self._session(task, watch, _AGAIN)
            entry = self._judge(task, watch)
        outcome, reason = outcome_of(entry, fail_on)
        rejected = rejected_words(task.capture, entry.pairs, task.results)
        if rejected:
            reason = " ".join(filter(None, (reason, busy, rejected)))
        if outcome is Outcome.REGRESSION:
            bound = explain_regression(entry.pairs, self.writer.folder.folder)
            reason = " ".join(filter(None, (reason, bound)))
        self.writer.put_entry(replace(entry, outcome=outcome, reason=reason))

    def _judge(self, task: PreparedCapture, watch: Watch) -> Entry:
        """Judge the pairs so far: metrics, findings, and the cost of tracing."""
        capture = task.capture
        entry = self.writer.entry(capture.name)
        judged = judge_entry(
            capture,
            entry.pairs,
            task.results,
            self.accepted.get(capture.name),
            same_commit=task.same_commit,
        )
        traced: list[Pair] = []
        untraced: list[Pair] = []
        for pair in entry.pairs:
            if pair.session == 1:
                side = traced if pair.traced else untraced
                side.append(pair)
        entry = replace(
            entry,
            judged=judged,
            findings=findings_of(entry.pairs, self.writer.folder.folder),
            overhead=overhead(traced, untraced) if traced else None,
            backend=task.backend,
        )
        self.writer.put_entry(entry)
        unknown = describe_unjudged(_states(entry.pairs))
        self.writer.warn(filter(None, (*task.remarks, *watch.remarks, unknown)))
        return entry

    def _session(
        self, task: PreparedCapture, watch: Watch, session: int, *, busy: bool = False
    ) -> None:
        """Measure the wanted pairs, those that do not count once more; then trace.

        On a `busy` machine a few pairs come first, and if none of them counts, that is all.
        """
        wanted_count = task.capture.pairs
        first_number = 1
        more = min(wanted_count, paired.least_pairs()) if busy else wanted_count
        while more > 0:
            new_pairs = self.steps.measure(
                task,
                session=session,
                first_number=first_number,
                pairs=more,
                watch=watch,
                calibrate=self.plan.state.calibration is not None,
            )
            numbers = range(first_number, first_number + more)
            self._keep(task.capture.name, new_pairs, "pair", session, numbers)
            measured_count, good = self._count(task.capture.name, session)
            first_number = measured_count + 1
            if busy and not good:
                return
            remaining_retries = self.plan.retries - (measured_count - wanted_count)
            more = min(wanted_count - good, remaining_retries)
        if task.capture.traced:
            new_pairs = self.steps.trace(task, session=session, watch=watch)
            numbers = range(1, task.capture.traced + 1)
            self._keep(task.capture.name, new_pairs, "traced capture", session, numbers)

    def _count(self, name: str, session: int) -> tuple[int, int]:
        """Return how many pairs without a trace a session has, and how many of them count."""
        measured_count = 0
        good = 0
        for pair in self.writer.entry(name).pairs:
            if pair.session == session and not pair.traced:
                measured_count += 1
                good += not pair.rejections
        return measured_count, good

    def _keep(
        self, name: str, pairs: Iterator[Pair], kind: str, session: int, numbers: range
    ) -> None:
        """Keep pairs as they come; then decide for all of the session again which count.

        Each further look shows the machine's best state better.
        """
        again = ", to see whether it can be reproduced" if session == _AGAIN else ""
        self.progress(f"{name}: {kind} {numbers[0]} of {numbers[-1]}{again}")
        for pair in pairs:
            self.writer.add(name, pair if pair.traced else self._update_rejection(name, pair))
            if pair.number < numbers[-1]:
                more = f"{kind} {pair.number + 1} of {numbers[-1]}"
                self.progress(f"{name}: {more}{again}")
        entry = self.writer.entry(name)
        weighed: list[Pair] = []
        for pair in entry.pairs:
            if pair.session == session:
                weighed.append(self._update_rejection(name, pair))
            else:
                weighed.append(pair)
        self.writer.put_entry(replace(entry, pairs=tuple(weighed)))

    def _update_rejection(self, name: str, pair: Pair) -> Pair:
        """Return a pair with the reasons why it does not count, if any."""
        states = _states((*self.writer.entry(name).pairs, pair), pair.session)
        reasons = find_rejections(pair.before, pair.after, states, self.plan.state)
        if pair.traced:  # a trace without rows has a reason of its own
            reasons = (*pair.rejections, *reasons)
        return replace(pair, rejections=tuple(dict.fromkeys(reasons)))

    def _wait(self, name: str, watch: Watch) -> str:
        """Wait until a pair could count; if that takes too long, return why it could not."""
        until = min(time.monotonic() + self.plan.wait, self.deadline)
        while self.plan.wait:
            state = watch.before({os.getpid()})
            reasons = find_rejections(state, None, [state], self.plan.state)
            if not reasons:
                return ""
            reason = reasons[0]
            busiest = machine_busy.busy_words(machine_busy.find_busiest())
            if busiest:
                reason = f"{reason.rstrip('.')}; {busiest}."
            self.progress(f"{name}: waiting for the machine: {reason}")
            remaining_seconds = until - time.monotonic()
            if remaining_seconds <= 0:
                waited = units.duration(self.plan.wait * 1e9)
                return f"The machine was not ready within {waited}: {reason}"
            time.sleep(min(_EVERY, remaining_seconds))
        return ""

    @contextmanager
    def _ending(self, capture: str) -> Generator[None]:
        """Record the outcome of a capture that did not come to its end."""
        try:
            yield
        except (KeyboardInterrupt, InterruptedRunError):
            self.partial = self.interrupted = True
            self._end(capture, Outcome.INCONCLUSIVE, INTERRUPTED)
        except TracekitError as error:
            outcome = Outcome.FAILED
            if isinstance(error, BudgetSpentError):
                self.partial = True
                outcome = Outcome.INCONCLUSIVE
            self._unsound |= isinstance(error, ParityError)
            self._end(capture, outcome, f"{error.message} {error.hint}".strip())

    def _end(self, capture: str, outcome: Outcome, reason: str) -> None:
        """Record the outcome of a capture; a regression that was reproduced remains one."""
        entry = self.writer.entry(capture)
        reasons: list[str] = []
        for judged in entry.judged:
            if judged.outcome is Outcome.REGRESSION:
                outcome = Outcome.REGRESSION
                reasons.append(f"{judged.metric}: {judged.reason}")
        reasons.append(reason)
        self.writer.put_entry(replace(entry, outcome=outcome, reason=" ".join(reasons)))
