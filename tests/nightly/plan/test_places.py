"""Where keys stand: the lines that messages name."""

from pathlib import Path

import pytest

from tracekit.nightly.plan.document import Route, open_document

CASES: dict[str, tuple[str, dict[Route, int]]] = {
    "plain": ("a = 1\nb = 2\n", {("a",): 1, ("b",): 2}),
    "indented, behind a comment": ("# a = 0\n\n  a = 1", {("a",): 3}),
    "table": ("# c\n[x] # d\na = 1", {("x",): 2, ("x", "a"): 3}),
    "dotted": ("x . y.z = 1\nx.y.u = 2", {("x", "y"): 1, ("x", "y", "z"): 1, ("x", "y", "u"): 2}),
    "quoted": ("'a b'.\"c\" = 1", {("a b", "c"): 1}),
    "array of several lines": ("a = [\n 'b',\n]\nc = 1", {("a", 0): 1, ("c",): 4}),
    "arrays that look like tables": ("a = [\n ['a'],\n ['b']\n]\nc = 1", {("c",): 5}),
    "inline table": ("[x]\na = { b = 1 }", {("x", "a", "b"): 2}),
    "tables": ("[[t]]\na = 1\n[[t]]\na = 2\n", {("t", 0): 1, ("t", 1): 3, ("t", 1, "a"): 4}),
    "table in the last of tables": (
        "[[t]]\n[t.u]\na = 1\n[[t]]\n[t.u]\na = 2",
        {("t", 0, "u", "a"): 3, ("t", 1, "u"): 5, ("t", 1, "u", "a"): 6},
    ),
    "carriage returns": ("a = 1\r\n[x]\r\nb = 2\r\n", {("x", "b"): 3}),
    "not written": ("z = 1\n[a]\nb = 1\n", {("a", "missing", 3): 2, ("nothing",): 1, (): 1}),
}


@pytest.mark.parametrize("name", CASES)
def test_each_key_has_its_line(name: str, tmp_path: Path) -> None:
    text, expected = CASES[name]
    (tmp_path / "any.toml").write_bytes(text.encode())
    found = open_document(tmp_path / "any.toml")
    assert {route: found.line(route) for route in expected} == expected
