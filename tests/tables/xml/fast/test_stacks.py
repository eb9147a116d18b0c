"""Stacks that the fast reader reads, in all shapes that it knows."""

from collections.abc import Callable
from pathlib import Path

import pytest

from plain_tables import INNER_STACK
from tracekit.tables.xml.fast.reader import FastReader
from tracekit.tables.xml.reader import ExactReader

# ruff: noqa: E501  # a row of XML is read more easily on one line

Export = Callable[..., Path]

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


def test_a_stack_that_wraps_another_is_that_stack_and_has_its_own_words(export: Export) -> None:
    path = export(
        "stack:tagged-backtrace",
        f'<row><tagged-backtrace id="1" fmt="eval &amp; co">{INNER_STACK.format(2, 3, "eval")}'
        "</tagged-backtrace></row>",
        "<row><sentinel/></row>",
        '<row><tagged-backtrace id="4" fmt="again"><backtrace ref="2"/></tagged-backtrace></row>',
        '<row><tagged-backtrace id="5"><frame ref="3"/><frame ref="3"/></tagged-backtrace></row>',
        f'<row><tagged-backtrace id="6" fmt="main">{INNER_STACK.format(7, 8, "main")}'
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
