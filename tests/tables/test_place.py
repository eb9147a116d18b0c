"""Which table of a trace is meant: its place, a choice among several."""

from tracekit.tables.place import (
    Choice,
    TablePlace,
    attributes_of,
    place_of,
    tables_at,
)
from tracekit.tables.toc import Toc, TocRun, TocTable

TOC = Toc(
    (
        TocRun(1, tables=(TocTable(1, "tick", {"frequency": "10"}), TocTable(2, "tick"))),
        TocRun(2, tables=(TocTable(1, "tick", {"frequency": "20"}),)),
    )
)


def test_a_place_is_read_from_the_xpath() -> None:
    for xpath, place in (
        ("//trace-toc[1]/run[1]/data[1]/table[108]", TablePlace(1, 108, 3)),
        ("/trace-toc/run[2]/data/table[7]", TablePlace(2, 7, 3)),
        ("/trace-toc/run[2]/tracks/track[1]/details/detail[2]", TablePlace(None, None, 3)),
        ("", TablePlace(None, None, 3)),
    ):
        assert place_of(xpath, 3) == place


def test_the_table_of_contents_describes_a_place() -> None:
    for toc, place, schema, attributes in (
        (TOC, TablePlace(2, 1), "tick", {"frequency": "20"}),
        (TOC, TablePlace(1, 2), "tick", {}),
        (TOC, TablePlace(1, 1), "kdebug", {}),  # of another trace
        (TOC, TablePlace(3, 1), "tick", {}),
        (None, TablePlace(1, 1), "tick", {}),
    ):
        assert attributes_of(toc, place, schema) == attributes
        listed = toc is not None and place.run != 3
        assert [table.schema for table in tables_at(toc, place)] == ["tick"] * listed, (toc, place)


def test_a_choice_allows_everything_it_does_not_exclude() -> None:
    for choice, allowed in (
        (Choice(), True),
        (Choice(run=1), True),
        (Choice(run=2), False),
        (Choice(table=4), True),
        (Choice(table=5), False),
        (Choice(1, 4, {"a": "1"}), True),
        (Choice(attributes={"a": "2"}), False),
        (Choice(attributes={"c": ""}), False),
    ):
        assert choice.allows(TablePlace(1, 4), {"a": "1", "b": "2"}) is allowed
