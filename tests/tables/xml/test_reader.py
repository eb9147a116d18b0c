"""The grammar of an export, and damage: the rows before it are right, the rest is missing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tracekit.base.errors import InputError
from tracekit.tables.toc import Toc, TocRun, TocTable
from tracekit.tables.xml.node import Node
from tracekit.tables.xml.reader import ExactReader

Export = Callable[..., Path]
NodeMaker = Callable[..., str]
Cells = list[list[str | None]]
APP = '<process id="3" fmt="App (7)"><pid id="4" fmt="7">7</pid></process>'


def texts(node: Node) -> Cells:
    columns = (column.cells.to_pylist() for column in node.columns)
    return [list(row) for row in zip(*columns, strict=True)]


def read(path: Path, toc: Toc | None = None) -> list[Node]:
    return list(ExactReader(path, toc).pieces())


def test_a_header_names_columns_in_order(export: Export) -> None:
    (node,) = read(export("start:start-time duration:duration", schema="metal-gpu-intervals"))
    assert (node.schema, node.rows, node.damage) == ("metal-gpu-intervals", 0, "")
    assert node.xpath == "//trace-toc[1]/run[1]/data[1]/table[1]"
    columns = [part.column for part in node.columns]
    assert [(column.mnemonic, column.name, column.engineering_type) for column in columns] == [
        ("start", "Start", "start-time"),
        ("duration", "Duration", "duration"),
    ]


@pytest.mark.parametrize(
    ("columns", "rows", "cells", "pids"),
    [
        pytest.param(
            "label:formatted-label process:process name:string",
            f'<row><formatted-label id="1" fmt="work ( App (7) )"><string id="2" fmt="work">work'
            f'</string>{APP}</formatted-label><process ref="3"/><string ref="2"/></row>',
            [["work ( App (7) )", "App (7)", "work"]],
            {1: ["7"]},
            id="a cell repeats what a compound defined",
        ),
        pytest.param(
            "stack:backtrace",
            '<row><backtrace id="1"><frame id="2" name="leaf" addr="0x1"><binary id="3" name="App"'
            '/></frame><frame id="4" name="main" addr="0x2"><binary ref="3"/></frame></backtrace>'
            "</row>",
            [["leaf ← (1 other frames)"]],
            {},
            id="a repeat points into a compound that is still open",
        ),
        pytest.param(
            "start:start-time latency:duration duration:duration",
            '<row><start-time id="1">5</start-time><sentinel/><duration id="2">9</duration></row>'
            '<row><sentinel/><duration ref="2"/><sentinel/></row>',
            [["5", None, "9"], [None, "9", None]],
            {},
            id="a sentinel is null and keeps its place",
        ),
        pytest.param(
            "a:duration b:uint64",
            '<row><duration id="1" fmt="21,46 µs">21459</duration>'
            '<uint64 id="2" fmt="1.206.362.555">1206362555</uint64></row>',
            [["21459", "1206362555"]],
            {},
            id="the text counts, not what is written for people",
        ),
        pytest.param(
            "p:process a:string",
            '<row> <!-- a --> <process id="8" fmt="A (7)" ><pid id="9">7</pid><!-- b --></process>'
            '\n<?c?><string id="1">x</string> text </row>'
            "<row><process ref=\"8\" /><!-- <string/> --><string\tref='1'></string></row>",
            [["A (7)", "x"], ["A (7)", "x"]],
            {0: ["7", "7"]},
            id="what stands between cells means nothing",
        ),
        pytest.param(
            "p:process q:process",
            '<row><process id="1" fmt="A (1)"><pid id="2">1</pid></process><process id="3" '
            'fmt="B (1)"><pid ref="2"/></process></row><row><process id="1" fmt="C (5)">'
            '<pid id="2">5</pid></process><process ref="1"/></row><row><process ref="3"/>'
            '<process id="3" fmt="D (5)"><pid ref="2"/></process></row>',
            [["A (1)", "B (1)"], ["C (5)", "C (5)"], ["B (1)", "D (5)"]],
            {0: ["1", "5", "1"], 1: ["1", "5", "5"]},
            id="an id that is defined again counts from its end",
        ),
    ],
)
def test_cells_are_values_repeats_and_nothing(
    export: Export, columns: str, rows: str, cells: Cells, pids: dict[int, list[str]]
) -> None:
    (node,) = read(export(columns, rows))
    assert node.damage == ""
    assert texts(node) == cells
    assert {place: node.columns[place].pids.to_pylist() for place in pids} == pids


def test_ids_hold_across_tables_and_a_new_definition_counts(
    document: Export, node: NodeMaker
) -> None:
    path = document(
        node("a:string", '<row><string id="1">old</string></row>', schema="one"),
        node(
            "a:string b:string",
            '<row><string ref="1"/><string id="1">new</string></row>',
            '<row><string ref="1"/><string ref="1"/></row>',
            schema="two",
        ),
    )
    assert [texts(table) for table in read(path)] == [[["old"]], [["old", "new"], ["new", "new"]]]


def test_a_table_without_a_header_has_that_of_its_schema_or_of_the_one_before(
    document: Export, node: NodeMaker
) -> None:
    path = document(
        node("a:string", '<row><string id="1">x</string></row>', schema="one"),
        node("b:uint64", schema="two", table=2),
        "<node xpath='//trace-toc[1]/run[1]/data[1]/table[3]'><row><string ref='1'/></row></node>",
    )
    toc = Toc((TocRun(1, tables=tuple(map(TocTable, (1, 2, 3), ("one", "two", "one")))),))
    for contents, last_schema in ((None, "two"), (toc, "one")):
        nodes = read(path, contents)
        assert [table.schema for table in nodes] == ["one", "two", last_schema]
        assert texts(nodes[2]) == [["x"]], last_schema
        assert nodes[2].xpath.endswith("table[3]"), last_schema


@pytest.mark.parametrize("count", [0, 1, 20_000, 1 << 13])
def test_damage_is_on_the_last_piece_of_its_table(export: Export, count: int) -> None:
    rows = ["<row><string>x</string></row>\n"] * count
    pieces = read(export("a:string", *rows, "<row/>"))
    assert sum(piece.rows for piece in pieces) == count
    assert [bool(piece.damage) for piece in pieces] == [False] * (len(pieces) - 1) + [True]


def test_other_tags_than_the_declared_ones_are_kept_in_mind(export: Export) -> None:
    path = export(
        "value:any start:start-time",
        '<row><uint64 id="1">1</uint64><start-time id="2">1</start-time></row>',
        '<row><string id="3">x</string><sentinel/></row>',
    )
    (node,) = read(path)
    assert [part.foreign for part in node.columns] == [{"uint64", "string"}, frozenset()]


def test_the_first_bad_repeat_ends_the_table_whatever_comes_after(export: Export) -> None:
    good = '<row><string id="{0}">s</string><string ref="1"/></row>'
    rows = [good.format(number) for number in range(1, 50)]
    rows[30] = '<row><string id="31">s</string><uint64 ref="1"/></row>'
    rows[40] = '<row><string id="41">s</string><string ref="99"/></row>'
    (node,) = read(export("a:string b:string", *rows))
    assert node.rows == 30
    assert node.damage == '<uint64 ref="1"/> repeats a value that is a <string>, line 33'


COLUMNS = "start:start-time label:string process:process"
OTHER = '<process id="7" fmt="B (8)"><pid id="8" fmt="8">8</pid></process>'
ROWS = (
    f'<row><start-time id="1" fmt="0">100</start-time><string id="2">µ&lt;</string>{APP}</row>',
    '<row><start-time id="5" fmt="0.2">200</start-time><string ref="2"/><process ref="3"/></row>',
    f'<row><start-time id="6" fmt="0.3">300</start-time><sentinel/>{OTHER}</row>',
    '<row><start-time ref="6"/><string id="9" fmt="">\n</string><process ref="7"/></row>',
)
VALUES = [
    (["100", "µ<", "App (7)"], "7"),
    (["200", "µ<", "App (7)"], "7"),
    (["300", None, "B (8)"], "8"),
    (["300", "\n", "B (8)"], "8"),
]


def values(node: Node) -> list[tuple[list[str | None], str | None]]:
    return list(zip(texts(node), node.columns[2].pids.to_pylist(), strict=True))


def test_cut_at_every_byte_it_gives_the_rows_before_and_says_so(export: Export) -> None:
    path = export(COLUMNS, *ROWS)
    content = path.read_bytes()
    header = content.index(b"<row>")
    ends = [content.index(row.encode()) + len(row.encode()) for row in ROWS]
    for cut_position in range(len(content) - 1):
        path.write_bytes(content[:cut_position])
        if cut_position < header:
            with pytest.raises(InputError, match=r"."):
                read(path)
            continue
        (node,) = read(path)
        assert values(node) == VALUES[: sum(end <= cut_position for end in ends)], cut_position
        assert node.damage, cut_position
    path.write_bytes(content[:-1])
    assert read(path)[0].damage == ""


def test_a_breach_of_the_grammar_ends_the_table_before_it(
    export: Export, subtests: pytest.Subtests
) -> None:
    for content, reason in (
        ('<start-time ref="99"/><sentinel/><sentinel/>', "never defined, line 4"),
        ('<start-time ref="2"/><sentinel/><sentinel/>', "repeats a value that is a <string>"),
        ('{}<process id="20" fmt="A"><pid ref="99"/></process>', "never defined, line 4"),
        ('{}<process id="20" fmt="A"><pid ref="2"/></process>', "is a <string>, line 4"),
        ('{}<process id="20"><process ref="20"/></process>', "never defined, line 4"),
        ("<start-time ref='1'/><sentinel/>", "2 cells for 3 columns, line 4"),
        ("<sentinel/>" * 4, "4 cells for 3 columns, line 4"),
        ('<sentinel/><string rfe="2"/><sentinel/>', "no value, line 4"),
        ("<sentinel/><row/><sentinel/>", "does not belong here"),
        ("<sentinel/><schema name='x'/><sentinel/>", "does not belong here"),
        ("</row><schema name='x'/><row>", "a second header"),
        ("</row><node xpath='x'></node><row>", "does not belong here"),
    ):
        with subtests.test(content):
            row = f"<row>{content.format('<sentinel/>' * 2)}</row>"
            (node,) = read(export(COLUMNS, ROWS[0], row.replace("<row></row>", ""), ROWS[1]))
            assert values(node) == VALUES[:1]
            assert reason in node.damage
