"""Of the exports of several runs, those of one."""

from dataclasses import replace
from pathlib import Path

import pytest

from tracekit.base.errors import UsageError
from tracekit.base.recording import Process
from tracekit.tables.direct import Listed
from tracekit.tables.exports import ExportIndex, Loss, meant, of_one_run
from tracekit.tables.place import (
    OPEN,
    Choice,
    Place,
    Stamp,
    attributes_of,
    lasting,
    place_of,
    tables_at,
)
from tracekit.tables.toc import Toc, TocRun, TocTable

FOLDER = Path("exports")
TOC = Toc((TocRun(1, target=Process(7, "a")), TocRun(2), TocRun(3)))


def listed(run: int | None, index: int | None) -> Listed:
    return Listed(Path(f"{run}-{index}.xml"), "tick", Place(run, index), {}, rows=True)


FOUND = ExportIndex(
    {"tick": (listed(1, 1), listed(2, 1), listed(2, 2), listed(None, None))},
    toc=TOC,
    lost=(Loss("of one", 1), Loss("of two", 2), Loss("of all")),
)


def places(found: ExportIndex) -> list[str]:
    return [str(one.ref).removesuffix(".xml") for one in found.every]


def test_what_is_of_other_runs_is_left_out() -> None:
    first, number, said = of_one_run(FOUND, FOLDER, Choice(1))
    assert (number, said) == (1, ())
    assert places(first) == ["1-1", "None-None"]
    assert [one.text for one in first.lost] == ["of one", "of all"]


def test_without_a_name_the_last_run_with_tables_counts_and_that_is_said() -> None:
    last, number, [said] = of_one_run(FOUND, FOLDER, OPEN)
    assert (number, places(last)) == (2, ["2-1", "2-2", "None-None"])
    assert [one.text for one in last.lost] == ["of two", "of all"]
    assert "exports has 3 runs" in said
    assert "Run 2, the last one with tables, is read" in said


def test_a_run_of_which_nothing_was_exported_is_refused() -> None:
    tables = (TocTable(1, "tick"),)
    toc = Toc((TocRun(1, tables=tables), TocRun(2, tables=tables)))
    found = ExportIndex({"tick": (listed(2, 1),)}, toc=toc)
    assert of_one_run(found, FOLDER, OPEN)[1] == 2
    with pytest.raises(UsageError, match=r"exports has no export of run 1\.") as raised:
        of_one_run(found, FOLDER, Choice(1))
    assert raised.value.hint == "It has run 2."


def test_runs_are_known_by_exports_too() -> None:
    bare = ExportIndex({"tick": (listed(2, 1), listed(5, 1))})
    assert of_one_run(bare, FOLDER, OPEN)[1] == 5
    assert of_one_run(bare, FOLDER, Choice(2))[1] == 2
    with pytest.raises(UsageError, match="exports has no run 3") as raised:
        of_one_run(bare, FOLDER, Choice(3))
    assert raised.value.hint == "It has run 2; run 5."


def test_what_says_of_no_run_is_of_none() -> None:
    bare = ExportIndex({"tick": (listed(None, None),)})
    assert of_one_run(bare, FOLDER, OPEN)[1] is None
    with pytest.raises(UsageError, match="has no run 1: nothing says of which run"):
        of_one_run(bare, FOLDER, Choice(1))
    assert meant(ExportIndex(), FOLDER, 3) == (None, ())


TOC_OF_PLACE = Toc(
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


def test_the_table_of_contents_says_what_a_place_holds() -> None:
    assert attributes_of(TOC_OF_PLACE, Place(2, 1), "tick") == {"frequency": "20"}
    assert attributes_of(TOC_OF_PLACE, Place(1, 2), "tick") == {}
    assert attributes_of(TOC_OF_PLACE, Place(1, 1), "kdebug") == {}  # of another trace
    assert attributes_of(TOC_OF_PLACE, Place(3, 1), "tick") == {}
    assert attributes_of(None, Place(1, 1), "tick") == {}
    assert [one.schema for one in tables_at(TOC_OF_PLACE, Place(1, 2))] == ["tick"]
    assert [*tables_at(TOC_OF_PLACE, Place(1, 3))] == [*tables_at(None, Place(1, 1))] == []


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


@pytest.mark.parametrize("part", ["modified", "changed"])
def test_a_stamp_lasts_from_two_seconds_on(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 10_000_000_000
    monkeypatch.setattr("tracekit.tables.place.time.time_ns", lambda: now)
    old = replace(Stamp(1, 0, 0, 7), **{part: now - 2_000_000_000})
    assert lasting(old) == old
    assert lasting(replace(old, **{part: now - 1_999_999_999})) is None
