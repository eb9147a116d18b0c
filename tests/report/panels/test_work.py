from typing import Any

import pytest

from stock import Stock
from tracekit.analysis import Given
from tracekit.report.panels.work import MOST_ROWS, by_time, work


def test_equal_work_is_one_row_and_the_longest_is_first(trace_run: Any) -> None:
    groups = work.context(trace_run.result, trace_run.tables)["groups"]
    assert [(one["channel"], one["label"], one["count"], one["total"]) for one in groups] == [
        ("Compute", "Command Buffer 0:Compute Command 1", 1, 100_000),
        ("Compute", "Command Buffer 0:Compute Command 0", 2, 80_000),
        ("Blit", "Command Buffer 0:Blit 0", 1, 10_000),
    ]
    assert sum(one["share"] for one in groups) == pytest.approx(1)
    assert (groups[1]["p50"], groups[1]["p95"], groups[1]["p99"]) == pytest.approx(
        (40_000, 49_000, 49_800)
    )


def test_busy_time_is_the_union_and_the_sum_is_more(trace_run: Any) -> None:
    context = work.context(trace_run.result, trace_run.tables)
    assert (context["busy"], context["sum"]) == (180_000, 190_000)


def test_other_processes_do_not_count(trace_run: Any) -> None:
    labels = [one["label"] for one in work.context(trace_run.result, trace_run.tables)["groups"]]
    assert "Frame" not in labels


def test_steps_are_grouped_by_phase(host_run: Any) -> None:
    steps = work.context(host_run.result, host_run.tables)["steps"]
    assert [(one["label"], one["count"], one["total"]) for one in steps] == [
        ("steady", 3, 24_000_000),
        ("warm-up", 2, 16_000_000),
    ]


def test_rows_beyond_the_first_are_summed(bare: Any, frame: Any) -> None:
    many = [
        {"start": at, "duration": 10, "channel": "Compute", "label": f"k{at}", "target": True}
        for at in range(MOST_ROWS + 4)
    ]
    context = work.context(bare.result, {"gpu_intervals": frame("gpu_intervals", many)})
    assert (len(context["groups"]), context["rest"], context["rest_total"]) == (MOST_ROWS, 4, 40)


def test_rows_without_a_duration_or_a_channel_are_met(frame: Any) -> None:
    table = frame("gpu_intervals", [{"start": 1}, {"start": 2, "duration": 0, "label": "k"}])
    [group] = by_time(table, "channel", table["label"])
    assert (group["channel"], group["label"], group["count"], group["share"]) == (
        "not stated",
        "k",
        1,
        0.0,
    )


def test_missing_and_empty_tables_say_why(host_run: Any, bare: Any) -> None:
    context = work.context(bare.result, bare.tables)
    assert context["absence"] == "the recording has no table gpu_intervals"
    assert context["steps_absence"] == "the recording has no table steps"
    assert context["busy"] is None
    emptied = host_run.emptied()
    assert (
        work.context(emptied.result, emptied.tables)["absence"]
        == "the table gpu_intervals has no rows"
    )


def test_work_says_when_it_was_first_seen(trace_run: Any) -> None:
    groups = work.context(trace_run.result, trace_run.tables)["groups"]
    assert [one["first"] for one in groups] == [200_000, 100_000, 120_000]


def test_pipelines_of_the_steady_window_stand_first(host_run: Any, frame: Any) -> None:
    made = [
        {"time": at * 1_000_000, "name": name}
        for at, name in [(600, "early"), (620, "late"), (640, "late"), (5, None)]
    ]
    seen = [
        {"time": 610_000_000, "name": "shader", "target": True},
        {"time": 610_000_000, "name": "of another", "target": False},
    ]
    tables = {
        **host_run.tables,
        "specializations": frame("specializations", made),
        "shaders": frame("shaders", seen),
    }
    context = work.context(host_run.result, tables)
    assert [
        (one["name"], one["seen"], one["first"] // 1_000_000, one["phase"], one["late"])
        for one in context["pipelines"]
    ] == [
        ("late", "the workload", 620, "steady", True),
        ("not named", "the workload", 5, "prepare", False),
        ("early", "the workload", 600, "warm-up", False),
        ("shader", "the trace", 610, "warm-up", False),
    ]
    assert context["steady"] == 620_000_000
    assert context["pipelines_absence"] == ""


def test_without_pipelines_it_says_why(bare: Any) -> None:
    context = work.context(bare.result, {})
    assert context["pipelines"] == []
    assert context["pipelines_absence"] == (
        "the recording has no table specializations, and the recording has no table shaders"
    )
    assert context["steady"] is None


def test_steps_of_several_variants_are_told_apart(bare: Any, frame: Any, host_run: Any) -> None:
    rows = [
        {"start": 10 * at, "duration": length, "phase": "steady", "variant": variant}
        for at, (variant, length) in enumerate([("paged", 3), ("sdpa", 8), ("sdpa", 6)])
    ]
    context = work.context(bare.result, {"steps": frame("steps", rows)})
    assert context["varied"]
    assert [
        (one["channel"], one["label"], one["count"], one["total"]) for one in context["steps"]
    ] == [
        ("steady", "sdpa", 2, 14),
        ("steady", "paged", 1, 3),
    ]
    assert not work.context(host_run.result, host_run.tables)["varied"]


def test_it_says_how_often_an_iteration_has_each_kernel() -> None:
    made = Stock()
    for _ in range(20):
        for _ in range(3):
            made.buffer([200, 50], names=("gemv", "rope"))
        made.buffer([900], names=("softmax",))
        made.wait()
        made.spend(500)
    result = made.analyzed()
    context = work.context(result, Given(made.tables(), result.provenance))
    assert context["unit"] == "iteration"
    each = {group["label"].rpartition(":")[2]: group["each"] for group in context["groups"]}
    assert each == pytest.approx({"gemv": 3, "rope": 3, "softmax": 1}, abs=0.1)
    assert work.context(result, made.tables())["unit"] == ""
