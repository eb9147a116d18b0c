"""The symbol table of an export: every shape of a stack, frame by frame."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tracekit.tables.xml.node import FRAMES, STACKS, Symbols
from tracekit.tables.xml.reader import ExactReader

Export = Callable[..., Path]
BINARY = (
    '<binary id="90" name="App" UUID="0A" arch="arm64e" load-addr="0x1000" path="/Apps/A&amp;B"/>'
)
LEAF = f'<frame id="11" name="leaf&lt;int&gt;" addr="0x1010">{BINARY}</frame>'
MAIN = (
    '<frame id="12" name="main" addr="0x1020"><binary ref="90"/><source line="44">'
    '<path id="91">/src/main.mm</path></source></frame>'
)
NEW = '<frame id="13" name="new" addr="0x3"/>'


def read(path: Path) -> tuple[list[list[int | None]], Symbols, str]:
    """Return the numbers in the columns of stacks, the symbol table, and the damage."""
    reader = ExactReader(path)
    (piece,) = reader.pieces()
    stacks = [part.stacks.to_pylist() for part in piece.columns if part.stacks is not None]
    return stacks, reader.symbols(), piece.damage


def frames(symbols: Symbols) -> list[tuple[str | None, int | None]]:
    names, addresses = (symbols.frames[name].to_pylist() for name in ("name", "address"))
    return list(zip(names, addresses, strict=True))


NAMED = [("leaf<int>", 0x1010), ("main", 0x1020)]
COUNTER = '<text-address id="3" fmt="0x1000">4096</text-address>'


def addresses(text: str) -> str:
    return f'<text-addresses id="2" fmt="frag 4">{text}</text-addresses>'


def test_every_shape_gives_its_frames(export: Export, subtests: pytest.Subtests) -> None:
    for tag, content, expected in (
        ("backtrace", LEAF + MAIN, NAMED),
        ("tagged-backtrace", LEAF + MAIN, NAMED),
        ("tagged-backtrace", f'<backtrace id="2">{LEAF}{MAIN}</backtrace>', NAMED),
        ("text-backtrace", LEAF + MAIN, NAMED),
        (
            "backtrace",
            f'<process id="5" fmt="A"><pid id="6">7</pid></process>{addresses("4096 8192")}',
            [(None, 4096), (None, 8192)],
        ),
        (
            "kperf-bt",
            f'{addresses("8192 4096 0")}{COUNTER}<register-content id="4">5</register-content>',
            [(None, 4096), (None, 8192), (None, 4096)],
        ),
        ("kperf-bt", addresses("") + COUNTER, [(None, 4096)]),
        (
            "kperf-bt",
            addresses("18446744073709551615 what 99999999999999999999"),
            [(None, 2**64 - 1), (None, None), (None, None)],
        ),
    ):  # fmt: skip
        with subtests.test(tag=tag, inside=content):
            rows = (
                f'<{tag} id="1" fmt="words">{content}</{tag}>',
                f'<{tag} ref="1"/>',
                "<sentinel/>",
            )
            (numbers,), symbols, damage = read(
                export(f"s:{tag}", *(f"<row>{row}</row>" for row in rows))
            )
            assert (numbers, damage) == ([0, 0, None], "")
            [members] = symbols.stacks["frames"].to_pylist()
            assert [frames(symbols)[member] for member in members] == expected
            assert (symbols.frames.schema, symbols.stacks.schema) == (FRAMES, STACKS)
            assert symbols.frames["frame"].to_pylist() == list(range(symbols.frames.num_rows))


KPERF = (
    '<kperf-bt id="{0}"><text-addresses id="{0}01">{1}</text-addresses><text-address id="{0}02">'
    "{2}</text-address></kperf-bt>"
)


@pytest.mark.parametrize(
    ("columns", "rows", "numbers", "stacks", "known"),
    [
        pytest.param(
            "a:backtrace b:backtrace",
            f'<row><backtrace id="1">{LEAF}{MAIN}</backtrace><backtrace id="2"><frame ref="12"/>'
            f'{NEW}<frame ref="12"/></backtrace></row><row><backtrace ref="2"/><backtrace id="4">'
            '<frame ref="13"/><frame ref="11"/></backtrace></row>',
            [[0, 1], [1, 2]],
            [[0, 1], [1, 2, 1], [2, 0]],
            [("leaf<int>", 0x1010), ("main", 0x1020), ("new", 0x3)],
            id="frames and stacks are numbered as they end",
        ),
        pytest.param(
            "a:backtrace b:tagged-backtrace",
            f'<row><backtrace id="1">{LEAF}</backtrace><tagged-backtrace id="2">'
            '<backtrace ref="1"/></tagged-backtrace></row><row><sentinel/><tagged-backtrace id="3">'
            '<backtrace id="4"><frame ref="11"/><frame ref="11"/></backtrace></tagged-backtrace>'
            '</row><row><backtrace ref="4"/><tagged-backtrace ref="2"/></row>',
            [[0, None, 1], [0, 1, 0]],
            [[0], [0, 0]],
            [("leaf<int>", 0x1010)],
            id="a stack that wraps another is that stack",
        ),
        pytest.param(
            "a:kperf-bt b:backtrace",
            f"<row>{KPERF.format(1, '20 30 0', '10')}<backtrace id='4'>{LEAF}</backtrace></row>"
            f"<row>{KPERF.format(5, '30 20', '20')}<sentinel/></row><row><kperf-bt id='8'>"
            "<text-addresses ref='101'/><text-address ref='502'/></kperf-bt><backtrace ref='4'/>"
            "</row>",
            [[0, 2, 3], [1, None, 1]],
            [[1, 2, 3], [0], [2, 3, 2], [2, 2, 3]],
            [("leaf<int>", 0x1010), (None, 10), (None, 20), (None, 30)],
            id="addresses follow frames and are told once",
        ),
        pytest.param(
            "stack:backtrace",
            '<row><process id="1" fmt="A"><pid id="2">7</pid></process></row>',
            [[None]],
            [],
            [],
            id="a cell of another type has no number",
        ),
    ],
)
def test_stacks_and_frames_have_numbers(
    export: Export,
    columns: str,
    rows: str,
    numbers: list[list[int | None]],
    stacks: list[list[int]],
    known: list[tuple[str | None, int]],
) -> None:
    stack_numbers, symbols, damage = read(export(columns, rows))
    assert (stack_numbers, damage) == (numbers, "")
    assert symbols.stacks["frames"].to_pylist() == stacks
    assert frames(symbols) == known


def test_a_bad_row_leaves_the_stacks_before_it(export: Export) -> None:
    path = export(
        "stack:backtrace kernel:kperf-bt",
        f'<row><backtrace id="1">{LEAF}</backtrace><sentinel/></row>',
        f'<row><backtrace id="2"><frame ref="11"/>{NEW}</backtrace>'
        '<kperf-bt id="4"><text-address id="5">9</text-address><frame ref="1"/></kperf-bt></row>',
    )
    numbers, symbols, damage = read(path)
    assert numbers == [[0], [None]]
    assert '<frame ref="1"/> repeats a value that is a <backtrace>' in damage
    assert symbols.stacks["frames"].to_pylist() == [[0]]
    assert frames(symbols) == [("leaf<int>", 0x1010)]
