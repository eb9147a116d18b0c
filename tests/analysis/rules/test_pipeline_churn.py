"""`pipeline-churn`: compilation in the steady window."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Finding, Severity
from tracekit.analysis.rules.pipeline_churn import shorten

Make = Callable[..., pd.DataFrame]
Judge = Callable[..., list[Finding]]
MS = 1_000_000


@pytest.fixture
def judge(judged: Judge) -> Judge:
    """Judge by compiler activity, specializations and spans; by further tables by name."""
    names = ("gpu_intervals", "phases", "compiler_activity", "specializations", "spans")
    return lambda *tables, **more: judged(
        "pipeline-churn", **dict(zip(names, tables, strict=True)), **more
    )


def activity(rows: list[tuple[int, int, bool]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["start", "duration", "target"])
    names = ["python3" if one else "MTLCompilerService" for one in frame["target"]]
    return frame.astype({"duration": "Int64"}).assign(process=pd.array(names, dtype="string"))


def made(times: list[int]) -> pd.DataFrame:
    return pd.DataFrame({"time": times, "name": [f"paged_{time}" for time in times]})


@pytest.fixture
def steady(intervals: Make, phases: Make) -> tuple[pd.DataFrame, pd.DataFrame]:
    busy = [(0, 110 * MS), (114 * MS, 36 * MS), (156 * MS, 44 * MS)]
    return intervals(busy, latencies=[0] * 3), phases(100 * MS, 100 * MS)


def test_compilation_while_warming_up_is_no_churn(
    steady: tuple[pd.DataFrame, pd.DataFrame], judge: Judge
) -> None:
    frame, marks = steady
    assert not judge(frame, marks, activity([(5 * MS, 40 * MS, True)]), None, None)


def test_compilation_in_the_steady_window_is_churn(
    steady: tuple[pd.DataFrame, pd.DataFrame], judge: Judge
) -> None:
    frame, marks = steady
    compiled = activity([(110 * MS, 4 * MS, True), (150 * MS, 6 * MS, True)])
    [finding] = judge(frame, marks, compiled, None, None)
    assert finding.severity is Severity.WARNING
    assert finding.saving == 10 * MS
    assert [one.start for one in finding.evidence] == [150 * MS, 110 * MS]


def test_what_was_compiled_while_the_device_was_busy_costs_it_nothing(
    steady: tuple[pd.DataFrame, pd.DataFrame], judge: Judge
) -> None:
    frame, marks = steady
    compiled = activity([(112 * MS, 10 * MS, True), (160 * MS, 6 * MS, True)])
    [finding] = judge(frame, marks, compiled, None, None)
    assert "2 times for the target in the steady window, 16 ms in all" in finding.message
    assert finding.saving == 2 * MS


def test_two_accounts_of_the_same_compilations_are_one_finding(
    steady: tuple[pd.DataFrame, pd.DataFrame], judge: Judge
) -> None:
    frame, marks = steady
    compiled = activity([(110 * MS, 4 * MS, True)])
    [finding] = judge(frame, marks, compiled, made([111 * MS]), None)
    assert finding.saving == 4 * MS
    assert "The shader compiler worked" in finding.message
    assert "By its own count" in finding.message
    assert {one.table for one in finding.evidence} == {"compiler_activity", "specializations"}


def test_another_applications_compilations_are_its_own_affair(
    steady: tuple[pd.DataFrame, pd.DataFrame], judge: Judge
) -> None:
    frame, marks = steady
    compiled = activity([(110 * MS, MS, False)]).assign(process="Safari")
    assert not judge(frame, marks, compiled, None, None)


def test_compilation_under_another_name_is_noted_not_blamed(
    steady: tuple[pd.DataFrame, pd.DataFrame], judge: Judge
) -> None:
    frame, marks = steady
    [finding] = judge(frame, marks, activity([(110 * MS, MS, False)]), None, None)
    assert finding.severity is Severity.NOTE
    assert "MTLCompilerService" in finding.message
    assert finding.saving is None


def test_the_workloads_own_new_pipelines_are_churn(
    steady: tuple[pd.DataFrame, pd.DataFrame], judge: Judge
) -> None:
    frame, marks = steady
    late = made([10 * MS, *(at * MS for at in range(120, 125))])
    [finding] = judge(frame, marks, None, late, None)
    assert finding.saving is None
    assert "By its own count the workload first used 5 of its pipelines" in finding.message
    assert "and 2 more" in finding.message


def test_pipelines_made_while_warming_up_pass(
    steady: tuple[pd.DataFrame, pd.DataFrame], judge: Judge
) -> None:
    frame, marks = steady
    assert not judge(frame, marks, activity([]), made([10 * MS]), None)


def test_it_abstains_where_neither_source_is_there(
    steady: tuple[pd.DataFrame, pd.DataFrame], judge: Judge
) -> None:
    frame, marks = steady
    with pytest.raises(Unavailable, match="graphics-compiler-activity-intervals"):
        judge(frame, marks, None, None, None)


def test_what_the_workload_says_it_compiled_is_the_cost(
    steady: tuple[pd.DataFrame, pd.DataFrame], judge: Judge
) -> None:
    frame, marks = steady
    rows = [(90, 5, "compile"), (110, 4, "compile"), (150, 6, "compile"), (160, 9, "sleep")]
    annotations = pd.DataFrame(
        {
            "start": [start * MS for start, _, _ in rows],
            "duration": pd.array([length * MS for _, length, _ in rows], dtype="Int64"),
            "name": pd.array([name for _, _, name in rows], dtype="string"),
        }
    )
    [finding] = judge(frame, marks, None, made([120 * MS]), annotations)
    assert finding.saving == 10 * MS
    assert finding.message.endswith("It spent 10 ms compiling.")
    [finding] = judge(
        frame, marks, None, made([120 * MS]), annotations[annotations["name"] == "sleep"]
    )
    assert finding.saving is None
    assert "compiling" not in finding.message


def test_what_sets_a_new_pipeline_off_is_named(
    steady: tuple[pd.DataFrame, pd.DataFrame], judge: Judge
) -> None:
    frame, marks = steady
    names = ["custom_kernel_paged__float_32", "custom_kernel_paged__float_64"]
    count = made([10 * MS, 120 * MS]).assign(name=names)
    [finding] = judge(frame, marks, None, count, None)
    assert f"{names[1]} (template value 32 → 64)." in finding.message


def shader_list(*rows: tuple[int, str | None, bool]) -> pd.DataFrame:
    times, names, own = zip(*rows, strict=True)
    return pd.DataFrame(
        {"time": [one * MS for one in times], "name": pd.array(names, dtype="string")}
    ).assign(target=own)


def test_shaders_first_seen_in_the_steady_window_are_noted(
    steady: tuple[pd.DataFrame, pd.DataFrame], judge: Judge
) -> None:
    frame, marks = steady
    seen = shader_list(
        (10, "sdpa", True), (120, "sdpa", True), (130, "gemm", True), (140, "blur", False)
    )
    [finding] = judge(frame, marks, None, None, None, shaders=seen)
    assert finding.severity is Severity.NOTE
    assert "first saw 1 of the target's shaders in the steady window: gemm." in finding.message
    assert [one.start for one in finding.evidence] == [130 * MS]


def test_a_list_of_shaders_that_begins_in_the_steady_window_was_written_late(
    steady: tuple[pd.DataFrame, pd.DataFrame], judge: Judge
) -> None:
    frame, marks = steady
    seen = shader_list((120, "sdpa", True), (120, "gemm", True), (20, "blur", False))
    assert not judge(frame, marks, activity([]), None, None, shaders=seen)
    with pytest.raises(Unavailable, match="neither compiler activity"):
        judge(frame, marks, None, None, None, shaders=seen)
    with pytest.raises(Unavailable, match="neither compiler activity"):
        judge(frame, None, None, None, None, shaders=seen)


def test_on_a_cpu_the_workloads_own_count_judges(
    intervals: Make, phases: Make, judge: Judge
) -> None:
    frame, marks = intervals([(0, 200 * MS)], clock="host"), phases(100 * MS, 100 * MS)
    [finding] = judge(frame, marks, None, made([10 * MS, 120 * MS, 130 * MS]), None)
    assert finding.severity is Severity.WARNING
    assert "first used 2 of its pipelines" in finding.message
    assert [one.start for one in finding.evidence] == [120 * MS, 130 * MS]
    assert not judge(frame, marks, None, made([10 * MS]), None)


@pytest.mark.parametrize("count", [None, made([])], ids=["no table", "no rows"])
def test_it_abstains_on_a_cpu_where_the_workload_names_no_pipelines(
    intervals: Make, judge: Judge, count: pd.DataFrame | None
) -> None:
    with pytest.raises(Unavailable, match="on the CPU, and the workload names no pipelines"):
        judge(intervals([(0, MS)], clock="host"), None, None, count, None)


def test_long_names_are_shortened_in_their_middle() -> None:
    assert shorten("affine_qmv_float16_t_gs_64_b_4") == "affine_qmv_float16_t_gs_64_b_4"
    assert shorten("a" * 40 + "b" * 40) == "a" * 24 + "…" + "b" * 24
