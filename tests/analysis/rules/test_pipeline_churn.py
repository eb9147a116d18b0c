"""`pipeline-churn`: compilation in the steady window."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.finding import Severity
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rules import RULES

Make = Callable[..., pd.DataFrame]
judge = RULES["pipeline-churn"].judge
MS = 1_000_000


def activity(rows: list[tuple[int, int, bool]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["start", "duration", "target"])
    names = ["python3" if one else "MTLCompilerService" for one in frame["target"]]
    return frame.astype({"duration": "Int64"}).assign(process=pd.array(names, dtype="string"))


def made(times: list[int]) -> pd.DataFrame:
    return pd.DataFrame({"time": times, "name": [f"paged_{time}" for time in times]})


@pytest.fixture
def steady(intervals: Make, phases: Make) -> tuple[pd.DataFrame, pd.DataFrame]:
    return intervals([(0, 200 * MS)]), phases(100 * MS, 100 * MS)


def test_compilation_while_warming_up_is_no_churn(
    steady: tuple[pd.DataFrame, pd.DataFrame], targets: pd.DataFrame
) -> None:
    frame, marks = steady
    assert not list(judge(frame, targets, marks, activity([(5 * MS, 40 * MS, True)]), None, None))


def test_compilation_in_the_steady_window_is_churn(
    steady: tuple[pd.DataFrame, pd.DataFrame], targets: pd.DataFrame
) -> None:
    frame, marks = steady
    compiled = activity([(110 * MS, 4 * MS, True), (150 * MS, 6 * MS, True)])
    [finding] = judge(frame, targets, marks, compiled, None, None)
    assert finding.severity is Severity.WARNING
    assert finding.saving == 10 * MS
    assert [one.start for one in finding.evidence] == [150 * MS, 110 * MS]


def test_compilation_under_another_name_is_noted_not_blamed(
    steady: tuple[pd.DataFrame, pd.DataFrame], targets: pd.DataFrame
) -> None:
    frame, marks = steady
    [finding] = judge(frame, targets, marks, activity([(110 * MS, MS, False)]), None, None)
    assert finding.severity is Severity.NOTE
    assert "MTLCompilerService" in finding.message
    assert finding.saving is None


def test_the_workloads_own_new_pipelines_are_churn(
    steady: tuple[pd.DataFrame, pd.DataFrame], targets: pd.DataFrame
) -> None:
    frame, marks = steady
    late = made([10 * MS, *(at * MS for at in range(120, 125))])
    [finding] = judge(frame, targets, marks, None, late, None)
    assert finding.saving is None
    assert "By its own count the workload first used 5 of its pipelines" in finding.message
    assert "and 2 more" in finding.message


def test_pipelines_made_while_warming_up_pass(
    steady: tuple[pd.DataFrame, pd.DataFrame], targets: pd.DataFrame
) -> None:
    frame, marks = steady
    assert not list(judge(frame, targets, marks, activity([]), made([10 * MS]), None))


def test_it_abstains_where_neither_source_is_there(
    steady: tuple[pd.DataFrame, pd.DataFrame], targets: pd.DataFrame
) -> None:
    frame, marks = steady
    with pytest.raises(Unavailable, match="graphics-compiler-activity-intervals"):
        list(judge(frame, targets, marks, None, None, None))


def test_what_the_workload_says_it_compiled_is_the_cost(
    steady: tuple[pd.DataFrame, pd.DataFrame], targets: pd.DataFrame
) -> None:
    frame, marks = steady
    rows = [(90, 5, "compile"), (120, 4, "compile"), (150, 6, "compile"), (160, 9, "sleep")]
    told = pd.DataFrame(
        {
            "start": [start * MS for start, _, _ in rows],
            "duration": pd.array([length * MS for _, length, _ in rows], dtype="Int64"),
            "name": pd.array([name for _, _, name in rows], dtype="string"),
        }
    )
    [finding] = judge(frame, targets, marks, None, made([120 * MS]), told)
    assert finding.saving == 10 * MS
    assert finding.message.endswith("It spent 10 ms compiling.")
    [finding] = judge(frame, targets, marks, None, made([120 * MS]), told[told["name"] == "sleep"])
    assert finding.saving is None
    assert "compiling" not in finding.message


def test_on_a_cpu_the_workloads_own_count_judges(
    intervals: Make, phases: Make, targets: pd.DataFrame
) -> None:
    frame, marks = intervals([(0, 200 * MS)], clock="host"), phases(100 * MS, 100 * MS)
    [finding] = judge(frame, targets, marks, None, made([10 * MS, 120 * MS, 130 * MS]), None)
    assert finding.severity is Severity.WARNING
    assert "first used 2 of its pipelines" in finding.message
    assert [one.start for one in finding.evidence] == [120 * MS, 130 * MS]
    assert not list(judge(frame, targets, marks, None, made([10 * MS]), None))


@pytest.mark.parametrize("count", [None, made([])], ids=["no table", "no rows"])
def test_it_abstains_on_a_cpu_where_the_workload_names_no_pipelines(
    intervals: Make, targets: pd.DataFrame, count: pd.DataFrame | None
) -> None:
    with pytest.raises(Unavailable, match="on the CPU, and the workload names no pipelines"):
        list(judge(intervals([(0, MS)], clock="host"), targets, None, None, count, None))
