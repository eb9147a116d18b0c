"""A loop over rows says which of them failed, in every test."""

import ast
from pathlib import Path
from textwrap import indent

import pytest

from loop_rows import unnamed_rows

TESTS = Path(__file__).parent


def test_every_test_names_the_row_that_failed() -> None:
    unnamed = [
        f"{file.relative_to(TESTS.parent)}:{row}"
        for file in TESTS.rglob("test_*.py")
        for row in unnamed_rows(ast.parse(file.read_text(encoding="utf-8")))
    ]
    assert not unnamed, (
        "When one of these assertions fails, pytest does not show which row of the loop it was. "
        "Add the row's name as a message (`assert …, name`), or put the body of the loop within "
        "`with subtests.test(name=name):`, or parametrize the test if a row takes time:\n"
        + "\n".join(sorted(unnamed))
    )


NAMED = (
    # shown by pytest: a name, an argument, what a text or a tuple is made of
    "for name in NAMES:\n    assert name in page",
    "for name in NAMES:\n    assert judge(name) == 3",
    "for name in NAMES:\n    assert len(judge(name)) == 3",
    "for name in NAMES:\n    assert not name.startswith('a')",
    "for name in NAMES:\n    words = f'is no {name}'\n    assert words in page",
    "for name in NAMES:\n    assert (name, len(page)) == (name, 3)",
    "for text, number in ROWS:\n    assert read(text) == number",
    "for text, number in (('a', 1), ('b', 2)):\n    assert len(page) == number",
    "for (text, number), more in ROWS:\n    assert text == page",
    # told on purpose
    "for name in NAMES:\n    assert found, name",
    "for name in NAMES:\n    with subtests.test(name):\n        assert found",
    "for name in NAMES:\n    with subtests.test(name=name), open(page):\n        assert found",
    "for text, number in ROWS:\n    assert found, number",
    "for a in ROWS:\n    for b in ROWS:\n        assert found, (a, b)",
    # without rows
    "for _ in range(2):\n    assert found",
    "for name in NAMES:\n    judge(name)\nassert found",
)
UNNAMED = (
    "for name in NAMES:\n    assert found",
    "for name in NAMES:\n    assert table[name] == 3",
    "for name in NAMES:\n    assert all(name in page for page in pages)",
    "for name in NAMES:\n    assert (name in page, len(page)) == (True, 3)",
    "for name in NAMES:\n    ran = run(name)\n    assert ran.code == 3",
    "for name in NAMES:\n    assert bool(judge(frame(name)))",
    "for name in NAMES:\n    name = run(name)\n    assert name == 3",
    "for name in NAMES:\n    if name:\n        assert found",
    "for text, number in ROWS:\n    assert len(page) == number",
    "for text, number in (('a', 1), ('b', 1)):\n    assert len(page) == number",
    "for text, number in (('a', 1), ('b', 1)):\n    assert found, number",
    "for a in ROWS:\n    for b in ROWS:\n        assert found, b",
    "for text, number in (('a', 1), *(('b', 2), (*('a', 3),))):\n    assert found, text",
    "for a in ROWS:\n    with subtests.test(a):\n        for b in ROWS:\n            assert found",
    "for name in NAMES:\n    try:\n        assert found\n    finally:\n        pass",
    "with open(page):\n    for name in NAMES:\n        assert found",
)


@pytest.mark.parametrize(("loops", "number"), [(NAMED, 0), (UNNAMED, 1)], ids=["named", "unnamed"])
def test_a_loop_is_judged_by_the_message_of_pytest(loops: tuple[str, ...], number: int) -> None:
    for loop in loops:
        module = ast.parse(f"def test_it():\n{indent(loop, '    ')}")
        assert len([*unnamed_rows(module)]) == number, loop


def test_loops_of_helpers_are_not_judged() -> None:
    module = ast.parse("def check(rows):\n    for row in rows:\n        assert found")
    assert [*unnamed_rows(module)] == []
