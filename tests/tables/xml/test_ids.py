"""Ids: plain counts, gaps, names, huge numbers, and ids that are defined again."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.tables.xml.lookup import UNKNOWN, Ids
from tracekit.tables.xml.node import Node
from tracekit.tables.xml.reader import read_nodes

Export = Callable[..., Path]
Events = Sequence[tuple[str, str]]


def texts(node: Node) -> list[list[str | None]]:
    return [list(row) for row in zip(*(c.cells.to_pylist() for c in node.columns), strict=True)]


def only(path: Path) -> Node:
    (node,) = read_nodes(path)
    assert node.damage == ""
    return node


def resolve(ids: Ids, first: int, *events: tuple[str, str]) -> list[int]:
    """Resolve ("define", id) and ("repeat", id) in order; values are counted from `first`."""
    defined = [one for what, one in events if what == "define"]
    repeated = [one for what, one in events if what == "repeat"]
    counts = np.cumsum([what == "define" for what, _ in events], dtype=np.int64)
    after = [
        int(n) + first for n, (what, _) in zip(counts, events, strict=True) if what == "repeat"
    ]
    targets, _ = ids.resolve(
        defined,
        np.arange(first, first + len(defined)),
        pa.array(repeated, pa.string()),
        np.array(after, np.int64),
    )
    return targets.tolist()


def test_a_repeat_means_the_definition_before_it() -> None:
    ids = Ids()
    assert resolve(ids, 0, ("define", "1"), ("define", "2"), ("repeat", "1")) == [0]
    assert resolve(ids, 2, ("repeat", "2"), ("define", "3"), ("repeat", "3")) == [1, 2]


def test_a_repeat_before_its_definition_is_unknown() -> None:
    ids = Ids()
    assert resolve(ids, 0, ("repeat", "1"), ("define", "1"), ("repeat", "9")) == [UNKNOWN, UNKNOWN]


def test_an_id_that_is_defined_again_means_the_last_one_before_a_repeat() -> None:
    ids = Ids()
    assert resolve(ids, 0, ("define", "7"), ("repeat", "7"), ("define", "7"), ("repeat", "7")) == [
        0,
        1,
    ]
    assert resolve(ids, 2, ("repeat", "7"), ("define", "7"), ("repeat", "7")) == [1, 2]
    assert resolve(ids, 3, ("repeat", "7")) == [2]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("7", "07", id="a leading zero"),
        pytest.param("7", "+7", id="a sign"),
        pytest.param("7", " 7", id="a blank"),
        pytest.param("16", "0x10", id="a hexadecimal number"),
        pytest.param("7", "\u0667", id="another script's digit"),
        pytest.param("4000000000", "4000000001", id="huge numbers"),
        pytest.param("9" * 40, "9" * 41, id="numbers beyond all integers"),
        pytest.param("a", "A", id="names"),
        pytest.param("-1", "1", id="a negative number"),
        pytest.param("", "0", id="nothing"),
        pytest.param("1e3", "1000", id="an exponent"),
    ],
)
def test_ids_are_the_same_only_if_they_are_written_alike(one: str, other: str) -> None:
    for first, second in ((one, other), (other, one)):
        ids = Ids()
        assert resolve(ids, 0, ("define", first), ("repeat", second)) == [UNKNOWN]
        assert resolve(ids, 1, ("repeat", first), ("define", second)) == [0]
        assert resolve(ids, 2, ("repeat", first), ("repeat", second)) == [0, 1]


def test_huge_ids_take_no_room() -> None:
    ids = Ids()
    for value, number in enumerate((4_000_000_000, 10**11, 999_999_999_999)):
        assert resolve(ids, value, ("define", str(number)), ("repeat", str(number))) == [value]
    assert ids._dense.size < 10_000


def test_an_id_stays_where_it_was_put_when_there_is_room_for_it() -> None:
    ids = Ids()
    assert resolve(ids, 0, ("define", "20000"), ("repeat", "20000")) == [0]
    many = [("define", str(number)) for number in range(1, 5000)]
    resolve(ids, 1, *many)
    assert resolve(ids, 5000, ("repeat", "20000"), ("repeat", "4999")) == [0, 4999]
    assert resolve(ids, 5000, ("define", "20000"), ("repeat", "20000")) == [5000]


def test_what_was_forgotten_means_what_it_meant_before() -> None:
    ids = Ids()
    resolve(ids, 0, ("define", "1"), ("define", "x"))
    _, forget = ids.resolve(
        ["1", "x", "2"], np.arange(2, 5), pa.array([], pa.string()), np.zeros(0, np.int64)
    )
    forget()
    assert resolve(ids, 2, ("repeat", "1"), ("repeat", "x"), ("repeat", "2")) == [0, 1, UNKNOWN]


@given(
    st.lists(
        st.lists(
            st.tuples(
                st.sampled_from(["define", "repeat"]),
                st.sampled_from(["1", "2", "3", "4", "07", "x", "4000000000"]),
            ),
            max_size=12,
        ),
        max_size=4,
    )
)
def test_any_order_of_definitions_is_that_of_a_dictionary(blocks: list[Events]) -> None:
    ids, known, first = Ids(), dict[str, int](), 0
    for events in blocks:
        expected: list[int] = []
        number = first
        for what, one in events:
            if what == "repeat":
                expected.append(known.get(one, UNKNOWN))
                continue
            known[one] = number
            number += 1
        assert resolve(ids, first, *events) == expected
        first = number


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
