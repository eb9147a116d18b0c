"""How captures and nights end."""

from dataclasses import replace
from typing import Any

import pytest

from gate_pairs import made
from tracekit.nightly.gate.judge import (
    findings_outcome,
    needs_second_session,
    night_outcome,
    outcome_of,
    worst,
)
from tracekit.nightly.history.night import Described, Entry, Judged, Outcome, TracedFinding

OK, WORSE, OPEN, FAILED = Outcome.OK, Outcome.REGRESSION, Outcome.INCONCLUSIVE, Outcome.FAILED
CHURN = TracedFinding("pipeline-churn", "3 pipelines were compiled.", "warning", traces=1, of=1)
RULES = ("pipeline-churn", "bubbles")


def judged(outcome: Outcome | None, reason: str = "why.", **more: Any) -> Judged:
    return Judged(more.pop("metric", "p50"), "ns", "lower", outcome=outcome, reason=reason, **more)


def entry(*metrics: Judged, findings: tuple[TracedFinding, ...] = (), sittings: int = 1) -> Entry:
    pairs = [
        pair
        for sitting in range(1, sittings + 1)
        for pair in (*made([0.0] * 6, sitting=sitting), *made([0], sitting=sitting, traced=True))
    ]
    return Entry("decode", "d1", Described("paged"), None, tuple(pairs), metrics, findings)


def ended(outcome: Outcome | None, name: str, reason: str = "why.") -> Entry:
    return replace(entry(), capture=name, outcome=outcome, reason=reason)


def test_a_regression_goes_before_a_failure_before_doubt() -> None:
    order = [Outcome.UNJUDGED, OK, OPEN, FAILED, WORSE]
    assert [worst(order[: at + 1]) for at in range(5)] == order
    assert [worst(order[at::-1]) for at in range(5)] == order
    assert worst([]) is Outcome.UNJUDGED


@pytest.mark.parametrize(
    ("each", "found", "needed"),
    [
        (judged(OK), (), False),
        (judged(OPEN, reproduced=False), (), True),
        (judged(OPEN, reproduced=None), (), False),
        (judged(OPEN, gated=False, reproduced=False), (), False),
        (judged(OK), (CHURN,), True),
        (judged(OK), (replace(CHURN, rule="other"),), False),
        (judged(OK), (replace(CHURN, in_reference=1),), False),
        (judged(OK), (replace(CHURN, traces=0),), False),
    ],
)
def test_what_more_pairs_would_settle_is_measured_again(
    each: Judged, found: tuple[TracedFinding, ...], needed: bool
) -> None:
    assert needs_second_session([judged(OK), each], found, RULES) is needed


@pytest.mark.parametrize(
    ("traces", "of", "reference", "sittings", "outcome"),
    [
        (1, 1, 0, 1, OPEN),
        (2, 2, 0, 2, WORSE),
        (1, 2, 0, 2, OK),
        (3, 4, 0, 2, OPEN),
        (2, 4, 0, 2, OK),
        (2, 2, 1, 2, OK),
        (0, 2, 0, 2, OK),
    ],
)
def test_a_finding_fails_where_all_traces_have_it_and_no_reference(
    traces: int, of: int, reference: int, sittings: int, outcome: Outcome
) -> None:
    found = replace(CHURN, traces=traces, of=of, in_reference=reference)
    ended, why = findings_outcome([found], RULES, sittings=sittings)
    assert ended is outcome
    assert bool(why) is (traces > 0 and not reference)
    assert findings_outcome([found], (), sittings=sittings) == (Outcome.UNJUDGED, "")


def test_rules_without_a_trace_found_nothing_out() -> None:
    outcome, reason = findings_outcome([], RULES, sittings=0)
    assert outcome is OPEN
    assert reason == "No trace counts, so pipeline-churn, bubbles could find nothing."


FINE, SLOW, UNSURE = judged(OK, "fine."), judged(WORSE, "slow."), judged(OPEN, "unsure.")
FOLLOWED = judged(None, gated=False)
BAD = tuple(made([0.0] * 3, contaminated=["load", "on battery.", "on battery."]))
TWICE = entry(FINE, findings=(replace(CHURN, traces=2, of=2),), sittings=2)
UNTRACED = replace(entry(FINE), pairs=tuple(made([0.0] * 6)))


@pytest.mark.parametrize(
    ("each", "rules", "outcome", "reason"),
    [
        (entry(FINE, SLOW, UNSURE), (), WORSE, "p50: slow."),
        (entry(FINE, UNSURE), (), OPEN, "p50: unsure."),
        (entry(FINE), (), OK, "p50: fine."),
        (entry(UNSURE, replace(UNSURE, metric="p90"), judged(OPEN, "hot.", metric="p99")), (), OPEN,
         "p50, p90: unsure. p99: hot."),
        (TWICE, RULES, WORSE,
         f"{CHURN.rule}: {CHURN.message[:-1]}, in 2 of 2 traces, and in none of the reference."),
        (TWICE, (), OK, "p50: fine."),
        (UNTRACED, RULES, OPEN, "No trace counts, so pipeline-churn, bubbles could find nothing."),
        (UNTRACED, (), OK, "p50: fine."),
        (entry(FOLLOWED), (), Outcome.UNJUDGED,
         "All of its metrics are followed over nights, and none decides."),
        (replace(entry(UNSURE), pairs=BAD), RULES, OPEN, "No pair counts: on battery."),
        (replace(entry(FOLLOWED), pairs=()), (), OPEN, "Nothing was measured."),
    ],
)  # fmt: skip
def test_a_capture_ends_as_its_worst_metric_or_finding(
    each: Entry, rules: tuple[str, ...], outcome: Outcome, reason: str
) -> None:
    assert outcome_of(each, rules) == (outcome, reason)


ENTRIES = [
    ended(OK, "a"),
    ended(FAILED, "b", "The build broke."),
    ended(WORSE, "c", "5 % slow."),
    ended(OPEN, "d", "On battery."),
    ended(WORSE, "e", "7 % slow."),
]
STOPPED = "The night was stopped before all captures were through."


@pytest.mark.parametrize(
    ("entries", "partial", "outcome", "reason"),
    [
        (ENTRIES, False, WORSE, ("c (5 % slow); e (7 % slow). Failed: b (The build broke). "
         "Inconclusive: d (On battery).")),
        (ENTRIES[:2], False, FAILED, "b (The build broke)."),
        (ENTRIES[:1], False, OK, ""),
        (ENTRIES[:1], True, OPEN, STOPPED),
        (ENTRIES[4:], True, WORSE, f"e (7 % slow). {STOPPED}"),
        (ENTRIES[:2], True, FAILED, f"b (The build broke). {STOPPED}"),
        ([], False, OPEN, "Nothing was captured."),
        ([ended(None, "a", "It runs.")], False, OPEN, "a (It runs)."),
    ],
)  # fmt: skip
def test_a_night_ends_as_its_worst_capture_and_hides_no_other(
    entries: list[Entry], partial: bool, outcome: Outcome, reason: str
) -> None:
    assert night_outcome(entries, partial=partial) == (outcome, reason)
