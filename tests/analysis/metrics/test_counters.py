"""Counters as metrics: each where the chip counts it, in the unit in which it does."""

import pytest

from analysed import intervals
from counter_runs import MS, given, measured, samples

M1 = {
    "Compute Occupancy": 26.3,
    "ALU Utilization": 43.0,
    "ALU Limiter": 49.2,
    "MMU Limiter": 60.0,
    "GPU Read Bandwidth": 71.0,
    "GPU Write Bandwidth": 3.0,
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("compute_occupancy", 0.263),
        ("alu_utilization", 0.43),
        ("top_limiter", 0.60),
        ("gpu_read_bandwidth_share", 0.71),
        ("gpu_write_bandwidth_share", 0.03),
    ],
)
def test_percentages_are_shares(name: str, value: float) -> None:
    known = given(gpu_counters=samples(M1), gpu_intervals=intervals([(0, 20 * MS)]))
    found = measured(name, known)
    assert found.value == pytest.approx(value)
    assert found.unit == "ratio"


def test_bandwidth_is_reported_in_the_unit_in_which_the_chip_counts() -> None:
    work = intervals([(0, 20 * MS)])
    m3 = samples({"GPU Read Bandwidth": 305.8}, percentage=False)
    known = given(gpu_counters=m3, gpu_intervals=work)
    assert measured("gpu_read_bandwidth", known).value == pytest.approx(305.8)
    assert "does not count GPU Read" in measured("gpu_read_bandwidth_share", known).reason
    known = given(gpu_counters=samples(M1), gpu_intervals=work)
    assert "in percent" in measured("gpu_write_bandwidth", known).reason
