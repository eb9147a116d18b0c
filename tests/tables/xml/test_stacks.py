"""The symbol table of an export: every shape of a stack, frame by frame."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tracekit.tables.xml.node import FRAMES, STACKS, Symbols
from tracekit.tables.xml.reader import ExactReader

Export = Callable[..., Path]
App = dict[str, object]

BINARY = (
    '<binary id="90" name="App" UUID="0A" arch="arm64e" load-addr="0x1000" path="/Apps/A&amp;B"/>'
)
LEAF = f'<frame id="11" name="leaf&lt;int&gt;" addr="0x1010">{BINARY}</frame>'
MAIN = (
    '<frame id="12" name="main" addr="0x1020"><binary ref="90"/><source line="44">'
    '<path id="91">/src/main.mm</path></source></frame>'
)


def read(path: Path) -> tuple[list[list[int | None]], Symbols]:
    """Return the numbers in the columns of stacks, and the symbol table."""
    reader = ExactReader(path)
    columns: dict[str, list[int | None]] = {}
    for piece in reader.pieces():
        assert piece.damage == ""
        for column in piece.columns:
            if column.stacks is not None:
                columns.setdefault(column.column.mnemonic, []).extend(column.stacks.to_pylist())
    return list(columns.values()), reader.symbols()


def frames(symbols: Symbols, stack: int | None) -> list[tuple[str | None, int | None]]:
    assert stack is not None
    names, addresses = (symbols.frames[name].to_pylist() for name in ("name", "address"))
    return [(names[frame], addresses[frame]) for frame in symbols.stacks["frames"][stack].as_py()]


LEAF_AND_MAIN = [("leaf<int>", 0x1010), ("main", 0x1020)]


@pytest.mark.parametrize(
    ("engineering_type", "cell", "expected"),
    [
        pytest.param(
            "backtrace", f'<backtrace id="1">{LEAF}{MAIN}</backtrace>', LEAF_AND_MAIN,
            id="since Xcode 14.3",
        ),
        pytest.param(
            "tagged-backtrace",
            f'<tagged-backtrace id="1" fmt="x ← (1 other frames)"><backtrace id="2">{LEAF}{MAIN}'
            "</backtrace></tagged-backtrace>",
            LEAF_AND_MAIN, id="wrapped",
        ),
        pytest.param(
            "tagged-backtrace", f'<tagged-backtrace id="1">{LEAF}{MAIN}</tagged-backtrace>',
            LEAF_AND_MAIN, id="Xcode 27",
        ),
        pytest.param(
            "text-backtrace", f'<text-backtrace id="1">{LEAF}{MAIN}</text-backtrace>',
            LEAF_AND_MAIN, id="of a signpost",
        ),
        pytest.param(
            "backtrace",
            '<backtrace id="1" fmt="f ← (1 other frames)"><process id="2" fmt="A (7)"><pid id="3">'
            '7</pid></process><text-addresses id="4" fmt="frag 3">4096 8192</text-addresses>'
            "</backtrace>",
            [(None, 4096), (None, 8192)], id="before Xcode 14.3",
        ),
        pytest.param(
            "kperf-bt",
            '<kperf-bt id="1" fmt="PC:0x1000, 3 frames, 1 regs, pid: 7"><text-addresses id="2">'
            '8192 4096 0</text-addresses><text-address id="3">4096</text-address>'
            '<register-content id="4">5</register-content></kperf-bt>',
            [(None, 4096), (None, 8192), (None, 4096)], id="of a sample",
        ),
        pytest.param(
            "kperf-bt",
            '<kperf-bt id="1" fmt="PC:0x1000, 0 frames, 0 regs, pid: 7"><text-addresses id="2" '
            'fmt="frag 4"/><text-address id="3">4096</text-address></kperf-bt>',
            [(None, 4096)], id="with the words of no addresses",
        ),
        pytest.param(
            "kperf-bt",
            '<kperf-bt id="1"><text-addresses id="2">18446744073709551615 what '
            '99999999999999999999</text-addresses></kperf-bt>',
            [(None, 2**64 - 1), (None, None), (None, None)], id="no addresses",
        ),
    ],
)  # fmt: skip
def test_every_shape_gives_its_frames(
    export: Export, engineering_type: str, cell: str, expected: list[tuple[str | None, int]]
) -> None:
    tag = engineering_type
    path = export(
        f"stack:{tag}",
        f"<row>{cell}</row>",
        f'<row><{tag} ref="1"/></row>',
        "<row><sentinel/></row>",
    )
    (numbers,), symbols = read(path)
    assert numbers == [0, 0, None]
    assert frames(symbols, 0) == expected
    assert symbols.stacks.num_rows == 1
    assert symbols.frames.schema == FRAMES
    assert symbols.stacks.schema == STACKS
    assert symbols.frames["frame"].to_pylist() == list(range(symbols.frames.num_rows))


def test_frames_and_stacks_are_numbered_as_they_end(export: Export) -> None:
    path = export(
        "a:backtrace b:backtrace",
        f'<row><backtrace id="1">{LEAF}{MAIN}</backtrace><backtrace id="2"><frame ref="12"/>'
        '<frame id="3" name="new" addr="0x3"/><frame ref="12"/></backtrace></row>',
        '<row><backtrace ref="2"/><backtrace id="4"><frame ref="3"/><frame ref="11"/></backtrace>'
        "</row>",
    )
    (first, second), symbols = read(path)
    assert (first, second) == ([0, 1], [1, 2])
    assert symbols.stacks["frames"].to_pylist() == [[0, 1], [1, 2, 1], [2, 0]]
    assert symbols.frames["name"].to_pylist() == ["leaf<int>", "main", "new"]


def test_a_stack_that_wraps_another_is_that_stack(export: Export) -> None:
    path = export(
        "a:backtrace b:tagged-backtrace",
        f'<row><backtrace id="1">{LEAF}</backtrace><tagged-backtrace id="2"><backtrace ref="1"/>'
        "</tagged-backtrace></row>",
        '<row><sentinel/><tagged-backtrace id="3"><backtrace id="4"><frame ref="11"/><frame '
        'ref="11"/></backtrace></tagged-backtrace></row>',
        '<row><backtrace ref="4"/><tagged-backtrace ref="2"/></row>',
    )
    (inner, outer), symbols = read(path)
    assert inner == [0, None, 1]
    assert outer == [0, 1, 0]
    assert symbols.stacks["frames"].to_pylist() == [[0], [0, 0]]


def test_addresses_follow_frames_and_are_told_once(export: Export) -> None:
    kperf = (
        '<kperf-bt id="{0}"><text-addresses id="{1}">{2}</text-addresses><text-address id="{3}">'
        "{4}</text-address></kperf-bt>"
    )
    path = export(
        "a:kperf-bt b:backtrace",
        f"<row>{kperf.format(1, 2, '20 30 0', 3, '10')}<backtrace id='4'>{LEAF}</backtrace></row>",
        f"<row>{kperf.format(5, 6, '30 20', 7, '20')}<sentinel/></row>",
        '<row><kperf-bt id="8"><text-addresses ref="2"/><text-address ref="7"/></kperf-bt>'
        '<backtrace ref="4"/></row>',
    )
    (samples, named), symbols = read(path)
    assert (samples, named) == ([0, 2, 3], [1, None, 1])
    assert symbols.frames["address"].to_pylist() == [0x1010, 10, 20, 30]
    assert symbols.stacks["frames"].to_pylist() == [[1, 2, 3], [0], [2, 3, 2], [2, 2, 3]]


def test_a_cell_of_another_type_among_stacks_has_no_number(export: Export) -> None:
    path = export(
        "stack:backtrace", '<row><process id="1" fmt="A"><pid id="2">7</pid></process></row>'
    )
    (piece,) = ExactReader(path).pieces()
    assert piece.columns[0].stacks is not None
    assert piece.columns[0].stacks.to_pylist() == [None]
    assert piece.columns[0].foreign == {"process"}


def test_a_bad_row_leaves_the_stacks_before_it(export: Export) -> None:
    path = export(
        "stack:backtrace kernel:kperf-bt",
        f'<row><backtrace id="1">{LEAF}</backtrace><sentinel/></row>',
        '<row><backtrace id="2"><frame ref="11"/><frame id="3" name="new" addr="0x3"/></backtrace>'
        '<kperf-bt id="4"><text-address id="5">9</text-address><frame ref="1"/></kperf-bt></row>',
    )
    reader = ExactReader(path)
    (piece,) = reader.pieces()
    assert piece.rows == 1
    assert '<frame ref="1"/> repeats a value that is a <backtrace>' in piece.damage
    assert reader.symbols().stacks["frames"].to_pylist() == [[0]]
    assert reader.symbols().frames["name"].to_pylist() == ["leaf<int>"]
