"""What became of each metric of a capture in one night, and why; how captures and nights end.

A regression that was shown stays one whatever else failed, so it goes before a failure; a
failure goes before what is merely not known. What goes behind still stands in the reason.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from tracekit.analysis import METRICS, Better
from tracekit.base import Interval, Verdict, sentence_of, short_commit, verdict_of
from tracekit.compare import RATES, STEP, middle
from tracekit.nightly.gate.decision import (
    POLICY,
    SHORT,
    MetricPairs,
    Policy,
    Ruling,
    is_exact,
    pairs_of,
    plain_change,
)
from tracekit.nightly.history.night import (
    LEADS,
    Accepted,
    Entry,
    Judged,
    Outcome,
    Pair,
    TracedFinding,
)
from tracekit.nightly.plan.plan import Capture, Gated


def _describe_count(case: MetricPairs, wanted_count: int) -> str:
    number = len(case.changes)
    return f"{number} of {max(wanted_count, number)} pairs count"


def _describe_rejections(case: MetricPairs) -> str:
    """Say why other pairs do not count, to be put behind how many do; nothing if all do."""
    if reason := _find_main_reason(case.metric_pairs):
        return f"; why others do not: {reason}"
    if len(case.changes) < len(case.metric_pairs):
        return f"; others do not have {case.gated.metric} of both sides"
    return ""


def _short(case: MetricPairs) -> str:
    """Say which session has too few pairs that count."""
    required_count = 1 if case.has_few_traces else case.policy.min_pairs
    short = [
        f"only {len(session_changes)} pairs of the {name} session count"
        for name, session_changes in zip(("first", "second"), case.sittings, strict=False)
        if len(session_changes) < required_count
    ]
    return f"{' and '.join(short)}, and it takes {required_count}{_describe_rejections(case)}"


def _missing(case: MetricPairs) -> str:
    metric = case.gated.metric
    if not case.metric_pairs:
        return f"No pair measured {metric}."
    if all(pair.contaminated for pair in case.metric_pairs):
        return f"No pair counts: {_find_main_reason(case.metric_pairs)}."
    return f"No pair has {metric} of both sides as a number, above 0 where its ratio is taken."


def _find_main_reason(pairs: Sequence[Pair]) -> str:
    """Return why most pairs do not count; empty where all do."""
    reasons = [reason.rstrip(".") for pair in pairs for reason in pair.contaminated]
    return max(reasons, key=lambda reason: (reasons.count(reason), reason), default="")


NO_BASELINE = (
    "No night was accepted as what to expect of work that differs from the reference's: "
    "`tracekit baseline accept NIGHT --reason TEXT`."
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

    A regression is what is worse by the rule of all comparisons: `tracekit.base.verdict_of`. What
    one session shows beyond the threshold, or leaves open, has `reproduced` False: then a second
    one is needed. `expected` are changes of the accepted
    baseline. Without one, no change is expected where the reference does the `same_work`; that is
    None without a reference.
    Where fewer pairs count than were `wanted_count`, nothing is called harmless.
    """
    direction = Better(gated.better or better)
    case = MetricPairs(gated, tuple(pairs), unit, direction, tuple(expected or ()), policy)
    new, old = case.values("candidate"), case.values("reference")
    judged = Judged(
        metric=gated.metric,
        unit=unit,
        better=direction.value,
        scale=gated.scale,
        threshold=gated.threshold,
        gated=gated.gate,
        candidate=median(new) if new else None,
        reference=median(old) if old else None,
        pairs=len(case.changes) if old else len(new),
    )
    if same_work is None and new:
        return _mark_followed(judged, f"There is no reference: {_OVER_NIGHTS}.")
    if not case.changes:
        return _mark_inconclusive(judged, _missing(case))
    change, interval = case.middle(case.changes), case.interval()
    lower_bound, upper_bound = (
        (interval.lower_bound, interval.upper_bound) if interval else (None, None)
    )
    words = case.formatter.format_change(change, lower_bound, upper_bound)
    judged = replace(judged, change=change, low=lower_bound, high=upper_bound, reason=f"{words}.")
    unknown = expected is None and not same_work
    if not unknown:
        expected_change = plain_change(middle(case.expected), gated.scale) if case.expected else 0.0
        judged = replace(judged, expected=expected_change)
    if direction is Better.NEITHER:
        return _mark_followed(judged, f"Which direction is worse is not known: {_OVER_NIGHTS}.")
    if unknown:
        # What is accepted counts for ever, so it is measured twice before it can be.
        again = gated.gate and len(case.sittings) == 1
        return replace(_mark_inconclusive(judged, NO_BASELINE), reproduced=False if again else None)
    return _decide_outcome(case, judged, words, wanted_count) if gated.gate else judged


def _decide_outcome(case: MetricPairs, judged: Judged, words: str, wanted_count: int) -> Judged:
    """Return it with how it ended; `words` are its change."""
    min_pairs = case.policy.min_pairs
    values = (*case.expected, *case.values("candidate"), *case.values("reference"))
    if case.has_few_traces and (
        case.gated.scale != "difference" or not is_exact(values, case.unit)
    ):
        shortage = (
            f"{case.first_pair_count} traced in a session, and an interval takes {min_pairs} pairs"
        )
        return _mark_followed(judged, f"{words}: {shortage}, so {_OVER_NIGHTS}.")
    if not case.has_few_traces and 0 < len(case.expected) < min_pairs:
        shortage = f"The accepted night has {len(case.expected)} pairs; it takes {min_pairs}."
        return _mark_inconclusive(judged, shortage)
    ruling = case.ruling()
    if ruling is None:
        shortage = (
            f"{_describe_count(case, max(wanted_count, min_pairs))}, and an interval takes "
            f"{min_pairs}"
        )
        return _mark_inconclusive(judged, f"Only {shortage}{_describe_rejections(case)}.")
    if ruling.outcome is Outcome.OK and len(case.changes) < wanted_count:
        return _mark_inconclusive(
            judged,
            f"{words}, but only {_describe_count(case, wanted_count)}{_describe_rejections(case)}.",
        )
    reason = _explain(case, judged, ruling)
    return replace(
        judged,
        outcome=ruling.outcome,
        verdict=ruling.verdict.value,
        reproduced=ruling.reproduced,
        reason=f"{reason[0].upper()}{reason[1:]}.",
    )


def _explain(case: MetricPairs, judged: Judged, ruling: Ruling) -> str:
    """Say the verdict with its interval, and what each session shows where there were two."""
    assert judged.change is not None
    formatter, limit = case.formatter, case.gated.threshold
    words = formatter.limit(limit)
    if case.gated.scale == "ratio" and case.better is Better.HIGHER:
        rate = formatter.amount(1 - 1 / (1 + limit))
        words += f" ({rate} of a rate)" * (rate != formatter.amount(limit))
    short = _short(case) if SHORT in ruling.doubt else ""
    doubt = ruling.doubt.format(limit=words, short=short)
    change_interval = (judged.change, judged.low, judged.high)
    sentence = sentence_of(ruling.verdict, formatter, change_interval, limit, doubt)
    if len(case.sittings) == 1:
        return sentence
    parts = [
        formatter.change(case.middle(session_changes)) if session_changes else "nothing"
        for session_changes in case.sittings
    ]
    return f"{sentence} ({parts[0]} at first, {parts[1]} when repeated)"


def _mark_inconclusive(judged: Judged, reason: str) -> Judged:
    """Return it as inconclusive if it decides."""
    if not judged.gated:
        return replace(judged, outcome=None, reason=reason)
    return replace(
        judged, outcome=Outcome.INCONCLUSIVE, verdict=Verdict.UNCLEAR.value, reason=reason
    )


def _mark_followed(judged: Judged, reason: str) -> Judged:
    return replace(judged, gated=False, outcome=None, reason=reason)


@dataclass(frozen=True)
class Quantity:
    """What a number that a workload found out is: its unit, and which direction is good news."""

    unit: str = ""
    better: Literal["lower", "higher", "neither"] = "neither"


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
    same_work = capture.reference.same_work if capture.reference else None
    judgements: list[Judged] = []
    for gated in capture.metrics:
        quantity = quantity_of(gated.metric, results)
        metric_pairs = pairs_of(pairs, gated.metric)
        judged = judge(
            gated,
            pairs,
            unit=quantity.unit,
            better=quantity.better,
            expected=changes.get(gated.metric) or None,
            same_work=same_work,
            wanted_count=capture.traced
            if metric_pairs and metric_pairs[0].traced
            else capture.pairs,
            policy=policy,
        )
        if same_commit and judged.outcome is not None:
            judged = replace(_mark_inconclusive(judged, judged.reason), reproduced=None)
            if judged.change is not None:
                words = judged.formatter.format_change(judged.change, judged.low, judged.high)
                judged = replace(judged, reason=f"{words}: {same_code(same_commit)}.")
        uses = accepted and changes.get(gated.metric) and judged.expected is not None
        judgements.append(replace(judged, baseline=accepted.night if accepted and uses else ""))
    return tuple(judgements)


def same_code(commit: str) -> str:
    """Say that a night compares a commit with itself."""
    return (
        f"candidate and reference are the same commit, {short_commit(commit)}, so this night "
        "measures how much the machine varies by itself, and can find no change"
    )


def quantity_of(metric: str, results: Mapping[str, Quantity]) -> Quantity:
    """Return what a metric is, or a result of the workload; nothing is known of other names."""
    if (definition := METRICS.get(metric)) is not None:
        return Quantity(definition.unit, definition.better.value)
    return results.get(metric, Quantity())


def advise(entry: Entry) -> str:
    """Say that a rate of whole turns decides where the median step, which is sharper, could."""
    rates = [judged.metric for judged in entry.judged if judged.gated and judged.metric in RATES]
    follows_step = any(judged.metric == STEP and not judged.gated for judged in entry.judged)
    if not rates or not follows_step:
        return ""
    return (
        f"{entry.capture}: {rates[0]} decides, as the plan says. It is a rate of whole turns, and "
        f"{STEP}, which is followed, would be sharper."
    )


_ORDER = tuple(LEADS)


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome that goes before all others, regression first and unjudged last."""
    return min(outcomes, key=_ORDER.index, default=Outcome.UNJUDGED)


def needs_second_session(
    judged: Sequence[Judged], findings: Sequence[TracedFinding], fail_on: Sequence[str]
) -> bool:
    """Tell whether something is to be looked at again, after the first session.

    That is a metric that decides and seems to have changed or has too wide an interval, or a
    finding that is to fail; what is missing for another reason a second session would not bring.
    """
    metrics = any(
        metric.outcome in {Outcome.INCONCLUSIVE, Outcome.REGRESSION} and metric.reproduced is False
        for metric in judged
        if metric.gated
    )
    return metrics or any(_is_failing(finding, fail_on) for finding in findings)


def findings_outcome(
    findings: Sequence[TracedFinding], fail_on: Sequence[str], *, sittings: int
) -> tuple[Outcome, str]:
    """Return how the findings end, and why: a rule that is to fail and has found something.

    It is a regression where all traces of the candidate's in both sessions have it, no other's.
    """
    if fail_on and not sittings:
        return Outcome.INCONCLUSIVE, f"No trace counts, so {', '.join(fail_on)} could find nothing."
    endings = [_finding(finding, sittings) for finding in findings if _is_failing(finding, fail_on)]
    outcome = worst(ending for ending, _ in endings) if endings or not fail_on else Outcome.OK
    return outcome, " ".join(reason for ending, reason in endings if ending is outcome)


def outcome_of(entry: Entry, fail_on: Sequence[str] = ()) -> tuple[Outcome, str]:
    """Return how a capture ended that did not fail, and why."""
    traced = {pair.sitting for pair in entry.pairs if pair.traced and not pair.contaminated}
    if not entry.pairs:
        return Outcome.INCONCLUSIVE, "Nothing was measured."
    if all(pair.contaminated for pair in entry.pairs):
        return Outcome.INCONCLUSIVE, f"No pair counts: {_find_main_reason(entry.pairs)}."
    endings = list(_metrics(entry.judged))
    endings.append(findings_outcome(entry.findings, fail_on, sittings=len(traced)))
    outcome = worst(ending for ending, _ in endings)
    sentences = " ".join(reason for ending, reason in endings if ending is outcome and reason)
    if outcome is Outcome.INCONCLUSIVE and (followed := find_striking(entry.judged)):
        return outcome, f"{followed} {sentences}"
    if outcome is Outcome.UNJUDGED:
        return outcome, "All of its metrics are followed over nights, and none decides."
    return outcome, sentences


_STRIKING = 2.0  # times the threshold: from there on what is only followed must not go unsaid


def find_striking(judged: Sequence[Judged]) -> str:
    """Say of the followed metric that has changed most that it did, if by far more than matters."""
    striking: dict[str, float] = {}
    for metric in judged:
        change, lower_bound, upper_bound = metric.change, metric.low, metric.high
        if metric.outcome is not None or metric.scale != "ratio" or metric.better == "neither":
            continue
        if change is None or lower_bound is None or upper_bound is None or lower_bound <= -1:
            continue
        turn = 1 if metric.better == "lower" else -1
        ends = Interval(math.log1p(change), math.log1p(lower_bound), math.log1p(upper_bound))
        verdict, _ = verdict_of(ends.orient(turn), math.log1p(metric.threshold))
        far = abs(change) >= _STRIKING * metric.threshold
        if far and verdict in {Verdict.WORSE, Verdict.BETTER}:
            change_interval = (change, lower_bound, upper_bound)
            words = sentence_of(verdict, metric.formatter, change_interval, metric.threshold)
            striking[f"{metric.metric} is {words}, but is followed only."] = abs(ends.middle)
    return max(striking, key=lambda words: striking[words], default="")


def night_outcome(entries: Sequence[Entry], *, partial: bool) -> tuple[Outcome, str]:
    """Return how a night ended, and why."""
    outcomes = [entry.outcome or Outcome.INCONCLUSIVE for entry in entries]
    if partial or not entries:
        outcomes.append(Outcome.INCONCLUSIVE)
    outcome = worst(outcomes)
    sentences: list[str] = []
    for ending in LEADS:
        matching_entries = [
            entry for entry in entries if (entry.outcome or Outcome.INCONCLUSIVE) is ending
        ]
        if matching_entries and ending is not Outcome.OK:
            capture_words = "; ".join(
                f"{entry.capture} ({entry.reason.rstrip('.')})" for entry in matching_entries
            )
            sentences.append(
                f"{capture_words}." if ending is outcome else f"{LEADS[ending]}: {capture_words}."
            )
    if partial:
        sentences.append("The night was stopped before all captures were through.")
    elif not entries:
        sentences.append("Nothing was captured.")
    return outcome, " ".join(sentences)


def _metrics(judged: Sequence[Judged]) -> Iterator[tuple[Outcome, str]]:
    """Yield how metrics ended and why, those together that ended alike for the same reason."""
    names: dict[tuple[Outcome, str], list[str]] = {}
    for metric in judged:
        if metric.outcome is not None:
            names.setdefault((metric.outcome, metric.reason), []).append(metric.metric)
    for (outcome, reason), metric_names in names.items():
        yield outcome, f"{', '.join(metric_names)}: {reason}"


def _is_failing(finding: TracedFinding, fail_on: Sequence[str]) -> bool:
    return finding.rule in fail_on and finding.traces > 0 and not finding.in_reference


def _finding(finding: TracedFinding, sittings: int) -> tuple[Outcome, str]:
    occurrence = (
        f"{finding.rule} in {finding.traces} of {finding.of} traces, and in none of the reference"
    )
    if sittings == 1:
        occurrence = f"{occurrence}; no second session has looked again"
    reason = f"{occurrence}. {finding.message}"
    if sittings == 1:
        return Outcome.INCONCLUSIVE, reason
    if finding.traces == finding.of:
        return Outcome.REGRESSION, reason
    in_most_traces = 2 * finding.traces > finding.of
    return Outcome.INCONCLUSIVE if in_most_traces else Outcome.OK, reason
