"""Which metrics are followed, which decide, and by how much."""

from collections.abc import Callable

import pytest

from tracekit.analysis.metrics import METRICS
from tracekit.nightly.plan.plan import Capture, Gated, NightPlan, Reference
from tracekit.nightly.plan.reading import FOLLOWED, UNTRACED, followed, usual

Plan = Callable[[str], NightPlan]
HEAD = '[nightly]\n[[nightly.capture]]\nworkload = "paged"\n'
REFERENCE = HEAD + 'reference.revision = "main"\n'
ALONE = Capture("decode", "paged")
COMPARED = Capture("decode", "paged", reference=Reference(revision="main"))


def deciding(plan: NightPlan) -> list[str]:
    return [one.metric for one in plan.captures[0].metrics if one.gate]


def test_every_metric_that_is_followed_by_itself_is_one() -> None:
    assert set(FOLLOWED) <= set(METRICS)
    assert set(METRICS) >= UNTRACED
    assert len(FOLLOWED) == len(set(FOLLOWED))


def test_without_a_word_the_time_of_a_step_decides() -> None:
    found = followed([], frozenset(), COMPARED)
    assert [one for one in found if one.gate] == [Gated("step_p50", 0.03, "ratio")]
    assert [one.metric for one in found] == list(FOLLOWED)


def test_without_a_reference_nothing_decides() -> None:
    assert not any(one.gate for one in followed([], frozenset(), ALONE))


def test_what_is_named_decides_instead(plan_of: Plan) -> None:
    plan = plan_of(REFERENCE + "metrics.tokens_per_second = 0.05\n")
    assert deciding(plan) == ["tokens_per_second"]
    first = plan.captures[0].metrics[0]
    assert first == Gated("tokens_per_second", 0.05, "ratio")
    assert [one.metric for one in plan.captures[0].metrics].count("tokens_per_second") == 1
    assert "step_p50" in [one.metric for one in plan.captures[0].metrics]


def test_true_is_the_usual_threshold_and_false_drops_a_metric(plan_of: Plan) -> None:
    (capture,) = plan_of(REFERENCE + "metrics = { step_p99 = true, memory_peak = false }").captures
    assert capture.metrics[0] == Gated("step_p99", 0.03, "ratio")
    assert "memory_peak" not in [one.metric for one in capture.metrics]


def test_where_nothing_is_traced_only_turns_are_followed(plan_of: Plan) -> None:
    (capture,) = plan_of(REFERENCE + "traced = 0").captures
    assert {one.metric for one in capture.metrics} == {"step_p50", "step_p99", "tokens_per_second"}


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        pytest.param("step_p50", ("ratio", 0.03), id="time"),
        pytest.param("idle_ratio", ("difference", 0.02), id="share"),
        pytest.param("encoder_count", ("difference", 1.0), id="count"),
        pytest.param("thermal_pressure_worst", ("difference", 1.0), id="level"),
        pytest.param("intervals_per_token", ("ratio", 0.03), id="count-per-token"),
        pytest.param("hits", ("ratio", 0.03), id="workload's-own"),
    ],
)
def test_each_kind_of_metric_has_its_usual_threshold(
    metric: str, expected: tuple[str, float]
) -> None:
    assert usual(metric) == expected


def test_a_scale_of_ones_own_has_the_threshold_of_that_scale() -> None:
    assert usual("idle_ratio", "ratio") == ("ratio", 0.03)
    assert usual("step_p50", "difference") == ("difference", 1.0)


def test_a_workloads_own_result_may_decide(plan_of: Plan) -> None:
    plan = plan_of(REFERENCE + 'metrics.cache_hits = { threshold = 0.1, better = "higher" }')
    assert plan.captures[0].metrics[0] == Gated("cache_hits", 0.1, "ratio", "higher")


def test_few_traces_decide_by_counts_and_many_by_anything(plan_of: Plan) -> None:
    assert deciding(plan_of(REFERENCE + "metrics.steady_compiles = 1")) == ["steady_compiles"]
    more = REFERENCE + "traced = 6\nmetrics.idle_ratio = 0.02"
    assert deciding(plan_of(more)) == ["idle_ratio"]


def test_a_metric_may_be_followed_with_few_pairs(plan_of: Plan) -> None:
    few = REFERENCE + "pairs = 2\nmetrics.step_p50 = { gate = false }"
    assert deciding(plan_of(few)) == []


def test_six_pairs_are_enough_to_decide(plan_of: Plan) -> None:
    assert deciding(plan_of(REFERENCE + "pairs = 6")) == ["step_p50"]
