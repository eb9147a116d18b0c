"""Two speeds of steps."""

import numpy as np
import pytest

from tracekit.analysis.rhythm import modes


def test_steps_that_take_turns_have_two_speeds() -> None:
    found = modes(np.array([10, 14] * 50))
    assert (found.fast_time, found.slow_time) == (10, 14)
    assert found.changes == 99
    assert found.minority == 0.5
    assert found.excess == pytest.approx(0.4)
    assert found.slow[:4].tolist() == [False, True, False, True]


def test_the_rarer_speed_may_be_the_fast_one() -> None:
    found = modes(np.array([30, 30, 30, 10] * 25))
    assert found.minority == 0.25
    assert found.slow.mean() == 0.75


def test_one_speed_is_hardly_parted() -> None:
    noise = np.random.default_rng(1).normal(1e6, 1e5, 1_000).astype(np.int64)
    assert modes(noise).separation < 4


def test_a_drift_is_hardly_parted() -> None:
    assert modes(np.arange(1_000, 2_000)).separation < 4


def test_an_outlier_does_not_hide_two_speeds() -> None:
    times = np.array([1_000, 1_400] * 50)
    times[40] = 900_000
    found = modes(times)
    assert found.minority == pytest.approx(0.5, abs=0.02)
    assert found.slow_time == 1_400


def test_equal_steps_have_one_speed() -> None:
    found = modes(np.full(20, 7))
    assert found.minority == 0
    assert found.separation == 0
    assert found.excess == 0
