"""Which part of the GPU is nearest to its limit."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import pytest

from counter_runs import M1_MAX, M3_MAX, MS, given, samples
from tracekit.analysis.counters import Kind, Pressure, bandwidth, mean_of, pressure
from tracekit.analysis.inject import Unavailable

Make = Callable[..., pd.DataFrame]


@pytest.fixture
def means(intervals: Make) -> Make:
    def make(values: Mapping[str, float], gigabytes: Mapping[str, float] | None = None) -> Any:
        table = pd.concat([samples(values), samples(gigabytes or {}, percentage=False)])
        return given(gpu_counters=table, gpu_intervals=intervals([(0, 20 * MS)]))["counter_means"]

    return make


def machine(facts: Mapping[str, Any]) -> pd.DataFrame:
    return given(facts)["machine"]


def loads(found: Pressure) -> list[str | None]:
    parts = (found.arithmetic, found.memory, found.other)
    return [None if one is None else one.counter for one in parts]


def test_each_part_is_reported_by_its_highest_counter(means: Make) -> None:
    table = means(
        {
            "ALU Limiter": 49.0,
            "F32 Limiter": 92.0,
            "Last Level Cache Limiter": 57.0,
            "L1 Cache Limiter": 11.0,
            "MMU Limiter": 19.0,
            "Compute Shader Launch Limiter": 83.0,
            "Kernel Occupancy": 99.0,
            "Buffer L1 Miss Rate": 99.0,
        }
    )
    found = pressure(table, machine(M3_MAX))
    assert loads(found) == [
        "F32 Limiter",
        "Last Level Cache Limiter",
        "Compute Shader Launch Limiter",
    ]
    assert found.both()[0].words == "F32 Limiter was 92.0 %"


def test_a_unit_stands_out_by_a_margin(means: Make) -> None:
    found = pressure(means({"ALU Limiter": 70.0, "MMU Limiter": 79.0}), machine(M1_MAX))
    assert not found.dominated(0.10)
    assert found.dominated(0.05)


def test_without_a_part_both_are_not_known(means: Make) -> None:
    only = pressure(means({"ALU Utilization": 30.0}), machine(M1_MAX))
    assert loads(only) == ["ALU Utilization", None, None]
    with pytest.raises(Unavailable, match="of memory was recorded, only: ALU Utilization"):
        only.both()
    with pytest.raises(Unavailable, match="of arithmetic was recorded, only: LLC Limiter"):
        pressure(means({"LLC Limiter": 30.0}), machine(M1_MAX)).both()


def test_bandwidth_in_percent_is_reads_and_writes_together(means: Make) -> None:
    found = bandwidth(means({"GPU Read Bandwidth": 60.0, "GPU Write Bandwidth": 8.0}), machine({}))
    assert found is not None
    assert found.share == pytest.approx(0.68)
    assert found.words == "GPU Read Bandwidth + GPU Write Bandwidth was 68.0 %"


def test_bandwidth_in_gigabytes_needs_the_chip(means: Make) -> None:
    counted = {"GPU Bandwidth": 300.0, "GPU Read Bandwidth": 296.0, "GPU Write Bandwidth": 4.0}
    table = means({"ALU Limiter": 1.0}, counted)
    found = bandwidth(table, machine(M3_MAX))
    assert found is not None
    assert (found.counter, found.share) == ("GPU Bandwidth", pytest.approx(0.75))
    assert bandwidth(table, machine({})) is None
    assert bandwidth(table, machine({"chip": "Apple M9"})) is None


def test_more_than_all_of_it_is_all_of_it(means: Make) -> None:
    found = bandwidth(means({}, {"GPU Bandwidth": 900.0}), machine(M1_MAX))
    assert found is not None
    assert found.share == 1.0


def test_a_mean_is_found_by_its_unit_whatever_the_chip_calls_it(means: Make) -> None:
    for name in ("Kernel Occupancy", "Compute Occupancy"):
        row = mean_of(means({name: 26.0}), Kind.OCCUPANCY, "compute")
        assert (row["counter"], row["share"]) == (name, pytest.approx(0.26))
    with pytest.raises(Unavailable, match="no occupancy of compute was recorded, only: MMU"):
        mean_of(means({"MMU Limiter": 1.0}), Kind.OCCUPANCY, "compute")
    with pytest.raises(Unavailable, match="no bandwidth of read in a stated unit was recorded"):
        mean_of(means({"MMU Limiter": 1.0}), Kind.BANDWIDTH, "read")
