"""Raw columns to cells: distinct numbers, nulls, decimals."""

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tracekit.tables.bundle.cells.encodings import engineering_type
from tracekit.tables.bundle.cells.labels import signed
from tracekit.tables.bundle.container.requirements import Requirements
from tracekit.tables.bundle.errors import ArchiveError
from tracekit.tables.bundle.reader import TEXTS, decimals, distinct, numbers

NULL = (1 << 32) - 1
BIAS = (1 << 63) - 1


def narrow(*values: int) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return np.array(values, np.uint32)


@pytest.mark.parametrize("values", [(5,), (0, 5), (NULL - 1, NULL)])
def test_a_number_beyond_the_last_is_refused(values: tuple[int, ...]) -> None:
    with pytest.raises(ArchiveError, match="does not hold"):
        distinct(narrow(*values), 5)


def test_what_a_number_stands_for_may_be_null_as_well() -> None:
    found = distinct(narrow(0, 1, NULL), 2)
    assert found.of(pa.array([None, "known"])).to_pylist() == [None, "known", None]
    assert found.spread(pa.array([None, 2])).to_pylist() == [None, 2, None]
    assert distinct(narrow(NULL), 0).of(pa.array([], pa.string())).to_pylist() == [None]


def test_signed_numbers_have_a_bias() -> None:
    stored = np.array([0x98A1BC38704D93FF, BIAS, BIAS - 5, 0], np.uint64)
    assert signed(stored).tolist() == [1774906678749008896, 0, -5, -BIAS]


@settings(deadline=None, max_examples=200)
@example([3708801759493319391, -3708801759493319391])  # would be rounded twice
@given(st.lists(st.integers(-BIAS, BIAS), min_size=1, max_size=20))
def test_a_decimal_is_the_float_of_its_text(values: list[int]) -> None:
    stored = np.array([one + BIAS for one in values], np.uint64)
    texts = [f"{Decimal(one).scaleb(-9):.9f}" for one in values]
    assert decimals(stored).tolist() == [float(one) for one in texts]


U32, U64 = (1 << 32) - 1, (1 << 64) - 1


def column(type_id: str, *values: int, width: Any = np.uint64, tag: str = "") -> pa.Array:
    kind = engineering_type(type_id, Requirements({type_id: tag} if tag else {}))
    raw = np.array(values, width)
    return numbers(kind, raw)


@pytest.mark.parametrize(
    ("type_id", "values", "kind", "expected"),
    [
        ("XRStartTime", (1, U64), pa.int64(), [1, None]),
        ("XRStartTime", (1, 1 << 63), pa.uint64(), [1, 1 << 63]),
        ("XRPrototypeValue", (1, U64), pa.uint64(), [1, U64]),
        ("XRMachAbsoluteTime", (1, 2), pa.int64(), [1, 2]),
        ("XRMachAbsoluteTime", (U64, 1 << 63), pa.uint64(), [None, 1 << 63]),
        ("XRMachAbsoluteTime", (U64,), TEXTS, [None]),
        ("XRMachAbsoluteTime", (), TEXTS, []),
        ("XRStartTime", (), pa.int64(), []),
        ("XRTimeSinceEpoch", (BIAS - 7_000_000_000, U64), pa.float64(), [-7.0, None]),
        ("XRFramesPerSecond", (BIAS + 59_500_000_000,), pa.float64(), [59.5]),
    ],
)
def test_wide_columns(
    type_id: str, values: tuple[int, ...], kind: pa.DataType, expected: list[Any]
) -> None:
    found = column(type_id, *values)
    assert (found.type, found.to_pylist()) == (kind, expected)


@pytest.mark.parametrize(
    ("type_id", "values", "kind", "expected"),
    [
        ("XRProcessID", (4711, U32), pa.int64(), [4711, None]),
        ("XRGenericUInt32", (4711, U32), pa.int64(), [4711, U32]),
        ("XRBoolean", (0, 1, 3, U32), pa.bool_(), [False, True, True, None]),
        ("XRTomorrow", (5, U32), pa.int64(), [5, None]),
    ],
)
def test_narrow_columns(
    type_id: str, values: tuple[int, ...], kind: pa.DataType, expected: list[Any]
) -> None:
    found = column(type_id, *values, width=np.uint32)
    assert (found.type, found.to_pylist()) == (kind, expected)
