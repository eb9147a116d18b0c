import math

import pytest

from tracekit.machine.chips import Confidence, chip
from tracekit.machine.roofline import Limit, Reached, bound, intensity, reached, ridge_of


@pytest.mark.parametrize(
    ("flops", "moved", "bandwidth", "rate", "expected"),
    [
        # 16 sequences of 1024 tokens, 8 kv heads of 128 halves: 67.24 MB, 0.134 GFLOP
        (0.134e9, 67.24e6, 400e9, 2.62e12, (168.1e-6, Limit.MEMORY, False)),
        (4e12, 1e9, 400e9, 10e12, (0.4, Limit.ARITHMETIC, False)),
        (4e12, 1e9, 400e9, None, (1 / 400, Limit.MEMORY, True)),
        (4e12, 1e9, None, 10e12, (0.4, Limit.ARITHMETIC, True)),
    ],
)
def test_the_higher_roof_is_the_bound(
    flops: float,
    moved: float,
    bandwidth: float | None,
    rate: float | None,
    expected: tuple[float, Limit, bool],
) -> None:
    found = bound(flops, moved, bandwidth=bandwidth, rate=rate)
    assert (found.seconds, found.limit, found.partial) == (
        pytest.approx(expected[0]),
        *expected[1:],
    )


@pytest.mark.parametrize(
    ("name", "cores", "expected", "confidence"),
    [
        ("Apple M1", 8, 2.62e12 / 68.25e9, Confidence.INDEPENDENT),
        ("Apple M4", 10, 3.8e12 / 120e9, Confidence.LOW),
    ],
)
def test_the_ridge_of_a_chip_is_as_sure_as_its_clock(
    name: str, cores: int, expected: float, confidence: Confidence
) -> None:
    found = ridge_of(chip(name, cores))
    assert found.value is not None
    assert math.isclose(found.value, expected)
    assert found.confidence is confidence


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


@pytest.mark.parametrize(
    ("moved", "seconds", "bandwidth", "expected"),
    [
        (320e9, 1, 400e9, Reached(320e9, 0.8)),
        (400e9, 1, 400e9, Reached(400e9, 1.0)),
        (400.1e9, 1, 400e9, Reached(400.1e9, None, cached=True)),
        (100, 2, None, Reached(50, None)),
    ],
)
def test_more_than_memory_can_deliver_is_no_share_but_came_from_caches(
    moved: float, seconds: float, bandwidth: float | None, expected: Reached
) -> None:
    assert reached(moved, seconds, bandwidth=bandwidth) == expected
    assert intensity(2 * moved, moved) == 2.0
