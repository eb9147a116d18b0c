import pytest

from tracekit.machine.chips import Confidence, chip
from tracekit.machine.roofline import Bound, Limit, Reached, bound, intensity, reached, ridge_of


@pytest.mark.parametrize(
    ("flops", "moved", "bandwidth", "rate", "expected"),
    [
        # 16 sequences of 1024 tokens, 8 kv heads of 128 halves: 67.24 MB, 0.134 GFLOP
        (0.134e9, 67.24e6, 400e9, 2.62e12, Bound(168.1e-6, Limit.MEMORY)),
        (4e12, 1e9, 400e9, 10e12, Bound(0.4, Limit.ARITHMETIC)),
        (4e12, 1e9, 400e9, None, Bound(1 / 400, Limit.MEMORY, partial=True)),
        (4e12, 1e9, None, 10e12, Bound(0.4, Limit.ARITHMETIC, partial=True)),
    ],
)
def test_the_higher_roof_is_the_bound(
    flops: float, moved: float, bandwidth: float | None, rate: float | None, expected: Bound
) -> None:
    found = bound(flops, moved, bandwidth=bandwidth, rate=rate)
    assert found.seconds == pytest.approx(expected.seconds)
    assert (found.limit, found.partial) == (expected.limit, expected.partial)


@pytest.mark.parametrize(
    ("name", "cores", "expected", "confidence"),
    [
        ("Apple M1", 8, 2.62e12 / 68.25e9, Confidence.INDEPENDENT),
        ("Apple M4", 10, 3.8e12 / 120e9, Confidence.LOW),  # as sure as its clock
        ("Apple M4 Max", None, "how many this one has is not known", None),
        ("Apple M4 Pro", 20, "no source states the clock", None),
    ],
)
def test_the_ridge_of_a_chip_needs_both_of_its_roofs(
    name: str, cores: int | None, expected: float | str, confidence: Confidence | None
) -> None:
    found = ridge_of(chip(name, cores))
    assert found.confidence is confidence
    if isinstance(expected, str):
        assert found.value is None
        assert expected in found.reason
    else:
        assert found.value == pytest.approx(expected)


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
