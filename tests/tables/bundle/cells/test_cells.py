"""Raw columns to cells: distinct numbers, nulls, decimals."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit.tables.bundle.cells.cells import (
    as_array,
    blocks,
    decimals,
    distinct,
    nulls_of,
    signed,
)
from tracekit.tables.bundle.errors import DamagedCellError

NULL, MOST = (1 << 32) - 1, (1 << 64) - 1
BIAS = (1 << 63) - 1


def narrow(*values: int) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return np.array(values, np.uint32)


def test_each_number_is_there_once_and_cells_name_its_place() -> None:
    found = distinct(narrow(7, 3, 7, 9), 10)
    assert found.numbers.tolist() == [3, 7, 9]
    assert found.places.tolist() == [1, 0, 1, 2]
    assert found.of(pa.array(["c", "g", "i"])).to_pylist() == ["g", "c", "g", "i"]


def test_all_ones_is_null_and_no_number() -> None:
    found = distinct(narrow(NULL, 4, NULL), 5)
    assert found.numbers.tolist() == [4]
    assert found.of(pa.array(["e"])).to_pylist() == [None, "e", None]
    assert found.spread(np.array([40])).to_pylist() == [None, 40, None]


def test_a_column_of_nulls_names_nothing() -> None:
    found = distinct(narrow(NULL, NULL), 0)
    assert found.numbers.tolist() == []
    assert found.of(pa.array([], pa.string())).to_pylist() == [None, None]
    assert found.spread(np.array([], np.int64)).to_pylist() == [None, None]
    assert distinct(narrow(), 0).of(pa.array([], pa.string())).to_pylist() == []


@pytest.mark.parametrize("values", [(5,), (0, 5), (NULL - 1, NULL)])
def test_a_number_beyond_the_last_is_refused(values: tuple[int, ...]) -> None:
    with pytest.raises(DamagedCellError, match="does not hold"):
        distinct(narrow(*values), 5)


def test_what_a_number_stands_for_may_be_null_as_well() -> None:
    found = distinct(narrow(0, 1, NULL), 2)
    cells = found.of(pa.array([None, "known"]))
    assert cells.to_pylist() == [None, "known", None]
    assert cells.null_count == 2
    assert found.spread(np.array([1, 2]), np.array([False, True])).to_pylist() == [None, 2, None]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.one_of(st.integers(0, 99), st.just(NULL)), max_size=40))
def test_cells_are_the_texts_of_their_numbers(values: list[int]) -> None:
    found = distinct(narrow(*values), 100)
    texts = pa.array([str(one) for one in found.numbers.tolist()], pa.string())
    assert found.of(texts).to_pylist() == [None if one == NULL else str(one) for one in values]
    assert set(found.numbers.tolist()) == set(values) - {NULL}


def test_a_column_larger_than_a_block_is_taken_in_blocks() -> None:
    raw = np.arange(300_000, dtype=np.uint32) % 1000
    found = distinct(raw.copy(), 1000)
    assert [one.stop - one.start for one in blocks(300_000)] == [131072, 131072, 37856]
    assert (found.places == raw).all()
    assert found.spread(np.arange(1000) * 2)[299_999].as_py() == 1998


def test_numbers_stay_where_they_are() -> None:
    values = np.array([1, 2, 3], np.int64)
    cells = as_array(values, np.array([False, True, False]))
    assert cells.to_pylist() == [1, None, 3]
    assert cells.buffers()[1].address == values.ctypes.data


def test_nulls_are_looked_for_in_the_width_of_the_column() -> None:
    assert nulls_of(np.array([NULL, 1], np.uint64)) is None
    assert nulls_of(np.array([], np.uint64)) is None
    wide = nulls_of(np.array([MOST, 1], np.uint64))
    assert wide is not None
    assert wide.tolist() == [True, False]


def test_signed_numbers_have_a_bias() -> None:
    stored = np.array([0x98A1BC38704D93FF, BIAS, BIAS - 5, 0], np.uint64)
    assert signed(stored).tolist() == [1774906678749008896, 0, -5, -BIAS]


def test_zero_is_stored_as_the_bias() -> None:
    assert decimals(np.frombuffer(b"\xff" * 7 + b"\x7f", np.uint64).copy()).tolist() == [0.0]


@settings(deadline=None, max_examples=200)
@given(st.lists(st.integers(-BIAS, BIAS), min_size=1, max_size=20))
def test_a_decimal_is_the_float_of_its_text(values: list[int]) -> None:
    stored = np.array([one + BIAS for one in values], np.uint64)
    texts = [f"{Decimal(one).scaleb(-9):.9f}" for one in values]
    assert decimals(stored).tolist() == [float(one) for one in texts]
