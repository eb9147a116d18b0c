"""How captures and nights end."""

import itertools
from dataclasses import replace

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

OK, WORSE, OPEN, FAILED = (
    Outcome.OK,
    Outcome.REGRESSION,
    Outcome.INCONCLUSIVE,
    Outcome.FAILED,
)
CHURN = TracedFinding("pipeline-churn", "3 pipelines were compiled.", "warning", traces=1, of=1)
RULES = ("pipeline-churn", "bubbles")


def judged(outcome: Outcome | None, reason: str = "why.", **more: object) -> Judged:
    made_up = Judged("step_p50", "ns", "lower", outcome=outcome, reason=reason)
    return replace(made_up, **more)


def entry(*metrics: Judged, findings: tuple[TracedFinding, ...] = (), sittings: int = 1) -> Entry:
    pairs = [
        pair
        for sitting in range(1, sittings + 1)
        for pair in (*made([0.0] * 6, sitting=sitting), *made([0], sitting=sitting, traced=True))
    ]
    return Entry("decode", "d1", Described("paged"), None, tuple(pairs), metrics, findings)


def ended(outcome: Outcome | None, name: str, reason: str = "why.") -> Entry:
    return replace(entry(), capture=name, outcome=outcome, reason=reason)


@pytest.mark.parametrize("order", list(itertools.permutations([WORSE, FAILED, OPEN, OK])))
def test_a_regression_goes_before_a_failure_before_doubt(order: tuple[Outcome, ...]) -> None:
    assert worst(order) is WORSE
    assert worst(one for one in order if one is not WORSE) is FAILED
    assert worst(one for one in order if one in {OPEN, OK}) is OPEN
    assert worst([]) is Outcome.UNJUDGED


@pytest.mark.parametrize(
    ("one", "needed"),
    [
        (judged(OK), False),
        (judged(OPEN, reproduced=False), True),
        (judged(OPEN, reproduced=None), False),
        (judged(None, gated=False), False),
        (judged(OPEN, gated=False, reproduced=False), False),
    ],
)
def test_what_more_pairs_would_settle_is_measured_again(one: Judged, needed: bool) -> None:
    assert needs_second_session([judged(OK), one], (), ()) is needed


def test_a_finding_that_is_to_fail_is_looked_for_again() -> None:
    assert needs_second_session([], [CHURN], RULES)
    assert not needs_second_session([], [CHURN], ("bubbles",))
    assert not needs_second_session([], [replace(CHURN, in_reference=1)], RULES)
    assert not needs_second_session([], [replace(CHURN, traces=0)], RULES)


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
    assert findings_outcome([found], RULES, sittings=sittings)[0] is outcome
    assert findings_outcome([found], (), sittings=sittings) == (Outcome.UNJUDGED, "")


def test_a_finding_says_what_and_where() -> None:
    both = findings_outcome([replace(CHURN, traces=2, of=2)], RULES, sittings=2)
    where = "in 2 of 2 traces, and in none of the reference."
    assert both == (WORSE, f"pipeline-churn: 3 pipelines were compiled, {where}")
    assert findings_outcome([CHURN], RULES, sittings=1)[1].endswith(
        "no second session has looked again."
    )


def test_rules_without_a_trace_found_nothing_out() -> None:
    outcome, reason = findings_outcome([], RULES, sittings=0)
    assert outcome is OPEN
    assert reason == "No trace counts, so pipeline-churn, bubbles could find nothing."
    assert findings_outcome([], (), sittings=0) == (Outcome.UNJUDGED, "")


def test_a_capture_ends_as_its_worst_metric() -> None:
    metrics = (judged(OK, "fine."), judged(WORSE, "slow."), judged(OPEN, "unsure."))
    assert outcome_of(entry(*metrics)) == (WORSE, "step_p50: slow.")
    assert outcome_of(entry(metrics[0], metrics[2])) == (OPEN, "step_p50: unsure.")
    assert outcome_of(entry(metrics[0])) == (OK, "step_p50: fine.")


def test_what_ended_alike_for_the_same_reason_is_said_once() -> None:
    rate = replace(judged(OPEN, "on battery."), metric="step_rate")
    other = replace(judged(OPEN, "unsure."), metric="step_p99")
    one = entry(judged(OPEN, "on battery."), rate, other)
    assert outcome_of(one) == (OPEN, "step_p50, step_rate: on battery. step_p99: unsure.")
    bad = tuple(made([0.0] * 2, contaminated=["on battery.", "on battery."]))
    none = replace(one, judged=(judged(OPEN, "No pair counts: on battery."), rate), pairs=bad)
    assert outcome_of(none, RULES) == (OPEN, "No pair counts: on battery.")


def test_a_capture_ends_as_its_findings_if_they_are_worse() -> None:
    found = replace(CHURN, traces=2, of=2)
    one = entry(judged(OK), findings=(found,), sittings=2)
    assert outcome_of(one, RULES)[0] is WORSE
    assert outcome_of(one)[0] is OK
    again = outcome_of(entry(judged(OK), findings=(CHURN,)), RULES)
    assert again[0] is OPEN


def test_a_capture_whose_traces_do_not_count_knows_nothing_of_rules() -> None:
    one = entry(judged(OK))
    untraced = replace(one, pairs=tuple(pair for pair in one.pairs if not pair.traced))
    assert outcome_of(untraced, RULES)[0] is OPEN
    assert outcome_of(untraced)[0] is OK


def test_a_capture_that_decides_nothing_says_so() -> None:
    one = entry(judged(None, gated=False))
    assert outcome_of(one) == (
        Outcome.UNJUDGED,
        "All of its metrics are followed over nights, and none decides.",
    )


def test_a_capture_of_which_nothing_counts_is_open() -> None:
    followed = judged(None, gated=False)
    assert outcome_of(replace(entry(followed), pairs=())) == (OPEN, "Nothing was measured.")
    bad = tuple(made([0.0] * 2, contaminated=["on battery.", "load"]))
    assert outcome_of(replace(entry(followed), pairs=bad)) == (OPEN, "No pair counts: on battery.")


def test_a_night_ends_as_its_worst_capture_and_hides_no_other() -> None:
    entries = [
        ended(OK, "a"),
        ended(FAILED, "b", "The build broke."),
        ended(WORSE, "c", "5 % slow."),
        ended(OPEN, "d", "On battery."),
        ended(WORSE, "e", "7 % slow."),
    ]
    worse, failed = "c (5 % slow); e (7 % slow).", "Failed: b (The build broke)."
    told = f"{worse} {failed} Inconclusive: d (On battery)."
    assert night_outcome(entries, partial=False) == (WORSE, told)
    assert night_outcome(entries[:2], partial=False) == (FAILED, "b (The build broke).")
    assert night_outcome(entries[:1], partial=False) == (OK, "")


def test_a_night_that_was_stopped_is_no_good_night() -> None:
    outcome, reason = night_outcome([ended(OK, "a")], partial=True)
    assert outcome is OPEN
    assert reason == "The night was stopped before all captures were through."
    assert night_outcome([ended(WORSE, "a")], partial=True)[0] is WORSE
    assert night_outcome([ended(FAILED, "a")], partial=True)[0] is FAILED


def test_a_night_without_captures_is_no_good_night() -> None:
    assert night_outcome([], partial=False) == (OPEN, "Nothing was captured.")


def test_a_capture_that_was_cut_off_is_open() -> None:
    assert night_outcome([ended(None, "a", "")], partial=False)[0] is OPEN
