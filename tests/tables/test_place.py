"""Which table of a trace is meant."""

import pytest

from tracekit.tables.place import Choice, Place, attributes_of, described, place_of, tables_at
from tracekit.tables.toc import Toc, TocRun, TocTable

TOC = Toc(
    (
        TocRun(1, tables=(TocTable(1, "tick", {"frequency": "10"}), TocTable(2, "tick"))),
        TocRun(2, tables=(TocTable(1, "tick", {"frequency": "20"}),)),
    )
)


@pytest.mark.parametrize(
    ("xpath", "place"),
    [
        ("//trace-toc[1]/run[1]/data[1]/table[108]", Place(1, 108, 3)),
        ("/trace-toc/run[2]/data/table[7]", Place(2, 7, 3)),
        ("/trace-toc/run[2]/tracks/track[1]/details/detail[2]", Place(None, None, 3)),
        ("", Place(None, None, 3)),
    ],
)
def test_a_place_is_read_from_the_xpath(xpath: str, place: Place) -> None:
    assert place_of(xpath, 3) == place


def test_a_place_is_named_as_people_choose_it() -> None:
    assert str(Place(1, 108)) == "run 1 table 108"
    assert str(Place(None, None, 2)) == "number 2 in its file"
    assert described(Place(1, 4), {"b": "2", "a": "1"}) == "run 1 table 4 (a=1, b=2)"
    assert described(Place(1, 4), {}) == "run 1 table 4"


def test_the_table_of_contents_says_what_a_place_holds() -> None:
    assert attributes_of(TOC, Place(2, 1), "tick") == {"frequency": "20"}
    assert attributes_of(TOC, Place(1, 2), "tick") == {}
    assert attributes_of(TOC, Place(1, 1), "kdebug") == {}  # of another trace
    assert attributes_of(TOC, Place(3, 1), "tick") == {}
    assert attributes_of(None, Place(1, 1), "tick") == {}
    assert [one.schema for one in tables_at(TOC, Place(1, 2))] == ["tick"]
    assert [*tables_at(TOC, Place(1, 3))] == [*tables_at(None, Place(1, 1))] == []


@pytest.mark.parametrize(
    ("choice", "allowed"),
    [
        (Choice(), True),
        (Choice(run=1), True),
        (Choice(run=2), False),
        (Choice(table=4), True),
        (Choice(table=5), False),
        (Choice(1, 4, {"a": "1"}), True),
        (Choice(attributes={"a": "2"}), False),
        (Choice(attributes={"c": ""}), False),
    ],
)
def test_a_choice_allows_what_it_does_not_rule_out(choice: Choice, allowed: bool) -> None:
    assert choice.allows(Place(1, 4), {"a": "1", "b": "2"}) is allowed


def test_a_choice_is_named_for_a_sentence() -> None:
    assert str(Choice(2, 4, {"b": "2", "a": "1"})) == "run 2, table 4, a=1, b=2"
    assert str(Choice()) == ""
