"""Any export as a flat table."""

import warnings
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tracekit.base.errors import InputError
from tracekit.tables.drift import DamagedExportWarning, DriftWarning, ExportWarning
from tracekit.tables.flat import read_flat, read_table
from tracekit.tables.place import Choice
from tracekit.tables.toc import Toc, TocRun, TocTable

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


def test_an_empty_table_has_its_columns_and_dtypes(export: Export) -> None:
    frame = read_table(export("start:start-time thread:thread odd:brand-new share:percent"))
    assert frame.dtypes.astype(str).to_dict() == {
        "start": "int64",
        "thread": "string",
        "thread.tid": "int64",
        "thread.pid": "int64",
        "odd": "string",
        "share": "float64",
    }
    assert len(frame) == 0


def test_ids_stand_beside_processes_and_threads(export: Export) -> None:
    frame = read_table(
        export(
            "process:process thread:thread",
            f'<row>{PROCESS.format(1, 7)}<thread id="4" fmt="Main Thread 0x9 (App, pid: 7)">'
            '<tid id="5" fmt="0x9">9</tid><process ref="1"/></thread></row>',
            "<row><sentinel/><sentinel/></row>",
        )
    )
    assert list(frame) == ["process", "process.pid", "thread", "thread.tid", "thread.pid"]
    assert frame.iloc[0].tolist() == ["App (7)", 7, "Main Thread 0x9 (App, pid: 7)", 9, 7]
    assert frame.iloc[1].isna().all()
    assert frame["process.pid"].dtype == "Int64"


def test_equal_mnemonics_stay_apart(export: Export) -> None:
    frame = read_table(
        export(
            "id:uint32 id:uint32 id:uint32",
            "<row><uint32>1</uint32><uint32>2</uint32><uint32>3</uint32></row>",
        )
    )
    assert frame.iloc[0].to_dict() == {"id": 1, "id.2": 2, "id.3": 3}


@pytest.mark.parametrize(
    ("cells", "dtype"),
    [
        (["<uint64>5</uint64>", "<uint64>6</uint64>"], "uint64"),
        (["<weight>5</weight>", "<sentinel/>"], "Int64"),
        (["<boolean>1</boolean>", "<boolean>0</boolean>"], "bool"),
        (["<string>5</string>", "<string>6</string>"], "string"),
        (["<pmc-event>5</pmc-event>", "<weight>6</weight>"], "int64"),
        (["<string>x</string>", "<weight>6</weight>"], "string"),
        (["<sentinel/>", "<sentinel/>"], "string"),
    ],
)
def test_a_column_of_any_type_has_that_of_its_cells(
    export: Export, cells: list[str], dtype: str
) -> None:
    frame = read_table(export("value:any", *(f"<row>{cell}</row>" for cell in cells)))
    assert frame["value"].dtype == dtype


def test_an_unknown_type_is_kept(export: Export) -> None:
    frame = read_table(
        export(
            "load:system-cpu-percent name:new-name",
            "<row><system-cpu-percent>12.5</system-cpu-percent><new-name>x</new-name></row>",
        )
    )
    assert frame.iloc[0].tolist() == [12.5, "x"]


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


def test_another_tag_than_the_declared_one_makes_text_and_a_warning(export: Export) -> None:
    path = export("at:start-time", '<row><duration id="1">5</duration></row>')
    with pytest.warns(DriftWarning, match="declared as start-time and holds duration"):
        frame = read_table(path)
    assert frame["at"].tolist() == ["5"]


def test_a_pid_that_is_no_number_is_text(export: Export) -> None:
    path = export("process:process", f"<row>{PROCESS.format(1, 'seven')}</row>")
    with pytest.warns(DriftWarning, match=r"process\.pid holds what is no number"):
        frame = read_table(path)
    assert frame["process.pid"].tolist() == ["seven"]


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
    assert len(flat.told.damage) == 1
    assert issubclass(DamagedExportWarning, ExportWarning)
    assert issubclass(ExportWarning, UserWarning)


def test_several_tables_need_a_name(document: Export, node: Callable[..., str]) -> None:
    path = document(
        node("n:uint32", '<row><uint32 id="1">5</uint32></row>', schema="one"),
        node("m:uint32", '<row><uint32 ref="1"/></row>', schema="two"),
    )
    with pytest.raises(InputError, match="holds 2 tables: one, two") as caught:
        read_table(path)
    assert caught.value.hint
    assert read_table(path, "two")["m"].tolist() == [5]
    with pytest.raises(InputError, match="no table 'three'; it holds one, two"):
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


def test_tables_of_one_schema_are_chosen_by_their_attributes(
    document: Export, node: Callable[..., str]
) -> None:
    path = document(*two_profiles(node))
    tables = (
        TocTable(4, "info", {"counter-profile": "0"}),
        TocTable(11, "info", {"counter-profile": "3", "shader-profiler": "1"}),
    )
    toc = Toc((TocRun(1, tables=tables),))
    with pytest.raises(InputError, match=r"table 11 \(counter-profile=3, shader-profiler=1\)"):
        read_flat(path, toc=toc)
    chosen = read_flat(path, toc=toc, choice=Choice(attributes={"counter-profile": "3"}))
    assert chosen.frame["n"].tolist() == [-6]
    with pytest.raises(InputError, match="no table that is counter-profile=7"):
        read_flat(path, toc=toc, choice=Choice(attributes={"counter-profile": "7"}))
    others = Toc((TocRun(1, tables=(TocTable(4, "other", {"counter-profile": "3"}),)),))
    with pytest.raises(InputError, match="no table that is counter-profile=3"):
        read_flat(path, toc=others, choice=Choice(attributes={"counter-profile": "3"}))


@pytest.mark.parametrize("full", [0, 1])
def test_the_only_table_with_rows_is_taken_and_the_other_named(
    document: Export, node: Callable[..., str], full: int
) -> None:
    path = document(*two_profiles(node, first=1 - full, second=full))
    with pytest.warns(ExportWarning, match=f"run 1 table {[11, 4][full]} has no rows") as caught:
        frame = read_table(path)
    assert len(caught) == 1
    assert frame["n"].tolist() == [[5], [-6]][full]


def test_tables_that_are_empty_alike_are_one_empty_table(
    document: Export, node: Callable[..., str]
) -> None:
    flat = read_flat(document(*two_profiles(node, 0, 0)))
    assert list(flat.frame) == ["n", "process", "process.pid"]
    assert (len(flat.frame), flat.told.remarks) == (0, ())
    with pytest.raises(InputError, match=r"2 tables of table: .* with 0 rows"):
        read_table(document(node("n:uint32"), node("m:uint32", table=2)))


def test_runs_are_not_mixed(document: Export, node: Callable[..., str]) -> None:
    row = '<row><uint32 id="9">{}</uint32></row>'
    path = document(
        node("n:uint32", row.format(1)),
        node("n:uint32", row.format(2)).replace("run[1]", "run[2]"),
    )
    with pytest.raises(InputError, match="run 1 table 1, with 1 row; table, run 2 table 1"):
        read_table(path)
    assert read_table(path, run=2)["n"].tolist() == [2]


def test_an_empty_answer_is_not_taken_for_success(tmp_path: Path) -> None:
    path = tmp_path / "empty.xml"
    path.write_text("<trace-query-result/>")
    with pytest.raises(InputError, match="holds no table"):
        read_table(path)


def test_the_caller_gets_a_frame_of_its_own(export: Export) -> None:
    path = export("n:uint32", '<row><uint32 id="1">5</uint32></row>')
    frame = read_table(path)
    frame.loc[0, "n"] = 0
    assert read_table(path)["n"].tolist() == [5]
    assert isinstance(frame.index, pd.RangeIndex)
