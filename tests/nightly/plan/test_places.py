"""Where keys stand: the lines that messages name, held against what tomllib reads."""

import tomllib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.nightly.plan.document import Places, Route

CASES = {
    "plain": ("a = 1\nb = 2\n", {("a",): (1, 1), ("b",): (2, 1)}),
    "indented": ("\n  a = 1", {("a",): (2, 3)}),
    "header": ("# c\n[x]\na = 1", {("x",): (2, 2), ("x", "a"): (3, 1)}),
    "dotted": ("x . y.z = 1", {("x",): (1, 1), ("x", "y"): (1, 5), ("x", "y", "z"): (1, 7)}),
    "quoted": ("'a b'.\"c\\td\" = 1", {("a b",): (1, 1), ("a b", "c\td"): (1, 7)}),
    "array": ("a = [1,\n  [2], # ]\n  '''3]'''\n]", {("a", 1, 0): (2, 4), ("a", 2): (3, 3)}),
    "inline": (
        "a = { b = { c = '}' }, d.e = 1 }",
        {("a", "b", "c"): (1, 13), ("a", "d", "e"): (1, 26)},
    ),
    "tables": ("[[t]]\na = 1\n[[t]]\na = 2\n", {("t", 0): (1, 1), ("t", 1, "a"): (4, 1)}),
    "table in the last of tables": (
        "[[t]]\n[t.u]\na = 1\n[[t]]\n[t.u]\na = 2",
        {("t", 0, "u", "a"): (3, 1), ("t", 1, "u"): (5, 4), ("t", 1, "u", "a"): (6, 1)},
    ),
    "tables in tables": (
        "[[t]]\n[[t.u]]\n[[t.u]]\na = 1",
        {("t", 0, "u", 0): (2, 1), ("t", 0, "u", 1, "a"): (4, 1)},
    ),
    "many lines": ('a = """\n[no]\nb = 1\\"""\n"""\nc = 2', {("a",): (1, 1), ("c",): (5, 1)}),
    "quotes at the end": ('a = """x"""""\nb = """"""\nc = 1', {("c",): (3, 1)}),
    "literal quotes at the end": ("a = '''x'''''\nc = 1", {("c",): (2, 1)}),
    "moment with a space": (
        "a = [1979-05-27 07:32:00, 2]\nb = 1",
        {("a", 1): (1, 27), ("b",): (2, 1)},
    ),
    "carriage returns": ("a = 1\r\n[x]\r\nb = 2\r\n", {("x",): (2, 2), ("x", "b"): (3, 1)}),
    "letters of Unicode": ("a = 'é日'\n'ключ' = 1", {("ключ",): (2, 1)}),
    "comment behind a number": ("a = 1#b\nc = 2", {("c",): (2, 1)}),
    "header of parents": ("[a.b.c]\n[a]\nx = 1", {("a",): (1, 2), ("a", "x"): (3, 1)}),
}


@pytest.mark.parametrize("name", CASES)
def test_each_key_has_its_line_and_column(name: str) -> None:
    text, expected = CASES[name]
    found = Places(text)
    assert {route: found.of(route) for route in expected} == expected
    assert set(found.paths) == set(routes(tomllib.loads(text)))


def test_what_is_not_written_stands_where_what_would_hold_it_stands() -> None:
    found = Places("[a]\nb = 1\n")
    assert found.of(("a", "missing", 3)) == (1, 2)
    assert found.of(("nothing",)) == (1, 1)
    assert found.of(()) == (1, 1)


def test_an_empty_document_has_no_places() -> None:
    assert Places("").paths == {}
    assert Places(" # only this").paths == {}


def test_nesting_too_deep_to_walk_has_no_places_instead_of_an_end() -> None:
    deep = 100_000
    assert Places(f"a = {'[' * deep}{']' * deep}").of(("a",)) == (1, 1)


def routes(value: Any, route: Route = ()) -> Iterator[Route]:
    if route:
        yield route
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from routes(inner, (*route, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from routes(inner, (*route, number))


Draw = Callable[..., Any]
NAMES = st.text("ab-_1é.\"'\\ #=[]{}\n日", max_size=4)
GAPS = st.sampled_from(["", " ", "\t "])
BREAKS = st.sampled_from(["", " ", "\n", " # ]}\n\t", "\n\n"])
NUMBERS = ["1", "-2.5e3", "0xff", "inf", "true"]
MOMENTS = ["1979-05-27", "1979-05-27 07:32:00Z", "07:32:00"]
TEXTS = ["''", '""', "'#'", '"a\\"b"', "'\\'"]
LONG = ["'''\n'''", '"""\n]"""', "'''a'''''", '"""\\""""""']
PLAIN = st.sampled_from([*NUMBERS, *MOMENTS, *TEXTS, *LONG])


def written(name: str, draw: Draw) -> str:
    """Return a key as it may be written."""
    forms = ['"' + "".join(f"\\U{ord(one):08x}" for one in name) + '"']
    if name and all(one.isascii() and (one.isalnum() or one in "-_") for one in name):
        forms.append(name)
    if not set(name) & {"'", "\n"}:
        forms.append(f"'{name}'")
    return draw(st.sampled_from(forms))


def inline(draw: Draw, depth: int) -> str:
    """Return a value."""
    kind = draw(st.sampled_from(["plain", "array", "table"] if depth else ["plain"]))
    if kind == "array":
        parts = [f"{draw(BREAKS)}{inline(draw, depth - 1)}{draw(BREAKS)}" for _ in some(draw)]
        comma = "," + draw(BREAKS) if parts and draw(st.booleans()) else draw(BREAKS)
        return "[" + ",".join(parts) + comma + "]"
    if kind == "table":
        names = draw(st.lists(NAMES, unique=True, max_size=2))
        return "{" + ",".join(pair(one, draw, depth - 1) for one in names) + "}"
    return draw(PLAIN)


def pair(name: str, draw: Draw, depth: int) -> str:
    """Return a key, perhaps a dotted one, and its value."""
    dots = [written(one, draw) for one in draw(st.lists(NAMES, max_size=1))]
    key = f"{draw(GAPS)}.{draw(GAPS)}".join([written(name, draw), *dots])
    return f"{draw(GAPS)}{key}{draw(GAPS)}={draw(GAPS)}{inline(draw, depth)}{draw(GAPS)}"


def some(draw: Draw) -> range:
    return range(draw(st.integers(0, 2)))


@st.composite
def documents(draw: Draw) -> str:
    """Make a document of pairs, tables, arrays of tables and tables in their last."""
    top = draw(st.lists(NAMES, unique=True, max_size=5))
    lines = [pair(name, draw, 2) for name in top[2:]]
    for name in top[:2]:
        key, several = written(name, draw), draw(st.booleans())
        for _ in range(draw(st.integers(1, 2)) if several else 1):
            lines.append(f"[[{key}]]" if several else f"[ {key} ] # x")
            inner = draw(st.lists(NAMES, unique=True, max_size=2))
            lines += [pair(one, draw, 1) for one in inner[1:]]
            lines += [f"[{key}.{written(one, draw)}.'end']" for one in inner[:1]]
    return draw(st.sampled_from(["\n", "\r\n", "\n\n# [x]\n"])).join(lines)


@given(documents())
def test_all_that_tomllib_reads_has_a_place_and_nothing_else(text: str) -> None:
    read = tomllib.loads(text)
    found = Places(text)
    assert set(found.paths) == set(routes(read))
    lines = text.replace("\r\n", "\n").split("\n")
    for route in set(found.paths):
        line, column = found.of(route)
        here = lines[line - 1][column - 1 :]
        if isinstance(route[-1], str):
            assert here.startswith(('"', "'", route[-1])), (route, here)
