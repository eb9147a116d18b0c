"""What the fast reader reads of plain tables."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from plain_tables import PROCESS, cells, column, whole
from tracekit.tables.xml.fast import reader, tokens

# a row of XML is read more easily on one line

Export = Callable[..., Path]


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


def test_a_table_of_many_blocks_and_pieces(export: Export, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_BLOCK", 1 << 8)
    monkeypatch.setattr(reader, "_ROWS_IN_A_PIECE", 10)
    rows = [f'<row><uint32 id="{k}" fmt="{k}">{k * k}</uint32></row>' for k in range(1, 120)]
    rows.append('<row><uint32 ref="3"/></row>')
    path = export("n:uint32", *rows)
    assert cells(path) == [[*(k * k for k in range(1, 120)), 9]]
    pieces = whole(path)
    assert len(pieces) > 5
    assert sum(piece.rows for piece in pieces) == 120
    assert {piece.number for piece in pieces} == {1}
