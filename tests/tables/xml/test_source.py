"""Hostile files, and files that are something else: refused in one sentence, at once.

That a file is refused before it fills the memory is a question of limits, and those are tested:
the time and the memory that it takes are not.
"""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tracekit.base.errors import InputError
from tracekit.tables.flat import read_flat
from tracekit.tables.xml.fast.reader import FastReader
from tracekit.tables.xml.fast.tokens import IrregularError
from tracekit.tables.xml.reader import ExactReader
from tracekit.tables.xml.source import ROOT, batches

Export = Callable[..., Path]
KEPT = '<row><string id="1" fmt="kept">kept</string></row>'
OPEN = f'<?xml version="1.0"?>\n<{ROOT}>\n<node>'
LONG = "x" * 30_000_000


def bomb(depth: int = 30) -> str:
    entities = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, depth))
    return f'<!DOCTYPE r [<!ENTITY e0 "lol">{entities}]>'


def columns(count: int) -> str:
    return "".join(
        f"<col><mnemonic>c{n}</mnemonic><name/><engineering-type>string</engineering-type></col>"
        for n in range(count)
    )


def test_other_files_are_refused_in_a_sentence(tmp_path: Path, subtests: pytest.Subtests) -> None:
    refused = (
        (lambda: f"{bomb()}<{ROOT}>&e29;</{ROOT}>", "declares a document type"),
        (lambda: f'{bomb()}<{ROOT} a="&e29;"/>', "declares a document type"),
        (lambda: f'<?xml version="1.0"?>\n<!-- a -->\n{bomb()}<x/>', "declares a document type"),
        (lambda: "\ufeff" + bomb() + "<x/>", "declares a document type"),
        (lambda: f"<!DOCTYPE {ROOT}><{ROOT}/>", "declares a document type"),
        (lambda: f'<!DOCTYPE r SYSTEM "/etc/passwd"><{ROOT}/>', "declares a document type"),
        (
            lambda: f'<!DOCTYPE r [<!ENTITY % p SYSTEM "/etc/passwd">%p;]><{ROOT}/>',
            "declares a document type",
        ),
        (lambda: "", "is empty"),
        (lambda: 'Export failed: XQueryError:3 - "x"\n', "is not XML; it begins with 'Export fai"),
        (lambda: "a,b\n1,2\n", "is a table of text with an unknown header: 'a', 'b'"),
        (lambda: "<html><body/></html>", "with the root <html>"),
        (lambda: '<?xml version="1.0"?>\n\n<trace-toc/>', "with the root <trace-toc>"),
        (lambda: f"<{ROOT}><node><schema name='a'><col><mn", "is cut before its first table"),
        (
            lambda: f"<{ROOT}><node xpath='x'/></{ROOT}>",
            "before its first table: the table x has no header",
        ),
        (
            lambda: f"<{ROOT}><node><schema name='a'/></node></{ROOT}>",
            "header of the table 'a' is not comp",
        ),
        (lambda: "<a>" * 1_000_000, "XML with the root <a>"),
        (lambda: OPEN + "<schema name='t'>" * 500_000, "cut before"),
        (lambda: f'{OPEN}<schema name="t">{columns(250_000)}', "16 MB"),
        (lambda: f'{OPEN}<schema name="t">{columns(25_000)}</schema>', "more than 20000 columns"),
        (lambda: f"<{ROOT} " + " ".join(f'xmlns:a{n}="x"' for n in range(100_000)), "cut before"),
    )
    for number, (content, words) in enumerate(refused):
        path = tmp_path / "input.xml"
        path.write_text(content(), encoding="utf-8")
        with subtests.test(words, number=number):
            with pytest.raises(InputError) as caught:
                list(ExactReader(path).pieces())
            assert words in caught.value.message
            assert len(caught.value.message) < 400
            assert "\n" not in caught.value.message


def test_other_files_have_a_hint(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for content, hint in (
        (
            "<trace-toc/>",
            'Export a table: --xpath \'/trace-toc/run[@number="1"]/data/table[@schema="…"]\'.',
        ),
        ("a" * 200, "`xctrace export` writes exports, with --toc or --xpath."),
    ):
        with subtests.test(content):
            path = tmp_path / "input.xml"
            path.write_text(content)
            with pytest.raises(InputError) as caught:
                read_flat(path)
            assert caught.value.hint == hint
            assert "a" * 121 not in caught.value.message


def test_hostile_text_after_a_row_ends_the_table_there(
    export: Export, subtests: pytest.Subtests
) -> None:
    hostile = (
        (lambda: "<row>" + '<string id="2">' * 1_000_000, "Excessive depth"),
        (lambda: f'<row><string id="2">{LONG}</string></row>', "too long"),
        (lambda: f'<row><string id="2" fmt="{LONG}">x</string></row>', "16 MB"),
        (lambda: "<row>" + "&amp;" * 5_000_000, "16 MB"),
        (lambda: f"<row>{'<sentinel/>' * 500_000}</row>", "500000 cells for 1 columns"),
        (lambda: "<row><string>&e;</string></row>", "not defined"),
        (lambda: f"<row>{'<a>' * 66}{'</a>' * 66}</row>", "nested more than 64 deep"),
    )
    for number, (make_tail, words) in enumerate(hostile):
        with subtests.test(words, number=number):
            path = export("a:string", KEPT, make_tail())
            flat = read_flat(path)
            assert flat.frame["a"].tolist() == ["kept"]
            assert words in flat.notes.damage[0]
            assert len(flat.notes.damage[0]) < 400
            assert "\n" not in flat.notes.damage[0]
            assert "HUGE" not in flat.notes.damage[0]
            with pytest.raises(IrregularError):
                list(FastReader(path).pieces())


def test_a_value_that_is_nested_just_as_deep_as_allowed_is_read(export: Export) -> None:
    nest = '<a fmt="x">' * 65 + "</a>" * 65
    path = export("a:string", f"<row>{nest}</row>", KEPT)
    assert read_flat(path, reader_name="exact").frame["a"].tolist() == ["x", "kept"]


def test_read_rows_are_freed(export: Export) -> None:
    path = export("a:string", *['<row><string id="1">some text</string></row>'] * 10_000)
    max_children = rows = 0
    for batch in batches(path):
        for row in batch:
            parent = row.getparent()
            max_children = max(max_children, 0 if parent is None else len(parent))
            rows += row.tag == "row"
    assert rows == 10_000
    assert max_children < 5_000


@pytest.mark.parametrize("reader", [ExactReader, FastReader])
def test_a_file_that_shrinks_while_it_is_read_is_damaged(
    export: Export, reader: type[ExactReader | FastReader]
) -> None:
    repeat = '<row><string ref="1"/></row>'
    path = export("a:string", KEPT, *[repeat] * 300_000)
    pieces = reader(path).pieces()
    first_piece = next(pieces)
    with path.open("r+b") as file:
        file.truncate(first_piece.rows * (len(repeat) + 1) + 100_000)
    try:
        later_pieces = list(pieces)
    except IrregularError:
        assert reader is FastReader
        return
    assert reader is ExactReader
    assert later_pieces[-1].damage
    assert first_piece.rows + sum(piece.rows for piece in later_pieces) < 300_000


def test_a_pipe_is_refused_even_while_someone_writes_to_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    number = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    writer = threading.Thread(target=os.write, args=(number, OPEN.encode()))
    writer.start()
    with pytest.raises(InputError, match="is a pipe or a device, not"):
        read_flat(pipe)
    writer.join()
    os.close(number)
