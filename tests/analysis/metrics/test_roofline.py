"""What the chip allows a step, what was reached of it, and what its counters say."""

from typing import Any

import pandas as pd
import pytest

from analysed import (
    M1_MAX,
    M3_MAX,
    MS,
    UNKNOWN,
    given,
    intervals,
    measure_tables,
    model,
    samples,
    steady,
    table,
)
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.metrics import METRICS
from tracekit.base.recording import Provenance

# 16 sequences of 1024 tokens, 16 q and 8 kv heads of 128 halves.
PAGED = {"bytes_unique": 67_174_464, "bytes_written": 65_536, "flops": 134_217_728}
STEPS = table(
    "start duration phase",
    (0, 9_000, "warm-up"),
    (10_000, 200, "steady"),
    (11_000, 210, "steady"),
    (12_000, 220, "steady"),
    unit=1_000,
)


def value(name: str, machine: Provenance = M1_MAX, **changes: Any) -> Any:
    """Return a metric of literal steps, or the reason why there is none."""
    row = {"backend": "metal", **PAGED}
    row |= {key: changes.pop(key) for key in list(changes) if key in row}
    tables = {"steps": STEPS, "step_models": pd.DataFrame([row]), **changes}
    try:
        return measure_tables(name, provenance=machine, **tables)
    except Unavailable as reason:
        return str(reason)


def machine(**facts: Any) -> Provenance:
    return Provenance(machine={**M3_MAX.machine, **facts})


def test_a_step_takes_its_bytes_or_its_operations() -> None:
    assert value("step_intensity") == pytest.approx(134_217_728 / 67_240_000)
    assert value("step_bound") == pytest.approx(168_100)
    assert value("step_bound", flops=10_620_000_000_000) == pytest.approx(1e9)
    assert value("step_bound", M3_MAX, flops=10**15) == pytest.approx(168_100)  # no known rate
    assert value("step_bound", flops=0) == pytest.approx(168_100)
    assert "how many operations a step takes" in value("step_intensity", flops=0)


def test_the_share_is_that_of_the_median_step_or_of_the_time_the_gpu_ran() -> None:
    assert value("bandwidth_share") == pytest.approx(168_100 / 210_000)
    work_rows = [(5 * MS, 900_000), *((time * MS, 180_000) for time in (10, 11, 12))]
    share = value("bandwidth_share_busy", gpu_intervals=intervals(work_rows))
    assert share == pytest.approx(168_100 / 180_000)
    resident = "cache-resident: 1,345 GB/s is more than the 400 GB/s"
    assert resident in value("bandwidth_share", steps=STEPS.assign(duration=50_000))


@pytest.mark.parametrize("name", ["step_bound", "bandwidth_share"])
def test_unknown_values_give_a_reason(name: str) -> None:
    for provenance, changes, reason in (
        (UNKNOWN, {}, "does not say which chip it was made on"),
        (machine(gpu_cores=None), {}, "how many this one has is not known"),
        (machine(chip="Apple M5 Ultra", gpu_cores=80), {}, "contradict each other"),
        (M1_MAX, {"backend": "cpu"}, "no bandwidth of a CPU is published"),
        (M1_MAX, {"step_models": model(1).iloc[:0]}, "does not describe its steps"),
        (M1_MAX, {"step_models": pd.concat([model(1), model(2)])}, "several variants"),
        (M1_MAX, {"bytes_unique": 0, "bytes_written": 0}, "how many bytes a step moves"),
    ):
        assert reason in value(name, provenance, **changes)
        work = intervals([(number * MS, MS) for number in range(10, 13)])
        assert reason in value("bandwidth_share_busy", provenance, **changes, gpu_intervals=work)


def test_time_of_other_work_is_not_time_of_the_steps() -> None:
    for clock, reason in (("gpu", "have no interval of the target"), ("host", "ran on the CPU")):
        work = intervals([(0, MS)], clock=clock)
        assert reason in value("bandwidth_share_busy", gpu_intervals=work)
    assert "no step in its steady phase" in value("bandwidth_share", steps=STEPS[:1])


def test_the_roof_is_of_all_steady_steps() -> None:
    work = intervals([(number * MS, MS // 2) for number in range(10)])
    tables = {"gpu_intervals": work, "step_models": model(100_000_000), **steady()}
    roof = given(M1_MAX, **tables)["steady_roof"]
    assert (roof.moved, roof.per_step, roof.busy_time) == (1_000_000_000, 100_000_000, 5 * MS)
    assert roof.reached.share == pytest.approx(0.5)
    assert roof.least_time == pytest.approx(1e9 / (0.8 * 400e9) * 1e9)
    twenty = intervals([(number * MS, MS // 2) for number in range(19)])
    assert given(M1_MAX, **{**tables, **steady(count=20), "gpu_intervals": twenty})["steady_roof"]
    short_tables = {**tables, "gpu_intervals": work[:9]}
    with pytest.raises(Unavailable, match=r"10\.0 % of the steady steps have no interval"):
        given(M1_MAX, **short_tables)["steady_roof"]
    with pytest.raises(Unavailable, match="no marks of a workload"):
        given(M1_MAX, gpu_intervals=work)["steady_roof"]


M3 = machine(chip="Apple M3", gpu_cores=10)


def test_memory_bounds_by_operations_a_byte() -> None:
    for flops, provenance, by_memory in (
        (26_000_000, M1_MAX, True),  # the ridge of an M1 Max is 26.5
        (27_000_000, M1_MAX, False),
        (0, M1_MAX, None),
        (19_000_000, M3, True),  # its rate nobody states
        (21_000_000, M3, False),
    ):
        tables = {"gpu_intervals": intervals([(0, 10 * MS)]), **steady()}
        roof = given(provenance, step_models=model(1_000_000, flops), **tables)["steady_roof"]
        assert roof.by_memory is by_memory, flops


PERCENT = samples(
    {
        "Compute Occupancy": 26.3,
        "ALU Utilization": 43.0,
        "ALU Limiter": 49.2,
        "MMU Limiter": 60.0,
        "GPU Read Bandwidth": 71.0,
        "GPU Write Bandwidth": 3.0,
    }
)
GIGABYTES = samples({"GPU Read Bandwidth": 305.8}, percentage=False)


def test_a_counter_is_measured_in_the_unit_in_which_the_chip_counts() -> None:
    for name, counters, expected in (
        ("compute_occupancy", PERCENT, 0.263),
        ("alu_utilization", PERCENT, 0.43),
        ("top_limiter", PERCENT, 0.60),
        ("gpu_read_bandwidth_share", PERCENT, 0.71),
        ("gpu_write_bandwidth_share", PERCENT, 0.03),
        ("gpu_read_bandwidth", GIGABYTES, 305.8),
        ("gpu_read_bandwidth_share", GIGABYTES, 0.7645),  # of the 400 GB/s of an M1 Max
        ("gpu_write_bandwidth", PERCENT, "in percent"),
    ):
        work = intervals([(0, 20 * MS)])
        measured_value = value(name, steps=None, gpu_counters=counters, gpu_intervals=work)
        if isinstance(expected, str):
            assert expected in measured_value
        else:
            assert measured_value == pytest.approx(expected)
        assert METRICS[name].unit == ("GB/s" if name.endswith("bandwidth") else "ratio"), expected


def test_a_share_of_the_bandwidth_needs_the_chip() -> None:
    work = {"steps": None, "gpu_intervals": intervals([(0, 20 * MS)]), "gpu_counters": GIGABYTES}
    assert value("gpu_read_bandwidth_share", M3_MAX, **work) == pytest.approx(305.8 / 400)
    assert "does not say which chip" in value("gpu_read_bandwidth_share", UNKNOWN, **work)
    uncounted = machine(gpu_cores=None)
    assert value("gpu_read_bandwidth_share", uncounted, **work).startswith(
        "it is counted in GB/s, and the Apple M3 Max has 300 GB/s with 30 GPU cores and 400 GB/s"
    )
