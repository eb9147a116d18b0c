"""Any export as a flat table."""

import logging
import warnings
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tracekit.base.errors import InputError
from tracekit.tables.drift import DamagedExportWarning, DriftWarning, ExportWarning
from tracekit.tables.flat import read_flat, read_table
from tracekit.tables.xml.fast.tokens import IrregularError

Export = Callable[..., Path]
PROCESS = '<process id="{0}" fmt="App ({1})"><pid id="{0}1">{1}</pid></process>'


def test_a_row_for_a_row_and_a_column_for_a_mnemonic(export: Export) -> None:
    path = export(
        "start:start-time state:gpu-state id:metal-command-buffer-id share:percent on:boolean",
        '<row><start-time id="1" fmt="0">7</start-time><gpu-state id="2">Active</gpu-state>'
        '<metal-command-buffer-id id="3" fmt="0xf">18446744073709551615</metal-command-buffer-id>'
        '<percent id="4">0.142594111</percent><boolean id="5" fmt="Yes">3</boolean></row>',
        '<row><start-time ref="1"/><sentinel/><sentinel/><sentinel/><sentinel/></row>',
    )
    frame = read_table(path)
    assert frame.dtypes.astype(str).to_dict() == {
        "start": "int64",
        "state": "string",
        "id": "UInt64",
        "share": "float64",
        "on": "boolean",
    }
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


def test_damage_is_a_warning_that_counts_the_rows(export: Export) -> None:
    path = export("n:uint32", *['<row><uint32 id="1">5</uint32></row>'] * 3)
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
    assert issubclass(DamagedExportWarning, ExportWarning)
    assert issubclass(ExportWarning, UserWarning)


def test_several_tables_need_a_name(document: Export, node: Callable[..., str]) -> None:
    path = document(
        node("n:uint32", '<row><uint32 id="1">5</uint32></row>', schema="one"),
        node("m:uint32", '<row><uint32 ref="1"/></row>', schema="two"),
    )
    with pytest.raises(
        InputError, match="holds 2 tables: one, run 1 table 1, with 1 row; two, "
    ) as caught:
        read_table(path)
    assert caught.value.hint
    assert read_table(path, "two")["m"].tolist() == [5]
    with pytest.raises(InputError, match="no table three; it holds one, "):
        read_table(path, schema="three")


def two_profiles(node: Callable[..., str], first: int = 1, second: int = 1) -> list[str]:
    """Write two tables of one schema, with that many rows."""
    columns = "n:uint32 process:process"
    rows = f'<row><uint32 id="9">5</uint32>{PROCESS.format(1, 7)}</row>'
    again = '<row><uint32 id="8">-6</uint32><process id="1" fmt="x"/></row>'
    return [
        node(columns, *[rows] * first, schema="info", table=4),
        node(columns, *[again] * second, schema="info", table=11),
    ]


def test_tables_of_one_schema_are_chosen_by_their_place(
    document: Export, node: Callable[..., str]
) -> None:
    path = document(*two_profiles(node))
    with pytest.raises(InputError, match="holds 2 tables of info") as caught:
        read_table(path)
    assert "info, run 1 table 4, with 1 row; info, run 1 table 11, with 1 row." in str(caught.value)
    assert "--table" in caught.value.hint
    assert read_table(path, table=4)["n"].tolist() == [5]
    assert read_table(path, "info", table=11, run=1)["n"].tolist() == [-6]
    with pytest.raises(InputError, match="no table that is table 5; it holds info, run 1 table 4"):
        read_table(path, table=5)
    with pytest.raises(InputError, match="no table that is run 2, table 4"):
        read_table(path, table=4, run=2)


@pytest.mark.parametrize("full", [0, 1])
def test_the_only_table_with_rows_is_taken_and_the_other_named(
    document: Export, node: Callable[..., str], full: int
) -> None:
    path = document(*two_profiles(node, first=1 - full, second=full))
    with pytest.warns(ExportWarning, match=f"run 1 table {[11, 4][full]} has no rows") as caught:
        frame = read_table(path)
    assert len(caught) == 1
    assert frame["n"].tolist() == [[5], [-6]][full]


def test_an_empty_answer_is_not_taken_for_success(tmp_path: Path) -> None:
    path = tmp_path / "empty.xml"
    path.write_text("<trace-query-result/>")
    with pytest.raises(InputError, match="holds no table"):
        read_table(path)


PLAIN = (
    '<row><start-time id="1" fmt="00:00.000.007">7</start-time><uint64 id="2" fmt="5">5</uint64>'
    '<formatted-label id="3" fmt="a µ"><string id="4" fmt="a µ">a µ</string></formatted-label>'
    "</row>"
)
COLUMNS = "start:start-time id:uint64 label:formatted-label"


@pytest.fixture
def plain(tmp_path: Path, node: Callable[..., str]) -> Path:
    """Write an export byte for byte as xctrace does."""
    path = tmp_path / "plain.xml"
    path.write_text(
        '<?xml version="1.0"?>\n<trace-query-result>\n'
        + node(COLUMNS, PLAIN, '<row><start-time ref="1"/><sentinel/><sentinel/></row>')
        + "</trace-query-result>\n"
    )
    return path


def test_a_plain_export_is_read_by_the_fast_reader(
    plain: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "tracekit"):
        flat = read_flat(plain)
    assert "read by FastReader" in caplog.text
    exact = read_flat(plain, only="exact")
    pd.testing.assert_frame_equal(flat.frame, exact.frame)


def test_the_exact_reader_reads_what_the_fast_one_gives_up(
    plain: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plain.write_text(plain.read_text().replace('ref="1"/>', 'ref="1" />'))
    with caplog.at_level(logging.DEBUG, "tracekit"):
        flat = read_flat(plain)
    assert "not read by the fast reader: " in caplog.text
    assert "read by ExactReader" in caplog.text
    assert flat.frame["start"].tolist() == [7, 7]
    with pytest.raises(IrregularError):
        read_flat(plain, only="fast")
