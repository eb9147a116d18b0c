"""`memory-bound`, `compute-bound`, `other-limiter`, `low-occupancy`: what counters say is busy."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import pandas as pd
import pytest

from analysed import intervals
from counter_runs import M1_MAX, M3_MAX, MS, findings, given, model, samples, steady
from tracekit.analysis.counters import OTHERS
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Severity
from tracekit.analysis.rules.other_limiter import CANDIDATES

BOUNDS = ("memory-bound", "compute-bound", "other-limiter")
BY_MEMORY = {"LLC Limiter": 85.0, "ALU Utilization": 20.0}
BY_ARITHMETIC = {"F32 Limiter": 92.0, "ALU Limiter": 49.0, "LLC Limiter": 30.0}


def known(
    values: Mapping[str, float],
    gigabytes: Mapping[str, float] | None = None,
    machine: Mapping[str, Any] = M1_MAX,
    **others: pd.DataFrame,
) -> Any:
    table = pd.concat([samples(values), samples(gigabytes or {}, percentage=False)])
    work = intervals([(0, 20 * MS)])
    return given(machine, gpu_counters=table, gpu_intervals=work, **others)


@pytest.mark.parametrize(
    ("rule", "values", "words", "advice"),
    [
        ("memory-bound", {"LLC Limiter": 70.0}, "LLC Limiter was 70.0 % while ALU", "BLOCK_SIZE"),
        ("memory-bound", {"L1 Cache Limiter": 85.0}, "L1 Cache Limiter was 85.0 %", "half4"),
        (
            "memory-bound",
            {"GPU Read Bandwidth": 80.0, "GPU Write Bandwidth": 5.0},
            "was 85.0 % while ALU Limiter was 20.0 %",
            "BLOCK_SIZE",
        ),
        ("memory-bound", {"LLC Limiter": 85.0, "MMU Limiter": 94.0}, "LLC Limiter", "BLOCK_SIZE"),
        (
            "compute-bound",
            BY_ARITHMETIC,
            "F32 Limiter was 92.0 % while LLC Limiter was 30.0 %",
            "reductions across a simdgroup",
        ),
        ("compute-bound", {"F32 Limiter": 70.0, "LLC Limiter": 49.0}, "F32 Limiter", "half4"),
    ],
)
def test_the_highest_counter_is_named(
    rule: str, values: dict[str, float], words: str, advice: str
) -> None:
    [finding] = findings(rule, known({"ALU Limiter": 20.0, **values}))
    assert finding.severity is Severity.WARNING
    assert words in finding.message
    assert advice in finding.advice
    assert len(finding.evidence) == 8
    assert finding.saving is None


@pytest.mark.parametrize(
    ("rule", "values"),
    [
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
    ],
)
def test_what_has_time_or_is_bound_elsewhere_passes(rule: str, values: dict[str, float]) -> None:
    assert not findings(rule, known(values))


@pytest.mark.parametrize(
    ("rule", "values", "steps", "severity", "words"),
    [
        # 280 MB in each step of 1 ms are 70 % of 400 GB/s.
        ("memory-bound", BY_MEMORY, model(280_000_000), "note", "reached 70.0 % of the 400 GB/s"),
        ("memory-bound", BY_MEMORY, model(100_000_000), "warning", "reached 25.0 %"),
        # 200 operations a byte, an M1 Max has 26.5
        ("compute-bound", BY_ARITHMETIC, model(10**7, 2 * 10**9), "note", "make arithmetic the"),
        ("compute-bound", BY_ARITHMETIC, model(10**7), "warning", "which would make memory the"),
        ("compute-bound", BY_ARITHMETIC, model(10**7, 0), "warning", "arithmetic bounds the work."),
    ],
)
def test_what_the_workload_itself_needs_tells_good_news_from_bad(
    rule: str, values: dict[str, float], steps: pd.DataFrame, severity: str, words: str
) -> None:
    [finding] = findings(rule, known(values, step_models=steps, **steady(count=20)))
    assert finding.severity == severity
    assert words in finding.message
    assert ("only fewer bytes" in finding.advice) == (severity == "note" and rule[0] == "m")


@pytest.mark.parametrize(
    ("name", "candidate"),
    [
        ("TG/IB Load Limiter", "threadgroup memory"),
        ("Buffer Read Limiter", "fewer and wider accesses"),
        ("MMU Limiter", "pages of a sequence next to each other"),
        ("Control Flow Limiter", "fewer branches"),
        ("Instruction Throughput Limiter", "fewer instructions"),
        ("Compute Shader Launch Limiter", "more work for each thread"),
        ("Texture Write Limiter", "who uses textures"),
        ("Fragment Interp Limiter", "who draws"),
    ],
)
def test_each_other_unit_has_its_candidates(name: str, candidate: str) -> None:
    beside = {"ALU Limiter": 40.0, "LLC Limiter": 30.0}
    [finding] = findings("other-limiter", known({name: 88.0, **beside}))
    assert finding.message == (
        f"{name} was 88.0 %, more than arithmetic and memory "
        "(ALU Limiter was 40.0 %, LLC Limiter was 30.0 %)."
    )
    assert candidate in finding.advice
    assert finding.evidence[0].note == f"{name} 88.0 %"
    assert set(CANDIDATES) == set(OTHERS)


@pytest.mark.parametrize("name", ["Kernel Occupancy", "Compute Occupancy"])
def test_low_occupancy_is_found_whatever_the_chip_calls_it(name: str) -> None:
    values = {name: 17.5, "ALU Limiter": 90.0, "F32 Utilization": 43.0}
    [finding] = findings("low-occupancy", known(values))
    assert finding.message.startswith(f"{name} was 17.5 % on average over 20 samples")
    assert "nothing made up for it: F32 Utilization was 43.0 %" in finding.message
    assert finding.evidence[0].note == f"{name} 17.5 %"
    near = {"GPU Bandwidth": 310.0}
    assert not findings("low-occupancy", known({name: 20.0}, near, M3_MAX))
    assert findings("low-occupancy", known({name: 20.0}, near, {}))


def test_kernels_are_distinguished_where_the_trace_names_them() -> None:
    work = intervals([(number * MS, MS) for number in range(40)])
    low = samples({"Kernel Occupancy": 10.0}, every=2 * MS)
    high = samples({"Kernel Occupancy": 40.0}, every=2 * MS, start=MS)
    both = pd.concat([low, high], ignore_index=True)
    for labels, said in (
        (["paged_decode", "Gather"] * 20, "By kernel: “paged_decode” 10.0 %, “Gather” 40.0 %."),
        ([f"Compute Command {n}" for n in range(40)], "samples in the target's work."),
    ):
        known = given(gpu_counters=both, gpu_intervals=work.assign(label=labels))
        [finding] = findings("low-occupancy", known)
        assert finding.message.endswith(said)


@pytest.mark.parametrize(
    ("rule", "values", "reason"),
    [
        (
            "memory-bound",
            {"ALU Utilization": 20.0},
            "of memory was recorded, only: ALU Utilization",
        ),
        ("memory-bound", {"LLC Limiter": 85.0}, "of arithmetic was recorded.*--counters on"),
        ("compute-bound", {"F32 Limiter": 92.0}, "of memory was recorded, only: F32 Limiter"),
        ("other-limiter", {"ALU Limiter": 40.0}, "no limiter beside arithmetic and memory"),
        ("low-occupancy", {"ALU Limiter": 40.0}, "no occupancy of compute was recorded"),
    ],
)
def test_without_its_counters_a_rule_abstains(
    rule: str, values: dict[str, float], reason: str
) -> None:
    with pytest.raises(Unavailable, match=reason):
        findings(rule, known(values))


def test_at_most_one_thing_bounds_a_run() -> None:
    counts = dict.fromkeys(BOUNDS, 0)
    for arithmetic, memory, other in product((30.0, 55.0, 75.0, 95.0), repeat=3):
        values = {"ALU Limiter": arithmetic, "LLC Limiter": memory, "MMU Limiter": other}
        made = known(values)
        fired = [rule for rule in BOUNDS if findings(rule, made)]
        assert len(fired) <= 1, values
        for rule in fired:
            counts[rule] += 1
            assert dict(zip(BOUNDS, (memory, arithmetic, other), strict=True))[rule] >= 70
    assert all(counts.values())
