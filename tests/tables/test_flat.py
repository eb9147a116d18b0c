"""Any export as a flat table."""

import logging
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import pytest

from tracekit.base.errors import InputError
from tracekit.tables.drift import DamagedExportWarning, DriftWarning, ExportWarning
from tracekit.tables.flat import ReaderName, read_flat, read_table
from tracekit.tables.toc import Toc, TocRun, TocTable, toc_text
from tracekit.tables.xml.fast.tokens import IrregularError

Export = Callable[..., Path]
NodeMaker = Callable[..., str]
FIVE = '<row><uint32 id="1">5</uint32></row>'


def test_a_row_for_a_row_and_a_column_for_a_mnemonic(export: Export) -> None:
    path = export(
        "start:start-time state:gpu-state id:metal-command-buffer-id share:percent on:boolean",
        '<row><start-time id="1" fmt="0">7</start-time><gpu-state id="2">Active</gpu-state>'
        '<metal-command-buffer-id id="3" fmt="0xf">18446744073709551615</metal-command-buffer-id>'
        '<percent id="4">0.142594111</percent><boolean id="5" fmt="Yes">3</boolean></row>',
        '<row><start-time ref="1"/><sentinel/><sentinel/><sentinel/><sentinel/></row>',
    )
    frame = read_table(path)
    assert [*frame] == ["start", "state", "id", "share", "on"]
    assert [*frame.dtypes.astype(str)] == ["int64", "string", "UInt64", "float64", "boolean"]
    assert frame.iloc[0].tolist() == [7, "Active", 2**64 - 1, 0.142594111, True]
    assert frame.isna().iloc[1].tolist() == [False, True, True, True, True]
    assert read_table(str(path)).equals(frame)


def test_a_value_against_its_type_makes_text_and_a_warning(export: Export) -> None:
    path = export(
        "size:size-in-bytes n:uint32",
        "<row><size-in-bytes>16.00 KiB</size-in-bytes><uint32>1</uint32></row>",
        "<row><size-in-bytes>7</size-in-bytes><uint32>2</uint32></row>",
    )
    with pytest.warns(DriftWarning, match="size is declared as size-in-bytes") as caught:
        frame = read_table(path)
    assert len(caught) == 1
    assert frame["size"].tolist() == ["16.00 KiB", "7"]
    assert frame["n"].tolist() == [1, 2]


def test_a_pid_that_is_not_a_number_is_text_and_a_warning(export: Export) -> None:
    path = export("process:process", '<row><process fmt="x (abc)"><pid>abc</pid></process></row>')
    with pytest.warns(DriftWarning, match=r"process\.pid is declared as a number"):
        assert read_table(path)["process.pid"].tolist() == ["abc"]


def test_damage_is_a_warning_that_counts_the_rows(export: Export) -> None:
    path = export("n:uint32", *[FIVE] * 3)
    path.write_text(path.read_text().partition("</node>")[0][:-5])
    with pytest.warns(DamagedExportWarning, match="table is damaged after row 2") as caught:
        frame = read_table(path)
    assert caught[0].filename == __file__
    assert frame["n"].tolist() == [5, 5]
    with warnings.catch_warnings():
        warnings.simplefilter("error", DamagedExportWarning)
        with pytest.raises(DamagedExportWarning):
            read_table(path)
    flat = read_flat(path)
    assert flat.frame.equals(frame)
    assert len(flat.notes.damage) == 1
    assert DamagedExportWarning.__mro__[1:3] == (ExportWarning, UserWarning)


def tables(node: NodeMaker, *schemas: str, rows: Sequence[int] = (1, 1)) -> list[str]:
    """Write tables at the places 4, 11 and 18, with that many rows, which hold 5, 6 and 7."""
    return [
        node("n:uint32", *[FIVE.replace("5", f"{5 + k}")] * count, schema=schema, table=4 + 7 * k)
        for k, (schema, count) in enumerate(zip(schemas, rows, strict=True))
    ]


def test_of_several_tables_it_must_be_clear_which_is_meant(
    document: Export, node: NodeMaker, subtests: pytest.Subtests
) -> None:
    for schemas, choice, message in (
        (("one", "two"), {}, "2 tables: one, run 1 table 4, with 1 row; two, run 1 table 11"),
        (("one", "two"), {"schema": "three"}, "no table three; it holds one, run 1 table 4"),
        (
            ("info", "info"),
            {},
            r"2 tables of info: info, run 1 table 4, with 1 row; info, run 1 table 11, .* row\.",
        ),
        (("info", "info"), {"table": 5}, "no table that is table 5; it holds info, run 1 table 4"),
        (("info", "info"), {"table": 4, "run": 2}, "no table that is run 2, table 4"),
    ):
        with subtests.test(message):
            path = document(*tables(node, *schemas))
            with pytest.raises(InputError, match=message) as caught:
                read_table(path, **choice)
            assert "--table" in caught.value.hint


def test_a_table_is_chosen_by_its_schema_or_place(document: Export, node: NodeMaker) -> None:
    path = document(*tables(node, "info", "info"))
    assert read_table(path, table=4)["n"].tolist() == [5]
    assert read_table(path, "info", table=11, run=1)["n"].tolist() == [6]
    assert read_table(document(*tables(node, "one", "two")), "two")["n"].tolist() == [6]


def test_a_table_without_a_header_is_named_by_the_contents(
    document: Export, node: NodeMaker
) -> None:
    first_table, two, again = tables(node, "one", "two", "one", rows=(1, 1, 1))
    path = document(first_table, two, re.sub("<schema.*</schema>", "", again, flags=re.DOTALL))
    listed = tuple(TocTable(place, "one") for place in range(1, 19))
    path.with_name("toc.xml").write_text(toc_text(Toc((TocRun(1, tables=listed),))))
    assert read_table(path, "one", table=18)["n"].tolist() == [7]


def test_the_only_table_with_rows_is_taken_and_empty_ones_are_named(
    document: Export, node: NodeMaker
) -> None:
    for rows, value, empty_numbers in (
        ((1, 0), 5, [11]),
        ((0, 1), 6, [4]),
        ((0, 1, 0), 6, [4, 18]),
    ):
        path = document(*tables(node, *["info"] * len(rows), rows=rows))
        with pytest.warns(ExportWarning) as caught:
            frame = read_table(path)
        warning_format = (
            "export.xml: of the tables of info, run 1 table {} has no rows and is left out."
        )
        assert [str(warning.message) for warning in caught] == [
            *map(warning_format.format, empty_numbers)
        ], rows
        assert frame["n"].tolist() == [value], rows
    assert read_flat(document(*tables(node, "info", "info", rows=(0, 0)))).notes.losses == ()


def test_an_empty_answer_is_not_taken_for_success(tmp_path: Path) -> None:
    path = tmp_path / "empty.xml"
    path.write_text("<trace-query-result/>")
    with pytest.raises(InputError, match="holds no table"):
        read_table(path)


@pytest.mark.parametrize("plain", [True, False])
def test_the_exact_reader_continues_after_the_fast_one(
    document: Export, node: NodeMaker, caplog: pytest.LogCaptureFixture, *, plain: bool
) -> None:
    row = (
        '<row><start-time id="1" fmt="00:00.000.007">7</start-time><uint64 id="2" fmt="5">5'
        '</uint64><formatted-label id="3" fmt="a µ"><string id="4" fmt="a µ">a µ</string>'
        "</formatted-label></row>"
    )
    repeat = '<row><start-time ref="1"/><sentinel/><sentinel/></row>'
    columns = "start:start-time id:uint64 label:formatted-label"
    path = document(node(columns, row, repeat if plain else repeat.replace('"/>', '" />')))
    with caplog.at_level(logging.DEBUG, "tracekit"):
        flat = read_flat(path)
    assert f"read by {'FastReader' if plain else 'ExactReader'}" in caplog.text
    assert ("not read by the fast reader: " in caplog.text) is not plain
    readers: tuple[ReaderName, ...] = ("exact", "fast") if plain else ("exact",)
    for reader_name in readers:
        pd.testing.assert_frame_equal(read_flat(path, reader_name=reader_name).frame, flat.frame)
    assert flat.frame["start"].tolist() == [7, 7]
    if not plain:
        with pytest.raises(IrregularError):
            read_flat(path, reader_name="fast")
