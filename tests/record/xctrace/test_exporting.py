"""Which tables are exported, into which files, and what is said of empty and failing ones."""

from dataclasses import replace
from pathlib import Path
from signal import SIGTRAP

import pytest

from tracekit.base.errors import ToolError
from tracekit.base.recording import Recording
from tracekit.record.xctrace.command import Completed
from tracekit.record.xctrace.command_line import TemplateSelection
from tracekit.record.xctrace.exporting import (
    SeenTables,
    choose_only,
    counter_set,
    counter_warnings,
    export,
    find_missing_data,
)
from tracekit.record.xctrace.tool import ToolTimeouts, Xctrace
from tracekit.tables.toc import TocRun, TocTable

WORK, COUNTERS, VALUES = (
    "metal-gpu-intervals", "metal-gpu-counter-intervals", "gpu-counter-value",
)  # fmt: skip


def xcode(tables: dict[str, int]) -> Xctrace:
    """Return a tool whose bundle has so many rows in each table; one with fewer than 0 is cut."""

    def run(argv: tuple[str, ...], _timeout: float) -> Completed:
        listed = "".join(f"<table schema='{schema}'/>" for schema in tables)
        text, code = f"<trace-toc><run number='2'><data>{listed}</data></run></trace-toc>", 0
        if "--xpath" in argv:
            _, number, _, schema, *_ = argv[-1].split('"')
            assert number == "2"
            rows, code = "<row/>" * tables[schema], -SIGTRAP if tables[schema] < 0 else 0
            text = f"<trace-query-result><schema name='{schema}'/>{rows}</trace-query-result>"
        Path(argv[argv.index("--output") + 1]).write_text(f"<?xml version='1.0'?>\n{text}")
        return Completed(argv, code)

    return Xctrace("/X/xctrace", run, ToolTimeouts(pauses=()))


def files(recording: Recording) -> set[str]:
    return {path.name for path in recording.exports.iterdir()}


def test_each_table_is_a_file_and_one_that_fails_harms_no_other(recording: Recording) -> None:
    messages: list[str] = []
    tool = xcode({WORK: 0, "other": 1, "driver": -1, "time-info": 1})
    absent_remark, failed, empty = export(
        tool, recording, lambda _: frozenset((WORK, "driver", "not-there")), messages.append
    )
    assert absent_remark == "The recording has no table not-there."
    assert "signal SIGTRAP" in failed
    assert empty.startswith(f"{WORK} has no rows: no work of any process")
    expected_files = {"toc.xml", f"{WORK}.xml", "driver.xml.partial", "time-info.xml"}
    assert files(recording) == expected_files
    seen_tables = SeenTables(filled=frozenset({WORK}))  # read without an export
    assert export(tool, recording, choose_only([WORK]), print, seen_tables) == ()
    numbered = [f"{WORK}.xml (1 of 3)", "driver.xml (2 of 3)", "time-info.xml (3 of 3)"]
    assert messages == ["table of contents", *numbered]
    with pytest.raises(ToolError, match=r"driver.* signal SIGTRAP"):
        export(xcode({"driver": -1, "x": -1}), recording, choose_only(["driver", "x"]), print)


def test_a_table_without_rows_gets_a_substitute(recording: Recording) -> None:
    def choose(there: frozenset[str]) -> frozenset[str]:
        return frozenset({"first"}) if "first" in there else frozenset({"second"})

    [remark] = export(xcode({"first": 0, "second": 1, "third": 1}), recording, choose, print)
    assert f"has no table {WORK}" in remark
    assert files(recording) == {"toc.xml", "first.xml", "second.xml"}


def run_of(*settings: str, tables: tuple[str, ...] = ()) -> TocRun:
    listed = tuple(TocTable(place, schema) for place, schema in enumerate(tables, 1))
    return TocRun(1, tables=listed, settings={"Metal Application": settings})


NAMED, UNNAMED = run_of("Other: 1", "Counter Set: Limiters"), run_of("Counter Set: (null)")


def test_the_counter_set_is_in_the_toc_and_a_missing_one_is_reported() -> None:
    runs = (NAMED, UNNAMED, run_of("Counter Set: "), run_of("Shader Timeline: Disabled"))
    assert [counter_set(run) for run in runs] == ["Limiters", "", "", ""]
    cases = {
        TemplateSelection("T", adds_counters=True): "GPU counters are not available on this chip",
        TemplateSelection("/t", own_counters=True): "GPU counters are not available on this chip",
        TemplateSelection("/t", own_counters=None): "the template /t switches no set of them on",
    }
    for selection, words in cases.items():
        [remark] = counter_warnings(selection, UNNAMED)
        assert words in remark, selection
        assert counter_warnings(selection, NAMED) == ()
    assert counter_warnings(TemplateSelection("T"), UNNAMED) == ()


def test_a_promise_of_counters_is_kept_by_either_table() -> None:
    all_tables = (WORK, COUNTERS, VALUES)
    cases: list[tuple[tuple[str, ...], set[str], set[str], str]] = [
        (all_tables, {WORK, VALUES}, {COUNTERS}, ""),
        (all_tables, {WORK, COUNTERS}, {VALUES}, ""),
        (all_tables, {WORK}, set(), ""),  # not looked at
        (all_tables, {WORK}, {COUNTERS, VALUES}, f"{VALUES} has no rows"),
        ((WORK,), {WORK}, set(), f"there is no {COUNTERS}"),
        ((), set(), set(), f"The recording has no table {WORK}"),
    ]
    for tables, filled, empty, reason in cases:
        remarks = " ".join(
            find_missing_data(run_of("Counter Set: A", tables=tables), filled, empty)
        )
        assert (reason in remarks, bool(remarks)) == (True, bool(reason)), tables
        unset = replace(UNNAMED, tables=run_of(tables=tables).tables)
        assert len(list(find_missing_data(unset, filled, empty))) == (WORK not in tables)
