"""From an export's columns to the declared ones."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tracekit.base.errors import InputError
from tracekit.tables.layout import table_of
from tracekit.tables.normalize import normalize, read_by
from tracekit.tables.schema import Column, ColumnKind, Schema, SchemaSource
from tracekit.tables.schemas import SCHEMAS

NONE = 2**64 - 1
COMMON = {column.name: column for column in SCHEMAS["library_loads"].columns}
START, DURATION = COMMON["start"], COMMON["duration"]
PROCESS, PID, TARGET = map(COMMON.__getitem__, ("process", "pid", "target"))


def gpu(name: str, unused: str = "") -> SchemaSource:
    return SchemaSource(name, "gpu", frozenset(unused.split()))


RAW = gpu("raw")


def normalize_columns(
    columns: Mapping[str, Any],
    *declared: Column,
    source: SchemaSource = RAW,
    targets: str = "",
    exported: str = "",
) -> tuple[pd.DataFrame, list[str]]:
    """Normalize a flat table; return what was made of it, and what was said in words."""
    schema = Schema("things", "things", (gpu("raw-things"),), declared)
    pids, names = frozenset(map(int, targets.split())), exported.split() or columns
    read_columns = [name for name in columns if name in read_by(schema)]
    flat = table_of(pd.DataFrame(columns)[read_columns])
    table, remarks = normalize(flat, schema, source, pids, names)
    assert {(remark.table, remark.schema) for remark in remarks} <= {("things", "raw")}
    return table, [remark.text for remark in remarks]


def column_x(values: object, kind: ColumnKind) -> pd.Series:
    return normalize_columns({"x": values}, Column("x", "x", kind, "x"))[0]["x"]


def test_a_kind_gives_its_dtype() -> None:
    for kind, values, dtype, expected in (
        (ColumnKind.TIME, [5, 6], "int64", [5, 6]),
        (ColumnKind.TIME, pd.array([5], dtype="uint64"), "int64", [5]),
        (ColumnKind.DURATION, [5, 6], "Int64", [5, 6]),
        (ColumnKind.DURATION, pd.array([5, None], dtype="Int64"), "Int64", [5, None]),
        (ColumnKind.DURATION, np.array([5, NONE], dtype="uint64"), "Int64", [5, None]),
        (ColumnKind.INTEGER, pd.array([None], dtype="string"), "Int64", [None]),
        (
            ColumnKind.INTEGER,
            pd.array([2**63 - 1, NONE], dtype="UInt64"),
            "Int64",
            [2**63 - 1, None],
        ),
        (
            ColumnKind.IDENTIFIER,
            pd.array([NONE, NONE - 1], dtype="uint64"),
            "UInt64",
            [None, NONE - 1],
        ),
        (ColumnKind.IDENTIFIER, pd.array([-1, 7], dtype="int64"), "UInt64", [None, 7]),
        (ColumnKind.IDENTIFIER, pd.array([None, 7], dtype="UInt64"), "UInt64", [None, 7]),
        (ColumnKind.BITS, pd.array([NONE, None], dtype="UInt64"), "UInt64", [NONE, None]),
        (ColumnKind.BITS, [0, 2**63 - 1], "UInt64", [0, 2**63 - 1]),
        (ColumnKind.INSTANT, pd.array([5, None], dtype="Int64"), "Int64", [5, None]),
        (ColumnKind.STACK, pd.array([0, None], dtype="Int64"), "Int64", [0, None]),
        (ColumnKind.NUMBER, [1.5, None], "Float64", [1.5, None]),
        (ColumnKind.NUMBER, [1, 2], "Float64", [1.0, 2.0]),
        (ColumnKind.FLAG, [True, False], "boolean", [True, False]),
        (ColumnKind.FLAG, pd.array([3, None, 0], dtype="Int64"), "boolean", [True, None, False]),
        (ColumnKind.TEXT, pd.array(["a", None], dtype="string"), "string", ["a", None]),
        (ColumnKind.TEXT, [7, 8], "string", ["7", "8"]),
    ):
        series = column_x(values, kind)
        assert series.dtype == dtype, (kind, values)
        assert [None if pd.isna(value) else value for value in series] == expected, (kind, values)


def test_values_of_another_kind_are_reported(subtests: pytest.Subtests) -> None:
    for kind, values in (
        (ColumnKind.TIME, ["soon"]),
        (ColumnKind.INTEGER, [1.5]),
        (ColumnKind.INTEGER, pd.array([2**63], dtype="uint64")),
        (ColumnKind.IDENTIFIER, [-2]),
        (ColumnKind.BITS, [-1]),
        (ColumnKind.NUMBER, ["1,5"]),
        (ColumnKind.FLAG, ["yes"]),
        (ColumnKind.TARGET, ["seven"]),
    ):
        words = f"column x of raw has values that are not of the kind {kind}"
        with subtests.test(str(kind)), pytest.raises(InputError, match=words):
            column_x(values, kind)


def test_a_doubtful_column_that_is_something_else_costs_only_itself() -> None:
    columns = (
        Column("a", "a", ColumnKind.INTEGER, "a"),
        Column("b", "b", ColumnKind.IDENTIFIER, "b", doubtful=True),
    )
    table, remarks = normalize_columns({"a": [1], "b": ["0xff"]}, *columns)
    assert table["a"].tolist() == [1]
    assert table["b"].dtype == "UInt64"
    assert table["b"].isna().all()
    assert remarks == [
        "The column b of raw has values that are not of the kind identifier, and is left null"
    ]
    table, remarks = normalize_columns({"a": [1], "b": [7]}, *columns)
    assert (table["b"].tolist(), remarks) == ([7], [])


def test_names_lose_the_pid_that_was_added_and_no_other() -> None:
    process_names = {
        "process": pd.array(["App (7)", "App (8)", "B (2) (3)", None, "C (5)"], dtype="string")
    }
    pids = {"process.pid": pd.array([7, 9, 3, 4, None], dtype="Int64")}
    table, _ = normalize_columns(process_names | pids, PROCESS, PID)
    assert table["process"].tolist() == ["App", "App (8)", "B (2)", pd.NA, "C (5)"]
    assert table["pid"].tolist() == [7, 9, 3, 4, pd.NA]
    assert normalize_columns(process_names | pids, PROCESS)[0]["process"].equals(table["process"])
    table, _ = normalize_columns(process_names, PROCESS)
    assert table["process"].tolist()[:2] == ["App (7)", "App (8)"]


def test_only_the_target_is_the_target() -> None:
    pids = pd.array([7, 420, None], dtype="Int64")
    for targets, expected in (("7 8", [True, False, False]), ("", [False, False, False])):
        table, _ = normalize_columns({"process.pid": pids}, TARGET, targets=targets)
        assert table["target"].dtype == "bool", targets
        assert table["target"].tolist() == expected


def test_surplus_and_missing_columns_are_named_and_the_missing_are_null(
    subtests: pytest.Subtests,
) -> None:
    for exported, clock, unused, expected_remarks in (
        ("start n pixel-width", "gpu", "", []),
        ("start n", "gpu", "", []),  # an older version's
        ("start x", "gpu", "", ["that tracekit does not know: x", "that the export lacks: n"]),
        ("start x", "host", "", ["that tracekit does not know: x"]),
        ("start n t t.tid t.pid t.stack", "gpu", "t", []),
        ("start n t t.tid", "gpu", "", ["that tracekit does not know: t, t.tid"]),
    ):
        with subtests.test(exported=exported, clock=clock):
            width = Column("width", "pixel-width", ColumnKind.INTEGER, "width", since="27.2")
            declared = (START, Column("n", "n", ColumnKind.INTEGER, "n"), width)
            source = SchemaSource("raw", clock, frozenset(unused.split()))
            loaded = {name: [5] for name in exported.split() if name != "x"}
            table, remarks = normalize_columns(loaded, *declared, source=source, exported=exported)
            assert remarks == [f"raw: columns {words}" for words in expected_remarks]
            for name, mnemonic in (("n", "n"), ("width", "pixel-width")):
                value = 5 if mnemonic in loaded else pd.NA
                assert table[name].tolist() == [value], (exported, name)
                assert table[name].dtype == "Int64", (exported, name)


def test_a_column_that_must_be_there_is_asked_for() -> None:
    with pytest.raises(InputError, match="The export of raw has no column duration, which says"):
        normalize_columns({"start": [1]}, START, DURATION)


def test_rows_without_a_time_are_left_out_and_counted() -> None:
    flat = {"start": pd.array([1, None, 3], dtype="Int64"), "n": [1, 2, 3]}
    table, remarks = normalize_columns(flat, START, Column("n", "n", ColumnKind.INTEGER, "n"))
    assert table["start"].dtype == "int64"
    assert table.to_dict("list") == {"start": [1, 3], "n": [1, 3]}
    assert table.index.tolist() == [0, 1]
    assert remarks == ["raw: 1 rows without a time are left out"]
