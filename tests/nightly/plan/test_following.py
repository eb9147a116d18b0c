"""Which metrics are followed, which decide, and by how much."""

from collections.abc import Callable

import pytest

from tracekit.analysis.metrics import METRICS
from tracekit.nightly.plan.plan import Gated, NightPlan
from tracekit.nightly.plan.reading import FOLLOWED, UNTRACED, usual

Plan = Callable[[str], NightPlan]
HEAD = '[nightly]\n[[nightly.capture]]\nworkload = "paged"\n'
REFERENCE = HEAD + 'reference.revision = "main"\n'


def test_every_metric_that_is_followed_by_itself_is_one() -> None:
    assert set(FOLLOWED) <= set(METRICS)
    assert set(METRICS) >= UNTRACED
    assert len(FOLLOWED) == len(set(FOLLOWED))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HEAD, []),
        (REFERENCE, ["step_p50"]),
        (REFERENCE + "pairs = 6", ["step_p50"]),
        (REFERENCE + "metrics.tokens_per_second = 0.05", ["tokens_per_second"]),
        (REFERENCE + "metrics.steady_compiles = 1", ["steady_compiles"]),
        (REFERENCE + "traced = 6\nmetrics.idle_ratio = 0.02", ["idle_ratio"]),
        (REFERENCE + "pairs = 2\nmetrics.step_p50 = { gate = false }", []),
    ],
)
def test_what_decides(text: str, expected: list[str], plan_of: Plan) -> None:
    (capture,) = plan_of(text).captures
    assert [one.metric for one in capture.metrics if one.gate] == expected
    names = [one.metric for one in capture.metrics]
    assert names[: len(expected)] == expected
    assert sorted(names) == sorted(FOLLOWED)


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
