"""On which bytes the fast reader gives up."""

from collections.abc import Callable
from pathlib import Path

import pytest

from plain_tables import INNER_STACK, PROCESS, cells, irregularity

# ruff: noqa: E501  # a row of XML is read more easily on one line

Export = Callable[..., Path]

U = '<uint32 id="1" fmt="1">1</uint32>'
IRREGULAR = {
    "a blank before the end of a tag": '<row><uint32 id="1" fmt="1">1</uint32></row>\n'
    '<row><uint32 ref="1" /></row>',
    "two rows on a line": f'<row>{U}</row><row><uint32 ref="1"/></row>',
    "a row with an attribute": f'<row n="1">{U}</row>',
    "a cell too many": f'<row>{U}<uint32 ref="1"/></row>',
    "a cell too few": "<row></row>",
    "another type": '<row><uint64 id="1" fmt="1">1</uint64></row>',
    "an id out of order": '<row><uint32 id="2" fmt="1">1</uint32></row>',
    "an id with a leading zero": '<row><uint32 id="01" fmt="1">1</uint32></row>',
    "a repeat of nothing": '<row><uint32 ref="9"/></row>',
    "a repeat of what comes later": '<row><uint32 ref="1"/></row>\n' + f"<row>{U}</row>",
    "a repeat with content": f'<row>{U}</row>\n<row><uint32 ref="1">1</uint32></row>',
    "a repeat with another attribute": f'<row>{U}</row>\n<row><uint32 ref="1" fmt="1"/></row>',
    "another attribute": '<row><uint32 id="1" fmt="1" more="2">1</uint32></row>',
    "single quotes": "<row><uint32 id='1' fmt='1'>1</uint32></row>",
    "no number": '<row><uint32 id="1" fmt="1">one</uint32></row>',
    "a number with a plus": '<row><uint32 id="1" fmt="1">+1</uint32></row>',
    "an empty number": '<row><uint32 id="1" fmt="1"></uint32></row>',
    "a number beyond 64 bits": '<row><uint32 id="1" fmt="1">9223372036854775808</uint32></row>',
    "no text, and none to show": '<row><uint32 id="1">1</uint32></row>'.replace("1</", "</"),
    "a number with parts": '<row><uint32 id="1" fmt="1"><pid id="2" fmt="1">1</pid></uint32></row>',
    "a sentinel with an id": '<row><sentinel id="1"/></row>',
    "a comment": f"<row>{U}<!-- x --></row>",
    "a section of characters": '<row><uint32 id="1" fmt="1"><![CDATA[1]]></uint32></row>',
    "a raw ampersand": '<row><uint32 id="1" fmt="&">1</uint32></row>',
    "an unknown entity": '<row><uint32 id="1" fmt="&nbsp;">1</uint32></row>',
    "a reference to a character": '<row><uint32 id="1" fmt="&#49;">1</uint32></row>',
    "a raw greater-than": '<row><uint32 id="1" fmt="a>b">1</uint32></row>',
    "a tab in an attribute": '<row><uint32 id="1" fmt="a\tb">1</uint32></row>',
    "tags that cross": '<row><uint32 id="1" fmt="1">1</uint64></row>',
    "a row that is not closed": f"<row>{U}",
    "a row in a row": f"<row><row>{U}</row></row>",
    "a noncharacter": '<row><uint32 id="1" fmt="\ufffe">1</uint32></row>',
}


@pytest.mark.parametrize("rows", IRREGULAR.values(), ids=IRREGULAR.keys())
def test_the_reader_gives_up(export: Export, rows: str) -> None:
    assert irregularity(export("n:uint32", rows))


TEXTS = {
    "a text that is missing": '<row><string id="1" fmt="x"></string></row>',
    "parts without words": '<row><string id="1"><pid id="2" fmt="1">1</pid></string></row>',
    "a text within parts": '<row><string id="1" fmt="x">x<pid id="2" fmt="1">1</pid></string></row>',
    "a part of unknown name": '<row><string id="1" fmt="x"><odd id="2" fmt="1">1</odd></string></row>',
    "a repeat of an open value": '<row><string id="1" fmt="x"><string ref="1"/></string></row>',
    "a repeat of another type": '<row><string id="1" fmt="x"><pid ref="1"/></string></row>',
    "a row within parts": '<row><string id="1" fmt="x"><row/></string></row>',
    "a frame outside of a stack": '<row><string id="1" fmt="x"><frame id="2" name="f" addr="0x1"/>'
    "</string></row>",
    "a source outside of a stack": '<row><string id="1" fmt="x"><source line="1">'
    '<path id="2">p</path></source></string></row>',
    "parts too deep": '<row><string id="1" fmt="x">'
    + "".join(f'<string id="{k}" fmt="x">' for k in range(2, 12))
    + "</string>" * 11
    + "</row>",
}


@pytest.mark.parametrize("rows", TEXTS.values(), ids=TEXTS.keys())
def test_the_reader_gives_up_on_texts(export: Export, rows: str) -> None:
    assert irregularity(export("s:string", rows))


IDENTITIES = {
    "a process without parts": '<row><process id="1" fmt="p (1)">p</process></row>',
    "a process without a pid": '<row><process id="1" fmt="p (1)">'
    '<device-session id="2" fmt="TODO">TODO</device-session></process></row>',
    "a process whose pid is null": '<row><process id="1" fmt="p (1)"><sentinel/></process></row>',
    "a process that holds its pid deeper": '<row><process id="1" fmt="p (1)">'
    '<string id="2" fmt="x"><pid id="3" fmt="1">1</pid></string></process></row>',
}


@pytest.mark.parametrize("rows", IDENTITIES.values(), ids=IDENTITIES.keys())
def test_the_reader_gives_up_on_identities(export: Export, rows: str) -> None:
    assert irregularity(export("p:process", rows))


@pytest.mark.parametrize(
    "thread",
    [
        '<thread id="1" fmt="t"><tid id="2" fmt="1">1</tid></thread>',
        f'<thread id="1" fmt="t">{PROCESS.format(2, 3, 4)}</thread>',
        '<thread id="1" fmt="t"><tid id="2" fmt="1">1</tid><pid id="3" fmt="1">1</pid></thread>',
    ],
)
def test_the_reader_gives_up_on_threads(export: Export, thread: str) -> None:
    assert irregularity(export("t:thread", f"<row>{thread}</row>"))


STACKS = {
    "a stack of nothing": '<backtrace id="1"></backtrace>',
    "a stack with a text": '<backtrace id="1" fmt="x"><frame id="2" name="f" addr="0x1"/></backtrace>',
    "a frame without an address": '<backtrace id="1"><frame id="2" name="f"/></backtrace>',
    "an address that is decimal": '<backtrace id="1"><frame id="2" name="f" addr="12"/></backtrace>',
    "an address beyond 64 bits": '<backtrace id="1"><frame id="2" name="f" '
    'addr="0x1ffffffffffffffff"/></backtrace>',
    "an address without digits": '<backtrace id="1"><frame id="2" name="f" addr="0x"/></backtrace>',
    "a frame without a name": '<backtrace id="1"><frame id="2" name="" addr="0x1"/></backtrace>',
    "a frame with more attributes": '<backtrace id="1"><frame id="2" name="f" off="1" addr="0x1"/>'
    "</backtrace>",
    "two binaries": '<backtrace id="1"><frame id="2" name="f" addr="0x1">'
    '<binary id="3" name="b" UUID="U" arch="a" load-addr="0x1" path="p"/><binary ref="3"/>'
    "</frame></backtrace>",
    "a binary with fewer attributes": '<backtrace id="1"><frame id="2" name="f" addr="0x1">'
    '<binary id="3" name="b"/></frame></backtrace>',
    "a source without a path": '<backtrace id="1"><frame id="2" name="f" addr="0x1">'
    '<source line="3"/></frame></backtrace>',
    "a source without a line": '<backtrace id="1"><frame id="2" name="f" addr="0x1">'
    '<source><path id="3">p</path></source></frame></backtrace>',
    "a line that is no number": '<backtrace id="1"><frame id="2" name="f" addr="0x1">'
    '<source line="x"><path id="3">p</path></source></frame></backtrace>',
    "something else in a stack": '<backtrace id="1"><string id="2" fmt="x">x</string></backtrace>',
}


@pytest.mark.parametrize("stack", STACKS.values(), ids=STACKS.keys())
def test_the_reader_gives_up_on_stacks(export: Export, stack: str) -> None:
    assert irregularity(export("s:backtrace", f"<row>{stack}</row>"))


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


@pytest.mark.parametrize(
    "inner",
    [
        "",
        '<string id="2" fmt="x">x</string>',
        INNER_STACK.format(2, 3, "f") + INNER_STACK.format(4, 5, "g"),
        INNER_STACK.format(2, 3, "f") + "<sentinel/>",
        '<tagged-backtrace id="2" fmt="y">' + INNER_STACK.format(3, 4, "f") + "</tagged-backtrace>",
        '<backtrace id="2" fmt="y"><frame id="3" name="f" addr="0x1"/></backtrace>',
        '<backtrace ref="1"/>',
    ],
)
def test_the_reader_gives_up_on_wrappers(export: Export, inner: str) -> None:
    stack = f'<tagged-backtrace id="1" fmt="x">{inner}</tagged-backtrace>'
    assert irregularity(export("s:tagged-backtrace", f"<row>{stack}</row>"))


@pytest.mark.parametrize("words", [' fmt="x"', ""])
def test_a_wrapper_of_a_wrapper_is_not_read(export: Export, words: str) -> None:
    path = export(
        "s:tagged-backtrace",
        f'<row><tagged-backtrace id="1"{words}>{INNER_STACK.format(2, 3, "f")}</tagged-backtrace></row>',
        '<row><tagged-backtrace id="4" fmt="y"><tagged-backtrace ref="1"/></tagged-backtrace></row>',
    )
    assert irregularity(path) == "a stack that wraps a wrapper"
