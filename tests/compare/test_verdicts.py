"""The verdict on one change: which bounds belong to it, as a ratio and as a difference."""

import math

import pytest

from tracekit.analysis.result import Better
from tracekit.compare.paired import Interval
from tracekit.compare.spread import Limits
from tracekit.compare.verdicts import Change, verdict_of

LIMITS = Limits(threshold=0.03, resolution=0.10)
THRESHOLD, RESOLUTION = math.log1p(0.03), math.log1p(0.10)  # of ratios, whose logarithms add up
LITTLE = 1e-9


def verdict(middle: float, low: float, high: float, unit: str, better: Better) -> str:
    change = Change("m", unit, better, 1.0, 1.0, relative=unit == "ns")
    return verdict_of(Interval(middle, low, high), change, LIMITS)


@pytest.mark.parametrize(
    ("middle", "low", "high", "expected"),
    [
        (THRESHOLD, LITTLE, RESOLUTION, "worse"),
        (THRESHOLD - LITTLE, LITTLE, RESOLUTION, "same"),
        (0.0299, LITTLE, RESOLUTION, "worse"),  # as a logarithm; 0.03 would be more
        (THRESHOLD, 0.0, RESOLUTION, "same"),
        (THRESHOLD, 0.0, RESOLUTION + LITTLE, "unclear"),
        (0.0, -RESOLUTION, RESOLUTION, "same"),
        (0.0, -RESOLUTION - LITTLE, RESOLUTION, "unclear"),
    ],
)
def test_a_time_is_judged_by_its_ratio(
    middle: float, low: float, high: float, expected: str
) -> None:
    turned = {"worse": "better"}.get(expected, expected)
    assert verdict(middle, low, high, "ns", Better.LOWER) == expected
    assert verdict(middle, low, high, "ns", Better.HIGHER) == turned
    assert verdict(-middle, -high, -low, "ns", Better.LOWER) == turned
    assert verdict(-middle, -high, -low, "ns", Better.HIGHER) == expected


@pytest.mark.parametrize(
    ("unit", "middle", "high", "expected"),
    [
        ("ratio", 0.03, 0.05, "worse"),
        ("ratio", 0.0299, 0.05, "same"),
        ("ratio", 0.0299, 0.11, "unclear"),
        ("count", 1.0, 2.0, "worse"),
        ("count", 0.99, 2.0, "same"),
    ],
)
def test_a_share_is_judged_in_points_and_a_count_by_whole_ones(
    unit: str, middle: float, high: float, expected: str
) -> None:
    assert verdict(middle, LITTLE, high, unit, Better.LOWER) == expected
