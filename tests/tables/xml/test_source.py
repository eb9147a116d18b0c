"""Hostile files, and files that are something else: refused in one sentence, at once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from exact_nodes import read_nodes
from tracekit.base.errors import InputError
from tracekit.tables.xml.source import ROOT, batches

Export = Callable[..., Path]


def bomb(depth: int = 30) -> str:
    entities = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, depth))
    return f'<!DOCTYPE r [<!ENTITY e0 "lol">{entities}]>'


def refusal(tmp_path: Path, content: str) -> str:
    path = tmp_path / "input.xml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_nodes(path)
    assert "\n" not in caught.value.message
    return caught.value.message


@pytest.mark.parametrize(
    "content",
    [
        f"{bomb()}<trace-query-result>&e29;</trace-query-result>",
        f'{bomb()}<trace-query-result a="&e29;"/>',
        f'<?xml version="1.0"?>\n<!-- a -->\n{bomb()}<x/>',
        "\ufeff" + bomb() + "<x/>",
        "<!DOCTYPE trace-query-result><trace-query-result/>",
        '<!DOCTYPE r SYSTEM "/etc/passwd"><trace-query-result/>',
        '<!DOCTYPE r [<!ENTITY % p SYSTEM "/etc/passwd">%p;]><trace-query-result/>',
    ],
    ids=["text", "attribute", "comment", "mark", "no entity", "external subset", "parameter"],
)
def test_a_document_type_is_refused(tmp_path: Path, content: str) -> None:
    assert "declares a document type" in refusal(tmp_path, content)


def test_a_deep_nest_within_a_row_ends_the_table_there(export: Export) -> None:
    for depth in (66, 200, 100_000, 65):
        nest = '<a fmt="x">' * depth + "</a>" * depth
        path = export(
            "a:string",
            '<row><string id="1">kept</string></row>',
            f"<row>{nest}</row>",
            '<row><string ref="1"/></row>',
        )
        (node,) = read_nodes(path)
        if depth == 65:
            assert (node.rows, node.damage) == (3, "")
            continue
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
        ("", "is empty"),
        ('Export failed: XQueryError:3 - "x"\n', "is not XML; it begins with 'Export failed: XQ"),
        ("a,b\n1,2\n", "is not XML; it begins with 'a,b'"),
        ("<html><body/></html>", "with the root <html>"),
        ('<?xml version="1.0"?>\n\n<trace-toc/>', "with the root <trace-toc>"),
        ("<trace-query-result><node><schema name='a'><col><mn", "is cut before its first table"),
        (
            f"<{ROOT}><node xpath='x'/></{ROOT}>",
            "before its first table: the table x has no header",
        ),
        (
            f"<{ROOT}><node><schema name='a'/></node></{ROOT}>",
            "header of the table 'a' is not comp",
        ),
    ],
)
def test_what_is_no_export_is_said_to_be_what_it_is(
    tmp_path: Path, content: str, sentence: str
) -> None:
    assert sentence in refusal(tmp_path, content)


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (
            '<?xml version="1.0"?>\n<trace-toc/>',
            'Export a table: --xpath \'/trace-toc/run[@number="1"]/data/table[@schema="…"]\'.',
        ),
        ("a" * 200, "Unpack it, or make it UTF-8, first."),
    ],
)
def test_what_is_no_export_has_a_hint(tmp_path: Path, content: str, hint: str) -> None:
    path = tmp_path / "input.xml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_nodes(path)
    assert caught.value.hint == hint
    assert "a" * 121 not in caught.value.message
