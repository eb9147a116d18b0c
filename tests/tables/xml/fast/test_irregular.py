"""On which bytes the fast reader gives up; `irregular.txt` has rows, below their columns."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from plain_tables import INNER_STACK, cells, irregularity

Export = Callable[..., Path]
ROWS = Path(__file__).with_name("irregular.txt")
U = '<uint32 id="1" fmt="1">1</uint32>'


def irregular() -> Iterator[object]:
    """Read cases: a name, and rows in which a backslash escapes what a line cannot hold."""
    columns = ""
    for line in ROWS.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            columns = line[2:]
            continue
        name, _, rows = line.partition(": ")
        for escape, letter in (("\\n", "\n"), ("\\t", "\t"), ("\\ufffe", "\ufffe")):
            rows = rows.replace(escape, letter)
        yield pytest.param(columns, rows, id=name)


@pytest.mark.parametrize(("columns", "rows"), [*irregular()])
def test_the_reader_gives_up(export: Export, columns: str, rows: str) -> None:
    assert irregularity(export(columns, rows))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'<?xml version="1.0"?>', b'<?xml version="1.0" encoding="latin-1"?>'),
        (b'<?xml version="1.0"?>\n', b""),
        (b"<trace-query-result>", b"<trace-query-result >"),
        (b"<trace-query-result>", b"<trace-toc>"),
        (b"</schema>", b"</schema><schema/>"),
        (b"uint32</engineering-type>", b"any</engineering-type>"),
        (b"<name>N</name>", b"<name>&#78;</name></name>"),
        (b"<name>N</name>", b"<name><row/></name>"),
        (b"<name>N</name>", b""),
        (b"<row>", b"<rOw>"),
        (b"</row>", b"</rOw>"),
        (b"</node></trace-query-result>\n", b"</node></trace-query-result>\n\n\n"),
        (b"</node></trace-query-result>\n", b"</node>"),
        (b"</node></trace-query-result>\n", b"</node></trace-query-result><x/>\n"),
        (b"</row>\n", b"</row>\n<row>"),
        (b'fmt="1"', b'fmt="\xff"'),
        (b'fmt="1"', b'fmt="\x00"'),
    ],
)
def test_the_reader_gives_up_around_the_rows(export: Export, old: bytes, new: bytes) -> None:
    path = export("n:uint32", f"<row>{U}</row>")
    assert cells(path) == [[1]]
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new, 1))
    assert irregularity(path)


def test_every_cut_is_noticed(export: Export) -> None:
    path = export("n:uint32", f"<row>{U}</row>", '<row><uint32 ref="1"/></row>')
    content = path.read_bytes().rstrip()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        assert irregularity(path)


@pytest.mark.parametrize("words", [' fmt="x"', ""])
def test_a_wrapper_of_a_wrapper_is_not_read(export: Export, words: str) -> None:
    tag, inner = "tagged-backtrace", INNER_STACK.format(2, 3, "f")
    path = export(
        f"s:{tag}",
        f'<row><{tag} id="1"{words}>{inner}</{tag}></row>',
        f'<row><{tag} id="4" fmt="y"><{tag} ref="1"/></{tag}></row>',
    )
    assert irregularity(path) == "a stack that wraps a wrapper"
