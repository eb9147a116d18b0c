"""Judgement of each metric of a capture in one night; outcomes of captures and of nights.

A regression that was shown stays one even if something else failed, so it precedes a failure; a
failure precedes an inconclusive outcome. The reason of a night names the other outcomes too.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median

from tracekit.analysis import METRICS, Better
from tracekit.base import Verdict, units, verdicts
from tracekit.comparison import RATES, STEP, shifts
from tracekit.nightly.gate.decision import POLICY, SHORT, MetricPairs, Policy, Ruling, is_exact
from tracekit.nightly.gate.striking import find_striking
from tracekit.nightly.history.night import (
    LEADS,
    Accepted,
    Entry,
    Judged,
    Outcome,
    Pair,
    Quantity,
    TracedFinding,
)
from tracekit.nightly.history.pairs import pairs_of, plain_change
from tracekit.nightly.plan.plan import Capture, Gated


def _describe_count(case: MetricPairs, wanted_count: int) -> str:
    number = len(case.changes)
    return f"{number} of {max(wanted_count, number)} pairs count"


def _describe_rejections(case: MetricPairs) -> str:
    """Return why other pairs do not count, to follow the number that do; empty if all do."""
    reason = _find_main_reason(case.metric_pairs)
    if reason:
        return f"; why others do not: {reason}"
    if len(case.changes) < len(case.metric_pairs):
        return f"; others do not have {case.gated.metric} of both sides"
    return ""


def _short(case: MetricPairs) -> str:
    """Return the sessions that have too few pairs that count, in words."""
    required_count = 1
    if not case.has_few_traces:
        required_count = case.policy.min_pairs
    short: list[str] = []
    for name, session_changes in zip(("first", "second"), case.sessions, strict=False):
        number = len(session_changes)
        if number < required_count:
            short.append(f"only {number} pairs of the {name} session count")
    sessions_words = " and ".join(short)
    rejections = _describe_rejections(case)
    return f"{sessions_words}, and it takes {required_count}{rejections}"


def _missing(case: MetricPairs) -> str:
    metric = case.gated.metric
    if not case.metric_pairs:
        return f"No pair measured {metric}."
    if all(pair.rejections for pair in case.metric_pairs):
        return f"No pair counts: {_find_main_reason(case.metric_pairs)}."
    return f"No pair has {metric} of both sides as a number, above 0 where its ratio is taken."


def _find_main_reason(pairs: Sequence[Pair]) -> str:
    """Return the most frequent reason why pairs do not count; empty if all do."""
    reasons: list[str] = []
    for pair in pairs:
        reasons += [reason.rstrip(".") for reason in pair.rejections]
    return max(reasons, key=lambda reason: (reasons.count(reason), reason), default="")


NO_BASELINE = (
    "No night was accepted as expected for work that differs from the reference's: "
    "`tracekit nightly baseline accept NIGHT --reason TEXT`."
)
_OVER_NIGHTS = "it is followed over nights"


def judge(
    gated: Gated,
    pairs: Sequence[Pair],
    *,
    unit: str,
    better: str,
    expected: Sequence[float] | None = None,
    same_work: bool | None = True,
    wanted_count: int = 0,
    policy: Policy = POLICY,
) -> Judged:
    """Judge one metric by all pairs that count, of one session or of both.

    The rule of all comparisons, `verdicts.verdict_of`, decides on a regression. A change that one
    session shows beyond the threshold, or leaves open, has `reproduced` False: it needs a second
    session.

    Args:
        gated: The metric, and the least change of it that counts.
        pairs: All pairs of its capture.
        unit: The metric's unit.
        better: The direction that is good news, unless `gated` names one.
        expected: The changes of the accepted baseline. Without them, no change is expected if the
            reference does the same work.
        same_work: Whether the reference does the same work; None without a reference.
        wanted_count: The number of pairs that must count before a change is called harmless.
        policy: The confidence and the number of pairs that a decision takes.
    """
    direction = Better(gated.better or better)
    case = MetricPairs(gated, tuple(pairs), unit, direction, tuple(expected or ()), policy)
    judged = _start_judgement(case)
    if same_work is None and judged.candidate is not None:
        return _mark_followed(judged, f"There is no reference: {_OVER_NIGHTS}.")
    if not case.changes:
        return _mark_inconclusive(judged, _missing(case))
    change = case.middle(case.changes)
    judged = replace(judged, change=change)
    interval = case.interval()
    if interval is not None:
        judged = replace(judged, low=interval.lower_bound, high=interval.upper_bound)
    words = case.formatter.format_change(change, judged.low, judged.high)
    judged = replace(judged, reason=f"{words}.")
    has_expectation = expected is not None or same_work
    if has_expectation:
        judged = replace(judged, expected=_find_expected_change(case))
    if direction is Better.NEITHER:
        return _mark_followed(judged, f"Which direction is worse is not known: {_OVER_NIGHTS}.")
    if not has_expectation:
        judged = _mark_inconclusive(judged, NO_BASELINE)
        if gated.gate and len(case.sessions) == 1:
            # An accepted change counts for ever, so two sessions must measure it first.
            judged = replace(judged, reproduced=False)
        return judged
    if not gated.gate:
        return judged
    return _decide_outcome(case, judged, words, wanted_count)


def _start_judgement(case: MetricPairs) -> Judged:
    """Return the metric with the medians of both sides, not judged yet."""
    gated = case.gated
    new = case.values("candidate")
    old = case.values("reference")
    candidate = median(new) if new else None
    reference = median(old) if old else None
    pairs = len(case.changes) if old else len(new)
    return Judged(
        metric=gated.metric,
        unit=case.unit,
        better=case.better.value,
        scale=gated.scale,
        threshold=gated.threshold,
        gated=gated.gate,
        candidate=candidate,
        reference=reference,
        pairs=pairs,
    )


def _find_expected_change(case: MetricPairs) -> float:
    """Return the middle of the baseline's changes on the plain scale; 0 without a baseline."""
    if not case.expected:
        return 0.0
    return plain_change(shifts.find_middle(case.expected), case.gated.scale)


def _decide_outcome(case: MetricPairs, judged: Judged, words: str, wanted_count: int) -> Judged:
    """Return a metric that decides with its outcome; `words` are its change."""
    min_pairs = case.policy.min_pairs
    if case.has_few_traces:
        if not _compares_counts(case):
            shortage = (
                f"{case.first_pair_count} traced in a session, and an interval takes {min_pairs} "
                "pairs"
            )
            return _mark_followed(judged, f"{words}: {shortage}, so {_OVER_NIGHTS}.")
    elif 0 < len(case.expected) < min_pairs:
        shortage = f"The accepted night has {len(case.expected)} pairs; it takes {min_pairs}."
        return _mark_inconclusive(judged, shortage)
    ruling = case.ruling()
    if ruling is None:
        count_words = _describe_count(case, max(wanted_count, min_pairs))
        rejections = _describe_rejections(case)
        reason = f"Only {count_words}, and an interval takes {min_pairs}{rejections}."
        return _mark_inconclusive(judged, reason)
    if ruling.outcome is Outcome.OK and len(case.changes) < wanted_count:
        count_words = _describe_count(case, wanted_count)
        reason = f"{words}, but only {count_words}{_describe_rejections(case)}."
        return _mark_inconclusive(judged, reason)
    reason = _explain(case, judged, ruling)
    capitalized_reason = f"{reason[0].upper()}{reason[1:]}."
    return replace(
        judged,
        outcome=ruling.outcome,
        verdict=ruling.verdict.value,
        reproduced=ruling.reproduced,
        reason=capitalized_reason,
    )


def _compares_counts(case: MetricPairs) -> bool:
    """Tell whether all values are counts, which are compared by their difference."""
    candidate_values = case.values("candidate")
    reference_values = case.values("reference")
    values = (*case.expected, *candidate_values, *reference_values)
    return case.gated.scale == "difference" and is_exact(values, case.unit)


def _explain(case: MetricPairs, judged: Judged, ruling: Ruling) -> str:
    """Return the verdict with its interval, and the change of each session if there were two."""
    assert judged.change is not None
    formatter = case.formatter
    limit = case.gated.threshold
    limit_words = formatter.limit(limit)
    if case.gated.scale == "ratio" and case.better is Better.HIGHER:
        slowest_share = 1 - 1 / (1 + limit)
        rate = formatter.amount(slowest_share)
        if rate != formatter.amount(limit):
            limit_words = f"{limit_words} ({rate} of a rate)"
    short = ""
    if SHORT in ruling.doubt:
        short = _short(case)
    doubt = ruling.doubt.format(limit=limit_words, short=short)
    change_interval = (judged.change, judged.low, judged.high)
    sentence = verdicts.sentence_of(ruling.verdict, formatter, change_interval, limit, doubt)
    if len(case.sessions) == 1:
        return sentence
    parts: list[str] = []
    for session_changes in case.sessions:
        if session_changes:
            parts.append(formatter.change(case.middle(session_changes)))
        else:
            parts.append("nothing")
    return f"{sentence} ({parts[0]} at first, {parts[1]} when repeated)"


def _mark_inconclusive(judged: Judged, reason: str) -> Judged:
    """Return a metric with a reason; one that decides is inconclusive."""
    if not judged.gated:
        return replace(judged, outcome=None, reason=reason)
    return replace(
        judged, outcome=Outcome.INCONCLUSIVE, verdict=Verdict.UNCLEAR.value, reason=reason
    )


def _mark_followed(judged: Judged, reason: str) -> Judged:
    return replace(judged, gated=False, outcome=None, reason=reason)


def judge_entry(
    capture: Capture,
    pairs: Sequence[Pair],
    results: Mapping[str, Quantity],
    accepted: Accepted | None,
    policy: Policy = POLICY,
    *,
    same_commit: str = "",
) -> tuple[Judged, ...]:
    """Judge all metrics of a capture that the plan names, in its order."""
    changes = accepted.changes if accepted else {}
    same_work = None
    if capture.reference:
        same_work = capture.reference.same_work
    judgements: list[Judged] = []
    for gated in capture.metrics:
        quantity = quantity_of(gated.metric, results)
        metric_pairs = pairs_of(pairs, gated.metric)
        is_traced = bool(metric_pairs) and metric_pairs[0].traced
        expected = changes.get(gated.metric) or None
        default_count = capture.traced if is_traced else capture.pairs
        judged = judge(
            gated,
            pairs,
            unit=quantity.unit,
            better=quantity.better,
            expected=expected,
            same_work=same_work,
            wanted_count=default_count,
            policy=policy,
        )
        if same_commit and judged.outcome is not None:
            judged = _mark_same_commit(judged, same_commit)
        baseline = ""
        if accepted and expected and judged.expected is not None:
            baseline = accepted.night
        judgements.append(replace(judged, baseline=baseline))
    return tuple(judgements)


def _mark_same_commit(judged: Judged, commit: str) -> Judged:
    """Return a metric as inconclusive: a commit that is compared with itself shows no change."""
    judged = replace(_mark_inconclusive(judged, judged.reason), reproduced=None)
    if judged.change is None:
        return judged
    words = judged.formatter.format_change(judged.change, judged.low, judged.high)
    return replace(judged, reason=f"{words}: {same_code(commit)}.")


def same_code(commit: str) -> str:
    """Return the statement that a night compares a commit with itself."""
    return (
        f"candidate and reference are the same commit, {units.short_commit(commit)}, so this night "
        "measures how much the machine varies by itself, and can find no change"
    )


def quantity_of(metric: str, results: Mapping[str, Quantity]) -> Quantity:
    """Return the quantity of a metric, or of a workload's result; the default for other names."""
    definition = METRICS.get(metric)
    if definition is not None:
        return Quantity(definition.unit, definition.better.value)
    return results.get(metric, Quantity())


def advise(entry: Entry) -> str:
    """Return advice if a rate of whole turns decides and the sharper median step could instead."""
    judged_rates = [
        judged.metric for judged in entry.judged if judged.gated and judged.metric in RATES
    ]
    rates = judged_rates
    follows_step = any(judged.metric == STEP and not judged.gated for judged in entry.judged)
    if not rates or not follows_step:
        return ""
    return (
        f"{entry.capture}: {rates[0]} decides, as the plan says. It is a rate of whole turns, and "
        f"{STEP}, which is followed, would be sharper."
    )


_ORDER = tuple(LEADS)


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome that precedes all others: regression first, unjudged last."""
    return min(outcomes, key=_ORDER.index, default=Outcome.UNJUDGED)


def needs_second_session(
    judged: Sequence[Judged], findings: Sequence[TracedFinding], fail_on: Sequence[str]
) -> bool:
    """Tell whether a second session is needed after the first.

    It is for a metric that decides and seems to have changed or has too wide an interval, and for a
    finding that is to fail. It would not help if values are missing for another reason.
    """
    for metric in judged:
        is_open = metric.outcome in {Outcome.INCONCLUSIVE, Outcome.REGRESSION}
        if metric.gated and is_open and metric.reproduced is False:
            return True
    return any(_is_failing(finding, fail_on) for finding in findings)


def findings_outcome(
    findings: Sequence[TracedFinding], fail_on: Sequence[str], *, session_count: int
) -> tuple[Outcome, str]:
    """Return the outcome of the findings, and the reason: the findings of rules that are to fail.

    A finding is a regression if all traces of the candidate in both sessions have it, and none of
    the reference. `session_count` is that of sessions with a trace that counts.
    """
    if not fail_on:
        return Outcome.UNJUDGED, ""
    if not session_count:
        return Outcome.INCONCLUSIVE, f"No trace counts, so {', '.join(fail_on)} could find nothing."
    endings = [
        _finding(finding, session_count) for finding in findings if _is_failing(finding, fail_on)
    ]
    if not endings:
        return Outcome.OK, ""
    return _worst_ending(endings)


def _worst_ending(endings: Sequence[tuple[Outcome, str]]) -> tuple[Outcome, str]:
    """Return the worst outcome, with the reasons of all that have it."""
    outcome = worst(ending for ending, _ in endings)
    reasons: list[str] = []
    for ending, reason in endings:
        if ending is outcome and reason:
            reasons.append(reason)
    return outcome, " ".join(reasons)


def outcome_of(entry: Entry, fail_on: Sequence[str] = ()) -> tuple[Outcome, str]:
    """Return the outcome of a capture that did not fail, and the reason."""
    if not entry.pairs:
        return Outcome.INCONCLUSIVE, "Nothing was measured."
    counting_pairs = [pair for pair in entry.pairs if not pair.rejections]
    if not counting_pairs:
        return Outcome.INCONCLUSIVE, f"No pair counts: {_find_main_reason(entry.pairs)}."
    traced_sessions = {pair.session for pair in counting_pairs if pair.traced}
    endings = list(_metrics(entry.judged))
    session_count = len(traced_sessions)
    endings.append(findings_outcome(entry.findings, fail_on, session_count=session_count))
    outcome, sentences = _worst_ending(endings)
    if outcome is Outcome.INCONCLUSIVE:
        followed = find_striking(entry.judged)
        if followed:
            return outcome, f"{followed} {sentences}"
    if outcome is Outcome.UNJUDGED:
        return outcome, "All of its metrics are followed over nights, and none decides."
    return outcome, sentences


def night_outcome(entries: Sequence[Entry], *, partial: bool) -> tuple[Outcome, str]:
    """Return the outcome of a night, and the reason."""
    reasons: dict[Outcome, list[str]] = {}
    for entry in entries:
        short_reason = entry.reason.rstrip(".")
        words = f"{entry.capture} ({short_reason})"
        reasons.setdefault(entry.outcome or Outcome.INCONCLUSIVE, []).append(words)
    outcomes = [*reasons]
    if partial or not entries:
        outcomes.append(Outcome.INCONCLUSIVE)
    outcome = worst(outcomes)
    sentences: list[str] = []
    for ending, lead in LEADS.items():
        if ending is Outcome.OK or ending not in reasons:
            continue
        capture_words = "; ".join(reasons[ending])
        if ending is outcome:
            sentences.append(f"{capture_words}.")
        else:
            sentences.append(f"{lead}: {capture_words}.")
    if partial:
        sentences.append("The night was stopped before all captures were through.")
    elif not entries:
        sentences.append("Nothing was captured.")
    return outcome, " ".join(sentences)


def _metrics(judged: Sequence[Judged]) -> Iterator[tuple[Outcome, str]]:
    """Yield outcomes of metrics and their reasons; metrics with the same of both share one."""
    names: dict[tuple[Outcome, str], list[str]] = {}
    for metric in judged:
        if metric.outcome is not None:
            same_ruling = names.setdefault((metric.outcome, metric.reason), [])
            same_ruling.append(metric.metric)
    for (outcome, reason), metric_names in names.items():
        yield outcome, f"{', '.join(metric_names)}: {reason}"


def _is_failing(finding: TracedFinding, fail_on: Sequence[str]) -> bool:
    return finding.rule in fail_on and finding.traces > 0 and not finding.in_reference


def _finding(finding: TracedFinding, session_count: int) -> tuple[Outcome, str]:
    """Return the outcome of a finding that is to fail, and the reason."""
    occurrence = (
        f"{finding.rule} in {finding.traces} of {finding.of} traces, and in none of the reference"
    )
    if session_count == 1:
        occurrence = f"{occurrence}; no second session has looked again"
    reason = f"{occurrence}. {finding.message}"
    if session_count == 1:
        return Outcome.INCONCLUSIVE, reason
    if finding.traces == finding.of:
        return Outcome.REGRESSION, reason
    if 2 * finding.traces > finding.of:
        return Outcome.INCONCLUSIVE, reason
    return Outcome.OK, reason
