"""Of the exports of several runs, those of one."""

from pathlib import Path

import pytest

from tracekit.base.errors import InputError, UsageError
from tracekit.base.recording import Process
from tracekit.tables.direct import Listed
from tracekit.tables.exports import ExportIndex, Loss
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


def test_one_run_needs_no_word() -> None:
    alone = ExportIndex({"tick": (listed(1, 1), listed(None, None))}, toc=Toc(TOC.runs[:1]))
    assert of_one_run(alone, FOLDER, OPEN)[2] == ()
    assert meant(alone, FOLDER)[0] is TOC.runs[0]


def test_a_place_may_be_named_too() -> None:
    assert places(of_one_run(FOUND, FOLDER, Choice(2, 2))[0]) == ["2-2"]
    assert places(of_one_run(FOUND, FOLDER, Choice(None, 2))[0]) == ["2-2"]
    with pytest.raises(InputError, match="exports has no table that is run 1, table 2"):
        of_one_run(FOUND, FOLDER, Choice(1, 2))


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
