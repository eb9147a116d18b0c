"""Of the exports of several runs, those of one."""

from pathlib import Path

import pytest

from tracekit.base.errors import InputError, UsageError
from tracekit.base.recording import Process
from tracekit.tables.direct import Listed
from tracekit.tables.exports import ExportIndex
from tracekit.tables.place import OPEN, Choice, Place
from tracekit.tables.selection import meant, of_one_run
from tracekit.tables.toc import Toc, TocRun, TocTable

FOLDER = Path("exports")
TOC = Toc((TocRun(1, target=Process(7, "a")), TocRun(2), TocRun(3)))


def listed(run: int | None, index: int | None) -> Listed:
    return Listed(Path(f"{run}-{index}.xml"), "tick", Place(run, index), {}, rows=True)


FOUND = ExportIndex(
    {"tick": (listed(1, 1), listed(2, 1), listed(2, 2), listed(None, None))},
    toc=TOC,
    lost=("of one", "of two", "of all"),
    of_runs={1: ("of one",), 2: ("of two",)},
)


def places(found: ExportIndex) -> list[str]:
    return [one.file.stem for tables in found.tables.values() for one in tables]


def test_what_is_of_other_runs_is_left_out() -> None:
    first = of_one_run(FOUND, FOLDER, Choice(1))
    assert (first.run, first.said) == (1, ())
    assert places(first.index) == ["1-1", "None-None"]
    assert first.index.lost == ("of one", "of all")


def test_without_a_name_the_last_run_with_tables_counts_and_that_is_said() -> None:
    last = of_one_run(FOUND, FOLDER, OPEN)
    assert (last.run, places(last.index)) == (2, ["2-1", "2-2", "None-None"])
    assert last.index.lost == ("of two", "of all")
    [said] = last.said
    assert "exports has 3 runs" in said
    assert "Run 2, the last one with tables, is read" in said


def test_one_run_needs_no_word() -> None:
    alone = ExportIndex({"tick": (listed(1, 1), listed(None, None))}, toc=Toc(TOC.runs[:1]))
    assert of_one_run(alone, FOLDER, OPEN).said == ()
    assert meant(alone, FOLDER)[0] is TOC.runs[0]


def test_a_place_may_be_named_too() -> None:
    assert places(of_one_run(FOUND, FOLDER, Choice(2, 2)).index) == ["2-2"]
    assert places(of_one_run(FOUND, FOLDER, Choice(None, 2)).index) == ["2-2"]
    with pytest.raises(InputError, match="exports has no table that is run 1, table 2"):
        of_one_run(FOUND, FOLDER, Choice(1, 2))


def test_a_run_of_which_nothing_was_exported_is_refused() -> None:
    tables = (TocTable(1, "tick"),)
    toc = Toc((TocRun(1, tables=tables), TocRun(2, tables=tables)))
    found = ExportIndex({"tick": (listed(2, 1),)}, toc=toc)
    assert of_one_run(found, FOLDER, OPEN).run == 2
    with pytest.raises(UsageError, match=r"exports has no export of run 1\.") as raised:
        of_one_run(found, FOLDER, Choice(1))
    assert raised.value.hint == "It has run 2."


def test_runs_are_known_by_exports_too() -> None:
    bare = ExportIndex({"tick": (listed(2, 1), listed(5, 1))})
    assert of_one_run(bare, FOLDER, OPEN).run == 5
    assert of_one_run(bare, FOLDER, Choice(2)).run == 2
    with pytest.raises(UsageError, match="exports has no run 3") as raised:
        of_one_run(bare, FOLDER, Choice(3))
    assert raised.value.hint == "It has run 2; run 5."


def test_what_says_of_no_run_is_of_none() -> None:
    bare = ExportIndex({"tick": (listed(None, None),)})
    assert of_one_run(bare, FOLDER, OPEN).run is None
    with pytest.raises(UsageError, match="has no run 1: nothing says of which run"):
        of_one_run(bare, FOLDER, Choice(1))
    assert meant(ExportIndex(), FOLDER, 3) == (None, ())
