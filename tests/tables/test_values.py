"""From text to values: exact, or text."""

import math

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.tables.values import FORMS, Form, column, inferred


def texts(*cells: str | None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(cells, pa.string())])


@pytest.mark.parametrize(
    ("form", "cells", "dtype", "values"),
    [
        pytest.param(Form.INTEGER, ["1", "-2", "007"], "int64", [1, -2, 7], id="integers"),
        pytest.param(Form.INTEGER, ["1", None], "Int64", [1, None], id="integers and null"),
        pytest.param(Form.INTEGER, [], "int64", [], id="no integers"),
        pytest.param(Form.INTEGER, [None], "Int64", [None], id="only null"),
        pytest.param(
            Form.INTEGER,
            ["9223372036854775807", "-9223372036854775808"],
            "int64",
            [2**63 - 1, -(2**63)],
            id="the largest and the smallest",
        ),
        pytest.param(Form.INTEGER, ["9223372036854775808"], "uint64", [2**63], id="a large one"),
        pytest.param(Form.UNSIGNED, ["1"], "uint64", [1], id="an id"),
        pytest.param(Form.UNSIGNED, [str(2**64 - 1)], "uint64", [2**64 - 1], id="the largest id"),
        pytest.param(
            Form.UNSIGNED, [str(2**64 - 1), None], "UInt64", [2**64 - 1, None], id="and null"
        ),
        pytest.param(Form.UNSIGNED, ["-1", "5"], "int64", [-1, 5], id="an id below zero"),
        pytest.param(
            Form.NUMBER, ["0.142594111", "3"], "float64", [0.142594111, 3.0], id="numbers"
        ),
        pytest.param(Form.NUMBER, ["-1e-9", "inf"], "float64", [-1e-9, math.inf], id="extremes"),
        pytest.param(Form.FLAG, ["0", "1", "3"], "bool", [False, True, True], id="flags"),
        pytest.param(Form.FLAG, ["0", None], "boolean", [False, None], id="flags and null"),
        pytest.param(Form.TEXT, [" a ", "", None], "string", [" a ", "", None], id="texts"),
    ],
)
def test_a_form_gives_its_dtype(
    form: Form, cells: list[str | None], dtype: str, values: list[object]
) -> None:
    series = column(texts(*cells), form)
    assert series is not None
    assert series.dtype == dtype
    assert [None if pd.isna(one) else one for one in series] == values


def test_a_missing_number_is_not_a_number() -> None:
    series = column(texts("1.5", None), Form.NUMBER)
    assert series is not None
    assert series.dtype == "float64"
    assert series.isna().tolist() == [False, True]


@pytest.mark.parametrize("form", [Form.INTEGER, Form.UNSIGNED, Form.FLAG])
@pytest.mark.parametrize(
    "cell",
    ["", " 1", "1 ", "1\n", "+1", "0x1F", "1_000", "1,000", "1.0", "1e3", "٣", "--1", "-", "abc",
     "18446744073709551616", "-9223372036854775809"],
)  # fmt: skip
def test_what_is_no_integer_is_none(form: Form, cell: str) -> None:
    assert column(texts("1", cell), form) is None


def test_integers_that_no_dtype_holds_together_are_none() -> None:
    assert column(texts("-1", str(2**63)), Form.INTEGER) is None
    assert column(texts("-1", str(2**63)), Form.UNSIGNED) is None


@pytest.mark.parametrize("cell", ["", " 1.5", "1,5", "1.5%", ".5", "0x1p3", "1.5.5", "infinity"])
def test_what_is_no_number_is_none(cell: str) -> None:
    assert column(texts(cell), Form.NUMBER) is None


@pytest.mark.parametrize(
    ("cells", "dtype"),
    [
        (["1", "2"], "int64"),
        (["1", None], "Int64"),
        (["0", "-5"], "int64"),
        ([str(2**64 - 1)], "uint64"),
        (["1", "2.5"], "float64"),
        (["-0.5"], "float64"),
        (["007"], "string"),
        (["-0"], "float64"),
        (["1", "x"], "string"),
        (["1e5"], "string"),
        (["40 4770"], "string"),
        ([""], "string"),
        ([None], "string"),
        ([], "string"),
        (["-1", str(2**63)], "string"),
    ],
)
def test_an_unknown_type_is_read_by_what_it_holds(cells: list[str | None], dtype: str) -> None:
    assert inferred(texts(*cells)).dtype == dtype


@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))))
def test_every_signed_integer_survives(numbers: list[int | None]) -> None:
    series = column(texts(*(None if n is None else str(n) for n in numbers)), Form.INTEGER)
    assert series is not None
    assert [None if pd.isna(one) else int(one) for one in series] == numbers


@given(st.lists(st.one_of(st.none(), st.integers(0, 2**64 - 1))))
def test_every_unsigned_integer_survives(numbers: list[int | None]) -> None:
    series = column(texts(*(None if n is None else str(n) for n in numbers)), Form.UNSIGNED)
    assert series is not None
    assert [None if pd.isna(one) else int(one) for one in series] == numbers


@given(st.lists(st.text(), max_size=5))
def test_text_of_unknown_type_never_changes(cells: list[str]) -> None:
    series = inferred(texts(*cells))
    if series.dtype == "string":
        assert series.tolist() == cells
    else:
        assert series.tolist() == [float(cell) for cell in cells]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_decimal_survives(number: float) -> None:
    series = column(texts(repr(number)), Form.NUMBER)
    assert series is not None
    assert series.tolist() == [number]


def test_types_have_one_form_each() -> None:
    assert FORMS["start-time"] is Form.INTEGER
    assert FORMS["metal-command-buffer-id"] is Form.UNSIGNED
    assert FORMS["percent"] is Form.NUMBER
    assert FORMS["boolean"] is Form.FLAG
    assert FORMS["formatted-label"] is Form.TEXT
    assert "any" not in FORMS
