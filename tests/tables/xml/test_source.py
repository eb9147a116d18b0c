"""Hostile files, and files that are something else: refused in one sentence, at once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from exact_nodes import read_nodes
from tracekit.base.errors import InputError
from tracekit.tables.xml.source import batches

Export = Callable[..., Path]


def bomb(depth: int = 30) -> str:
    entities = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, depth))
    return f'<!DOCTYPE r [<!ENTITY e0 "lol">{entities}]>'


def refusal(tmp_path: Path, content: bytes | str) -> str:
    path = tmp_path / "input.xml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InputError) as caught:
        read_nodes(path)
    assert "\n" not in caught.value.message
    return caught.value.message


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(f"{bomb()}<trace-query-result>&e29;</trace-query-result>", id="in text"),
        pytest.param(f'{bomb()}<trace-query-result a="&e29;"/>', id="in an attribute"),
        pytest.param(f'<?xml version="1.0"?>\n<!-- a -->\n{bomb()}<x/>', id="after a comment"),
        pytest.param("\ufeff" + bomb() + "<x/>", id="after a byte order mark"),
        pytest.param("<!DOCTYPE trace-query-result><trace-query-result/>", id="without entities"),
        pytest.param(
            '<!DOCTYPE r SYSTEM "/etc/passwd"><trace-query-result/>', id="an external subset"
        ),
        pytest.param(
            '<!DOCTYPE r [<!ENTITY % p SYSTEM "/etc/passwd">%p;]><trace-query-result/>',
            id="a parameter entity",
        ),
    ],
)
def test_a_document_type_is_refused(tmp_path: Path, content: str) -> None:
    assert "declares a document type" in refusal(tmp_path, content)


def test_a_deep_nest_within_a_row_ends_the_table_there(export: Export) -> None:
    for depth in (70, 200, 100_000):
        nest = '<a fmt="x">' * depth + "</a>" * depth
        path = export(
            "a:string",
            '<row><string id="1">kept</string></row>',
            f"<row>{nest}</row>",
            '<row><string ref="1"/></row>',
        )
        (node,) = read_nodes(path)
        assert node.rows == 1
        assert "deep" in node.damage or "Excessive depth" in node.damage
        assert "HUGE" not in node.damage


def test_what_was_read_is_freed(export: Export) -> None:
    path = export("a:string", *['<row><string id="1">some text</string></row>'] * 50_000)
    most = rows = 0
    for batch in batches(path):
        for row in batch:
            parent = row.getparent()
            most = max(most, 0 if parent is None else len(parent))
            rows += row.tag == "row"
    assert rows == 50_000
    assert most < 20_000


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        pytest.param("", "is empty", id="nothing"),
        pytest.param(
            "Export failed: XQueryError:3 - \"invalid token (')' )\"\n",
            "is not XML; it begins with 'Export failed: XQueryError:3",
            id="words of xctrace",
        ),
        pytest.param("a,b\n1,2\n", "is not XML; it begins with 'a,b'", id="CSV"),
        pytest.param("<html><body/></html>", "with the root <html>", id="a page"),
        pytest.param(
            '<?xml version="1.0"?>\n\n<trace-toc><run number="1"/></trace-toc>',
            "with the root <trace-toc>",
            id="a table of contents",
        ),
        pytest.param(
            "<trace-query-result><node xpath='x'><schema name=\"a\"><col><mnemo",
            "is cut before its first table",
            id="cut in the header",
        ),
        pytest.param(
            "<trace-query-result><node xpath='x'/></trace-query-result>",
            "is damaged before its first table: the table x has no header",
            id="no header",
        ),
        pytest.param(
            '<trace-query-result><node><schema name="a"/></node></trace-query-result>',
            "the header of the table 'a' is not complete",
            id="no columns",
        ),
    ],
)
def test_what_is_no_export_is_said_to_be_what_it_is(
    tmp_path: Path, content: bytes | str, sentence: str
) -> None:
    assert sentence in refusal(tmp_path, content)
