import math

import pytest

from tracekit.machine.chips import Confidence, chip
from tracekit.machine.roofline import Limit, Reached, bound, intensity, reached, ridge_of


def test_intensity_is_operations_for_each_byte() -> None:
    assert intensity(134_217_728, 67_108_864) == 2.0


@pytest.mark.parametrize(("gigabytes", "microseconds"), [(68.25, 985), (400, 168), (546, 123)])
def test_the_bound_of_a_known_shape_is_that_of_the_model(
    gigabytes: float, microseconds: float
) -> None:
    """16 sequences of 1024 tokens, 8 kv heads of 128 halves: 67.24 MB, 0.134 GFLOP."""
    found = bound(0.134e9, 67.24e6, bandwidth=gigabytes * 1e9, rate=2.62e12)
    assert math.isclose(found.seconds * 1e6, microseconds, rel_tol=5e-3)
    assert found.limit is Limit.MEMORY
    assert not found.partial


def test_dense_arithmetic_is_bound_by_arithmetic() -> None:
    found = bound(4e12, 1e9, bandwidth=400e9, rate=10e12)
    assert found.limit is Limit.ARITHMETIC
    assert math.isclose(found.seconds, 0.4)


def test_with_one_roof_the_bound_is_partial() -> None:
    memory = bound(4e12, 1e9, bandwidth=400e9)
    assert (memory.seconds, memory.limit, memory.partial) == (1 / 400, Limit.MEMORY, True)
    arithmetic = bound(4e12, 1e9, bandwidth=None, rate=10e12)
    assert (arithmetic.limit, arithmetic.partial) == (Limit.ARITHMETIC, True)


@pytest.mark.parametrize(
    ("name", "cores", "expected"), [("Apple M1", 8, 38), ("Apple M1 Max", 32, 26)]
)
def test_the_ridge_of_known_chips(name: str, cores: int, expected: int) -> None:
    ridge = ridge_of(chip(name, cores)).value
    assert ridge is not None
    assert math.floor(ridge) == expected


def test_the_ridge_of_a_chip_is_as_sure_as_its_clock() -> None:
    found = ridge_of(chip("Apple M4", 10))
    assert found.value is not None
    assert math.isclose(found.value, 3.8e12 / 120e9)
    assert found.confidence is Confidence.LOW


@pytest.mark.parametrize(
    ("name", "cores", "reason"),
    [
        ("Apple M4 Max", None, "how many this one has is not known"),
        ("Apple M4 Pro", 20, "no source states the clock"),
    ],
)
def test_a_chip_without_one_of_its_roofs_has_no_ridge(
    name: str, cores: int | None, reason: str
) -> None:
    found = ridge_of(chip(name, cores))
    assert found.value is None
    assert reason in found.reason


def test_a_share_of_the_bandwidth_is_reached() -> None:
    found = reached(67.24e6, 210e-6, bandwidth=400e9)
    assert math.isclose(found.bandwidth, 320.19e9, rel_tol=1e-4)
    assert found.share is not None
    assert math.isclose(found.share, 0.8005, rel_tol=1e-3)
    assert not found.cached


def test_more_than_memory_can_deliver_is_no_share_but_came_from_caches() -> None:
    found = reached(67.24e6, 50e-6, bandwidth=400e9)
    assert found.bandwidth > 400e9
    assert found.share is None
    assert found.cached


def test_without_a_roof_there_is_no_share() -> None:
    assert reached(100, 2, bandwidth=None) == Reached(50, None)


def test_all_that_memory_can_deliver_is_still_a_share() -> None:
    assert reached(400e9, 1, bandwidth=400e9).share == 1.0
