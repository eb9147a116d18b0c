"""`pipeline-churn`: compilation in the steady window."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from analysed import intervals, judged, phases
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Finding, Severity
from tracekit.analysis.rules.pipeline_churn import shorten

Make = Callable[..., pd.DataFrame]
Judge = Callable[..., list[Finding]]
MS = 1_000_000


def activity(*rows: tuple[int, int], own: bool = True, name: str = "") -> pd.DataFrame:
    """Make `compiler_activity` of (start, duration) in ms, of the target or of the service."""
    frame = pd.DataFrame(list(rows), columns=["start", "duration"]).astype("int64") * MS
    who = name or ("python3" if own else "MTLCompilerService")
    return frame.assign(target=own, process=pd.array([who] * len(rows), dtype="string"))


def made(*times: int) -> pd.DataFrame:
    return pd.DataFrame(
        {"time": [at * MS for at in times], "name": [f"paged_{at}" for at in times]}
    )


def shaders(*rows: tuple[int, str, bool]) -> pd.DataFrame:
    frame = pd.DataFrame(list(rows), columns=["time", "name", "target"])
    return frame.assign(time=frame["time"] * MS)


def judge(**tables: pd.DataFrame | None) -> list[Finding]:
    """Judge a steady window from 100 to 200 ms, in which the device pauses twice."""
    work = intervals([(0, 110 * MS), (114 * MS, 36 * MS), (156 * MS, 44 * MS)], latencies=[0] * 3)
    known = {"gpu_intervals": work, "phases": phases(100 * MS, 100 * MS)}
    return judged("pipeline-churn", **{**known, **tables})


@pytest.mark.parametrize(
    ("tables", "saving", "evidence", "words"),
    [
        ({"compiler_activity": activity((110, 4), (150, 6))}, 10, [150, 110], "worked 2 times"),
        # what was compiled while the device was busy costs it nothing
        ({"compiler_activity": activity((112, 10), (160, 6))}, 2, [112, 160], "16 ms in all"),
        (
            {"compiler_activity": activity((110, 4)), "specializations": made(111)},
            4,
            [110, 111],
            "in the steady window, 4 ms in all. By its own count",
        ),
        (
            {"specializations": made(10, 120, 121, 122, 123, 124)},
            None,
            [120, 121, 122, 123, 124],
            "first used 5 of its pipelines in the steady window: paged_120, paged_121, paged_122 a",
        ),
    ],
)
def test_pipelines_that_come_late_are_one_finding(
    tables: dict[str, pd.DataFrame], saving: int | None, evidence: list[int], words: str
) -> None:
    [finding] = judge(**tables)
    assert finding.severity is Severity.WARNING
    assert finding.saving == (None if saving is None else saving * MS)
    assert [window.start for window in finding.evidence] == [at * MS for at in evidence]
    assert words in finding.message


@pytest.mark.parametrize(
    "tables",
    [
        {"compiler_activity": activity((5, 40), (99, 9), (200, 5))},
        {"compiler_activity": activity((110, 1), own=False, name="Safari")},
        {"compiler_activity": activity(), "specializations": made(10)},
        {
            "compiler_activity": activity(),
            "shaders": shaders((120, "sdpa", True), (20, "b", False)),
        },
    ],
)
def test_what_came_before_or_belongs_to_others_is_no_churn(tables: dict[str, pd.DataFrame]) -> None:
    assert not judge(**tables)


def test_what_the_trace_does_not_lay_at_the_targets_door_is_a_note() -> None:
    [finding] = judge(compiler_activity=activity((110, 1), own=False))
    assert (finding.severity, finding.saving) == (Severity.NOTE, None)
    assert "MTLCompilerService" in finding.message
    seen = ((10, "sdpa", True), (120, "sdpa", True), (130, "gemm", True), (140, "blur", False))
    [finding] = judge(shaders=shaders(*seen))
    assert finding.severity is Severity.NOTE
    assert "first saw 1 of the target's shaders in the steady window: gemm." in finding.message
    assert [window.start for window in finding.evidence] == [130 * MS]


def test_what_the_workload_says_it_compiled_is_the_cost() -> None:
    rows = [(90, 5, "compile"), (110, 4, "compile"), (150, 6, "compile"), (160, 9, "sleep")]
    spans = pd.DataFrame(rows, columns=["start", "duration", "name"])
    spans[["start", "duration"]] *= MS
    [finding] = judge(specializations=made(120), spans=spans)
    assert finding.saving == 10 * MS
    assert finding.message.endswith("It spent 10 ms compiling.")
    [finding] = judge(specializations=made(120), spans=spans[3:])
    assert finding.saving is None
    assert "compiling" not in finding.message


def test_what_sets_a_new_pipeline_off_is_named() -> None:
    names = ["custom_kernel_paged__float_32", "custom_kernel_paged__float_64"]
    [finding] = judge(specializations=made(10, 120).assign(name=names))
    assert f"{names[1]} (template value 32 → 64)." in finding.message
    assert shorten("affine_qmv_float16_t_gs_64_b_4") == "affine_qmv_float16_t_gs_64_b_4"
    assert shorten("a" * 40 + "b" * 40) == "a" * 24 + "…" + "b" * 24


def test_on_a_cpu_the_workloads_own_count_judges() -> None:
    host = intervals([(0, 200 * MS)], clock="host")
    [finding] = judge(gpu_intervals=host, specializations=made(10, 120, 130))
    assert "first used 2 of its pipelines" in finding.message
    assert not judge(gpu_intervals=host, specializations=made(10))


LATE = {"shaders": shaders((120, "sdpa", True))}


@pytest.mark.parametrize(
    ("clock", "tables", "reason"),
    [
        ("gpu", {}, "graphics-compiler-activity-intervals"),
        ("gpu", LATE, "neither compiler activity"),  # a list that begins only there
        ("gpu", {**LATE, "phases": None}, "neither compiler activity"),
        ("host", {}, "on the CPU, and the workload names no pipelines"),
        ("host", {"specializations": made()}, "on the CPU, and the workload names no pipelines"),
    ],
)
def test_it_abstains_where_neither_source_is_there(
    clock: str, tables: dict[str, Any], reason: str
) -> None:
    with pytest.raises(Unavailable, match=reason):
        judge(**{"gpu_intervals": intervals([(0, 200 * MS)], clock=clock), **tables})
