"""Ids: plain counts, gaps, names, huge numbers, and ids that are defined again."""

from collections.abc import Callable
from pathlib import Path

import pytest

from exact_nodes import read_nodes
from tracekit.tables.xml.node import Node

Export = Callable[..., Path]


def texts(node: Node) -> list[list[str | None]]:
    return [list(row) for row in zip(*(c.cells.to_pylist() for c in node.columns), strict=True)]


def only(path: Path) -> Node:
    (node,) = read_nodes(path)
    assert node.damage == ""
    return node


def test_ids_may_come_in_any_order(export: Export) -> None:
    path = export(
        "a:string b:string",
        '<row><string id="9">nine</string><string id="2">two</string></row>',
        '<row><string ref="2"/><string id="5">five</string></row>',
        '<row><string ref="9"/><string ref="5"/></row>',
    )
    assert texts(only(path)) == [["nine", "two"], ["two", "five"], ["nine", "five"]]


def test_ids_may_be_anything(export: Export) -> None:
    path = export(
        "a:string",
        '<row><string id="x-1">name</string></row>',
        '<row><string id="4000000000">huge</string></row>',
        '<row><string id="">empty</string></row>',
        '<row><string ref="x-1"/></row>',
        '<row><string ref="4000000000"/></row>',
        '<row><string ref=""/></row>',
    )
    assert texts(only(path)) == [["name"], ["huge"], ["empty"]] * 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("7", "07", id="a leading zero"),
        pytest.param("7", "+7", id="a sign"),
        pytest.param("7", "\u0667", id="another script's digit"),
        pytest.param("9" * 40, "9" * 41, id="numbers beyond all integers"),
        pytest.param("a", "A", id="names"),
        pytest.param("", "0", id="nothing"),
    ],
)
def test_ids_are_the_same_only_if_they_are_written_alike(
    one: str, other: str, export: Export
) -> None:
    first, repeat = f'<row><string id="{one}">x</string></row>', '<row><string ref="{}"/></row>'
    assert texts(only(export("a:string", first, repeat.format(one)))) == [["x"], ["x"]]
    (node,) = read_nodes(export("a:string", first, repeat.format(other)))
    assert node.rows == 1
    assert "never defined" in node.damage


def test_a_definition_counts_for_what_comes_after_it_in_its_row(export: Export) -> None:
    path = export(
        "a:string b:string c:string d:string",
        '<row><string id="1">one</string><string ref="1"/><string id="1">two</string>'
        '<string ref="1"/></row>',
        '<row><string ref="1"/><string id="1">three</string><string ref="1"/><sentinel/></row>',
    )
    assert texts(only(path)) == [["one", "one", "two", "two"], ["two", "three", "three", None]]


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


def test_an_id_that_restarts_in_each_table_means_that_of_its_own(
    document: Export, node: Callable[..., str]
) -> None:
    rows = '<row><string id="1">{0}</string></row>', '<row><string ref="1"/></row>'
    tables = [node("a:string", *(r.format(n) for r in rows), schema=n, table=1) for n in "xyz"]
    assert [texts(one) for one in read_nodes(document(*tables))] == [
        [["x"], ["x"]],
        [["y"], ["y"]],
        [["z"], ["z"]],
    ]


def test_the_first_bad_repeat_ends_the_table_whatever_comes_after(export: Export) -> None:
    good = '<row><string id="{0}">s</string><string ref="1"/></row>'
    rows = [good.format(number) for number in range(1, 50)]
    rows[30] = '<row><string id="31">s</string><uint64 ref="1"/></row>'
    rows[40] = '<row><string id="41">s</string><string ref="99"/></row>'
    (node,) = read_nodes(export("a:string b:string", *rows))
    assert node.rows == 30
    assert node.damage == '<uint64 ref="1"/> repeats a value that is a <string>, line 33'


def test_what_a_bad_row_defines_anew_does_not_reach_back(export: Export) -> None:
    path = export(
        "a:string b:string",
        '<row><string id="1">old</string><string id="2">x</string></row>' + " " * (1 << 18),
        '<row><string ref="1"/><string ref="2"/></row>',
        '<row><string id="1">new</string><string ref="3"/></row>',
    )
    (node,) = read_nodes(path)
    assert texts(node) == [["old", "x"], ["old", "x"]]
    assert node.damage == '<string ref="3"/> repeats a value that was never defined, line 5'
