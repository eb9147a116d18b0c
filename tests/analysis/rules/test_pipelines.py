"""Rules on what was compiled, when and how well: `pipeline-churn`, `shader-spills`; times in ms.

The steady window is from 100 to 200 ms.
"""

import pandas as pd
import pytest

from analysed import MS, Golden, intervals, judge_tables, phases, table
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Finding, Severity
from tracekit.analysis.rules.pipeline_churn import shorten


def activity(*rows: tuple[int, int], is_target: bool = True, name: str = "") -> pd.DataFrame:
    """Make `compiler_activity` of (start, duration), of the target or of the service."""
    who = name or ("python3" if is_target else "MTLCompilerService")
    return table("start duration", *rows, target=is_target, process=who)


def make_specializations(*times: int) -> pd.DataFrame:
    return table("time name", *((time, f"paged_{time}") for time in times))


def shaders(*rows: tuple[int, str, bool]) -> pd.DataFrame:
    return table("time name target", *rows)


def judge(**tables: pd.DataFrame | None) -> list[Finding]:
    """Judge a steady window in which the device pauses twice: at 110 for 4 ms, at 150 for 6."""
    work = intervals([(0, 110 * MS), (114 * MS, 36 * MS), (156 * MS, 44 * MS)], latencies=[0] * 3)
    loop_tables = {"gpu_intervals": work, "phases": phases(100 * MS, 100 * MS)}
    return judge_tables("pipeline-churn", **{**loop_tables, **tables})


def test_pipelines_that_come_late_are_one_finding(golden: Golden) -> None:
    names = ["custom_kernel_paged__float_32", "custom_kernel_paged__float_64"]
    # What was compiled while the device was busy costs it nothing.
    golden(
        *judge(compiler_activity=activity((110, 4), (150, 6))),
        *judge(compiler_activity=activity((112, 10), (160, 6))),
        *judge(compiler_activity=activity((110, 4)), specializations=make_specializations(111)),
        *judge(specializations=make_specializations(10, 120, 121, 122, 123, 124)),
        *judge(specializations=make_specializations(10, 120).assign(name=names)),
    )
    [late] = judge(specializations=make_specializations(120, 121).assign(name=names))
    assert "template value" in str(late.fact("names"))
    assert shorten("affine_qmv_float16_t_gs_64_b_4") == "affine_qmv_float16_t_gs_64_b_4"
    assert shorten("a" * 40 + "b" * 40) == "a" * 24 + "…" + "b" * 24


SAFARI = activity((110, 1), is_target=False, name="Safari")
SEEN = ((10, "sdpa", True), (120, "sdpa", True), (130, "gemm", True), (140, "blur", False))


def test_pipelines_of_unknown_origin_are_a_note(golden: Golden) -> None:
    findings = [
        *judge(compiler_activity=pd.concat([activity((110, 1), is_target=False), SAFARI])),
        *judge(shaders=shaders(*SEEN)),
    ]
    assert {finding.severity for finding in findings} == {Severity.NOTE}
    golden(*findings)


def test_earlier_and_foreign_pipelines_are_not_churn() -> None:
    for tables in (
        {"compiler_activity": activity((5, 40), (99, 9), (200, 5))},
        {"compiler_activity": SAFARI},
        {"compiler_activity": activity(), "specializations": make_specializations(10)},
        {"compiler_activity": activity(), "shaders": shaders(*SEEN[:2], SEEN[3])},
    ):
        assert not judge(**tables)


def test_compiles_counted_by_the_workload_are_the_cost_on_a_cpu_too(golden: Golden) -> None:
    rows = [(90, 5, "compile"), (110, 4, "compile"), (150, 6, "compile"), (160, 9, "sleep")]
    spans, host = table("start duration name", *rows), intervals([(0, 200 * MS)], clock="host")
    golden(
        *judge(specializations=make_specializations(120), spans=spans),
        *judge(specializations=make_specializations(120), spans=spans[3:]),
        *judge(gpu_intervals=host, specializations=make_specializations(10, 120, 130)),
    )
    assert not judge(gpu_intervals=host, specializations=make_specializations(10))


LATE = {"shaders": shaders((120, "sdpa", True))}


def test_it_abstains_where_neither_source_is_there() -> None:
    for clock, tables, reason in (
        ("gpu", {}, "graphics-compiler-activity-intervals"),
        ("gpu", LATE, "neither compiler activity"),  # a list that begins only there
        ("gpu", {**LATE, "phases": None}, "neither compiler activity"),
        ("host", {}, "on the CPU, and the workload names no pipelines"),
        (
            "host",
            {"specializations": make_specializations()},
            "on the CPU, and the workload names no pipelines",
        ),
    ):
        with pytest.raises(Unavailable, match=reason):
            judge(**{"gpu_intervals": intervals([(0, 200 * MS)], clock=clock), **tables})


KIB = 1_024


def spills(*rows: tuple[int, int | None, int], target: bool = True) -> pd.DataFrame:
    return table("time encoder spilled", *rows, target=target).astype({"target": "boolean"})


def make_encoders(**labels: int) -> pd.DataFrame:
    return table("label encoder", *labels.items(), start=0, duration=1, command_buffer=1)


def judge_spills(
    spills: pd.DataFrame | None, encoders: pd.DataFrame | None = None, **limits: float
) -> list[Finding]:
    work = {"gpu_intervals": intervals([(0, 200 * MS)]), "phases": phases(100 * MS, 100 * MS)}
    return judge_tables("shader-spills", limits, shader_spills=spills, encoders=encoders, **work)


def test_spills_are_found_by_encoder_and_the_first_named(golden: Golden) -> None:
    rows = (50, 6, 999 * KIB), (110, 7, 3 * KIB), (120, 8, KIB), (130, 9, 4 * KIB)
    many_spills = spills(*((110, number, KIB) for number in range(1, 6)))
    golden(
        *judge_spills(spills(*rows), make_encoders(sdpa=7, norm=8, gemm=9)),
        *judge_spills(spills((110, 7, KIB), (120, 7, KIB))),
        *judge_spills(spills((100, None, KIB), (200, None, KIB))),
        *judge_spills(spills((110, 7, KIB)), make_encoders(sdpa=1)),
        *judge_spills(many_spills, make_encoders(a=1, b=2, c=3, d=4)),
    )


def test_a_target_without_spills_is_silent() -> None:
    for rows in ((), ((50, 7, KIB), (99, 7, KIB), (201, 7, KIB)), ((110, 7, 0),)):
        assert not judge_spills(spills(*rows)), rows
    spill = (110, 7, KIB)
    assert not judge_spills(spills(spill, target=False))
    assert not judge_spills(spills(spill), limit=KIB)  # in bytes
    assert judge_spills(spills(spill), limit=KIB - 1)
    with pytest.raises(Unavailable, match="new with the Instruments of Xcode 27"):
        judge_spills(None)
