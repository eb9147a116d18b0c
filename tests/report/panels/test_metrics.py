from typing import Any

from tracekit.analysis.result import Better, Measurement
from tracekit.report.panels.metrics import metrics


def test_known_metrics_come_first_and_say_what_they_are(host_run: Any) -> None:
    context = metrics.context(host_run.result, host_run.tables)
    assert [row.names for row in context["known"]] == [
        ("tokens_per_second",),
        ("step_p50",),
        ("host_idle_ratio",),
    ]
    first = context["known"][0]
    assert (first.value, first.direction) == ("3,412 tokens/s", "higher is better")
    assert first.source == "the workload's own marks, host clock"
    assert first.meaning.startswith("Tokens")


def test_an_unknown_metric_is_its_reason_and_never_a_number(host_run: Any) -> None:
    [row] = metrics.context(host_run.result, host_run.tables)["unknown"]
    assert row.value == "not available, because the work ran on the CPU"
    assert (row.source, row.known) == ("", False)


def test_what_is_missing_for_one_reason_is_one_row(bare: Any) -> None:
    reasons = {"ttft_p50": "no requests.", "gpu_busy": "no GPU.", "tpot_p50": "no requests."}
    given = tuple(
        Measurement(name, None, "ns", Better.LOWER, reason) for name, reason in reasons.items()
    )
    rows = metrics.context(bare.having(metrics=given).result, {})["unknown"]
    assert [row.names for row in rows] == [("ttft_p50", "tpot_p50"), ("gpu_busy",)]
    assert rows[0].value == "not available, because no requests"


def test_nought_is_a_number(bare: Any) -> None:
    given = (Measurement("gpu_interval_count", 0, "count", Better.NEITHER),)
    [row] = metrics.context(bare.having(metrics=given).result, {})["known"]
    assert (row.value, row.direction) == ("0", "")


def test_no_metrics_are_no_rows(bare: Any) -> None:
    assert metrics.context(bare.result, {}) == {"known": [], "unknown": []}
