"""Developer mode and its group: two sentences are known, every other one is unknown."""

from collections.abc import Callable

import pytest

from tracekit.record.doctor.checks import Fact, Verdict, checked
from tracekit.record.doctor.surroundings import Surroundings

Make = Callable[..., Surroundings]
STATUS = "/usr/sbin/DevToolsSecurity -status"
GROUPS = "/usr/bin/id -Gn"


def look(surroundings: Surroundings) -> dict[str, Fact]:
    return {fact.name: fact for fact in checked(surroundings, "developer mode", "developer group")}


def test_developer_mode_that_is_off_warns_with_its_fix(mac: Make) -> None:
    fact = look(mac({STATUS: "Developer mode is currently disabled.\n"}))["developer mode"]
    assert fact.verdict is Verdict.WARNING
    assert fact.fix == "`sudo DevToolsSecurity -enable`, once."


@pytest.mark.parametrize(
    "said",
    ["Developer mode is enabled.", "enabled", "Entwicklermodus aktiviert.", "", None],
    ids=repr,
)
def test_other_words_are_unknown_and_leave_the_question_open(said: str | None, mac: Make) -> None:
    fact = look(mac({STATUS: said}))["developer mode"]
    assert fact.verdict is Verdict.UNKNOWN
    assert fact.needed
    if said:
        assert said in fact.words


def test_a_user_outside_the_group_is_warned(mac: Make) -> None:
    fact = look(mac({GROUPS: "staff everyone _developers\n"}))["developer group"]
    assert fact.verdict is Verdict.WARNING
    assert "dseditgroup" in fact.fix
