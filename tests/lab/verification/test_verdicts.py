"""Verdicts on literal answers, and their words."""

import mlx.core as mx
import numpy as np
import pytest

from tracekit.base.errors import InputError
from tracekit.lab.verification.verify import (
    Moved,
    Outcome,
    Question,
    Verdict,
    Verification,
    all_written,
    arrays,
    error_and_place,
    in_full,
    in_short,
    loaded_as_modelled,
    orders_agree,
    within_bound,
)

PASSED, DEFECT, NOT_CHECKED = Outcome
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


NEAR = np.nextafter(1.0, 2.0)


@pytest.mark.parametrize(
    ("answers", "outcome", "said"),
    [
        ({"up": _of(1, NAN), "down": _of(1, NAN)}, PASSED, "up, down"),
        ({"random": _of(1)}, NOT_CHECKED, "only the order random was run"),
        (
            {"up": _of(5, 1), "random": _of(5, 1), "down": _of(5, NEAR)},
            DEFECT,
            "1 of 2 elements differ between up and down, the first at [1]: ",
        ),
        (
            {"up": _of(5, 1) * 2, "down": (*_of(5, 1), *_of(5, NEAR))},
            DEFECT,
            "1 of 2 elements differ between up and down, the first at [1] of output 1: ",
        ),
    ],
)
def test_one_bit_is_a_difference_between_orders(
    answers: dict[str, tuple[np.ndarray, ...]], outcome: Outcome, said: str
) -> None:
    found = orders_agree(answers)
    assert found.outcome is outcome
    assert found.detail.startswith(said)


@pytest.mark.parametrize(
    ("last", "expected", "outcome", "said"),
    [
        (_of(1, NAN), (), DEFECT, "1 of 2 elements are NaN in the order random, the first at [1]"),
        (_of(1, NAN), _of(1, NAN), PASSED, ""),
        (_of(1, NAN), _of(NAN, 1), DEFECT, "1 of 2 elements are NaN"),
    ],
)
def test_nan_is_memory_that_nobody_wrote(
    last: tuple[np.ndarray, ...],
    expected: tuple[np.ndarray, ...],
    outcome: Outcome,
    said: str,
) -> None:
    found = all_written({"ascending": _of(1, 2), "random": last}, expected)
    assert found.outcome is outcome
    assert found.detail.startswith(said)
    assert all_written({"random": (np.array([1, 2]),)}).outcome is NOT_CHECKED  # whole numbers


def test_the_worst_order_and_place_are_named() -> None:
    answers = {"ascending": _of(1, 2), "random": _of(1, 2.5)}
    found = within_bound(answers, _of(1, 2), 1e-3)
    assert found.outcome is DEFECT
    assert found.detail == "0.25 of 0.001 allowed, at [1], order random"
    assert within_bound(answers, _of(1, 2), 0.25).outcome is PASSED
    assert within_bound(answers, (), 0.0).outcome is NOT_CHECKED
    with pytest.raises(InputError, match=r"shapes \[\[2\]\], and expects \[\[3\]\]"):
        within_bound(answers, _of(1, 2, 3), 1)
    with pytest.raises(InputError, match=r"shapes \[\[1\]\], and expects \[\[1\], \[1\]\]"):
        within_bound({"ascending": _of(1)}, (*_of(1), *_of(2)), 1)


@pytest.mark.parametrize(
    ("model", "outcome", "said"),
    [
        ({}, NOT_CHECKED, "no model"),
        ({"x": 30}, PASSED, "as modelled: x"),
        ({"x": 31, "y": 0}, DEFECT, "x: 30 instead of 31"),
        ({"y": 1}, DEFECT, "y: 0 instead of 1"),
    ],
)
def test_bytes_loaded_are_summed_over_launches(
    model: dict[str, int], outcome: Outcome, said: str
) -> None:
    found = loaded_as_modelled([Moved("k", "x", 10, 9, 9), Moved("j", "x", 20, 9, 9)], model)
    assert found.outcome is outcome
    assert found.detail.startswith(said)


GOOD = Verification(
    "sums",
    {"dtype": "float16", "head_dim": 64},
    ("k",),
    (Verdict(Question.COMPILES, PASSED, "1 kernel"), Verdict(Question.ENDS, PASSED)),
    (Moved("k", "x", 2048, 0, 1024), Moved("k", "out", 0, 4, 4)),
)
BAD = Verification(
    "sums",
    {},
    (),
    (
        Verdict(Question.COMPILES, PASSED, ""),
        Verdict(Question.ADDRESS_SPACES, NOT_CHECKED, "it was stopped"),
        Verdict(Question.BOUNDS, DEFECT, "out of x", ("7 | x[i]", "  | ^")),
        Verdict(Question.ERROR, NOT_CHECKED, "it was stopped"),
        Verdict(Question.TRAFFIC, NOT_CHECKED, "there is no model"),
    ),
)


def test_all_is_said_of_one() -> None:
    assert list(in_full(GOOD)) == [
        "sums --dtype float16 --head-dim 64",
        "  compiles                      ok      1 kernel",
        "  runs to its end               ok",
        "  k, x: 2,048 bytes loaded, 0 stored, 1,024 touched, 2.0 loads of a byte",
        "  k, out: 0 bytes loaded, 4 stored, 4 touched",
    ]


def test_what_was_not_checked_stands_together_with_its_reason() -> None:
    assert list(in_full(BAD)) == [
        "sums",
        "  compiles                      ok",
        "  accesses in bounds            DEFECT  out of x",
        "      7 | x[i]",
        "        | ^",
        "  not checked, because it was stopped: address spaces, error within its bound",
        "  not checked, because there is no model: bytes loaded",
    ]


def test_of_many_only_defects_are_said_in_full() -> None:
    assert list(in_short(GOOD)) == ["sums --dtype float16 --head-dim 64: 2 passed"]
    assert list(in_short(BAD)) == [
        "sums: 1 passed, 1 defect, 3 not checked",
        "  accesses in bounds            DEFECT  out of x",
        "      7 | x[i]",
        "        | ^",
    ]
