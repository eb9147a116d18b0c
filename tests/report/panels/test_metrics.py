from typing import Any

from tracekit.analysis.result import Better, Measurement
from tracekit.report.panels.metrics import metrics
from tracekit.report.render import environment_of


def test_known_metrics_come_first_and_say_what_they_are(host_run: Any) -> None:
    context = metrics.context(host_run.result, host_run.tables)
    assert [metric.name for metric, *_ in context["known"]] == [
        "tokens_per_second",
        "step_p50",
        "host_idle_ratio",
    ]
    first, source, meaning = context["known"][0]
    assert (first.value, context["directions"][first.better]) == (3412.4, "higher is better")
    assert source == "the workload's own marks, host clock"
    assert meaning.startswith("Tokens")


def test_an_unknown_metric_is_its_reason_and_never_a_number(host_run: Any) -> None:
    assert metrics.context(host_run.result, host_run.tables)["unknown"] == {
        "not available, because the work ran on the CPU": ["gpu_busy"]
    }


def test_what_is_missing_for_one_reason_is_one_row(bare: Any) -> None:
    reasons = {"ttft_p50": "no requests.", "gpu_busy": "no GPU.", "tpot_p50": "no requests."}
    given = tuple(
        Measurement(name, None, "ns", Better.LOWER, reason) for name, reason in reasons.items()
    )
    assert metrics.context(bare.having(metrics=given).result, {})["unknown"] == {
        "not available, because no requests": ["ttft_p50", "tpot_p50"],
        "not available, because no GPU": ["gpu_busy"],
    }


def test_nought_is_a_number(bare: Any) -> None:
    given = (Measurement("gpu_interval_count", 0, "count", Better.NEITHER),)
    context = metrics.context(bare.having(metrics=given).result, {})
    assert [metric for metric, *_ in context["known"]] == [*given]
    page = environment_of(str).get_template(f"{metrics.name}.html").render(context)
    assert '<td class="n">0</td>' in page
    assert "is better" not in page


def test_no_metrics_are_no_rows(bare: Any) -> None:
    context = metrics.context(bare.result, {})
    assert (context["known"], context["unknown"]) == ([], {})
