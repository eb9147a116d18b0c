"""`low-occupancy`: by counter name, and only where counters can be trusted."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import pytest

from counter_runs import M3_MAX, MS, findings, given, samples
from tracekit.analysis.inject import Unavailable

Make = Callable[..., pd.DataFrame]
RULE = "low-occupancy"


@pytest.fixture
def known(intervals: Make) -> Callable[..., Any]:
    def make(values: Mapping[str, float], **others: pd.DataFrame) -> Any:
        work = intervals([(0, 20 * MS)])
        return given(M3_MAX, gpu_counters=samples(values), gpu_intervals=work, **others)

    return make


@pytest.mark.parametrize("name", ["Kernel Occupancy", "Compute Occupancy"])
def test_low_samples_are_found_whatever_the_chip_calls_them(name: str, known: Make) -> None:
    [finding] = findings(RULE, known({name: 17.5, "ALU Limiter": 90.0}))
    assert finding.message.startswith(f"{name} was 17.5 % on average over 20 samples")
    assert finding.evidence[0].table == "gpu_counters"
    assert finding.evidence[0].note == f"{name} 17.5 %"
    assert finding.saving is None


def test_enough_occupancy_passes(known: Make) -> None:
    assert not findings(RULE, known({"Kernel Occupancy": 31.0}))


@pytest.mark.parametrize("useful", ["F32 Utilization", "Last Level Cache Utilization"])
def test_few_threads_that_keep_a_unit_at_work_are_enough(useful: str, known: Make) -> None:
    assert not findings(RULE, known({"Kernel Occupancy": 26.3, useful: 80.2}))
    [finding] = findings(RULE, known({"Kernel Occupancy": 26.3, useful: 43.0}))
    assert f"nothing made up for it: {useful} was 43.0 %" in finding.message


def test_bandwidth_near_the_chips_is_useful_too(intervals: Make) -> None:
    low = samples({"Kernel Occupancy": 20.0})
    counted = samples({"GPU Bandwidth": 310.0}, percentage=False)
    tables = {"gpu_counters": pd.concat([low, counted]), "gpu_intervals": intervals([(0, 20 * MS)])}
    assert not findings(RULE, given(M3_MAX, **tables))
    assert findings(RULE, given({}, **tables))


def test_a_limiter_counts_stalls_so_it_is_no_excuse(known: Make) -> None:
    assert findings(RULE, known({"Kernel Occupancy": 20.0, "ALU Limiter": 95.0}))


def test_kernels_are_distinguished_where_the_trace_names_them(intervals: Make) -> None:
    work = intervals([(number * MS, MS) for number in range(40)])
    work["label"] = pd.array(["paged_decode", "Gather"] * 20, dtype="string")
    low = samples({"Kernel Occupancy": 10.0}, every=2 * MS)
    high = samples({"Kernel Occupancy": 40.0}, every=2 * MS, start=MS)
    both = pd.concat([low, high], ignore_index=True)
    [finding] = findings(RULE, given(gpu_counters=both, gpu_intervals=work))
    assert finding.message.endswith("By kernel: “paged_decode” 10.0 %, “Gather” 40.0 %.")
    work["label"] = pd.array([f"Compute Command {n}" for n in range(40)], dtype="string")
    [finding] = findings(RULE, given(gpu_counters=both, gpu_intervals=work))
    assert "By kernel" not in finding.message


def test_work_that_overlaps_names_no_kernel(intervals: Make) -> None:
    work = intervals([(0, 40 * MS), *((number * MS, MS) for number in range(1, 40))])
    low = samples({"Kernel Occupancy": 10.0}, start=MS)
    [finding] = findings(RULE, given(gpu_counters=low, gpu_intervals=work))
    assert "By kernel" not in finding.message


def test_without_the_counter_it_abstains_and_says_how_to_get_it(known: Make) -> None:
    with pytest.raises(Unavailable, match="only: ALU Limiter") as raised:
        findings(RULE, known({"ALU Limiter": 1.0}))
    assert "--counters on" in str(raised.value)


def test_an_occupancy_that_is_no_percentage_is_not_judged(intervals: Make) -> None:
    table = samples({"Kernel Occupancy": 12.0}, percentage=False)
    with pytest.raises(Unavailable, match="does not count Kernel Occupancy in percent"):
        findings(RULE, given(gpu_counters=table, gpu_intervals=intervals([(0, 20 * MS)])))


def test_it_abstains_when_others_used_the_gpu(intervals: Make) -> None:
    shared = intervals([(0, 20 * MS)], others=[(0, 20 * MS)])
    with pytest.raises(Unavailable, match="device-wide"):
        findings(RULE, given(gpu_counters=samples({"Kernel Occupancy": 1.0}), gpu_intervals=shared))


def test_it_abstains_on_a_cpu(intervals: Make) -> None:
    with pytest.raises(Unavailable, match="ran on the CPU"):
        findings(RULE, given(gpu_intervals=intervals([(0, MS)], clock="host")))
