"""The grammar of an export, one trap a test."""

from collections.abc import Callable
from pathlib import Path

import pytest

from exact_nodes import read_nodes
from tracekit.tables.toc import Toc, TocRun, TocTable
from tracekit.tables.xml.node import Node
from tracekit.tables.xml.reader import ExactReader

Export = Callable[..., Path]


def texts(node: Node) -> list[list[str | None]]:
    """Return a table's cells, row by row, as the reader took them."""
    return [list(row) for row in zip(*(c.cells.to_pylist() for c in node.columns), strict=True)]


def only(path: Path) -> Node:
    (node,) = read_nodes(path)
    assert node.damage == ""
    return node


def test_a_header_names_columns_in_order(export: Export) -> None:
    node = only(export("start:start-time duration:duration", schema="metal-gpu-intervals"))
    assert node.schema == "metal-gpu-intervals"
    assert node.xpath == "//trace-toc[1]/run[1]/data[1]/table[1]"
    assert [c.column.mnemonic for c in node.columns] == ["start", "duration"]
    assert [c.column.engineering_type for c in node.columns] == ["start-time", "duration"]
    assert node.columns[0].column.name == "Start"
    assert node.rows == 0


def test_a_cell_may_repeat_what_a_compound_defined(export: Export) -> None:
    path = export(
        "label:formatted-label process:process name:string",
        '<row><formatted-label id="1" fmt="work ( App (7) )"><string id="2" fmt="work">work'
        '</string><process id="3" fmt="App (7)"><pid id="4" fmt="7">7</pid></process>'
        '</formatted-label><process ref="3"/><string ref="2"/></row>',
    )
    node = only(path)
    assert texts(node) == [["work ( App (7) )", "App (7)", "work"]]
    assert node.columns[1].pids.to_pylist() == ["7"]


def test_a_repeat_may_point_into_a_compound_that_is_still_open(export: Export) -> None:
    path = export(
        "stack:backtrace",
        '<row><backtrace id="1"><frame id="2" name="leaf" addr="0x1"><binary id="3" name="App"/>'
        '</frame><frame id="4" name="main" addr="0x2"><binary ref="3"/></frame></backtrace></row>',
    )
    assert texts(only(path)) == [["leaf ← (1 other frames)"]]


def test_a_sentinel_is_null_and_keeps_its_place(export: Export) -> None:
    path = export(
        "start:start-time latency:duration duration:duration",
        '<row><start-time id="1">5</start-time><sentinel/><duration id="2">9</duration></row>',
        '<row><sentinel/><duration ref="2"/><sentinel/></row>',
    )
    assert texts(only(path)) == [["5", None, "9"], [None, "9", None]]


def test_the_text_counts_and_not_what_is_written_for_people(export: Export) -> None:
    path = export(
        "a:duration b:uint64",
        '<row><duration id="1" fmt="21,46 µs">21459</duration>'
        '<uint64 id="2" fmt="1.206.362.555">1206362555</uint64></row>',
    )
    assert texts(only(path)) == [["21459", "1206362555"]]


def test_ids_hold_across_tables_and_a_new_definition_counts(
    document: Export, node: Callable[..., str]
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
    one, two = read_nodes(path)
    assert texts(one) == [["old"]]
    assert texts(two) == [["old", "new"], ["new", "new"]]


def test_a_table_without_a_header_has_that_of_the_one_before(
    document: Export, node: Callable[..., str]
) -> None:
    path = document(
        node("a:string", '<row><string id="1">x</string></row>', schema="one"),
        "<node xpath='//trace-toc[1]/run[1]/data[1]/table[2]'>"
        '<row><string ref="1"/></row></node>',
    )
    first, second = read_nodes(path)
    assert (first.schema, second.schema) == ("one", "one")
    assert second.xpath.endswith("table[2]")
    assert texts(second) == [["x"]]


def test_the_table_of_contents_names_a_table_without_a_header(
    document: Export, node: Callable[..., str]
) -> None:
    bare = "<node xpath='//trace-toc[1]/run[1]/data[1]/table[3]'>{}</node>"
    path = document(
        node("a:string", schema="one", table=1),
        node("b:uint64", schema="two", table=2),
        bare.format('<row><string id="1">x</string></row>'),
    )
    schemas = [TocTable(1, "one"), TocTable(2, "two"), TocTable(3, "one")]
    assert [n.schema for n in read_nodes(path)] == ["one", "two", "two"]
    nodes = read_nodes(path, Toc((TocRun(1, tables=tuple(schemas)),)))
    assert [n.schema for n in nodes] == ["one", "two", "one"]
    assert texts(nodes[2]) == [["x"]]


def test_what_stands_between_cells_means_nothing(export: Export) -> None:
    path = export(
        "p:process a:string",
        '<row> <!-- a --> <process id="8" fmt="A (7)" ><pid id="9">7</pid><!-- b --></process>\n'
        '<?c?><string id="1">x</string> text </row>',
        "<row><process ref=\"8\" /><!-- <string/> --><string\tref='1'></string></row>",
    )
    node = only(path)
    assert texts(node) == [["A (7)", "x"], ["A (7)", "x"]]
    assert node.columns[0].pids.to_pylist() == ["7", "7"]


@pytest.mark.parametrize("count", [0, 1, 20_000, 1 << 13])
def test_damage_stands_on_the_last_piece_of_its_table(export: Export, count: int) -> None:
    rows = ["<row><string>x</string></row>\n"] * count
    pieces = list(ExactReader(export("a:string", *rows, "<row/>")).pieces())
    assert sum(piece.rows for piece in pieces) == count
    assert [bool(piece.damage) for piece in pieces] == [False] * (len(pieces) - 1) + [True]


def test_other_tags_than_the_declared_ones_are_kept_in_mind(export: Export) -> None:
    path = export(
        "value:any start:start-time",
        '<row><uint64 id="1">1</uint64><start-time id="2">1</start-time></row>',
        '<row><string id="3">x</string><sentinel/></row>',
    )
    value, start = only(path).columns
    assert value.foreign == {"uint64", "string"}
    assert start.foreign == frozenset()


def test_a_compound_that_defines_an_id_again_counts_from_its_end(export: Export) -> None:
    path = export(
        "p:process q:process",
        '<row><process id="1" fmt="A (1)"><pid id="2">1</pid></process><process id="3" fmt="B (1)">'
        '<pid ref="2"/></process></row>',
        '<row><process id="1" fmt="C (5)"><pid id="2">5</pid></process><process ref="1"/></row>',
        '<row><process ref="3"/><process id="3" fmt="D (5)"><pid ref="2"/></process></row>',
    )
    node = only(path)
    assert texts(node) == [["A (1)", "B (1)"], ["C (5)", "C (5)"], ["B (1)", "D (5)"]]
    assert node.columns[0].pids.to_pylist() == ["1", "5", "1"]
    assert node.columns[1].pids.to_pylist() == ["1", "5", "5"]


def test_the_first_bad_repeat_ends_the_table_whatever_comes_after(export: Export) -> None:
    good = '<row><string id="{0}">s</string><string ref="1"/></row>'
    rows = [good.format(number) for number in range(1, 50)]
    rows[30] = '<row><string id="31">s</string><uint64 ref="1"/></row>'
    rows[40] = '<row><string id="41">s</string><string ref="99"/></row>'
    (node,) = read_nodes(export("a:string b:string", *rows))
    assert node.rows == 30
    assert node.damage == '<uint64 ref="1"/> repeats a value that is a <string>, line 33'
