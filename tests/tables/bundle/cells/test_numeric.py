"""Columns of numbers: the types that those of an export have."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tracekit.tables.bundle.cells.cells import TEXTS, empty, numbers
from tracekit.tables.bundle.cells.encodings import engineering_type
from tracekit.tables.bundle.container.requirements import Requirements

U32, U64 = (1 << 32) - 1, (1 << 64) - 1
BIAS = (1 << 63) - 1


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


def test_a_percentage_without_a_value_is_null() -> None:
    found = column("XRPercentage", BIAS, U64)
    assert found.to_pylist() == [0.0, None]


def test_raw_numbers_take_the_form_of_their_tag() -> None:
    assert column("XRTomorrow", 7, tag="percent").to_pylist() == [7.0]
    assert column("XRTomorrow", 7, 7, tag="syscall").to_pylist() == ["7", "7"]


def test_what_is_null_follows_from_the_width_of_the_field() -> None:
    kind = engineering_type("XRProcessID", Requirements())
    assert numbers(kind, np.array([1, U32], np.uint64), 4).to_pylist() == [1, None]
    assert numbers(kind, np.array([1, U32], np.uint64), 8).to_pylist() == [1, U32]


@pytest.mark.parametrize(
    ("tag", "kind"),
    [
        ("duration", pa.int64()),
        ("uint64", pa.uint64()),
        ("percent", pa.float64()),
        ("boolean", pa.bool_()),
        ("size-in-pixels", TEXTS),
        ("data", TEXTS),
    ],
)
def test_a_column_of_nothing_has_the_type_of_its_tag(tag: str, kind: pa.DataType) -> None:
    found = empty(tag, 2)
    assert (found.type, found.null_count) == (kind, 2)
