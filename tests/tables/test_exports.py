"""What a file is, told from its text alone."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tracekit.base.errors import InputError
from tracekit.tables.exports import Content, identify, index
from tracekit.tables.toc import read_toc

TOC = '<?xml version="1.0"?>\n\n<trace-toc><run number="1"/></trace-toc>'


@pytest.mark.parametrize(
    ("text", "content"),
    [
        pytest.param(TOC, Content("toc"), id="a table of contents"),
        pytest.param("<trace-query-result/>", Content("tables"), id="an empty answer"),
        pytest.param(
            "<trace-query-result><node><schema name='a&amp;b'/>", Content("tables", ("a&b",)),
            id="an escaped name",
        ),
        pytest.param(
            '<trace-query-result><node><schema documentation=" name=&quot;x&quot; >" name="a">',
            Content("tables", ("a",)),
            id="a documented schema",
        ),
        pytest.param(
            "<!-- <trace-toc> --><?x?><trace-query-result >", Content("tables"), id="a comment"
        ),
        pytest.param("<html/>", Content("unknown"), id="a page"),
        pytest.param("", Content("unknown"), id="nothing"),
        pytest.param("start,duration\n1,2\n", Content("unknown"), id="CSV"),
        pytest.param("Export failed: XQueryError:3", Content("unknown"), id="words of xctrace"),
    ],
)  # fmt: skip
def test_a_file_is_what_it_begins_with(tmp_path: Path, text: str, content: Content) -> None:
    path = tmp_path / "file.xml"
    path.write_text(text)
    assert identify(path) == content


def test_binary_files_are_unknown(tmp_path: Path) -> None:
    path = tmp_path / "file.xml"
    path.write_bytes(bytes(range(256)) * 100)
    assert identify(path) == Content("unknown")


def test_all_schemas_of_a_file_are_found_once(
    document: Callable[..., Path], node: Callable[..., str]
) -> None:
    path = document(
        node("a:string", '<row><string>&lt;schema name="no"&gt;</string></row>', schema="one"),
        node("a:string", schema="two"),
        node("a:string", schema="one"),
    )
    assert identify(path) == Content("tables", ("one", "two"))


@pytest.mark.parametrize("before", range(1, 21))
def test_a_schema_across_two_blocks_is_found(
    document: Callable[..., Path], node: Callable[..., str], before: int
) -> None:
    second = node("a:string", schema="two")
    path = document(node("a:string", schema="one"), "@", second)
    text = path.read_text()
    begins = text.rindex('<schema name="two">') - 1
    path.write_text(text.replace("@", " " * ((1 << 22) - before - begins)))
    assert path.read_text()[(1 << 22) - before :].startswith('<schema name="two">')
    assert identify(path).schemas == ("one", "two")


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


def test_an_absent_folder_holds_nothing(tmp_path: Path) -> None:
    assert index(tmp_path / "absent").tables == {}


def test_a_file_that_cannot_be_opened_is_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        identify(tmp_path / "absent.xml")
    (tmp_path / "folder.xml").mkdir()
    assert index(tmp_path).tables == {}
