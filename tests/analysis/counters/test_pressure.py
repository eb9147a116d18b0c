"""Which part of the GPU is nearest to its limit."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest

from analysed import intervals
from counter_runs import M1_MAX, M3_MAX, MS, given, samples
from tracekit.analysis.counters import bandwidth


def made(values: Mapping[str, float], gigabytes: Mapping[str, float] | None = None) -> Any:
    table = pd.concat([samples(values), samples(gigabytes or {}, percentage=False)])
    return given(M3_MAX, gpu_counters=table, gpu_intervals=intervals([(0, 20 * MS)]))


def test_each_part_is_reported_by_its_highest_counter() -> None:
    values = {"ALU Limiter": 49.0, "F32 Limiter": 92.0, "Last Level Cache Limiter": 57.0}
    values |= {"L1 Cache Limiter": 11.0, "MMU Limiter": 19.0, "Buffer L1 Miss Rate": 99.0}
    values |= {"Compute Shader Launch Limiter": 83.0, "Kernel Occupancy": 99.0}
    found = made(values)["loads"]
    parts = [part.counter for part in (found.arithmetic, found.memory, found.other)]
    assert parts == ["F32 Limiter", "Last Level Cache Limiter", "Compute Shader Launch Limiter"]
    assert found.both()[0].words == "F32 Limiter was 92.0 %"


def test_a_unit_stands_out_by_a_margin() -> None:
    found = made({"ALU Limiter": 70.0, "MMU Limiter": 79.0})["loads"]
    assert not found.dominated(0.10)
    assert found.dominated(0.05)


def test_bandwidth_is_a_share_of_what_the_chip_has() -> None:
    percent = made({"GPU Read Bandwidth": 60.0, "GPU Write Bandwidth": 8.0})["counter_means"]
    found = bandwidth(percent, {})
    assert found is not None
    assert found.words == "GPU Read Bandwidth + GPU Write Bandwidth was 68.0 %"
    counted = {"GPU Bandwidth": 300.0, "GPU Read Bandwidth": 296.0, "GPU Write Bandwidth": 4.0}
    table = made({"ALU Limiter": 1.0}, counted)["counter_means"]
    for machine, share in ((M3_MAX, pytest.approx(0.75)), ({}, None), ({"chip": "Apple M9"}, None)):
        found = bandwidth(table, machine)
        assert (found and found.share) == share
    most = bandwidth(made({}, {"GPU Bandwidth": 900.0})["counter_means"], M1_MAX)
    assert most is not None
    assert most.share == 1.0
