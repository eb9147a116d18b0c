"""Intervals of many differences, which are found by bisection."""

import pytest

from tracekit.comparison.shifts import find_interval


def test_many_differences_closer_than_a_float_of_their_size_have_an_interval() -> None:
    near_half = [0.5 + 1e-15 * (place % 3) for place in range(150)]
    interval = find_interval(near_half, [0.25 + 1e-16 * (place % 2) for place in range(150)])
    assert interval is not None
    assert interval.lower_bound == pytest.approx(0.25)
