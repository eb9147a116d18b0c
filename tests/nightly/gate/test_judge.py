"""What became of a metric, and why; how captures and nights end."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from gate_night import make_pairs
from tracekit.nightly.gate import judge
from tracekit.nightly.history.night import (
    Accepted,
    Described,
    Entry,
    Judged,
    Outcome,
    Pair,
    TracedFinding,
)
from tracekit.nightly.plan.plan import Capture, Gated, Reference

OK, WORSE, OPEN, FAILED = Outcome.OK, Outcome.REGRESSION, Outcome.INCONCLUSIVE, Outcome.FAILED
SPREAD = (-0.008, -0.006, -0.004, -0.002, -0.001, 0.001, 0.002, 0.004, 0.006, 0.008)
TIME = Gated("step_p50", 0.03)
FOLLOWED = replace(TIME, gate=False)
SIZE = Gated("memory_peak", 4096, scale="difference")
SHARE = Gated("gpu_idle_ratio", 0.02, scale="difference")


def make_changes(change: float, times: float = 1.0) -> list[float]:
    return [math.log1p(change) + times * deviation for deviation in SPREAD]


def judge_time(pairs: list[Pair], gated: Gated = TIME, **more: Any) -> Judged:
    time_facts: dict[str, Any] = {"unit": "ns", "better": "lower"}
    return judge.judge(gated, pairs, **time_facts | more)


def make_count_pairs(*sessions: list[float], rejections: tuple[str, ...] = ()) -> list[Pair]:
    return make_pairs(
        *sessions, metric="steady_compiles", difference=True, traced=True, rejections=rejections
    )


def make_size_pairs(metric: str, *sessions: list[float]) -> list[Pair]:
    return make_pairs(*sessions, metric=metric, difference=True, traced=True)


NINE = [""] * 9 + ["load"]
WHY_TEN = ["", "", "", "", "", "fixed work was 31 % slow", "load", "load", "load", "load"]
SPOILT = make_pairs([0.0] * 10, rejections=[""] * 8 + ["heat."] * 2)
LACKING = [
    *make_pairs(make_changes(0.0))[:9],
    Pair(1, 10, "abba", reference={"step_p50": (100.0,)}),
]
ALONE = [replace(pair, reference={}) for pair in make_pairs(make_changes(0.0))]
TWICE_SPOILT = make_pairs(
    make_changes(0.06), make_changes(0.06), rejections=([""] * 8 + ["load"] * 2) * 2
)
JUST = [math.log1p(0.0301)] * 6  # on the scale on which changes add up, 3 % are 2.96 %
SHARES = [0.03, 0.031, 0.032, 0.033, 0.034, 0.035]
COUNT = {"gated": Gated("steady_compiles", 1, scale="difference"), "unit": "count"}
KNOWN, OTHER = {"expected": make_changes(0.4)}, {"same_work": False}
CASES: dict[str, tuple[list[Pair], dict[str, Any]]] = {
    "the same": (make_pairs(make_changes(0.004)), {}),
    "worse": (make_pairs(make_changes(0.041)), {}),
    "worse twice": (make_pairs(make_changes(0.041), make_changes(0.045)), {}),
    "just worse": (make_pairs(JUST, JUST), {}),
    "worse once": (make_pairs(make_changes(0.041), make_changes(0.002)), {}),
    "better": (make_pairs(make_changes(-0.06)), {}),
    "less, where more is better":
        (make_pairs(make_changes(-0.06)), {"gated": replace(TIME, better="higher")}),
    "a rate that is worse":
        (make_pairs(make_changes(-0.06), make_changes(-0.06)), {"unit": "1/s", "better": "higher"}),
    "restless": (make_pairs(make_changes(0.0, 12)), {}),
    # Data that are missing are no success.
    "too few": (make_pairs([0.0] * 4), {}),
    "too few count": (make_pairs(make_changes(0.0), rejections=WHY_TEN), {"wanted_count": 10}),
    "as many as wanted": (SPOILT, {"wanted_count": 8}),
    "fewer than wanted": (SPOILT, {"wanted_count": 10}),
    "fewer than wanted have both sides": (LACKING, {"wanted_count": 10}),
    "worse twice, of fewer than wanted": (TWICE_SPOILT, {"wanted_count": 20}),
    "few repeated":
        (make_pairs(make_changes(0.103), make_changes(0.095),
                    rejections=[""] * 13 + ["load."] * 7), {}),
    "none counts":
        (make_pairs(make_changes(0.0), rejections=["on battery."] * 9 + ["other."]), {}),
    "none measured": ([], {}),
    "none has a reference": (ALONE, {}),
    "of zero there is no ratio": (make_pairs([-math.inf] * 10), {}),
    "few were accepted": (make_pairs(make_changes(0.0)), {"expected": make_changes(0.0)[:4]}),
    # What is followed says its change, and never fails.
    "followed": (make_pairs(make_changes(0.2), make_changes(0.2)), {"gated": FOLLOWED}),
    "followed, not measured": ([], {"gated": FOLLOWED}),
    "neither is better": (make_pairs([0.2] * 6), {"better": "neither"}),
    "a difference of times":
        (make_pairs([5e5 + 1e4 * number for number in range(6)], difference=True),
                              {"gated": Gated("step_p50", 2e6, scale="difference")}),
    "no reference": (ALONE, {"same_work": None}),
    "no reference, none counts": (
        [replace(pair, rejections=("load",)) for pair in ALONE], {"same_work": None}),
    # Other work needs an accepted night, and is measured twice before it is one.
    "other work": (make_pairs(make_changes(0.4)), OTHER),
    "other work, twice": (make_pairs(make_changes(0.4), make_changes(0.4)), OTHER),
    "other work, followed": (make_pairs(make_changes(0.4)), OTHER | {"gated": FOLLOWED}),
    "other work, neither is better": (make_pairs(make_changes(0.4)), OTHER | {"better": "neither"}),
    # Against an accepted night the change is what came since.
    "as accepted": (make_pairs(make_changes(0.4)), KNOWN | OTHER),
    "as accepted, of the same work": (make_pairs(make_changes(0.4)), KNOWN),
    "worse than accepted": (make_pairs(make_changes(0.47), make_changes(0.47)), KNOWN | OTHER),
    # A count of few traces needs no interval; it is held against the worst that was accepted.
    "one more": (make_count_pairs([1]), COUNT),
    "more, twice": (make_count_pairs([3, 3], [3, 3]), COUNT),
    "one more, once": (make_count_pairs([1], [0]), COUNT),
    "as many": (make_count_pairs([0]), COUNT),
    "one less": (make_count_pairs([-1]), COUNT),
    "one more in most": (make_count_pairs([1, 1], [1, 0]), COUNT),
    "one more, not repeated": (make_count_pairs([1], [1], rejections=("", "no rows")), COUNT),
    "as many, not repeated": (make_count_pairs([0], [1], rejections=("", "no rows")), COUNT),
    "as many as were accepted": (make_count_pairs([3], [3]), COUNT | {"expected": (2.0, 3.0)}),
    "more than were accepted": (make_count_pairs([4], [4]), COUNT | {"expected": (2.0, 3.0)}),
    # Whole numbers that vary are no counts, and shares are judged where there are many.
    "bytes": (make_size_pairs("memory_peak", [8192], [8192]), {"gated": SIZE, "unit": "bytes"}),
    "whole times": (make_size_pairs("memory_peak", [8192], [8192]), {"gated": SIZE}),
    "few shares": (make_size_pairs("gpu_idle_ratio", [0.1, 0.1, 0.11, 0.11]),
                   {"gated": SHARE, "unit": "ratio"}),
    "shares":
        (make_size_pairs("gpu_idle_ratio", SHARES, SHARES), {"gated": SHARE, "unit": "ratio"}),
}  # fmt: skip


def test_how_metrics_ended_and_why(golden: Callable[[str, str], None]) -> None:
    """Each with its outcome, if it was reproduced, if it decides, its pairs, medians and change."""
    text = ""
    for name, (pairs, more) in CASES.items():
        judged = judge_time(pairs, **more)
        facts = (judged.outcome, judged.reproduced, judged.gated, judged.pairs)
        medians = (judged.candidate, judged.reference)
        numbers = (*medians, judged.change, judged.low, judged.high, judged.expected)
        shown_numbers = [
            "-" if number is None else f"{round(number, 4) + 0:g}" for number in numbers
        ]
        text += f"{name}: {', '.join([*map(str, facts), *shown_numbers])}\n    {judged.reason}\n"
    golden("judged.txt", text)


logs = some.lists(some.floats(-0.3, 0.3), min_size=0, max_size=9)


@given(first=logs, second=logs, same=some.sampled_from([True, False, None]))
def test_whatever_is_measured_is_judged_and_no_sentence_claims_more_than_the_numbers(
    first: list[float], second: list[float], same: bool | None
) -> None:
    judged = judge_time(make_pairs(first, second), same_work=same)
    words = judged.reason
    assert words.endswith(".")
    assert judged.outcome is not None or same is None
    assert judged.pairs == len(first) + len(second)
    lower_bound, upper_bound = (
        math.nan if end is None else end for end in (judged.low, judged.high)
    )
    assert (
        not words.startswith("Equivalent within 3 %")
        or -0.03 < lower_bound <= 0 <= upper_bound < 0.03 + 1e-12
    )
    assert not words.startswith("Faster by") or upper_bound < 0
    assert judged.outcome is not OK or not math.isnan(lower_bound)
    assert (judged.outcome is WORSE) is bool(re.match("Slower by .*, beyond your limit", words))
    if judged.outcome is WORSE:
        assert judged.reproduced or lower_bound >= 0.03 - 1e-12
        assert not judged.reproduced or min(len(first), len(second)) >= 6
        assert (judged.change or 0) >= 0.03 - 1e-12
        assert lower_bound > 0


# In whole millionths: next to 1 there are floats below it that have no like above.
@given(found=some.lists(some.integers(-300_000, 300_000), min_size=6, max_size=12))
def test_a_time_and_its_rate_are_judged_alike(found: list[int]) -> None:
    slower, fewer = ([sign * change / 1e6 for change in found] for sign in (1, -1))
    time = judge_time(make_pairs(slower, slower))
    rate = judge_time(make_pairs(fewer, fewer), unit="1/s", better="higher")
    assert (time.outcome, time.reproduced) == (rate.outcome, rate.reproduced)


SAME = Reference(revision="v1")


def entry_judged(reference: Reference | None, pairs: list[Pair], *names: str, **more: Any) -> Any:
    accepted, planned = more.pop("accepted", None), more.pop("planned", 10)
    metrics = tuple(Gated(name) for name in names or ["step_p50"])
    capture = Capture("decode", "paged", reference=reference, metrics=metrics, pairs=planned)
    results = {"own": judge.Quantity("req/s", "higher")}
    return judge.judge_entry(capture, pairs, results, accepted, **more)


def test_metrics_are_judged_in_the_plans_order_by_their_kind() -> None:
    names = ("tokens_per_second", "step_p50", "own", "unheard_of")
    judgements = entry_judged(SAME, make_pairs(make_changes(0.0)), *names)
    assert [
        (judgement.metric, judgement.unit, judgement.better, judgement.outcome)
        for judgement in judgements
    ] == [
        ("tokens_per_second", "tokens/s", "higher", OPEN),
        ("step_p50", "ns", "lower", OK),
        ("own", "req/s", "higher", OPEN),
        ("unheard_of", "", "neither", OPEN),
    ]
    own_quantities = {"step_p50": judge.Quantity("h", "higher")}
    assert judge.quantity_of("step_p50", own_quantities) == judge.Quantity("ns", "lower")


def test_traced_metrics_need_as_many_pairs_as_are_traced() -> None:
    capture = Capture("decode", "paged", reference=SAME, metrics=(COUNT["gated"],), traced=2)
    for pairs, outcome in ((make_count_pairs([0, 0]), OK), (make_count_pairs([0]), OPEN)):
        [judgement] = judge.judge_entry(capture, pairs, {}, None)
        assert judgement.outcome is outcome


ACCEPTED = Accepted("n1", "decode", "d1", "2026-11-01", "as planned")
PLAIN, HALF = make_pairs(make_changes(0.0)), {"step_p50": tuple(make_changes(0.5))}
ELSE = Reference(parameters={"block": 16})


def test_the_expected_change_follows_from_the_plan_and_acceptances() -> None:
    for reference, pairs, more, expected_end in (
        (SAME, PLAIN, {}, (OK, True, "", 0.0)),
        (ELSE, PLAIN, {}, (OPEN, True, "", None)),
        (None, PLAIN, {}, (None, False, "", None)),
        # An accepted night says what to expect of what it measured.
        (ELSE, make_pairs(make_changes(0.5)), {"accepted": replace(ACCEPTED, changes=HALF)},
         (OK, True, "n1", pytest.approx(0.5))),
        (ELSE, PLAIN, {"accepted": replace(ACCEPTED, changes={"other": (0.1,)})},
         (OPEN, True, "", None)),
        (ELSE, PLAIN, {"accepted": ACCEPTED}, (OPEN, True, "", None)),
        (SAME, make_pairs(make_changes(0.0), rejections=NINE),
         {"planned": 10}, (OPEN, True, "", 0.0)),
        (SAME, make_pairs(make_changes(0.0), rejections=NINE),
         {"planned": 9}, (OK, True, "", 0.0)),
    ):  # fmt: skip
        [judgement] = entry_judged(reference, pairs, **more)
        assert (
            judgement.outcome,
            judgement.gated,
            judgement.baseline,
            judgement.expected,
        ) == expected_end, (more, expected_end)


def test_a_commit_measured_against_itself_shows_noise_and_decides_nothing() -> None:
    for change in (0.0, 0.05):
        pairs = make_pairs(make_changes(change), make_changes(change))
        [judgement] = entry_judged(SAME, pairs, same_commit="1a2b3c4d5e6f" + "0" * 28)
        assert (judgement.outcome, judgement.reproduced) == (OPEN, None), change
        assert "candidate and reference are the same commit, 1a2b3c4d5e6f" in judgement.reason, (
            change
        )
    assert judgement.reason.startswith("+5.0 % [+4.7 % … +5.3 %]: ")


CHURN = TracedFinding("pipeline-churn", "3 pipelines were compiled.", "warning", traces=1, of=1)
RULES = ("pipeline-churn", "bubbles")


def make_judgement(outcome: Outcome | None, reason: str = "why.", **more: Any) -> Judged:
    return replace(Judged("p50", "ns", "lower", outcome=outcome, reason=reason), **more)


def entry(*metrics: Judged, findings: tuple[TracedFinding, ...] = (), sessions: int = 1) -> Entry:
    pairs = [*make_pairs(*[[0.0] * 6] * sessions), *make_pairs(*[[0.0]] * sessions, traced=True)]
    return Entry("decode", "d1", Described("paged"), None, tuple(pairs), metrics, findings)


def test_a_regression_goes_before_a_failure_before_doubt() -> None:
    order = [Outcome.UNJUDGED, OK, OPEN, FAILED, WORSE]
    assert [judge.worst(order[: index + 1]) for index in range(5)] == order
    assert [judge.worst(order[index::-1]) for index in range(5)] == order
    assert judge.worst([]) is Outcome.UNJUDGED


def test_a_session_is_repeated_if_more_pairs_would_decide() -> None:
    for judgement, findings, needed in (
        (make_judgement(OK), (), False),
        (make_judgement(OPEN, reproduced=False), (), True),
        (make_judgement(OPEN, reproduced=None), (), False),
        (make_judgement(WORSE, reproduced=False), (), True),
        (make_judgement(WORSE, reproduced=True), (), False),
        (make_judgement(OPEN, gated=False, reproduced=False), (), False),
        (make_judgement(OK), (CHURN,), True),
        (make_judgement(OK), (replace(CHURN, rule="other"),), False),
        (make_judgement(OK), (replace(CHURN, in_reference=1),), False),
        (make_judgement(OK), (replace(CHURN, traces=0),), False),
    ):
        assert (
            judge.needs_second_session([make_judgement(OK), judgement], findings, RULES) is needed
        )


def test_a_finding_fails_where_all_traces_have_it_and_no_reference(
    subtests: pytest.Subtests,
) -> None:
    for traces, trace_count, reference, sessions, outcome in (
        (1, 1, 0, 1, OPEN),
        (2, 2, 0, 2, WORSE),
        (1, 2, 0, 2, OK),
        (3, 4, 0, 2, OPEN),
        (2, 4, 0, 2, OK),
        (2, 2, 1, 2, OK),
        (0, 2, 0, 2, OK),
    ):
        with subtests.test(traces=traces, of=trace_count, reference=reference):
            finding = replace(CHURN, traces=traces, of=trace_count, in_reference=reference)
            actual_outcome, reason = judge.findings_outcome(
                [finding], RULES, session_count=sessions
            )
            assert actual_outcome is outcome
            assert bool(reason) is (traces > 0 and not reference)
            assert judge.findings_outcome([finding], (), session_count=sessions) == (
                Outcome.UNJUDGED,
                "",
            )


FINE, SLOW, UNSURE = (
    make_judgement(OK, "fine."),
    make_judgement(WORSE, "slow."),
    make_judgement(OPEN, "unsure."),
)
UNGATED = make_judgement(None, gated=False)
BAD = tuple(make_pairs([0.0] * 4, rejections=["heat", "on battery."] * 2))
TWICE = entry(FINE, findings=(replace(CHURN, traces=2, of=2),), sessions=2)
UNTRACED = replace(entry(FINE), pairs=tuple(make_pairs([0.0] * 6)))
NO_TRACE = "No trace counts, so pipeline-churn, bubbles could find nothing."


def test_a_capture_ends_as_its_worst_metric_or_finding() -> None:
    for capture_entry, rules, outcome, reason in (
        (entry(FINE, SLOW, UNSURE), (), WORSE, "p50: slow."),
        (entry(FINE, UNSURE), (), OPEN, "p50: unsure."),
        (entry(FINE), (), OK, "p50: fine."),
        (entry(UNSURE, replace(UNSURE, metric="p90"), make_judgement(OPEN, "hot.", metric="p99")),
         (), OPEN,
         "p50, p90: unsure. p99: hot."),
        (TWICE, RULES, WORSE,
         f"{CHURN.rule} in 2 of 2 traces, and in none of the reference. {CHURN.message}"),
        (TWICE, (), OK, "p50: fine."),
        (UNTRACED, RULES, OPEN, NO_TRACE),
        (UNTRACED, (), OK, "p50: fine."),
        (entry(UNGATED), (), Outcome.UNJUDGED,
         "All of its metrics are followed over nights, and none decides."),
        (replace(entry(UNSURE), pairs=BAD), RULES, OPEN, "No pair counts: on battery."),
        (replace(entry(UNGATED), pairs=()), (), OPEN, "Nothing was measured."),
    ):  # fmt: skip
        assert judge.outcome_of(capture_entry, rules) == (outcome, reason)


ENTRIES = [
    replace(entry(), capture=name, outcome=outcome, reason=reason)
    for name, outcome, reason in (
        *(("a", OK, "why."), ("b", FAILED, "The build broke."), ("c", WORSE, "5 % slow.")),
        *(("d", OPEN, "On battery."), ("e", WORSE, "7 % slow."), ("f", None, "It runs.")),
    )
]
STOPPED = "The night was stopped before all captures were through."


def test_a_night_ends_as_its_worst_capture_and_hides_no_other() -> None:
    for entries, partial, outcome, reason in (
        (ENTRIES[:5], False, WORSE, ("c (5 % slow); e (7 % slow). Failed: b (The build broke). "
         "Inconclusive: d (On battery).")),
        (ENTRIES[:2], False, FAILED, "b (The build broke)."),
        (ENTRIES[:1], False, OK, ""),
        (ENTRIES[:1], True, OPEN, STOPPED),
        (ENTRIES[4:5], True, WORSE, f"e (7 % slow). {STOPPED}"),
        (ENTRIES[:2], True, FAILED, f"b (The build broke). {STOPPED}"),
        ([], False, OPEN, "Nothing was captured."),
        ([ENTRIES[0], replace(ENTRIES[3], outcome=Outcome.UNJUDGED)], False, OK,
         "Nothing judged: d (On battery)."),
        (ENTRIES[5:], False, OPEN, "f (It runs)."),
    ):  # fmt: skip
        assert judge.night_outcome(entries, partial=partial) == (outcome, reason)


def test_a_followed_number_that_changed_far_more_than_matters_is_said_first() -> None:
    rate = Judged("tokens_per_second", "tokens/s", "higher", gated=False, threshold=0.03)
    far = replace(rate, change=-0.11, low=-0.115, high=-0.105)
    words = "tokens_per_second is lower by 11.0 % ± 0.5, beyond your limit of 3 %, but is followed"
    for followed, is_first in (
        (far, True),
        (replace(far, change=0.11, low=0.10, high=0.12), True),
        (replace(far, change=-0.05, low=-0.055, high=-0.045), False),
        (replace(far, high=0.01), False),
        (replace(far, better="neither"), False),
        (replace(far, scale="difference"), False),
        (rate, False),
    ):
        outcome, reason = judge.outcome_of(entry(UNSURE, followed))
        assert outcome is OPEN, followed
        assert (not reason.startswith("p50: unsure.")) is is_first, followed
        assert reason.endswith("p50: unsure."), followed
    assert judge.outcome_of(entry(UNSURE, far))[1].startswith(words)
    assert judge.outcome_of(entry(FINE, far)) == (OK, "p50: fine."), "what decides is clear"


def test_a_deciding_rate_is_honoured_with_a_sharper_suggestion() -> None:
    step = Judged("step_p50", "ns", "lower", gated=False)
    rate = Judged("tokens_per_second", "tokens/s", "higher", outcome=WORSE, reason="slow.")
    assert judge.outcome_of(entry(rate, step)) == (WORSE, "tokens_per_second: slow.")
    assert judge.advise(entry(rate, step)) == (
        "decode: tokens_per_second decides, as the plan says. It is a rate of whole turns, and "
        "step_p50, which is followed, would be sharper."
    )
    for metrics in ((rate,), (replace(step, gated=True), rate), (replace(rate, gated=False), step)):
        assert judge.advise(entry(*metrics)) == "", metrics
