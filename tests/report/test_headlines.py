from typing import Any

import pytest

from tracekit.analysis.result import Better, Measurement
from tracekit.report.panels.verdict import MOST_NUMBERS, headlines

MS = 1_000_000


def known(name: str, value: float | None, unit: str = "ns", reason: str = "") -> Measurement:
    return Measurement(name, value, unit, Better.NEITHER, reason)


def compared(low: float | None, high: float | None, reason: str = "") -> tuple[Measurement, ...]:
    return (
        known("max_error_paged", 0.0002, ""),
        known("step_time_paged", 2 * MS),
        known("tokens_per_second_paged", 8_000, "tokens/s"),
        known("step_time_sdpa", 5 * MS),
        known("tokens_per_second_sdpa", 3_200, "tokens/s"),
        known("speedup", 2.5, "x"),
        known("speedup_low_95", low, "x", reason),
        known("speedup_high_95", high, "x", reason),
    )


USUAL = (known("step_rate", 400, "steps/s"), known("host_idle_ratio", 0.01, "ratio"))


def test_a_comparison_begins_with_its_speed_up_and_a_step_of_each(bare: Any) -> None:
    run = bare.having(metrics=USUAL, results=compared(2.25, 2.75))
    numbers = headlines(run.result, {})
    assert [(one["name"], one["value"]) for one in numbers] == [
        ("speedup", "2.50 x"),
        ("step_time_paged", "2 ms"),
        ("step_time_sdpa", "5 ms"),
        ("host_idle_ratio", "1.0 %"),
    ]
    assert numbers[0]["note"] == "paged over sdpa: 2.25 x to 2.75 x with 95 % confidence"
    assert [one["source"] for one in numbers[:3]] == ["measured by the workload itself"] * 3


@pytest.mark.parametrize(
    ("low", "high", "reason", "note"),
    [
        pytest.param(
            0.9,
            1.2,
            "",
            "paged over sdpa: 0.900 x to 1.20 x with 95 % confidence; which is faster, the run "
            "does not tell",
            id="an interval with 1 in it",
        ),
        pytest.param(
            1.0,
            1.2,
            "",
            "paged over sdpa: 1 x to 1.20 x with 95 % confidence; which is faster, the run does "
            "not tell",
            id="an interval that ends at 1",
        ),
        pytest.param(
            None,
            None,
            "an interval needs 6 pairs of steps, and there were 2",
            "paged over sdpa: no interval: an interval needs 6 pairs of steps, and there were 2",
            id="too few pairs",
        ),
    ],
)
def test_a_speed_up_says_how_sure_it_is(
    bare: Any, low: float | None, high: float | None, reason: str, note: str
) -> None:
    run = bare.having(metrics=USUAL, results=compared(low, high, reason))
    assert headlines(run.result, {})[0]["note"] == note


def test_a_speed_up_without_bounds_says_whose_it_is(bare: Any) -> None:
    run = bare.having(metrics=(), results=compared(1, 2)[:6])
    assert headlines(run.result, {})[0]["note"] == "paged over sdpa"


def test_a_speed_up_that_is_not_known_is_not_left_out(bare: Any) -> None:
    absent = known("speedup", None, "x", "there was no pair of steps")
    [first, second] = headlines(bare.having(metrics=USUAL[:1], results=(absent,)).result, {})
    assert (first["value"], first["known"]) == ("not available", False)
    assert first["source"] == "not available, because there was no pair of steps"
    assert second["name"] == "step_rate"


def test_a_server_begins_with_its_latencies_and_their_worst(bare: Any) -> None:
    metrics = (
        known("tokens_per_second", 326, "tokens/s"),
        known("host_idle_ratio", 0.18, "ratio"),
        known("ttft_p50", 26.5 * MS),
        known("ttft_p99", 143 * MS),
        known("tpot_p50", 8 * MS),
        known("tpot_p99", None, reason="no request was completed."),
        known("request_rate_served", 10, "requests/s"),
    )
    numbers = headlines(bare.having(metrics=metrics).result, {})
    assert [(one["name"], one["value"], one["note"]) for one in numbers] == [
        ("ttft_p50", "26.5 ms", "99th percentile 143 ms"),
        ("tpot_p50", "8 ms", ""),
        ("tokens_per_second", "326 tokens/s", ""),
        ("request_rate_served", "10 requests/s", ""),
    ]


def test_a_program_begins_with_the_rates_that_it_printed(bare: Any) -> None:
    results = (
        known("pp512_tokens_per_second", 711.25, "tokens/s"),
        known("pp512_tokens_per_second_stddev", 14.5, "tokens/s"),
        known("tg128_tokens_per_second", 61.5, "tokens/s"),
    )
    metrics = (known("ttft_p50", None, reason="the workload serves no requests."), *USUAL)
    numbers = headlines(bare.having(metrics=metrics, results=results).result, {})
    assert [one["name"] for one in numbers] == [
        "pp512_tokens_per_second",
        "tg128_tokens_per_second",
        "host_idle_ratio",
        "step_rate",
    ]


def test_what_misbehaves_on_purpose_shows_by_how_much(bare: Any) -> None:
    results = (known("compile_time", 3_400 * MS), known("pipelines_made", 7, "count"))
    numbers = headlines(bare.having(metrics=USUAL, results=results).result, {})
    assert [one["name"] for one in numbers] == [
        "host_idle_ratio",
        "pipelines_made",
        "compile_time",
        "step_rate",
    ]


def test_of_many_numbers_only_a_few_are_shown(bare: Any) -> None:
    metrics = tuple(known(f"m{one}", one, "count") for one in range(9))
    numbers = headlines(bare.having(metrics=metrics).result, {})
    assert [one["value"] for one in numbers] == ["0", "1", "2", "3"]
    assert len(numbers) == MOST_NUMBERS


def test_where_no_number_is_known_the_reasons_stand_in_their_place(bare: Any) -> None:
    metrics = (known("gpu_busy", None, reason="the trace is empty."),)
    [number] = headlines(bare.having(metrics=metrics).result, {})
    assert (number["value"], number["known"]) == ("not available", False)
    assert number["source"] == "not available, because the trace is empty"


def test_idle_time_is_that_of_the_window_that_findings_speak_of(bare: Any) -> None:
    run = bare.having(metrics=(*USUAL, known("idle_ratio", 0.2, "ratio")))
    assert [one["name"] for one in headlines(run.result, {})] == ["idle_ratio", "step_rate"]
