"""What counters say together: one verdict for a run, and none where a run is balanced."""

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest

from counter_runs import M3_MAX, MS, findings, given, model, samples, steady
from tracekit.analysis.analyze import analyze
from tracekit.analysis.given import Given, recorded_tables
from tracekit.analysis.result import Result, Status
from tracekit.analysis.rules import RULES
from tracekit.base.recording import Process, Provenance

Make = Callable[..., pd.DataFrame]
BOUNDS = ("memory-bound", "compute-bound", "other-limiter")
ALL = (*BOUNDS, "low-occupancy")
LEVELS = (30.0, 55.0, 75.0, 95.0)

# Means that one program on a chip with the larger set had.
REAL = {
    "Kernel Occupancy": 26.3,
    "Total Occupancy": 26.3,
    "Occupancy Manager Target": 30.2,
    "L1 Eviction Rate": 0.3,
    "Compute Shader Launch Limiter": 82.9,
    "ALU Limiter": 49.2,
    "ALU Utilization": 43.0,
    "F32 Limiter": 91.9,
    "F32 Utilization": 80.2,
    "Instruction Throughput Limiter": 99.8,
    "Instruction Throughput Utilization": 22.3,
    "L1 Cache Limiter": 10.5,
    "Buffer L1 Miss Rate": 53.3,
    "MMU Limiter": 19.3,
    "Last Level Cache Limiter": 57.2,
    "RT Unit Active": 0.0,
}
GIGABYTES = {
    "GPU Bandwidth": 309.8,
    "GPU Read Bandwidth": 305.8,
    "GPU Write Bandwidth": 4.0,
    "Compute SIMD Groups Inflight": 25.3,
}


@pytest.fixture
def known(intervals: Make) -> Callable[..., Given]:
    def make(values: Mapping[str, float], gigabytes: Mapping[str, float] | None = None) -> Given:
        table = pd.concat([samples(values), samples(gigabytes or {}, percentage=False)])
        return given(M3_MAX, gpu_counters=table, gpu_intervals=intervals([(0, 20 * MS)]))

    return make


def found_by(known: Given, rules: tuple[str, ...] = BOUNDS) -> list[str]:
    return [rule for rule in rules if findings(rule, known)]


def test_a_run_that_uses_memory_and_arithmetic_alike_has_no_verdict(known: Make) -> None:
    assert found_by(known(REAL, GIGABYTES), ALL) == []


def test_without_its_bandwidth_the_same_run_leans_on_the_cache(known: Make) -> None:
    leaner = REAL | {"Last Level Cache Limiter": 40.0}
    assert found_by(known(leaner), ALL) == ["compute-bound"]


def test_at_most_one_thing_bounds_a_run(known: Make) -> None:
    counts = dict.fromkeys(BOUNDS, 0)
    for arithmetic, memory, other in product(LEVELS, repeat=3):
        values = {"ALU Limiter": arithmetic, "LLC Limiter": memory, "MMU Limiter": other}
        fired = found_by(known(values))
        assert len(fired) <= 1, values
        for one in fired:
            counts[one] += 1
            own = dict(zip(BOUNDS, (memory, arithmetic, other), strict=True))
            assert own[one] >= 70
    assert all(counts.values())


@pytest.mark.parametrize("rule", ALL)
def test_more_of_what_is_no_load_changes_no_verdict(rule: str, known: Make) -> None:
    values = {
        "Kernel Occupancy": 55.0,
        "ALU Limiter": 40.0,
        "LLC Limiter": 60.0,
        "MMU Limiter": 5.0,
    }
    odd = dict.fromkeys(("Top Performance Limiter", "RT Unit Active", "Partial Renders"), 100.0)
    rates = {"Buffer L1 Miss Rate": 100.0, "L1 Eviction Rate": 100.0, "Total Occupancy": 100.0}
    assert not findings(rule, known(values | odd | rates))


def analyzed(intervals: pd.DataFrame, counters: pd.DataFrame, moved: int) -> Result:
    tables = {
        "gpu_intervals": intervals,
        "gpu_counters": counters,
        "step_models": model(moved),
        **steady(count=20),
    }
    tables["steps"]["index"] = pd.array(range(20), dtype="Int64")
    tables["gpu_intervals"]["command_buffer"] = pd.array(range(len(intervals)), dtype="UInt64")
    machine = Provenance(machine=M3_MAX, targets=(Process(4711, "python3"),))
    return analyze(tables, machine)


@pytest.mark.parametrize(
    ("values", "moved", "ran", "expected"),
    [
        pytest.param(
            {"Kernel Occupancy": 12.0, "ALU Utilization": 20.0, "LLC Limiter": 88.0},
            50_000_000,
            MS,
            {"low-occupancy", "memory-bound", "roofline-distance"},
            id="few-threads-and-slow-memory",
        ),
        pytest.param(
            {"Kernel Occupancy": 60.0, "ALU Utilization": 88.0, "LLC Limiter": 20.0},
            320_000_000,
            MS // 2,
            {"compute-bound", "cache-resident"},
            id="a-cache-and-waiting",
        ),
    ],
)
def test_a_result_with_such_findings_can_be_written(
    values: dict[str, float], moved: int, ran: int, expected: set[str], intervals: Make
) -> None:
    work = intervals([(number * MS, ran) for number in range(20)])
    result = analyzed(work, samples(values), moved)
    ours = {*ALL, "roofline-distance", "cache-resident"}
    assert {one.rule for one in result.findings} & ours == expected
    again: Any = msgspec.json.decode(msgspec.json.encode(result), type=Result)
    assert again.findings == result.findings
    numbers = [one.value for one in result.metrics] + [one.saving for one in result.findings]
    assert not [one for one in numbers if isinstance(one, np.generic)]


def test_without_counters_only_the_rules_on_counters_are_silent(intervals: Make) -> None:
    work = intervals([(number * MS, MS) for number in range(20)])
    result = analyzed(work, samples({}), 50_000_000)
    status = {one.rule: one.status for one in result.checks}
    assert {status[rule] for rule in ALL} == {Status.ABSTAINED}
    assert status["roofline-distance"] is Status.FOUND
    assert status["cache-resident"] is Status.PASSED


@pytest.mark.parametrize("rule", ALL)
def test_what_the_rules_need_is_exported(rule: str) -> None:
    assert {"gpu_counters", "gpu_intervals", "phases"} <= recorded_tables(RULES[rule].judge)
