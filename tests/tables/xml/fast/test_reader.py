"""Plain tables read fast: what is read, and on which byte the reader gives up."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from tracekit.errors import InputError
from tracekit.tables.xml import ColumnCells, ExactReader, FastReader, IrregularError, Node
from tracekit.tables.xml.fast import blocks, reader

Export = Callable[..., Path]
Document = Callable[..., Path]
MakeNode = Callable[..., str]

# ruff: noqa: E501  # a row of XML is read more easily on one line

PROCESS = (
    '<process id="{0}" fmt="shader lab (77)"><pid id="{1}" fmt="77">77</pid>'
    '<device-session id="{2}" fmt="TODO">TODO</device-session></process>'
)


def whole(path: Path) -> list[Node]:
    return list(FastReader(path).pieces())


def cells(path: Path) -> list[list[object]]:
    """Return the columns of the file's table."""
    return [
        [cell for column in parts for cell in column.cells.to_pylist()]
        for parts in zip(*(piece.columns for piece in whole(path)), strict=True)
    ]


def column(path: Path, number: int = 0) -> ColumnCells:
    (piece,) = whole(path)
    return piece.columns[number]


def irregularity(path: Path) -> str:
    with pytest.raises(IrregularError) as caught:
        whole(path)
    return str(caught.value)


def test_numbers_texts_and_repeats(export: Export) -> None:
    path = export(
        "start:start-time length:duration label:metal-object-label",
        '<row><start-time id="1" fmt="00:00.000.010">10</start-time>'
        '<duration id="2" fmt="5 ns">5</duration>'
        '<metal-object-label id="3" fmt="matmul">matmul</metal-object-label></row>',
        '<row><start-time id="4" fmt="00:00.000.020">20</start-time><duration ref="2"/>'
        '<metal-object-label ref="3"/></row>',
    )
    (piece,) = whole(path)
    assert (piece.schema, piece.rows, piece.number, piece.damage) == ("table", 2, 1, "")
    assert piece.xpath == "//trace-toc[1]/run[1]/data[1]/table[1]"
    assert cells(path) == [[10, 20], [5, 5], ["matmul", "matmul"]]
    assert [one.cells.type for one in piece.columns] == [pa.int64(), pa.int64(), pa.string()]


def test_a_table_without_rows_is_one_piece_without_rows(export: Export) -> None:
    path = export("start:start-time")
    path.write_text(path.read_text().replace("</schema>\n", "</schema>"))
    (piece,) = whole(path)
    assert piece.rows == 0
    assert [len(one.cells) for one in piece.columns] == [0]


def test_the_limits_of_integers(export: Export) -> None:
    path = export(
        "signed:duration unsigned:uint64",
        '<row><duration id="1" fmt="x">-9223372036854775808</duration>'
        '<uint64 id="2" fmt="x">18446744073709551615</uint64></row>',
        '<row><duration id="3" fmt="x">9223372036854775807</duration>'
        '<uint64 id="4" fmt="x">9223372036854775808</uint64></row>',
        '<row><duration id="5" fmt="x">-1</duration><uint64 id="6" fmt="x">0</uint64></row>',
    )
    assert cells(path) == [
        [-(2**63), 2**63 - 1, -1],
        [2**64 - 1, 2**63, 0],
    ]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("7", 7),
        ("12345678", 12_345_678),
        ("123456789", 123_456_789),
        ("1234567890123456", 1_234_567_890_123_456),
        ("12345678901234567", 12_345_678_901_234_567),
        ("-5", -5),
        ("007", 7),
    ],
)
def test_integers_of_every_length(export: Export, text: str, number: int) -> None:
    path = export("n:uint32", f'<row><uint32 id="1" fmt="x">{text}</uint32></row>')
    assert cells(path) == [[number]]


def test_decimals_are_the_nearest_floats(export: Export) -> None:
    texts = ["0.142594111", "1109.450000000", "-0.5", "3", "1e3", "2.5e-05"]
    rows = [
        f'<row><fixed-decimal id="{k}" fmt="x">{text}</fixed-decimal></row>'
        for k, text in enumerate(texts, start=1)
    ]
    assert cells(export("value:fixed-decimal", *rows)) == [[float(text) for text in texts]]


def test_nulls_keep_their_places(export: Export) -> None:
    path = export(
        "a:uint32 b:string c:process",
        "<row><sentinel/><sentinel/><sentinel/></row>",
        '<row><uint32 id="1" fmt="4">4</uint32><string id="2" fmt="s">s</string>'
        f"{PROCESS.format(3, 4, 5)}</row>",
    )
    assert cells(path) == [[None, 4], [None, "s"], [None, "shader lab (77)"]]
    assert column(path, 2).pids.to_pylist() == [None, 77]


def test_a_column_of_nulls_alone(export: Export) -> None:
    path = export("a:uint32 b:thread", "<row><sentinel/><sentinel/></row>")
    assert cells(path) == [[None], [None]]
    assert column(path, 1).tids.to_pylist() == [None]


def test_what_is_defined_within_a_value_is_known_everywhere(export: Export) -> None:
    path = export(
        "label:formatted-label name:string owner:process pid:pid",
        '<row><formatted-label id="1" fmt="blit ( shader lab (77) )">'
        '<string id="2" fmt="blit">blit</string><narrative-text id="3" fmt=" ( "> ( '
        f"</narrative-text>{PROCESS.format(4, 5, 6)}<sentinel/></formatted-label>"
        '<string ref="2"/><process ref="4"/><pid ref="5"/></row>',
    )
    assert cells(path) == [["blit ( shader lab (77) )"], ["blit"], ["shader lab (77)"], [77]]
    assert column(path, 2).pids.to_pylist() == [77]


def test_parts_that_no_column_needs_are_not_converted(export: Export) -> None:
    path = export(
        "label:formatted-label",
        '<row><formatted-label id="1" fmt="blit 0x1f"><metal-encoder-id id="2" fmt="0x1f">none'
        '</metal-encoder-id><string id="3" fmt="x"></string></formatted-label></row>',
    )
    assert cells(path) == [["blit 0x1f"]]


def test_threads_have_their_own_id_and_that_of_their_process(export: Export) -> None:
    path = export(
        "thread:thread process:process",
        '<row><thread id="1" fmt="Main Thread (0x2a)"><tid id="2" fmt="0x2a">42</tid>'
        f'{PROCESS.format(3, 4, 5)}</thread><process ref="3"/></row>',
        '<row><thread id="6" fmt="worker (0x2b)"><tid id="7" fmt="0x2b">43</tid>'
        '<process ref="3"/></thread><process ref="3"/></row>',
        '<row><thread ref="1"/><process ref="3"/></row>',
    )
    assert column(path).tids.to_pylist() == [42, 43, 42]
    assert column(path).pids.to_pylist() == [77, 77, 77]


def test_entities_and_characters_beyond_ascii(export: Export) -> None:
    path = export(
        "label:formatted-label name:string",
        '<row><formatted-label id="1" fmt="a&lt;b&gt; &amp;amp; &quot;µ&apos;">'
        '<string id="2" fmt="&lt;">&lt;</string></formatted-label><string ref="2"/></row>',
        '<row><formatted-label id="3" fmt="\u00a0">\u00a0</formatted-label>'
        '<string id="4" fmt="说">说</string></row>',
    )
    assert cells(path) == [["a<b> &amp; \"µ'", "\u00a0"], ["<", "说"]]


def test_quotes_may_stand_in_texts(export: Export) -> None:
    path = export("s:string", '<row><string id="1" fmt="&quot;">say "half"</string></row>')
    assert cells(path) == [['say "half"']]


def test_an_empty_text_is_empty_and_not_null(export: Export) -> None:
    path = export("s:string", '<row><string id="1" fmt=""></string></row>')
    assert cells(path) == [[""]]


def test_fmt_in_another_locale_is_never_read(export: Export) -> None:
    path = export("n:uint32", '<row><uint32 id="1" fmt="1.206.362.555">1206362555</uint32></row>')
    assert cells(path) == [[1_206_362_555]]


def test_types_that_are_not_known_stay_texts(export: Export) -> None:
    path = export(
        "n:brand-new-type", '<row><brand-new-type id="1" fmt="x">7</brand-new-type></row>'
    )
    assert cells(path) == [["7"]]


def test_a_table_of_many_blocks_and_pieces(export: Export, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_BLOCK", 1 << 8)
    monkeypatch.setattr(reader, "_ROWS_IN_A_PIECE", 10)
    rows = [f'<row><uint32 id="{k}" fmt="{k}">{k * k}</uint32></row>' for k in range(1, 120)]
    rows.append('<row><uint32 ref="3"/></row>')
    path = export("n:uint32", *rows)
    assert cells(path) == [[*(k * k for k in range(1, 120)), 9]]
    pieces = whole(path)
    assert len(pieces) > 5
    assert sum(piece.rows for piece in pieces) == 120
    assert {piece.number for piece in pieces} == {1}


FRAME = '<frame id="{0}" name="{1}" addr="{2}">{3}</frame>'
BINARY = '<binary id="4" name="mlx.so" UUID="0A-1B" arch="arm64e" load-addr="0x1000" path="/opt/mlx.so"/>'


@pytest.mark.parametrize("kind", ["backtrace", "tagged-backtrace", "text-backtrace"])
def test_stacks_have_frames_with_binaries_and_sources(export: Export, kind: str) -> None:
    source = '<source line="44"><path id="6">/src/eval.cpp</path></source>'
    path = export(
        f"time:sample-time stack:{kind}",
        f'<row><sample-time id="1" fmt="t">5</sample-time><{kind} id="2">'
        + FRAME.format(3, "eval&lt;float&gt;", "0x1040", BINARY)
        + FRAME.format(5, "main", "0x1f00", '<binary ref="4"/>' + source)
        + f'<frame id="7" name="start" addr="0xffffffffffffffff"/></{kind}></row>',
        f'<row><sample-time id="8" fmt="t">6</sample-time><{kind} id="9">'
        f'<frame ref="5"/><frame ref="7"/></{kind}></row>',
        f'<row><sample-time ref="8"/><{kind} ref="2"/></row>',
        '<row><sample-time ref="8"/><sentinel/></row>',
    )
    made = FastReader(path)
    (piece,) = made.pieces()
    stacks = piece.columns[1]
    assert stacks.cells.to_pylist() == [
        "eval<float> ← (2 other frames)",
        "main ← (1 other frames)",
        "eval<float> ← (2 other frames)",
        None,
    ]
    assert stacks.stacks.to_pylist() == [0, 1, 0, None]
    symbols = made.symbols()
    assert symbols.stacks.to_pylist() == [
        {"stack": 0, "frames": [0, 1, 2]},
        {"stack": 1, "frames": [1, 2]},
    ]
    frames = symbols.frames.to_pydict()
    assert frames == {
        "frame": [0, 1, 2],
        "name": ["eval<float>", "main", "start"],
        "address": [0x1040, 0x1F00, 2**64 - 1],
        "binary": ["mlx.so", "mlx.so", None],
        "uuid": ["0A-1B", "0A-1B", None],
        "arch": ["arm64e", "arm64e", None],
        "load_address": [0x1000, 0x1000, None],
        "path": ["/opt/mlx.so", "/opt/mlx.so", None],
        "source": [None, "/src/eval.cpp", None],
        "line": [None, 44, None],
    }


INNER = '<backtrace id="{0}"><frame id="{1}" name="{2}" addr="0x10"/></backtrace>'


def test_a_stack_that_wraps_another_is_that_stack_and_has_its_own_words(export: Export) -> None:
    path = export(
        "stack:tagged-backtrace",
        f'<row><tagged-backtrace id="1" fmt="eval &amp; co">{INNER.format(2, 3, "eval")}'
        "</tagged-backtrace></row>",
        "<row><sentinel/></row>",
        '<row><tagged-backtrace id="4" fmt="again"><backtrace ref="2"/></tagged-backtrace></row>',
        '<row><tagged-backtrace id="5"><frame ref="3"/><frame ref="3"/></tagged-backtrace></row>',
        f'<row><tagged-backtrace id="6" fmt="main">{INNER.format(7, 8, "main")}'
        "</tagged-backtrace></row>",
        '<row><tagged-backtrace ref="1"/></row>',
        '<row><tagged-backtrace id="9"><backtrace ref="7"/></tagged-backtrace></row>',
        '<row><tagged-backtrace id="10" fmt="bare"><frame ref="8"/></tagged-backtrace></row>',
        '<row><tagged-backtrace ref="9"/></row>',
    )
    made, exact = FastReader(path), ExactReader(path)
    (piece,), (same,) = made.pieces(), exact.pieces()
    (stacks,), (others,) = piece.columns, same.columns
    assert stacks.cells.to_pylist() == [
        "eval & co",
        None,
        "again",
        "eval ← (1 other frames)",
        "main",
        "eval & co",
        "main ← (0 other frames)",
        "bare",
        "main ← (0 other frames)",
    ]
    assert stacks.stacks.to_pylist() == [0, None, 0, 1, 2, 0, 2, 3, 2]
    assert others.cells.to_pylist() == stacks.cells.to_pylist()
    assert others.stacks.to_pylist() == stacks.stacks.to_pylist()
    assert made.symbols().stacks.equals(exact.symbols().stacks)
    assert made.symbols().frames.equals(exact.symbols().frames)


@pytest.mark.parametrize(
    "inner",
    [
        "",
        '<string id="2" fmt="x">x</string>',
        INNER.format(2, 3, "f") + INNER.format(4, 5, "g"),
        INNER.format(2, 3, "f") + "<sentinel/>",
        '<tagged-backtrace id="2" fmt="y">' + INNER.format(3, 4, "f") + "</tagged-backtrace>",
        '<backtrace id="2" fmt="y"><frame id="3" name="f" addr="0x1"/></backtrace>',
        '<backtrace ref="1"/>',
    ],
)
def test_the_reader_gives_up_on_wrappers(export: Export, inner: str) -> None:
    stack = f'<tagged-backtrace id="1" fmt="x">{inner}</tagged-backtrace>'
    assert irregularity(export("s:tagged-backtrace", f"<row>{stack}</row>"))


def test_a_block_may_wrap_nothing_but_stacks_of_other_blocks(
    export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "_BLOCK", 1 << 7)
    rows = [
        f'<row><tagged-backtrace id="1" fmt="w1">{INNER.format(2, 3, "f")}</tagged-backtrace></row>'
    ]
    rows += [
        f'<row><tagged-backtrace id="{k}" fmt="w{k}"><backtrace ref="2"/></tagged-backtrace></row>'
        for k in range(4, 40)
    ]
    (piece,) = whole(export("s:tagged-backtrace", *rows))
    assert piece.columns[0].cells.to_pylist() == ["w1", *(f"w{k}" for k in range(4, 40))]
    assert piece.columns[0].stacks.to_pylist() == [0] * 37


@pytest.mark.parametrize("words", [' fmt="x"', ""])
def test_a_wrapper_of_a_wrapper_is_not_read(export: Export, words: str) -> None:
    path = export(
        "s:tagged-backtrace",
        f'<row><tagged-backtrace id="1"{words}>{INNER.format(2, 3, "f")}</tagged-backtrace></row>',
        '<row><tagged-backtrace id="4" fmt="y"><tagged-backtrace ref="1"/></tagged-backtrace></row>',
    )
    assert irregularity(path) == "a stack that wraps a wrapper"


def test_symbols_are_empty_without_stacks(export: Export) -> None:
    made = FastReader(export("n:uint32", '<row><uint32 id="1" fmt="1">1</uint32></row>'))
    assert made.symbols().frames.num_rows == 0
    list(made.pieces())
    assert made.symbols().stacks.num_rows == 0


U = '<uint32 id="1" fmt="1">1</uint32>'
IRREGULAR = {
    "a blank before the end of a tag": '<row><uint32 id="1" fmt="1">1</uint32></row>\n'
    '<row><uint32 ref="1" /></row>',
    "a blank between cells": '<row> <uint32 id="1" fmt="1">1</uint32></row>',
    "two rows on a line": f'<row>{U}</row><row><uint32 ref="1"/></row>',
    "a row with an attribute": f'<row n="1">{U}</row>',
    "a cell too many": f'<row>{U}<uint32 ref="1"/></row>',
    "a cell too few": "<row></row>",
    "another type": '<row><uint64 id="1" fmt="1">1</uint64></row>',
    "a longer name that begins alike": '<row><uint32s id="1" fmt="1">1</uint32s></row>',
    "an id out of order": '<row><uint32 id="2" fmt="1">1</uint32></row>',
    "an id with a leading zero": '<row><uint32 id="01" fmt="1">1</uint32></row>',
    "a repeat with a leading zero": f'<row>{U}</row>\n<row><uint32 ref="01"/></row>',
    "a repeat of nothing": '<row><uint32 ref="9"/></row>',
    "a repeat of what comes later": '<row><uint32 ref="1"/></row>\n' + f"<row>{U}</row>",
    "a repeat that is no number": f'<row>{U}</row>\n<row><uint32 ref="x"/></row>',
    "a repeat without an id": f'<row>{U}</row>\n<row><uint32 ref=""/></row>',
    "a repeat with content": f'<row>{U}</row>\n<row><uint32 ref="1">1</uint32></row>',
    "a repeat with another attribute": f'<row>{U}</row>\n<row><uint32 ref="1" fmt="1"/></row>',
    "another attribute": '<row><uint32 id="1" fmt="1" more="2">1</uint32></row>',
    "attributes in another order": '<row><uint32 fmt="1" id="1">1</uint32></row>',
    "single quotes": "<row><uint32 id='1' fmt='1'>1</uint32></row>",
    "no number": '<row><uint32 id="1" fmt="1">one</uint32></row>',
    "a hexadecimal number": '<row><uint32 id="1" fmt="1">0x1</uint32></row>',
    "a number with a plus": '<row><uint32 id="1" fmt="1">+1</uint32></row>',
    "two signs": '<row><uint32 id="1" fmt="1">--1</uint32></row>',
    "an empty number": '<row><uint32 id="1" fmt="1"></uint32></row>',
    "a number beyond 64 bits": '<row><uint32 id="1" fmt="1">9223372036854775808</uint32></row>',
    "no text, and none to show": '<row><uint32 id="1">1</uint32></row>'.replace("1</", "</"),
    "a number with parts": '<row><uint32 id="1" fmt="1"><pid id="2" fmt="1">1</pid></uint32></row>',
    "a value that is a tag alone": '<row><uint32 id="1" fmt="1"/></row>',
    "a sentinel with an id": '<row><sentinel id="1"/></row>',
    "a sentinel with content": "<row><sentinel></sentinel></row>",
    "a comment": f"<row>{U}<!-- x --></row>",
    "a section of characters": '<row><uint32 id="1" fmt="1"><![CDATA[1]]></uint32></row>',
    "an instruction": f"<row><?x y?>{U}</row>",
    "a raw ampersand": '<row><uint32 id="1" fmt="&">1</uint32></row>',
    "an unknown entity": '<row><uint32 id="1" fmt="&nbsp;">1</uint32></row>',
    "a reference to a character": '<row><uint32 id="1" fmt="&#49;">1</uint32></row>',
    "a raw greater-than": '<row><uint32 id="1" fmt="a>b">1</uint32></row>',
    "a raw less-than": '<row><uint32 id="1" fmt="a<b">1</uint32></row>',
    "a tab in an attribute": '<row><uint32 id="1" fmt="a\tb">1</uint32></row>',
    "a newline in a value": '<row><uint32 id="1" fmt="1">1\n</uint32></row>',
    "tags that cross": '<row><uint32 id="1" fmt="1">1</uint64></row>',
    "a closing tag with a blank": '<row><uint32 id="1" fmt="1">1</uint32 ></row>',
    "a tag that closes twice": '<row><uint32 id="1" fmt="1">1</uint32/></row>',
    "a row that is not closed": f"<row>{U}",
    "a row in a row": f"<row><row>{U}</row></row>",
    "a noncharacter": '<row><uint32 id="1" fmt="\ufffe">1</uint32></row>',
}


@pytest.mark.parametrize("rows", IRREGULAR.values(), ids=IRREGULAR.keys())
def test_the_reader_gives_up(export: Export, rows: str) -> None:
    assert irregularity(export("n:uint32", rows))


TEXTS = {
    "a text that is missing": '<row><string id="1" fmt="x"></string></row>',
    "a text without words to show": '<row><string id="1"></string></row>',
    "parts without words": '<row><string id="1"><pid id="2" fmt="1">1</pid></string></row>',
    "a text within parts": '<row><string id="1" fmt="x">x<pid id="2" fmt="1">1</pid></string></row>',
    "a part of unknown name": '<row><string id="1" fmt="x"><odd id="2" fmt="1">1</odd></string></row>',
    "a part without an id": '<row><string id="1" fmt="x"><pid>1</pid></string></row>',
    "a repeat of an open value": '<row><string id="1" fmt="x"><string ref="1"/></string></row>',
    "a repeat of another type": '<row><string id="1" fmt="x"><pid ref="1"/></string></row>',
    "a row within parts": '<row><string id="1" fmt="x"><row/></string></row>',
    "a row with an id within parts": '<row><string id="1" fmt="x"><row id="2" fmt="y">y</row></string></row>',
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


def test_two_tables_in_a_file(document: Document, node: MakeNode) -> None:
    path = document(node("n:uint32", f"<row>{U}</row>"), node("n:uint32", f"<row>{U}</row>"))
    assert irregularity(path)


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


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        whole(tmp_path / "absent.xml")


@pytest.mark.corpus
def test_real_metal_tables_are_all_plain(corpus: Path) -> None:
    """Both readers say the same of them; what the cells hold, the oracle's test checks."""
    count = 0
    for path in sorted(corpus.rglob("*_metal-*.xml")):
        fast, exact = whole(path), list(ExactReader(path).pieces())
        assert fast[0].schema == exact[0].schema, path
        assert sum(one.rows for one in fast) == sum(one.rows for one in exact), path
        count += 1
    assert count >= 30
