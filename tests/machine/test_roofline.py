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


def test_the_ridge_of_a_chip_needs_both_of_its_roofs() -> None:
    first, fourth = ridge_of(chip("Apple M1", 8)), ridge_of(chip("Apple M4", 10))
    assert first.value == pytest.approx(2.62e12 / 68.25e9)
    assert fourth.value == pytest.approx(3.8e12 / 120e9)
    # as sure as its clock
    assert (first.confidence, fourth.confidence) == (Confidence.INDEPENDENT, Confidence.LOW)
    for name, cores, why in (
        ("Apple M4 Max", None, "how many this one has is not known"),
        ("Apple M4 Pro", 20, "no source states the clock"),
    ):
        ridge = ridge_of(chip(name, cores))
        assert (ridge.value, ridge.confidence) == (None, None)
        assert why in ridge.reason


def test_more_than_memory_can_deliver_is_no_share_but_came_from_caches() -> None:
    assert reached(320e9, 1, bandwidth=400e9) == Reached(320e9, 0.8)
    assert reached(400e9, 1, bandwidth=400e9) == Reached(400e9, 1.0)
    assert reached(400.1e9, 1, bandwidth=400e9) == Reached(400.1e9, None, cached=True)
    assert reached(100, 2, bandwidth=None) == Reached(50, None)
    assert intensity(200, 100) == 2.0
