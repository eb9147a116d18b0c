"""Raw columns to cells: distinct numbers, nulls, decimals."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit.tables.bundle.cells.cells import decimals, distinct, signed
from tracekit.tables.bundle.errors import DamagedCellError

NULL = (1 << 32) - 1
BIAS = (1 << 63) - 1


def narrow(*values: int) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return np.array(values, np.uint32)


@pytest.mark.parametrize("values", [(5,), (0, 5), (NULL - 1, NULL)])
def test_a_number_beyond_the_last_is_refused(values: tuple[int, ...]) -> None:
    with pytest.raises(DamagedCellError, match="does not hold"):
        distinct(narrow(*values), 5)


def test_what_a_number_stands_for_may_be_null_as_well() -> None:
    found = distinct(narrow(0, 1, NULL), 2)
    assert found.of(pa.array([None, "known"])).to_pylist() == [None, "known", None]
    assert found.spread(np.array([1, 2]), np.array([False, True])).to_pylist() == [None, 2, None]
    assert distinct(narrow(NULL), 0).of(pa.array([], pa.string())).to_pylist() == [None]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.one_of(st.integers(0, 99), st.just(NULL)), max_size=40))
def test_cells_are_the_texts_of_their_numbers(values: list[int]) -> None:
    found = distinct(narrow(*values), 100)
    texts = pa.array([str(one) for one in found.numbers.tolist()], pa.string())
    assert found.of(texts).to_pylist() == [None if one == NULL else str(one) for one in values]
    known = np.ones(found.numbers.size, np.bool_)
    spread = found.spread(found.numbers, known).to_pylist()
    assert spread == [None if one == NULL else one for one in values]


def test_signed_numbers_have_a_bias() -> None:
    stored = np.array([0x98A1BC38704D93FF, BIAS, BIAS - 5, 0], np.uint64)
    assert signed(stored).tolist() == [1774906678749008896, 0, -5, -BIAS]


@settings(deadline=None, max_examples=200)
@given(st.lists(st.integers(-BIAS, BIAS), min_size=1, max_size=20))
def test_a_decimal_is_the_float_of_its_text(values: list[int]) -> None:
    stored = np.array([one + BIAS for one in values], np.uint64)
    texts = [f"{Decimal(one).scaleb(-9):.9f}" for one in values]
    assert decimals(stored).tolist() == [float(one) for one in texts]
