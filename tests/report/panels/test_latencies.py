"""Latencies and cadence: of steady work, each with its distribution or its reason."""

from typing import Any

import pytest

from tracekit.report.panels.latencies import FEWEST, latencies

MS = 1_000_000


def test_steady_steps_count_and_no_others(host_run: Any) -> None:
    context = latencies.context(host_run.result, host_run.tables)
    [(step, _, percentiles)] = context["known"]
    assert (step.name, step.times.size) == ("Step", 3)
    assert percentiles == [8 * MS] * 4
    assert context["charts"] == []


def test_what_is_missing_says_why_and_equal_reasons_stand_once(host_run: Any, bare: Any) -> None:
    unknown = latencies.context(host_run.result, host_run.tables)["unknown"]
    assert "no row of gpu_intervals in the steady window has it" in unknown
    assert [len(names) for names in unknown.values()] == [1, 2]
    assert all("of a command buffer" in name for name in list(unknown.values())[1])
    assert len(latencies.context(bare.result, {})["unknown"]) == 3


def test_start_latencies_are_the_targets(trace_run: Any) -> None:
    context = latencies.context(trace_run.result, trace_run.tables)
    [(start, source, percentiles)] = context["known"]
    assert (start.name, start.times.size, percentiles[0]) == ("Start", 4, 80_000)
    assert source == "GPU times, from the trace"


def test_each_variant_has_its_own_chart(bare: Any, frame: Any) -> None:
    rows = [
        {"start": at, "duration": (at + 1) * MS, "phase": "steady", "variant": "ab"[at % 2]}
        for at in range(2 * FEWEST)
    ]
    context = latencies.context(bare.result, {"steps": frame("steps", rows)})
    assert [one.name for one, *_ in context["known"]] == ["Step of a", "Step of b"]
    assert [one.title for one in context["charts"]] == ["Step of a", "Step of b"]
    assert context["charts"][0].summary.startswith(f"{FEWEST} values, half of them up to 8 ms")


def test_command_buffers_are_met_with_their_spans(bare: Any, frame: Any) -> None:
    rows = [
        {"committed": at * MS, "commit_to_start": 2 * MS, "commit_to_complete": 5 * MS, **who}
        for at, who in enumerate([{"target": True}] * 4 + [{"target": False}])
    ]
    phases = [{"name": "steady", "start": MS, "duration": 2 * MS}]
    tables = {
        "command_buffers": frame("command_buffers", rows),
        "phases": frame("phases", phases),
    }
    known = latencies.context(bare.result, tables)["known"]
    assert [(one.name, one.times.size) for one, *_ in known] == [
        ("Commit to start", 2),
        ("Commit to complete", 2),
    ]
    assert known[1][-1][-1] == pytest.approx(5 * MS)
