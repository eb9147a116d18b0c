"""What the fast reader reads of plain tables, and where it gives up.

`irregular.txt` has rows on which it gives up, below their columns.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tracekit.tables.xml.fast import reader, tokens
from tracekit.tables.xml.fast.reader import FastReader
from tracekit.tables.xml.fast.tokens import IrregularError
from tracekit.tables.xml.node import Node
from tracekit.tables.xml.reader import ExactReader

Export = Callable[..., Path]
PROCESS = (
    '<process id="{0}" fmt="shader lab (77)"><pid id="{1}" fmt="77">77</pid>'
    '<device-session id="{2}" fmt="TODO">TODO</device-session></process>'
)
STACK = '<backtrace id="{0}"><frame id="{1}" name="{2}" addr="0x10"/></backtrace>'
ONE = '<row><uint32 id="1" fmt="1">1</uint32></row>'
TWO = '<row><uint32 ref="1"/></row>'


def read_nodes(path: Path) -> list[Node]:
    return list(FastReader(path).pieces())


def cells(path: Path) -> list[list[object]]:
    return [
        [cell for column in parts for cell in column.cells.to_pylist()]
        for parts in zip(*(piece.columns for piece in read_nodes(path)), strict=True)
    ]


def test_numbers_texts_and_repeats(export: Export) -> None:
    path = export(
        "start:start-time length:duration label:metal-object-label",
        '<row><start-time id="1" fmt="00:00.000.010">10</start-time>'
        '<duration id="2" fmt="5 ns">5</duration>'
        '<metal-object-label id="3" fmt="matmul">matmul</metal-object-label></row>',
        '<row><start-time id="4" fmt="00:00.000.020">20</start-time><duration ref="2"/>'
        '<metal-object-label ref="3"/></row>',
    )
    (piece,) = read_nodes(path)
    assert (piece.schema, piece.rows, piece.number, piece.damage) == ("table", 2, 1, "")
    assert piece.xpath == "//trace-toc[1]/run[1]/data[1]/table[1]"
    assert cells(path) == [[10, 20], [5, 5], ["matmul", "matmul"]]
    assert [part.cells.type for part in piece.columns] == [pa.int64(), pa.int64(), pa.string()]


def test_numbers_are_read_to_the_last_digit(export: Export, subtests: pytest.Subtests) -> None:
    for kind, texts in (
        ("duration", ["-9223372036854775808", "9223372036854775807", "-1", "-5", "007"]),
        ("uint64", ["18446744073709551615", "9223372036854775808", "0"]),
        ("uint32", ["0", "7", "12345678", "123456789", "1234567890123456", "12345678901234567"]),
        ("fixed-decimal", ["0.142594111", "1109.450000000", "-0.5", "3", "1e3", "2.5e-05"]),
    ):
        with subtests.test(kind):
            rows = (
                f'<row><{kind} id="{place}" fmt="x">{text}</{kind}></row>'
                for place, text in enumerate(texts, start=1)
            )
            number = float if kind == "fixed-decimal" else int
            assert cells(export(f"n:{kind}", *rows)) == [[*map(number, texts)]]


@pytest.mark.parametrize(
    ("columns", "rows", "expected", "pids"),
    [
        pytest.param(
            "a:uint32 b:string c:process",
            "<row><sentinel/><sentinel/><sentinel/></row>\n"
            '<row><uint32 id="1" fmt="4">4</uint32><string id="2" fmt="s">s</string>'
            f"{PROCESS.format(3, 4, 5)}</row>",
            [[None, 4], [None, "s"], [None, "shader lab (77)"]],
            [None, 77],
            id="nulls keep their places",
        ),
        pytest.param(
            "label:formatted-label name:string owner:process pid:pid",
            '<row><formatted-label id="1" fmt="blit ( shader lab (77) )">'
            '<string id="2" fmt="blit">blit</string><narrative-text id="3" fmt=" ( "> ( '
            f"</narrative-text>{PROCESS.format(4, 5, 6)}<sentinel/></formatted-label>"
            '<string ref="2"/><process ref="4"/><pid ref="5"/></row>',
            [["blit ( shader lab (77) )"], ["blit"], ["shader lab (77)"], [77]],
            [77],
            id="what is defined within a value is known everywhere",
        ),
        pytest.param(
            "label:formatted-label name:string none:process",
            '<row><formatted-label id="1" fmt="a&lt;b&gt; &amp;amp; &quot;µ&apos;"><string id="2" '
            'fmt="&lt;">&lt;</string></formatted-label><string ref="2"/><sentinel/></row>\n'
            '<row><formatted-label id="3" fmt="\u00a0">\u00a0</formatted-label>'
            '<string id="4" fmt="说">说</string><sentinel/></row>',
            [["a<b> &amp; \"µ'", "\u00a0"], ["<", "说"], [None, None]],
            [None, None],
            id="entities and characters beyond ASCII",
        ),
    ],
)
def test_cells_are_values_repeats_and_nothing(
    export: Export, columns: str, rows: str, expected: list[list[object]], pids: list[int | None]
) -> None:
    path = export(columns, rows)
    assert cells(path) == expected
    assert read_nodes(path)[0].columns[2].pids.to_pylist() == pids


def test_threads_have_their_own_id_and_that_of_their_process(export: Export) -> None:
    path = export(
        "thread:thread process:process",
        '<row><thread id="1" fmt="Main Thread (0x2a)"><tid id="2" fmt="0x2a">42</tid>'
        f'{PROCESS.format(3, 4, 5)}</thread><process ref="3"/></row>',
        '<row><thread id="6" fmt="worker (0x2b)"><tid id="7" fmt="0x2b">43</tid>'
        '<process ref="3"/></thread><process ref="3"/></row>',
        '<row><thread ref="1"/><process ref="3"/></row>',
    )
    threads = read_nodes(path)[0].columns[0]
    assert threads.tids.to_pylist() == [42, 43, 42]
    assert threads.pids.to_pylist() == [77, 77, 77]


def test_a_table_of_many_blocks_and_pieces(export: Export, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MOST_IN_A_BLOCK", 1 << 8)
    monkeypatch.setattr(reader, "MOST_IN_A_BLOCK", 1 << 8)
    monkeypatch.setattr(reader, "_ROWS_IN_A_PIECE", 10)
    rows = [f'<row><uint32 id="{k}" fmt="{k}">{k * k}</uint32></row>' for k in range(1, 120)]
    rows.append('<row><uint32 ref="3"/></row>')
    path = export("n:uint32", *rows)
    assert cells(path) == [[*(k * k for k in range(1, 120)), 9]]
    pieces = read_nodes(path)
    assert len(pieces) > 5
    assert sum(piece.rows for piece in pieces) == 120
    assert {piece.number for piece in pieces} == {1}


@pytest.mark.parametrize("kind", ["backtrace", "tagged-backtrace", "text-backtrace"])
def test_stacks_have_frames_with_binaries_and_sources(export: Export, kind: str) -> None:
    binary = (
        '<binary id="4" name="mlx.so" UUID="0A-1B" arch="arm64e" load-addr="0x1000" '
        'path="/opt/mlx.so"/>'
    )
    source = '<source line="44"><path id="6">/src/eval.cpp</path></source>'
    path = export(
        f"time:sample-time stack:{kind}",
        f'<row><sample-time id="1" fmt="t">5</sample-time><{kind} id="2">'
        f'<frame id="3" name="eval&lt;float&gt;" addr="0x1040">{binary}</frame>'
        f'<frame id="5" name="main" addr="0x1f00"><binary ref="4"/>{source}</frame>'
        f'<frame id="7" name="start" addr="0xffffffffffffffff"/></{kind}></row>',
        f'<row><sample-time id="8" fmt="t">6</sample-time><{kind} id="9">'
        f'<frame ref="5"/><frame ref="7"/></{kind}></row>',
        f'<row><sample-time ref="8"/><{kind} ref="2"/></row>',
        '<row><sample-time ref="8"/><sentinel/></row>',
    )
    fast_reader = FastReader(path)
    (piece,) = fast_reader.pieces()
    first_text, second = "eval<float> ← (2 other frames)", "main ← (1 other frames)"
    assert piece.columns[1].cells.to_pylist() == [first_text, second, first_text, None]
    assert piece.columns[1].stacks.to_pylist() == [0, 1, 0, None]
    assert fast_reader.symbols().stacks["frames"].to_pylist() == [[0, 1, 2], [1, 2]]
    assert fast_reader.symbols().frames.to_pydict() == {
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


def test_a_stack_that_wraps_another_is_that_stack_and_has_its_own_words(export: Export) -> None:
    tag = "tagged-backtrace"
    rows = {
        f'<{tag} id="1" fmt="eval &amp; co">{STACK.format(2, 3, "eval")}</{tag}>': ("eval & co", 0),
        "<sentinel/>": (None, None),
        f'<{tag} id="4" fmt="again"><backtrace ref="2"/></{tag}>': ("again", 0),
        f'<{tag} id="5"><frame ref="3"/><frame ref="3"/></{tag}>': ("eval ← (1 other frames)", 1),
        f'<{tag} id="6" fmt="main">{STACK.format(7, 8, "main")}</{tag}>': ("main", 2),
        f'<{tag} ref="1"/>': ("eval & co", 0),
        f'<{tag} id="9"><backtrace ref="7"/></{tag}>': ("main ← (0 other frames)", 2),
        f'<{tag} id="10" fmt="bare"><frame ref="8"/></{tag}>': ("bare", 3),
        f'<{tag} ref="9"/>': ("main ← (0 other frames)", 2),
    }
    path = export(f"stack:{tag}", *(f"<row>{row}</row>" for row in rows))
    fast, exact = FastReader(path), ExactReader(path)
    for stack_reader in (fast, exact):
        (stacks,) = next(iter(stack_reader.pieces())).columns
        cell_pairs = zip(stacks.cells.to_pylist(), stacks.stacks.to_pylist(), strict=True)
        assert [*cell_pairs] == [*rows.values()], stack_reader
    assert fast.symbols().stacks.equals(exact.symbols().stacks)
    assert fast.symbols().frames.equals(exact.symbols().frames)


def irregular() -> Iterator[tuple[str, str, str]]:
    """Read names, columns and rows, in which a backslash escapes what a line cannot hold."""
    columns = ""
    file = Path(__file__).with_name("irregular.txt")
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            columns = line[2:]
            continue
        name, _, rows = line.partition(": ")
        for escape, letter in (("\\n", "\n"), ("\\t", "\t"), ("\\ufffe", "\ufffe")):
            rows = rows.replace(escape, letter)
        yield name, columns, rows


def test_the_reader_gives_up(export: Export, subtests: pytest.Subtests) -> None:
    cases = [*irregular()]
    assert cases
    for name, columns, rows in cases:
        with subtests.test(name), pytest.raises(IrregularError, match=" "):
            read_nodes(export(columns, rows))


def test_the_reader_gives_up_around_the_rows(export: Export, subtests: pytest.Subtests) -> None:
    for old, new in (
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
    ):
        path = export("n:uint32", ONE)
        assert cells(path) == [[1]], (old, new)
        content = path.read_bytes()
        assert old in content, (old, new)
        path.write_bytes(content.replace(old, new, 1))
        with subtests.test(old=old, new=new), pytest.raises(IrregularError, match=" "):
            read_nodes(path)


def test_every_cut_is_noticed(export: Export) -> None:
    path = export("n:uint32", ONE, TWO)
    content = path.read_bytes().rstrip()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(IrregularError, match=" "):
            read_nodes(path)
