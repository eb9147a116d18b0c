import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.report.timeline.packing import (
    STEPS,
    Tick,
    clock,
    planes,
    steps,
    three_digits,
)

MAC = Tick(125, 3)


def array(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    ("values", "width"),
    [((), 1), ((0,), 1), ((255,), 1), ((256,), 2), ((2**32,), 5), ((2**62,), 8), ((1, 2**24), 4)],
)
def test_a_column_is_as_wide_as_its_widest_value(values: tuple[int, ...], width: int) -> None:
    assert planes(array(*values))[0] == width


def test_a_negative_value_is_refused() -> None:
    with pytest.raises(ValueError, match="no negative values, but -3"):
        planes(array(1, -3))


@given(st.lists(st.integers(-(10**12), 10**12), min_size=1))
def test_ticks_of_a_mac_are_told_as_a_trace_tells_them(ticks: list[int]) -> None:
    counted = array(*ticks)
    moments = MAC.time(counted)
    assert MAC.tells(moments)
    assert MAC.count(moments).tolist() == ticks


def test_one_time_between_ticks_makes_the_clock_one_of_nanoseconds() -> None:
    assert clock(array(0, 41, 83, 125)) == MAC
    assert clock(array(0, 41), array(84)) == Tick()
    assert MAC.nearest(array(0, 20, 21, 41, 42, 125)).tolist() == [0, 0, 1, 1, 1, 3]


def decoded(code: int) -> int:
    power, rest = divmod(code - 1000, 900)
    return code if code < 1000 else (rest + 100) * 10 ** (power + 1)


@given(st.integers(0, 10**15))
def test_three_digits_are_kept_of_every_number(number: int) -> None:
    [code] = three_digits(array(number)).tolist()
    assert abs(decoded(code) - number) * 200 <= number
    assert decoded(code) == number or number >= 1000
    assert code < 2**16


def test_a_number_that_rounds_up_to_the_next_power_of_ten_is_that_power() -> None:
    assert decoded(int(three_digits(array(9_996))[0])) == 10_000
    assert decoded(int(three_digits(array(99_960))[0])) == 100_000


def test_levels_that_never_change_are_the_lowest_step() -> None:
    assert steps(np.array([4.0, 4.0]), 4.0, 4.0).tolist() == [0, 0]
    assert steps(np.array([0.0, 1.0]), 0.0, 1.0).tolist() == [0, STEPS]
