"""Rules on what bounds the kernels, by counters and by the bytes of steps.

`memory-bound`, `compute-bound`, `other-limiter`, `low-occupancy`; `roofline-distance`,
`cache-resident`.
"""

from collections.abc import Mapping

import pandas as pd
import pytest

from analysed import (
    M1_MAX,
    M3_MAX,
    MS,
    UNKNOWN,
    Golden,
    intervals,
    judge_tables,
    model,
    samples,
    steady,
)
from tracekit.analysis.counters import OTHERS
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.rule import Finding
from tracekit.base.recording import Provenance

BY_MEMORY = {"LLC Limiter": 85.0, "ALU Utilization": 20.0}
BY_ARITHMETIC = {"F32 Limiter": 92.0, "ALU Limiter": 49.0, "LLC Limiter": 30.0}


def judge(
    rule: str,
    values: Mapping[str, float],
    gigabytes: Mapping[str, float] | None = None,
    machine: Provenance = M1_MAX,
    **more_tables: pd.DataFrame,
) -> list[Finding]:
    """Judge counters that had these values all the time, in percent and in GB/s."""
    counters = pd.concat([samples(values), samples(gigabytes or {}, percentage=False)])
    tables = {"gpu_counters": counters, "gpu_intervals": intervals([(0, 20 * MS)]), **more_tables}
    return judge_tables(rule, provenance=machine, **tables)


def test_the_highest_counter_is_named(golden: Golden) -> None:
    bandwidth = {"GPU Read Bandwidth": 80.0, "GPU Write Bandwidth": 5.0}
    idle = {"ALU Limiter": 20.0}
    golden(
        *judge("memory-bound", {"LLC Limiter": 70.0, **idle}),
        *judge("memory-bound", {"L1 Cache Limiter": 85.0, **idle}),
        *judge("memory-bound", bandwidth | idle),
        *judge("memory-bound", {"LLC Limiter": 85.0, "MMU Limiter": 94.0, **idle}),
        *judge("compute-bound", BY_ARITHMETIC),
        *judge("compute-bound", {"F32 Limiter": 70.0, "LLC Limiter": 49.0}),
    )


def test_work_with_time_left_or_another_bound_passes() -> None:
    for rule, values in (
        ("memory-bound", {"LLC Limiter": 69.0, "ALU Limiter": 20.0}),
        ("memory-bound", {"LLC Limiter": 85.0, "F32 Limiter": 50.0}),
        ("memory-bound", {**BY_MEMORY, "MMU Limiter": 95.1}),
        ("compute-bound", {"F32 Limiter": 69.0, "LLC Limiter": 30.0}),
        ("compute-bound", {"F32 Limiter": 92.0, "LLC Limiter": 57.0}),
        ("compute-bound", {"F32 Limiter": 80.0, "LLC Limiter": 30.0, "MMU Limiter": 91.0}),
        ("other-limiter", {"MMU Limiter": 69.0, "ALU Limiter": 10.0}),
        ("other-limiter", {"MMU Limiter": 95.0, "ALU Limiter": 86.0}),
        ("other-limiter", {"Instruction Throughput Limiter": 99.8, "F32 Limiter": 91.9}),
        ("other-limiter", {"MMU Limiter": 90.0, "GPU Read Bandwidth": 81.0}),
        ("other-limiter", {"MMU Utilization": 99.0, "TG/IB Load Limiter": 5.0}),
        ("low-occupancy", {"Kernel Occupancy": 31.0}),
        ("low-occupancy", {"Kernel Occupancy": 26.3, "F32 Utilization": 80.2}),
        ("low-occupancy", {"Kernel Occupancy": 26.3, "Last Level Cache Utilization": 80.2}),
    ):
        assert not judge(rule, values)


BOUNDS = {
    "memory-bound": "LLC Limiter",
    "compute-bound": "ALU Limiter",
    "other-limiter": "MMU Limiter",
}


def test_at_most_one_thing_bounds_a_run() -> None:
    for shares, expected_rules in (
        ((75.0, 30.0, 30.0), ["memory-bound"]),
        ((30.0, 75.0, 30.0), ["compute-bound"]),
        ((30.0, 30.0, 75.0), ["other-limiter"]),
        ((75.0, 30.0, 80.0), ["memory-bound"]),
        ((75.0, 30.0, 95.0), ["other-limiter"]),
        ((30.0, 75.0, 95.0), ["other-limiter"]),
        ((75.0, 75.0, 75.0), []),
    ):
        values = dict(zip(BOUNDS.values(), shares, strict=True))
        assert [rule for rule in BOUNDS if judge(rule, values)] == expected_rules, shares


def test_the_workloads_own_needs_separate_good_news_from_bad(golden: Golden) -> None:
    findings: list[Finding] = []
    for rule, values, steps, severity in (
        # 280 MB in each step of 1 ms are 70 % of 400 GB/s.
        ("memory-bound", BY_MEMORY, model(280_000_000), "note"),
        ("memory-bound", BY_MEMORY, model(100_000_000), "warning"),
        # 200 operations a byte, an M1 Max has 26.5
        ("compute-bound", BY_ARITHMETIC, model(10**7, 2 * 10**9), "note"),
        ("compute-bound", BY_ARITHMETIC, model(10**7), "warning"),
        ("compute-bound", BY_ARITHMETIC, model(10**7, 0), "warning"),
    ):
        findings += judge(rule, values, step_models=steps, **steady(count=20))
        assert findings[-1].severity == severity, steps
    golden(*findings)


OF_OTHERS = (
    *("TG/IB Load Limiter", "Buffer Read Limiter", "MMU Limiter", "Control Flow Limiter"),
    *("Instruction Throughput Limiter", "Compute Shader Launch Limiter"),
    *("Texture Write Limiter", "Fragment Interp Limiter"),
)


def test_each_other_unit_has_its_candidates(golden: Golden) -> None:
    other_counters = {"ALU Limiter": 40.0, "LLC Limiter": 30.0}
    findings = [
        finding
        for name in OF_OTHERS
        for finding in judge("other-limiter", {name: 88.0, **other_counters})
    ]
    golden(*findings, *judge("other-limiter", {"MMU Limiter": 88.0, "F16 Utilization": 1.0}))
    for group in OTHERS:
        assert Mechanism(f"other-limiter-{group.replace(' ', '-')}"), group


def test_low_occupancy_is_found_whatever_the_chip_calls_it(golden: Golden) -> None:
    other_counters = {"ALU Limiter": 90.0, "F32 Utilization": 43.0}
    names = "Kernel Occupancy", "Compute Occupancy"
    golden(
        *(
            finding
            for name in names
            for finding in judge("low-occupancy", {name: 17.5, **other_counters})
        )
    )
    near = {"GPU Bandwidth": 310.0}
    assert not judge("low-occupancy", {names[0]: 20.0}, near, M3_MAX)
    assert judge("low-occupancy", {names[0]: 20.0}, near, UNKNOWN)


def test_kernels_are_distinguished_by_their_names() -> None:
    low_samples = samples({"Kernel Occupancy": 10.0}, period=2 * MS)
    high_samples = samples({"Kernel Occupancy": 40.0}, period=2 * MS, start=MS)
    all_samples = pd.concat([low_samples, high_samples], ignore_index=True)
    names = ["paged_decode", "Gather"] * 20
    for labels, first_length, kernels in (
        (names, 1, "“paged_decode” 10.0 %, “Gather” 40.0 %"),
        (names, 40, ""),  # beside all others
        ([f"Compute Command {n}" for n in range(40)], 1, ""),
    ):
        work = intervals([(0, first_length * MS), *((number * MS, MS) for number in range(1, 40))])
        labelled_work = work.assign(label=labels)
        [finding] = judge_tables(
            "low-occupancy", gpu_counters=all_samples, gpu_intervals=labelled_work
        )
        assert finding.fact("kernels") == kernels, (labels, first_length)


def test_without_its_counters_a_rule_abstains() -> None:
    for rule, values, reason in (
        ("memory-bound", {"ALU Utilization": 20.0}, "of memory was recorded, only: ALU Util"),
        ("memory-bound", {"LLC Limiter": 85.0}, "of arithmetic was recorded.*--counters on"),
        ("compute-bound", {"F32 Limiter": 92.0}, "of memory was recorded, only: F32 Limiter"),
        ("other-limiter", {"ALU Limiter": 40.0}, "no limiter other than arithmetic and memory"),
        ("low-occupancy", {"ALU Limiter": 40.0}, "no occupancy of compute was recorded"),
    ):
        with pytest.raises(Unavailable, match=reason):
            judge(rule, values)


DISTANCE, RESIDENT = "roofline-distance", "cache-resident"


def steps_of(
    rule: str,
    moved: int,
    flops: int | None = None,
    busy_time: int = MS // 2,
    limits: dict[str, float] | None = None,
    labels: tuple[str, ...] = ("paged",),
    **more_tables: pd.DataFrame,
) -> list[Finding]:
    """Judge ten steps of 1 ms, in each of which the GPU runs for so long, by half of the time."""
    work = intervals([(number * MS // 2, busy_time // 2) for number in range(20)])
    work["label"] = pd.array([labels[n % len(labels)] for n in range(20)], dtype="string")
    tables = {"gpu_intervals": work, "step_models": model(moved, flops), **steady(), **more_tables}
    return judge_tables(rule, limits, provenance=M1_MAX, **tables)


def test_the_saving_is_the_time_above_the_achievable(golden: Golden) -> None:
    # What gathers and scatters is left to its own rules.
    gathers = steps_of(DISTANCE, 40_000_000, labels=("paged_decode", "Gather"))
    golden(*steps_of(DISTANCE, 40_000_000), *gathers)
    work = intervals([(number * MS // 2, MS // 4) for number in range(20)])
    work = work.assign(label=["paged_decode", "Gather"] * 10)
    overlapping_work = pd.concat([work, work[1::2]], ignore_index=True)
    [twice] = steps_of(DISTANCE, 40_000_000, gpu_intervals=overlapping_work)
    assert twice.saving == gathers[0].saving
    assert steps_of(DISTANCE, 120_000_000, limits={"limit": 0.7})


def test_more_than_memory_delivers_is_an_error(golden: Golden) -> None:
    little = steps_of(RESIDENT, 6_000_000, busy_time=20_000)  # 300 GB/s
    golden(*steps_of(RESIDENT, 300_000_000), *little)


def test_other_steps_pass() -> None:
    for rule, moved, flops, busy_time in (
        (DISTANCE, 101_000_000, None, MS // 2),  # half of the bandwidth
        (DISTANCE, 10_000_000, 300_000_000, MS // 2),  # bound by arithmetic
        (RESIDENT, 205_000_000, None, MS // 2),  # within the error of the clock
        (RESIDENT, 6_000_000, None, 200_000),  # little and slow
        (RESIDENT, 67_000_000, None, 240_000),  # much and fast
    ):
        assert not steps_of(rule, moved, flops, busy_time)


SERVED = {"requests": pd.DataFrame({"time": [MS], "request": [1]})}
CUT = {"gpu_intervals": intervals([(0, MS // 2)])}
LOST = "does not show all of their work"


def test_unknown_limits_give_a_reason() -> None:
    for rule, moved, flops, more_tables, reason in (
        (DISTANCE, 210_000_000, None, {}, "cache-resident"),
        (DISTANCE, 10_000_000, 0, {}, "how many operations a step takes"),
        (DISTANCE, 40_000_000, None, SERVED, "some prefill prompts"),
        (DISTANCE, 100_000_000, None, CUT, LOST),
        (RESIDENT, 100_000_000, None, CUT, LOST),
    ):
        with pytest.raises(Unavailable, match=reason):
            steps_of(rule, moved, flops, **more_tables)
