"""What a file is, told from its text alone."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tracekit.base.errors import InputError
from tracekit.tables.exports import Content, Header, headers, identify, index
from tracekit.tables.toc import read_toc
from tracekit.tables.xml.reader import ExactReader

TOC = '<?xml version="1.0"?>\n\n<trace-toc><run number="1"/></trace-toc>'


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (TOC, Content("toc")),
        ("<trace-query-result/>", Content("tables")),
        (
            "<trace-query-result><node><schema name='a&amp;b'/>",
            Content("tables", (Header("a&b", "", 1),)),
        ),
        (
            '<trace-query-result><node><schema documentation=" name=&quot;x&quot; >" name="a">',
            Content("tables", (Header("a", "", 1),)),
        ),
        ("<!-- <trace-toc> --><?x?><trace-query-result >", Content("tables")),
        ("<html/>", Content("unknown")),
        ("", Content("unknown")),
        ("start,duration\n1,2\n", Content("unknown")),
        ("Export failed: XQueryError:3", Content("unknown")),
    ],
)
def test_a_file_is_what_it_begins_with(tmp_path: Path, text: str, content: Content) -> None:
    path = tmp_path / "file.xml"
    path.write_text(text)
    assert identify(path) == content


def test_a_folder_is_indexed_by_schema(export: Callable[..., Path], tmp_path: Path) -> None:
    one = export("a:string", schema="one", name="b.xml")
    again = export("a:string", schema="one", name="c.xml")
    two = export("a:string", schema="two", name="a.xml")
    toc = tmp_path / "toc.xml"
    toc.write_text(TOC)
    (tmp_path / "notes.txt").write_text("<trace-toc/>")
    (tmp_path / "other.xml").write_text("<html/>")
    (tmp_path / "folder").mkdir()
    found = index(tmp_path)
    assert {name: [one.ref for one in listed] for name, listed in found.tables.items()} == {
        "one": [one, again],
        "two": [two],
    }
    assert found.toc == read_toc(toc)


def test_a_file_that_cannot_be_opened_is_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        identify(tmp_path / "absent.xml")
    (tmp_path / "folder.xml").mkdir()
    assert index(tmp_path).tables == {}


ROW = '<row><uint32 id="1">5</uint32></row>'
NodeMaker = Callable[..., str]


def xpath(table: int) -> str:
    return f"//trace-toc[1]/run[1]/data[1]/table[{table}]"


def test_tables_are_found_in_their_order(document: Callable[..., Path], node: NodeMaker) -> None:
    path = document(
        node("n:uint32", ROW, ROW, schema="one", table=4),
        node("n:uint32", schema="two", table=9),
        node("n:uint32", ROW, schema="one", table=11),
    )
    assert headers(path) == [
        Header("one", xpath(4), 1, rows=True),
        Header("two", xpath(9), 2, rows=False),
        Header("one", xpath(11), 3, rows=True),
    ]


def test_a_table_without_a_header_inherits(document: Callable[..., Path], node: NodeMaker) -> None:
    bare = f"<node xpath='{xpath(7)}'>{ROW}</node>"
    path = document(node("n:uint32", schema="one"), bare, "<node/>")
    assert headers(path)[1:] == [
        Header("one", xpath(7), 2, rows=True, inherited=True),
        Header("one", "", 3, rows=False, inherited=True),
    ]
    assert headers(document(bare)) == [Header("", xpath(7), 1, rows=True, inherited=True)]


def test_words_in_values_are_no_tags(document: Callable[..., Path], node: NodeMaker) -> None:
    text = '<row><string id="1" fmt="&lt;node&gt;">&lt;schema name="no"/&gt; nodes</string></row>'
    path = document(node("s:string", text, schema="a&amp;b"))
    assert headers(path) == [Header("a&b", xpath(1), 1, rows=True)]
    rows = node("s:string", schema="rows")
    assert headers(document(rows.replace("<node ", "<nodes/><node ")))[0].number == 1


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a&#x9b;b", "a\x9bb"),
        ("a&#155;b", "a\x9bb"),
        ("&amp;nbsp;&amp;lt;", "&nbsp;&lt;"),
        ("a\tb\nc&#9;d", "a b c\td"),
    ],
    ids=["a control character", "the same in decimal", "an ampersand", "white space"],
)
def test_values_are_read_by_the_rules_of_xml_as_by_the_exact_reader(
    document: Callable[..., Path], node: NodeMaker, written: str, meant: str
) -> None:
    path = document(node("n:uint32", ROW, schema=written))
    assert [one.schema for one in headers(path)] == [meant]
    assert [one.schema for one in ExactReader(path).pieces()] == [meant]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 50, 10_000])
def test_it_does_not_matter_where_blocks_are_cut(
    document: Callable[..., Path], node: NodeMaker, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = document(
        node("n:uint32", ROW, schema="one", table=4),
        node("n:uint32", schema="two", table=9),
        f"<node xpath='{xpath(10)}'>\n{ROW}</node>",
        node("n:uint32", schema="three", table=11),
    )
    monkeypatch.setattr("tracekit.tables.exports._BLOCK", size)
    assert headers(path) == [
        Header("one", xpath(4), 1, rows=True),
        Header("two", xpath(9), 2),
        Header("two", xpath(10), 3, rows=True, inherited=True),
        Header("three", xpath(11), 4),
    ]
