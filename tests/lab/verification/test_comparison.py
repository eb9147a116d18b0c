import mlx.core as mx
import numpy as np
import pytest

from tracekit.base.errors import InputError
from tracekit.lab.verification.verify import (
    Outcome,
    all_written,
    arrays,
    error_and_place,
    orders_agree,
    within_bound,
)

NAN, INF = np.nan, np.inf


def _of(*values: float) -> tuple[np.ndarray, ...]:
    return (np.array(values),)


def test_arrays_of_mlx_lose_no_bit() -> None:
    one, two = arrays([mx.array([1.0, 1e-3], mx.bfloat16), mx.array([[1, 2]])])
    assert one.dtype == np.float64
    assert one[1] == 0.00099945068359375
    assert (two.dtype, two.tolist()) == (np.int32, [[1, 2]])
    (single,) = arrays(mx.array(1.5, mx.float16))
    assert single.tolist() == 1.5


@pytest.mark.parametrize(
    ("got", "expected", "error"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.0, 2.2], [1.0, 2.0], 0.1),
        ([1.0, -4.0], [1.5, -4.0], 0.125),
        ([0.5, 0.0], [0.0, 0.0], 0.5),
        ([NAN, 1.0], [1.0, 1.0], INF),
        ([INF, 1.0], [1.0, 1.0], INF),
        ([1.0, 1.0], [NAN, 1.0], INF),
        ([NAN, INF, 1.0], [NAN, INF, 1.0], 0.0),
        ([-INF, 1.0], [INF, 1.0], INF),
        ([], [], 0.0),
    ],
)
def test_errors_are_shares_of_the_largest_magnitude(
    got: list[float], expected: list[float], error: float
) -> None:
    assert error_and_place(np.array(got), np.array(expected))[0] == pytest.approx(error)


def test_the_same_bits_agree_and_nan_with_nan() -> None:
    same = orders_agree({"ascending": _of(1, NAN), "descending": _of(1, NAN)})
    assert (same.outcome, same.detail) == (Outcome.PASSED, "ascending, descending")


def test_one_bit_is_a_difference() -> None:
    near = np.nextafter(1.0, 2.0)
    found = orders_agree({"ascending": _of(5, 1), "random": _of(5, 1), "descending": _of(5, near)})
    assert found.outcome is Outcome.DEFECT
    assert "1 of 2 elements differ between ascending and descending" in found.detail
    assert "at [1]" in found.detail
    assert "output" not in found.detail


def test_one_order_proves_nothing_about_orders() -> None:
    found = orders_agree({"random": _of(1)})
    assert (found.outcome, found.detail) == (Outcome.NOT_CHECKED, "only the order random was run")


def test_nan_is_memory_that_nobody_wrote() -> None:
    found = all_written({"ascending": _of(1, 2), "random": _of(1, NAN)})
    assert found.outcome is Outcome.DEFECT
    assert "1 of 2 elements are NaN in the order random, the first at [1]" in found.detail


def test_nan_that_is_expected_is_none() -> None:
    answers = {"ascending": _of(1, NAN)}
    assert all_written(answers, _of(1, NAN)).outcome is Outcome.PASSED
    assert all_written(answers, _of(NAN, 1)).outcome is Outcome.DEFECT


def test_whole_numbers_cannot_be_nan() -> None:
    found = all_written({"ascending": (np.array([1, 2]),)})
    assert found.outcome is Outcome.NOT_CHECKED


def test_the_worst_order_and_place_are_told() -> None:
    answers = {"ascending": _of(1, 2), "random": _of(1, 2.5)}
    found = within_bound(answers, _of(1, 2), 1e-3)
    assert found.outcome is Outcome.DEFECT
    assert found.detail == "0.25 of 0.001 allowed, at [1], order random"
    assert within_bound(answers, _of(1, 2), 0.25).outcome is Outcome.PASSED


def test_other_shapes_are_a_mistake_of_the_check() -> None:
    with pytest.raises(InputError, match=r"shapes \[\[2\]\], and expects \[\[3\]\]"):
        within_bound({"ascending": _of(1, 2)}, _of(1, 2, 3), 1)
    with pytest.raises(InputError, match=r"shapes \[\[1\]\], and expects \[\[1\], \[1\]\]"):
        within_bound({"ascending": _of(1)}, (*_of(1), *_of(2)), 1)
