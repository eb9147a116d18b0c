"""Throughput over the run: rates that come to all tokens, parts, and steps that stand out."""

from typing import Any

import pytest

from tracekit.report.panels.throughput import MOST_SPIKES, throughput

MS = 1_000_000


def run_of(frame: Any, times: list[int], tokens: int | None = 4, phase: str = "steady") -> Any:
    starts = [sum(times[:place]) for place in range(len(times))]
    rows = [
        {"start": at * MS, "duration": length * MS, "index": index, "phase": phase}
        | ({} if tokens is None else {"tokens": tokens})
        for index, (at, length) in enumerate(zip(starts, times, strict=True))
    ]
    return {"steps": frame("steps", rows)}


def test_an_even_run_has_one_rate(bare: Any, frame: Any) -> None:
    context = throughput.context(bare.result, run_of(frame, [2] * 40))
    [chart] = context["charts"]
    assert chart.title == "Tokens/s"
    assert "2,000 tokens/s in the middle one, 2,000 tokens/s in the slowest" in chart.summary
    assert [
        (one["name"], one["steps"], one["length"], one["rate"]) for one in context["parts"]
    ] == [
        ("steady, its first tenth", 4, 8 * MS, "2,000 tokens/s"),
        ("steady, between", 32, 64 * MS, "2,000 tokens/s"),
        ("steady, its last tenth", 4, 8 * MS, "2,000 tokens/s"),
    ]
    assert context["spikes"] == []


def test_steps_without_tokens_are_counted_themselves(bare: Any, frame: Any) -> None:
    context = throughput.context(bare.result, run_of(frame, [2] * 40, tokens=None))
    assert [one.title for one in context["charts"]] == ["Steps/s"]
    assert context["parts"][1]["rate"] == "500 steps/s"


def test_steps_that_stand_out_are_listed_the_longest_first(bare: Any, frame: Any) -> None:
    times = [2] * 60
    times[20], times[40] = 30, 50
    context = throughput.context(bare.result, run_of(frame, times))
    assert [(end - start) // MS for start, end, _ in context["spikes"]] == [50, 30]
    assert context["spikes"][0][-1] == pytest.approx(48 * MS)
    assert context["more"] == 0
    assert len(context["spikes"]) <= MOST_SPIKES


def test_steps_that_measure_the_recording_are_no_part_of_the_run(bare: Any, frame: Any) -> None:
    tables = run_of(frame, [2] * 40, phase="overhead")
    context = throughput.context(bare.result, tables)
    assert context["charts"] == []
    assert context["parts"] == []


def test_compared_variants_have_no_rate_together(bare: Any, frame: Any) -> None:
    tables = run_of(frame, [2] * 40)
    tables["steps"]["variant"] = ["a", "b"] * 20
    context = throughput.context(bare.result, tables)
    assert context["mixed"] == ["a", "b"]
    assert context["charts"] == []


def test_the_device_is_charted_without_any_steps(trace_run: Any) -> None:
    [chart] = throughput.context(trace_run.result, trace_run.tables)["charts"]
    assert chart.title == "Share of time in which the device ran for the target"
    assert chart.summary.startswith("90.0 % in all, 0.0 % in the least busy of 60 stretches")
    assert chart.y.marks[-1] == 1


def test_phases_divide_the_charts(host_run: Any) -> None:
    context = throughput.context(host_run.result, host_run.tables)
    assert [one["name"] for one in context["parts"]] == ["warm-up", "steady"]


def test_a_run_without_steps_and_work_has_no_panel(bare: Any) -> None:
    assert throughput.context(bare.result, {}) is None
