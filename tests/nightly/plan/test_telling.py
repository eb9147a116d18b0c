"""How mistakes are put into words: one line each, sorted, none twice."""

import pytest

from tracekit.base.errors import UsageError
from tracekit.nightly.plan.document import Mistakes, Places, Route, dotted
from tracekit.nightly.plan.keys import Given, Keys, Kind, UnfitError, read
from tracekit.nightly.plan.plan import NightPlan

TEXT = "[a]\nb = 1\n\n'c d' = [1, 2]\n"


def mistakes() -> Mistakes:
    return Mistakes("plan.toml", Places(TEXT))


@pytest.mark.parametrize(
    ("route", "words"),
    [
        (("a", "b"), "a.b"),
        (("a", 0, "b", 3), "a.b"),
        (("a", "c d"), "a.'c d'"),
        (("é",), "'é'"),
        ((), ""),
    ],
)
def test_keys_are_named_as_a_file_has_them(route: Route, words: str) -> None:
    assert dotted(route) == words


def test_without_a_mistake_nothing_is_raised() -> None:
    mistakes().end()


def test_one_mistake_is_one_line_with_its_hint() -> None:
    found = mistakes()
    found.add(("a", "b"), "is wrong.", "Fix it.")
    with pytest.raises(UsageError) as refusal:
        found.end()
    assert refusal.value.message == "plan.toml:2:1: a.b is wrong."
    assert refusal.value.hint == "Fix it."


def test_several_are_sorted_with_their_hints_and_none_is_told_twice() -> None:
    found = mistakes()
    found.add(("a", "c d", 1), "is late.")
    found.add(("a", "b"), "is wrong.", "Fix it.")
    found.add(("a", "b"), "is wrong.", "Fix it otherwise.")
    found.add((), "there is more to say.")
    with pytest.raises(UsageError) as refusal:
        found.end()
    assert refusal.value.message.splitlines() == [
        "plan.toml has 3 mistakes:",
        "  plan.toml:1:1: there is more to say.",
        "  plan.toml:2:1: a.b is wrong. Fix it.",
        "  plan.toml:4:13: a.'c d' is late.",
    ]


def test_what_a_reader_of_values_said_stands_where_the_element_stands() -> None:
    found = mistakes()

    def odd(_: object) -> None:
        raise UnfitError("must be odd.", "Add one.", at=(1,))

    given = Given(("a", "c d"), [1, 2], found)
    assert read({"name": given}, Keys(NightPlan, "[a]", {"name": Kind("odd", odd)})) == {}
    with pytest.raises(UsageError, match=r"plan\.toml:4:13: a\.'c d' must be odd\."):
        found.end()
