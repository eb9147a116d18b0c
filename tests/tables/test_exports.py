"""What a file is, told from its text alone; of the exports of several runs, those of one."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tracekit.base.errors import InputError, UsageError
from tracekit.base.recording import Process
from tracekit.tables.direct import Listed
from tracekit.tables.export_files import Content, identify
from tracekit.tables.exports import ExportIndex, index, of_one_run, select_run
from tracekit.tables.headers import TableHeader, headers
from tracekit.tables.losses import Flaw, Loss
from tracekit.tables.place import OPEN, Choice, TablePlace
from tracekit.tables.toc import Toc, TocRun, TocTable, read_toc
from tracekit.tables.xml.reader import ExactReader

Export = Callable[..., Path]
NodeMaker = Callable[..., str]
TOC = '<?xml version="1.0"?>\n\n<trace-toc><run number="1"/></trace-toc>'


def test_a_file_is_classified_by_its_beginning(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for text, content in (
        (TOC, Content("toc")),
        ("<trace-query-result/>", Content("tables")),
        (
            "<trace-query-result><node><schema name='a&amp;b'/>",
            Content("tables", (TableHeader("a&b", "", 1),)),
        ),
        (
            '<trace-query-result><node><schema documentation=" name=&quot;x&quot; >" name="a">',
            Content("tables", (TableHeader("a", "", 1),)),
        ),
        ("<!-- <trace-toc> --><?x?><trace-query-result >", Content("tables")),
        ("<html/>", Content("unknown")),
        ("", Content("unknown")),
        ("start,duration\n1,2\n", Content("unknown")),
        ("Export failed: XQueryError:3", Content("unknown")),
    ):
        path = tmp_path / "file.xml"
        path.write_text(text)
        with subtests.test(text):
            assert identify(path) == content


def test_a_folder_is_indexed_by_schema(export: Export, tmp_path: Path) -> None:
    one = export("a:string", schema="one", name="b.xml")
    again = export("a:string", schema="one", name="c.xml")
    two = export("a:string", schema="two", name="a.xml")
    toc = tmp_path / "toc.xml"
    toc.write_text(TOC)
    (tmp_path / "notes.txt").write_text("<trace-toc/>")
    (tmp_path / "other.xml").write_text("<html/>")
    (tmp_path / "folder.xml").mkdir()
    export_index = index(tmp_path)
    assert {name: [one.ref for one in listed] for name, listed in export_index.tables.items()} == {
        "one": [one, again],
        "two": [two],
    }
    assert export_index.toc == read_toc(toc)
    assert export_index.strange == (tmp_path / "other.xml",)
    (tmp_path / "copy.xml").write_text(TOC)
    assert index(tmp_path).toc is None  # of two, nobody knows which


def test_a_flat_table_is_called_by_its_file_and_may_have_no_rows(tmp_path: Path) -> None:
    for name, starts in (("none", []), ("some", [5])):
        pd.DataFrame({"start": starts}).to_parquet(path := tmp_path / f"{name}.parquet")
        assert identify(path) == Content(
            "tables", (TableHeader(name, "", 1, rows=bool(starts)),)
        ), name
    path.write_bytes(b"damaged")  # it counts, so that reading it says so
    assert identify(path) == Content("tables", (TableHeader("some", "", 1, rows=True),))


def test_a_file_that_cannot_be_opened_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        identify(tmp_path / "absent.xml")


ROW = '<row><uint32 id="1">5</uint32></row>'


def xpath(table: int) -> str:
    return f"//trace-toc[1]/run[1]/data[1]/table[{table}]"


def test_words_in_values_are_not_tags(document: Export, node: NodeMaker) -> None:
    text = '<row><string id="1" fmt="&lt;node&gt;">&lt;schema name="no"/&gt; nodes</string></row>'
    path = document(node("s:string", text, schema="a&amp;b"))
    assert headers(path) == [TableHeader("a&b", xpath(1), 1, rows=True)]
    rows = node("s:string", schema="rows")
    assert headers(document(rows.replace("<node ", "<nodes/><node ")))[0].number == 1
    assert headers(document(rows.replace("<node ", "<node a='&none;' "))) == []


def test_values_are_read_by_the_rules_of_xml_as_by_the_exact_reader(
    document: Export, node: NodeMaker, subtests: pytest.Subtests
) -> None:
    for source_text, read in (
        ("a&#x9b;b", "a\x9bb"),
        ("a&#155;b", "a\x9bb"),
        ("&amp;nbsp;&amp;lt;", "&nbsp;&lt;"),
        ("a\tb\nc&#9;d", "a b c\td"),
    ):
        with subtests.test(source_text):
            path = document(node("n:uint32", ROW, schema=source_text))
            assert [one.schema for one in headers(path)] == [read]
            assert [(one.schema, one.number) for one in ExactReader(path).pieces()] == [(read, 1)]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 50, 10_000])
def test_it_does_not_matter_where_blocks_are_cut(
    document: Export, node: NodeMaker, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = document(
        node("n:uint32", ROW, ROW, schema="one", table=4),
        node("n:uint32", schema="two", table=9),
        f"<node xpath='{xpath(10)}'>\n{ROW}</node>",
        "<node/>",
        node("n:uint32", ROW, schema="one", table=11),
    )
    monkeypatch.setattr("tracekit.tables.headers._BLOCK", size)
    assert headers(path) == [
        TableHeader("one", xpath(4), 1, rows=True),
        TableHeader("two", xpath(9), 2),
        TableHeader("two", xpath(10), 3, rows=True, inherited=True),
        TableHeader("two", "", 4, inherited=True),
        TableHeader("one", xpath(11), 5, rows=True),
    ]


def test_a_table_without_any_header_has_no_schema(document: Export) -> None:
    bare_file = document(f"<node xpath='{xpath(7)}'>{ROW}</node>")
    assert headers(bare_file) == [TableHeader("", xpath(7), 1, rows=True, inherited=True)]


FOLDER = Path("exports")


def make_listed(run: int | None, table: int | None = 1) -> Listed:
    return Listed(Path(f"{run}-{table}.xml"), "tick", TablePlace(run, table), {}, rows=True)


SEVERAL = ExportIndex(
    {"tick": (make_listed(1), make_listed(2), make_listed(2, 2), make_listed(None, None))},
    toc=Toc((TocRun(1, target=Process(7, "a")), TocRun(2), TocRun(3))),
    missing_losses=(
        Loss(Flaw.DAMAGED, "of one", run=1),
        Loss(Flaw.DAMAGED, "of two", run=2),
        Loss(Flaw.DAMAGED, "of all"),
    ),
)


def test_files_of_other_runs_or_places_are_left_out() -> None:
    for choice, run, tables, loss_texts in (
        (Choice(1), 1, ["1-1", "None-None"], ["of one", "of all"]),
        (Choice(1, 1), 1, ["1-1"], ["of one", "of all"]),
        (OPEN, 2, ["2-1", "2-2", "None-None"], ["of two", "of all"]),
    ):
        selection, number, remarks = of_one_run(SEVERAL, FOLDER, choice)
        assert number == run, tables
        assert [Path(str(table.ref)).stem for table in selection.all_tables] == tables
        assert [loss.text for loss in selection.missing_losses] == loss_texts, tables
        assert [
            "exports has 3 runs" in text and "Run 2, the last one with tables, is read" in text
            for text in remarks
        ] == [True] * (choice == OPEN)


BARE = ExportIndex({"tick": (make_listed(2), make_listed(5))})
TABLES = (TocTable(1, "tick"),)
SECOND = ExportIndex(
    {"tick": (make_listed(2),)}, toc=Toc((TocRun(1, tables=TABLES), TocRun(2, tables=TABLES)))
)
NOWHERE = ExportIndex({"tick": (make_listed(None, None),)})


def test_runs_are_known_by_exports_too_and_may_be_unknown() -> None:
    runs = [
        of_one_run(export_index, FOLDER, choice)[1]
        for export_index, choice in (
            (BARE, OPEN),
            (BARE, Choice(2)),
            (SECOND, OPEN),
            (NOWHERE, OPEN),
        )
    ]
    assert runs == [5, 2, 2, None]
    assert select_run(ExportIndex(), FOLDER, 3) == (None, ())


def test_a_run_or_place_that_is_not_there_is_refused(subtests: pytest.Subtests) -> None:
    for export_index, choice, error, message, hint in (
        (SECOND, Choice(1), UsageError, r"exports has no export of run 1\.", "It has run 2."),
        (BARE, Choice(3), UsageError, "exports has no run 3", "It has run 2; run 5."),
        (
            NOWHERE,
            Choice(1),
            UsageError,
            "has no run 1: its tables do not name their run",
            "Leave --run",
        ),
        (BARE, Choice(2, 7), InputError, "exports has no table that is run 2, table 7", "--table"),
    ):
        with subtests.test(hint):
            with pytest.raises(error, match=message) as raised:
                of_one_run(export_index, FOLDER, choice)
            assert isinstance(raised.value, UsageError | InputError)
            assert hint in raised.value.hint
