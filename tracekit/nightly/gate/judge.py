"""What became of each metric of a capture in one night, and why; how captures and nights end.

A regression that was shown stays one whatever else failed, so it goes before a failure; a
failure goes before what is merely not known. What goes behind still stands in the reason.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tracekit.analysis import METRICS, Better
from tracekit.base import short_commit
from tracekit.nightly.gate.decision import (
    POLICY,
    Decision,
    MetricPairs,
    Policy,
    Ruling,
    decide,
    decide_exactly,
    is_exact,
    pairs_of,
    value,
)
from tracekit.nightly.history.night import Accepted, Entry, Judged, Outcome, Pair, TracedFinding
from tracekit.nightly.plan.plan import Capture, Gated


def reason(
    found: Ruling, change: str, parts: Sequence[str], threshold: str, short: str = ""
) -> str:
    """Say why a metric ended as it did."""
    whole = change
    if len(parts) > 1:
        whole = f"{parts[0]} at first, {parts[1]} when repeated; together {change}"
    return {
        Ruling.SAME: f"{change}: not worse by {threshold}.",
        Ruling.UNSHOWN: f"{change}: not shown to be worse by {threshold}.",
        Ruling.BETTER: f"{change}: better, beyond the threshold of {threshold}.",
        Ruling.UNREPEATED: f"{whole}: no second session has shown whether this is so.",
        Ruling.SHORT: f"{whole}: not confirmed, for {short}.",
        Ruling.GONE: f"{whole}: not shown to be worse by {threshold} when all pairs are counted.",
        Ruling.APART: f"{whole}: worse by {threshold} only if both are taken together; "
        "one of them alone shows less than half of that.",
        Ruling.MIXED: f"{whole}: worse by {threshold} in most pairs, but not in all.",
        Ruling.UNSURE: f"{whole}: beyond the threshold of {threshold}, and it may still be chance.",
        Ruling.WIDE: f"{whole}: so uncertain that a change of {threshold} could hide in it.",
        Ruling.WORSE: f"{whole}: worse, beyond the threshold of {threshold}, and both sessions "
        "show it.",
    }[found]


def counted(case: MetricPairs, wanted: int) -> str:
    """Say how many pairs count, of how many that were asked for."""
    number = len(case.changes)
    return f"{number} of {max(wanted, number)} pairs count"


def others(case: MetricPairs) -> str:
    """Say why other pairs do not count, to be put behind how many do; nothing if all do."""
    if case.contaminated:
        return f"; why others do not: {_why(case)}"
    if len(case.changes) < len(case.own):
        return f"; others do not have {case.gated.metric} of both sides"
    return ""


def short_of(case: MetricPairs) -> str:
    """Say which session has too few pairs that count; nothing where none has."""
    least = 1 if case.few else case.policy.least
    few = zip(("first", "second"), case.sittings, strict=False)
    short = [
        f"only {len(each)} pairs of the {name} session count"
        for name, each in few
        if len(each) < least
    ]
    return f"{' and '.join(short)}, and it takes {least}{others(case)}" if short else ""


def missing(case: MetricPairs) -> str:
    """Say why there is nothing to judge."""
    metric = case.gated.metric
    if not case.own:
        return f"No pair measured {metric}."
    if len(case.contaminated) == len(case.own):
        return f"No pair counts: {_why(case)}."
    good = [pair for pair in case.own if not pair.contaminated]
    sides = [(value(one, metric, "candidate"), value(one, metric, "reference")) for one in good]
    for side, known in zip(("candidate", "reference"), zip(*sides, strict=True), strict=True):
        if all(one is None for one in known):
            return f"The {side} did not say its {metric}, or not as a number."
    if all(None in both for both in sides):
        return f"No pair knows {metric} of both sides."
    return f"A ratio takes values above 0, and {metric} is 0 or below: take its difference."


def _why(case: MetricPairs) -> str:
    reasons = [why for pair in case.contaminated for why in pair.contaminated]
    return max(set(reasons), key=lambda one: (reasons.count(one), one)).rstrip(".")


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
    wanted: int = 0,
    policy: Policy = POLICY,
) -> Judged:
    """Judge one metric by all pairs that count, of one session or of both.

    A change for the worse is a regression where it is beyond the threshold, significant and
    reproduced by the second session. What one session leaves open is inconclusive, with
    `reproduced` False: then a second one is needed.

    Args:
        gated: The metric, its threshold and its scale.
        pairs: All pairs of the capture, those that do not count included.
        unit: The metric's unit.
        better: Which direction is good news, unless `gated` says so.
        expected: The changes of the accepted baseline, as of `changes`; None without one.
        same_work: Whether the reference does the same work, so that no change is expected where
            no baseline was accepted; None where there is no reference.
        wanted: How many pairs were asked for: where fewer are left, for the others were
            contaminated, nothing is called harmless.
        policy: What it takes to decide.

    Raises:
        ValueError: The threshold is not above 0.
    """
    if not gated.threshold > 0:
        raise ValueError(f"A threshold lies above 0; that of {gated.metric} is {gated.threshold}.")
    direction = Better(gated.better or better)
    case = MetricPairs(gated, tuple(pairs), unit, direction, tuple(expected or ()), policy)
    known = case.known()
    if same_work is None:
        if known.candidate is None:
            return _open(known, missing(case))
        return _followed(known, f"There is no reference: {_OVER_NIGHTS}.")
    if not case.changes:
        return _open(known, missing(case))
    measured = _measured(case, known)
    unknown = expected is None and not same_work
    measured = measured if unknown else replace(measured, expected=case.expectation())
    if direction is Better.NEITHER:
        return _followed(measured, f"Which direction is worse is not known: {_OVER_NIGHTS}.")
    if unknown:
        # What is accepted counts for ever, so it is measured twice before it can be.
        again = gated.gate and len(case.sittings) == 1
        return replace(_open(measured, NO_BASELINE), reproduced=False if again else None)
    return _settled(case, measured, wanted) if gated.gate else measured


def _measured(case: MetricPairs, known: Judged) -> Judged:
    """Return it with the change in numbers and words."""
    change, interval = case.middle(case.changes), case.interval()
    low, high = (interval.low, interval.high) if interval else (None, None)
    words = f"{case.shown.whole(change, low, high)}."
    return replace(known, change=change, low=low, high=high, reason=words)


def _settled(case: MetricPairs, measured: Judged, wanted: int) -> Judged:
    """Return it with how it ended."""
    turned, expected = (
        [case.turned(sitting) for sitting in case.sittings],
        case.turned(case.expected),
    )
    least = case.policy.least
    if case.few and (case.gated.scale != "difference" or not is_exact(case.values, case.unit)):
        few = f"{case.planned} traced in a session, and an interval takes {least} pairs"
        return _followed(measured, f"{measured.reason.rstrip('.')}: {few}, so {_OVER_NIGHTS}.")
    if case.few:
        decision = decide_exactly(turned, expected, case.threshold)
    elif 0 < len(expected) < least:
        return _open(measured, f"The accepted night has {len(expected)} pairs; it takes {least}.")
    else:
        decision = decide(turned, expected, case.threshold, case.policy)
    if decision is None:
        few = f"{counted(case, max(wanted, least))}, and an interval takes {least}"
        return _open(measured, f"Only {few}{others(case)}.")
    if decision.found.outcome is Outcome.OK and len(case.changes) < wanted:
        few = f"only {counted(case, wanted)}{others(case)}"
        return _open(measured, f"{measured.reason.rstrip('.')}, but {few}.")
    return _said(case, measured, decision)


def _said(case: MetricPairs, measured: Judged, decision: Decision) -> Judged:
    shown = case.shown
    parts = [
        shown.change(case.middle(sitting)) if sitting else "nothing" for sitting in case.sittings
    ]
    whole = shown.whole(measured.change, measured.low, measured.high)
    words = reason(decision.found, whole, parts, case.limit, short_of(case))
    return replace(
        measured, outcome=decision.found.outcome, reproduced=decision.reproduced, reason=words
    )


def _open(judged: Judged, why: str) -> Judged:
    """Return it as inconclusive if it decides."""
    return replace(judged, outcome=Outcome.INCONCLUSIVE if judged.gated else None, reason=why)


def _followed(judged: Judged, why: str) -> Judged:
    return replace(judged, gated=False, outcome=None, reason=why)


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
    ended: list[Judged] = []
    for gated in capture.metrics:
        what = quantity_of(gated.metric, results)
        own = pairs_of(pairs, gated.metric)
        judged = judge(
            gated,
            pairs,
            unit=what.unit,
            better=what.better,
            expected=changes.get(gated.metric) or None,
            same_work=same_work,
            wanted=capture.traced if own and own[0].traced else capture.pairs,
            policy=policy,
        )
        if same_commit and judged.outcome is not None:
            judged = _noise(judged, same_commit)
        uses = accepted and changes.get(gated.metric) and judged.expected is not None
        ended.append(replace(judged, baseline=accepted.night if accepted and uses else ""))
    return tuple(ended)


def same_code(commit: str) -> str:
    """Say that a night compares a commit with itself."""
    return (
        f"candidate and reference are the same commit, {short_commit(commit)}, so this night "
        "measures how much the machine varies by itself, and can find no change"
    )


def _noise(judged: Judged, commit: str) -> Judged:
    """Return it as inconclusive: what changed between two runs of the same code is noise."""
    if judged.change is None:
        return replace(judged, reproduced=None)
    why = f"{judged.shown.whole(judged.change, judged.low, judged.high)}: {same_code(commit)}."
    return replace(judged, outcome=Outcome.INCONCLUSIVE, reproduced=None, reason=why)


def quantity_of(metric: str, results: Mapping[str, Quantity]) -> Quantity:
    """Return what a metric is, or a result of the workload; nothing is known of other names."""
    if (known := METRICS.get(metric)) is not None:
        return Quantity(known.unit, known.better.value)
    return results.get(metric, Quantity())


_ORDER = (
    Outcome.REGRESSION,
    Outcome.FAILED,
    Outcome.INCONCLUSIVE,
    Outcome.OK,
    Outcome.UNJUDGED,
)
_WORDS = {
    Outcome.REGRESSION: "worse",
    Outcome.FAILED: "failed",
    Outcome.INCONCLUSIVE: "inconclusive",
    Outcome.UNJUDGED: "nothing judged",
}


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome that goes before all others, regression first and unjudged last."""
    return min(outcomes, key=_ORDER.index, default=Outcome.UNJUDGED)


def needs_second_session(
    judged: Sequence[Judged], findings: Sequence[TracedFinding], fail_on: Sequence[str]
) -> bool:
    """Tell whether something is to be looked at again, after the first session.

    It is where a metric that decides seems to have changed, or its interval is too wide, and
    where a trace has a finding that is to fail. What is missing for another reason, as where the
    machine was not quiet or nothing was accepted, a second session would not bring.
    """
    metrics = any(
        one.outcome is Outcome.INCONCLUSIVE and one.reproduced is False
        for one in judged
        if one.gated
    )
    return metrics or any(_tripped(finding, fail_on) for finding in findings)


def findings_outcome(
    findings: Sequence[TracedFinding], fail_on: Sequence[str], *, sittings: int
) -> tuple[Outcome, str]:
    """Return how the findings end, and why: a rule that is to fail and has found something.

    It is a regression where every trace of the candidate's in both sessions has it, and none of
    the reference's.
    """
    if fail_on and not sittings:
        return Outcome.INCONCLUSIVE, f"No trace counts, so {', '.join(fail_on)} could find nothing."
    ended = [_finding(finding, sittings) for finding in findings if _tripped(finding, fail_on)]
    outcome = worst(found for found, _ in ended) if ended or not fail_on else Outcome.OK
    return outcome, " ".join(why for found, why in ended if found is outcome)


def outcome_of(entry: Entry, fail_on: Sequence[str] = ()) -> tuple[Outcome, str]:
    """Return how a capture ended that did not fail, and why."""
    traced = {pair.sitting for pair in entry.pairs if pair.traced and not pair.contaminated}
    if all(pair.contaminated for pair in entry.pairs):
        return Outcome.INCONCLUSIVE, _uncounted(entry)
    ended = list(_metrics(entry.judged))
    ended.append(findings_outcome(entry.findings, fail_on, sittings=len(traced)))
    outcome = worst(found for found, _ in ended)
    sentences = " ".join(why for found, why in ended if found is outcome and why)
    if outcome is Outcome.UNJUDGED:
        return outcome, "All of its metrics are followed over nights, and none decides."
    return outcome, sentences


def night_outcome(entries: Sequence[Entry], *, partial: bool) -> tuple[Outcome, str]:
    """Return how a night ended, and why."""
    ended = [entry.outcome or Outcome.INCONCLUSIVE for entry in entries]
    if partial or not entries:
        ended.append(Outcome.INCONCLUSIVE)
    outcome = worst(ended)
    sentences = [_names(entries, one, led=one is not outcome) for one in _ORDER]
    if partial:
        sentences.append("The night was stopped before all captures were through.")
    elif not entries:
        sentences.append("Nothing was captured.")
    return outcome, " ".join(sentence for sentence in sentences if sentence)


def _metrics(judged: Sequence[Judged]) -> Iterator[tuple[Outcome, str]]:
    """Yield how metrics ended and why, those together that ended alike for the same reason."""
    names: dict[tuple[Outcome, str], list[str]] = {}
    for one in judged:
        if one.outcome is not None:
            names.setdefault((one.outcome, one.reason), []).append(one.metric)
    for (outcome, why), own in names.items():
        yield outcome, f"{', '.join(own)}: {why}"


def _tripped(found: TracedFinding, fail_on: Sequence[str]) -> bool:
    return found.rule in fail_on and found.traces > 0 and not found.in_reference


def _finding(found: TracedFinding, sittings: int) -> tuple[Outcome, str]:
    message = f"{found.rule}: {found.message.rstrip('.')}"
    where = f"in {found.traces} of {found.of} traces, and in none of the reference"
    if sittings == 1:
        return Outcome.INCONCLUSIVE, f"{message}, {where}; no second session has looked again."
    if found.traces == found.of:
        return Outcome.REGRESSION, f"{message}, {where}."
    most = 2 * found.traces > found.of
    outcome = Outcome.INCONCLUSIVE if most else Outcome.OK
    return outcome, f"{message}, {where}: not in all of them."


def _uncounted(entry: Entry) -> str:
    if not entry.pairs:
        return "Nothing was measured."
    why = next((why for pair in entry.pairs for why in pair.contaminated), "")
    return f"No pair counts: {why.rstrip('.')}."


def _names(entries: Sequence[Entry], outcome: Outcome, *, led: bool) -> str:
    """Say which captures ended so, and why; nothing of those that are well.

    With `led` the outcome is named first; that of the night itself stands elsewhere.
    """
    own = [entry for entry in entries if (entry.outcome or Outcome.INCONCLUSIVE) is outcome]
    if outcome is Outcome.OK or not own:
        return ""
    sentences = "; ".join(f"{one.capture} ({one.reason.rstrip('.')})" for one in own)
    return f"{_WORDS[outcome].capitalize()}: {sentences}." if led else f"{sentences}."
