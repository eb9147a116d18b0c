"""From an export's columns to the declared ones."""

import numpy as np
import pandas as pd
import pytest

from tracekit.base.errors import InputError
from tracekit.tables.drift import Flaw, Remark
from tracekit.tables.normalize import normalize
from tracekit.tables.schema import Column, Kind, Schema, Source
from tracekit.tables.schemas import SCHEMAS

NONE = 2**64 - 1
COMMON = {column.name: column for column in SCHEMAS["library_loads"].columns}
START, DURATION, THREAD, CLOCK = map(COMMON.__getitem__, ("start", "duration", "tid", "clock"))
PROCESS, PID, TARGET = map(COMMON.__getitem__, ("process", "pid", "target"))
STACK = (COMMON["leaf"], COMMON["stack"])


def gpu(name: str, unused: str = "") -> Source:
    return Source(name, "gpu", frozenset(unused.split()))


def schema(*columns: Column) -> Schema:
    return Schema("things", "things", (gpu("raw-things"),), columns)


def words(remarks: list[Remark]) -> list[str]:
    return [remark.text for remark in remarks]


def one(values: object, kind: Kind) -> pd.Series:
    """Normalize one column, called `x`."""
    table, _ = normalize(
        pd.DataFrame({"x": values}), schema(Column("x", "x", kind, "x")), gpu("raw"), frozenset()
    )
    return table["x"]


@pytest.mark.parametrize(
    ("kind", "values", "dtype", "expected"),
    [
        (Kind.TIME, [5, 6], "int64", [5, 6]),
        (Kind.TIME, pd.array([5], dtype="uint64"), "int64", [5]),
        (Kind.DURATION, [5, 6], "Int64", [5, 6]),
        (Kind.DURATION, pd.array([5, None], dtype="Int64"), "Int64", [5, None]),
        (Kind.DURATION, np.array([5, NONE], dtype="uint64"), "Int64", [5, None]),
        (Kind.INTEGER, pd.array([None], dtype="string"), "Int64", [None]),
        (Kind.INTEGER, pd.array([2**63 - 1, NONE], dtype="UInt64"), "Int64", [2**63 - 1, None]),
        (Kind.IDENTIFIER, pd.array([NONE, NONE - 1], dtype="uint64"), "UInt64", [None, NONE - 1]),
        (Kind.IDENTIFIER, pd.array([-1, 7], dtype="int64"), "UInt64", [None, 7]),
        (Kind.IDENTIFIER, pd.array([None, 7], dtype="UInt64"), "UInt64", [None, 7]),
        (Kind.BITS, pd.array([NONE, None], dtype="UInt64"), "UInt64", [NONE, None]),
        (Kind.BITS, [0, 2**63 - 1], "UInt64", [0, 2**63 - 1]),
        (Kind.INSTANT, pd.array([5, None], dtype="Int64"), "Int64", [5, None]),
        (Kind.STACK, pd.array([0, None], dtype="Int64"), "Int64", [0, None]),
        (Kind.NUMBER, [1.5, None], "Float64", [1.5, None]),
        (Kind.NUMBER, [1, 2], "Float64", [1.0, 2.0]),
        (Kind.FLAG, [True, False], "boolean", [True, False]),
        (Kind.FLAG, pd.array([3, None, 0], dtype="Int64"), "boolean", [True, None, False]),
        (Kind.TEXT, pd.array(["a", None], dtype="string"), "string", ["a", None]),
        (Kind.TEXT, [7, 8], "string", ["7", "8"]),
    ],
)
def test_a_kind_gives_its_dtype(
    kind: Kind, values: object, dtype: str, expected: list[object]
) -> None:
    series = one(values, kind)
    assert series.dtype == dtype
    assert [None if pd.isna(value) else value for value in series] == expected


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Kind.TIME, ["soon"]),
        (Kind.INTEGER, [1.5]),
        (Kind.INTEGER, pd.array([2**63], dtype="uint64")),
        (Kind.IDENTIFIER, [-2]),
        (Kind.BITS, [-1]),
        (Kind.NUMBER, ["1,5"]),
        (Kind.FLAG, ["yes"]),
        (Kind.TARGET, ["seven"]),
    ],
)
def test_what_is_not_of_its_kind_is_told_in_words(kind: Kind, values: object) -> None:
    with pytest.raises(InputError, match=f"column x of raw holds what is no {kind}"):
        one(values, kind)


def test_a_doubtful_column_that_is_something_else_costs_only_itself() -> None:
    columns = (
        Column("a", "a", Kind.INTEGER, "a"),
        Column("b", "b", Kind.IDENTIFIER, "b", doubtful=True),
    )
    frame = pd.DataFrame({"a": [1], "b": ["0xff"]})
    table, remarks = normalize(frame, schema(*columns), gpu("raw"), frozenset())
    assert table["a"].tolist() == [1]
    assert table["b"].dtype == "UInt64"
    assert table["b"].isna().all()
    assert words(remarks) == ["The column b of raw holds what is no identifier, and is left null"]
    table, remarks = normalize(frame.assign(b=[7]), schema(*columns), gpu("raw"), frozenset())
    assert table["b"].tolist() == [7]
    assert remarks == []


def test_names_lose_the_pid_that_was_added_and_no_other() -> None:
    frame = pd.DataFrame(
        {
            "process": pd.array(["App (7)", "App (8)", "B (2) (3)", None], dtype="string"),
            "process.pid": pd.array([7, 9, 3, 4], dtype="Int64"),
        }
    )
    table, _ = normalize(frame, schema(PROCESS, PID), gpu("raw"), frozenset())
    assert table["process"].tolist()[:3] == ["App", "App (8)", "B (2)"]
    assert table["process"].isna().tolist() == [False, False, False, True]
    assert table["pid"].tolist() == [7, 9, 3, 4]
    without = frame[["process"]]
    table, _ = normalize(without, schema(PROCESS), gpu("raw"), frozenset())
    assert table["process"].tolist()[:2] == ["App (7)", "App (8)"]


def test_only_the_target_is_the_target() -> None:
    frame = pd.DataFrame({"process.pid": pd.array([7, 420, None], dtype="Int64")})
    table, _ = normalize(frame, schema(TARGET), gpu("raw"), frozenset({7, 8}))
    assert table["target"].dtype == "bool"
    assert table["target"].tolist() == [True, False, False]
    table, _ = normalize(frame, schema(TARGET), gpu("raw"), frozenset())
    assert table["target"].tolist() == [False, False, False]


def test_a_column_that_is_not_there_is_null_and_is_named() -> None:
    columns = (Column("n", "n", Kind.INTEGER, "n"), Column("t", "t", Kind.TEXT, "t"))
    frame = pd.DataFrame({"other": [1]})
    table, remarks = normalize(frame, schema(*columns), gpu("raw"), frozenset())
    assert table.dtypes.astype(str).to_dict() == {"n": "Int64", "t": "string"}
    assert table.isna().all(axis=None)
    assert words(remarks) == [
        "raw: columns that tracekit does not know: other",
        "raw: columns that the export lacks: n, t",
    ]
    _, remarks = normalize(frame, schema(*columns), Source("raw", "host"), frozenset())
    text = "raw: columns that tracekit does not know: other"
    assert remarks == [Remark(Flaw.UNKNOWN, "things", "raw", ("other",), text)]


def test_a_column_of_a_later_version_is_not_missed_in_an_older_export() -> None:
    columns = (START, Column("width", "pixel-width", Kind.INTEGER, "width", since="27.2"))
    frame = pd.DataFrame({"start": [1]})
    table, remarks = normalize(frame, schema(*columns), gpu("raw"), frozenset())
    assert table["width"].isna().tolist() == [True]
    assert remarks == []
    newer = frame.assign(**{"pixel-width": [1920]})
    table, remarks = normalize(newer, schema(*columns), gpu("raw"), frozenset())
    assert table["width"].tolist() == [1920]
    assert remarks == []


def test_unknown_columns_are_those_of_the_export_even_if_few_are_loaded() -> None:
    frame = pd.DataFrame({"start": [1]})
    exported = ["start", "new"]
    _, remarks = normalize(frame, schema(START), gpu("raw"), frozenset(), exported)
    assert words(remarks) == ["raw: columns that tracekit does not know: new"]


def test_ids_beside_a_known_column_are_known() -> None:
    frame = pd.DataFrame({"start": [1], "thread": ["T"], "thread.tid": [1], "thread.pid": [2]})
    _, remarks = normalize(frame, schema(START), gpu("raw", unused="thread"), frozenset())
    assert remarks == []
    _, remarks = normalize(frame, schema(START), gpu("raw"), frozenset())
    assert words(remarks) == [
        "raw: columns that tracekit does not know: thread, thread.tid, thread.pid"
    ]


def test_a_column_that_must_be_there_is_asked_for() -> None:
    with pytest.raises(InputError, match="The export of raw has no column duration, which says"):
        normalize(pd.DataFrame({"start": [1]}), schema(START, DURATION), gpu("raw"), frozenset())


def test_rows_without_a_time_are_left_out_and_counted() -> None:
    frame = pd.DataFrame({"start": pd.array([1, None, 3], dtype="Int64"), "n": [1, 2, 3]})
    columns = (START, Column("n", "n", Kind.INTEGER, "n"))
    table, remarks = normalize(frame, schema(*columns), gpu("raw"), frozenset())
    assert table["start"].dtype == "int64"
    assert table["start"].tolist() == [1, 3]
    assert table["n"].tolist() == [1, 3]
    assert table.index.tolist() == [0, 1]
    assert words(remarks) == ["raw: 1 rows without a time are left out"]
