"""Which tables are exported, into which files, and what is said of empty and failing ones."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tracekit.base.recording import Recording
from tracekit.record.recorder import Launch, Request
from tracekit.record.xctrace.command_line import Selection
from tracekit.record.xctrace.exporting import counter_set, counter_warnings, export, lacking, only
from tracekit.record.xctrace.recorder import XctraceRecorder
from tracekit.record.xctrace.tool import Timeouts, Xctrace, locate
from tracekit.tables.toc import TocRun, TocTable

Scenario = Callable[..., None]
WORK, COUNTERS = "metal-gpu-intervals", "metal-gpu-counter-intervals"
SCHEMAS = (WORK, "metal-gpu-state-intervals", "metal-driver-intervals", COUNTERS, "not-there")


@pytest.fixture
def tool(scenario: Scenario) -> Xctrace:
    return locate(timeouts=Timeouts(pauses=(0, 0)))


@pytest.fixture
def recorded(tool: Xctrace, recording: Recording) -> Recording:
    """Record a program that ends at once."""
    request = Request(Launch(("/bin/true",)), 10, counters="off")
    XctraceRecorder(tool, only(SCHEMAS)).record(request, recording, print)
    return recording


@pytest.mark.processes
def test_tables_are_exported_one_a_file_and_one_that_fails_leaves_the_others_alone(
    tool: Xctrace, recorded: Recording, scenario: Scenario
) -> None:
    told: list[str] = []
    names = [f"{schema}.xml" for schema in (*sorted(SCHEMAS[:4]), "time-info")]
    assert export(tool, recorded, only(SCHEMAS), told.append) == ()
    assert sorted(path.name for path in recorded.exports.iterdir()) == [*names, "toc.xml"]
    assert told[:2] == ["table of contents", f"{WORK}.xml (1 of 5)"]
    for path in recorded.exports.iterdir():
        path.unlink()
    scenario(trap=["metal-driver-intervals"], not_xml=["metal-gpu-state-intervals"], empty=True)
    said = "\n".join(export(tool, recorded, lambda _: frozenset(SCHEMAS), print))
    for part in (
        "The recording has no table not-there.",
        "signal SIGTRAP",
        "wrote no XML",
        f"{WORK} has no rows: no work of any process",
    ):
        assert part in said
    left = {path.name for path in recorded.exports.iterdir()}
    assert {f"{WORK}.xml", "metal-driver-intervals.xml.partial"} <= left
    assert "metal-driver-intervals.xml" not in left


def export_of(schema: str, rows: int) -> str:
    return (
        "<?xml version='1.0'?>\n<trace-query-result>\n"
        f"<node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'><schema name='{schema}'></schema>"
        f"{'<row/>' * rows}</node></trace-query-result>\n"
    )


@pytest.mark.processes
def test_a_table_without_rows_is_stood_in_for(
    tool: Xctrace, recorded: Recording, scenario: Scenario, tmp_path: Path
) -> None:
    toc = tmp_path / "toc.xml"
    toc.write_text(
        "<?xml version='1.0'?><trace-toc><run number='1'><info/><data><table schema='first'/>"
        "<table schema='second'/><table schema='third'/></data></run></trace-toc>"
    )
    tables = {}
    for rows, schema in enumerate(("first", "second")):
        (tmp_path / f"{schema}.xml").write_text(export_of(schema, rows))
        tables[schema] = str(tmp_path / f"{schema}.xml")
    scenario(exports={"toc": str(toc), "tables": tables})

    def choose(there: frozenset[str]) -> frozenset[str]:
        return frozenset({"first"}) if "first" in there else frozenset({"second"})

    [said] = export(tool, recorded, choose, print)
    assert f"has no table {WORK}" in said
    left = {path.name for path in recorded.exports.iterdir()}
    assert {"first.xml", "second.xml"} <= left
    assert "third.xml" not in left


def run_of(*settings: str, tables: tuple[str, ...] = ()) -> TocRun:
    listed = tuple(TocTable(place, schema) for place, schema in enumerate(tables, 1))
    return TocRun(1, tables=listed, settings={"Metal Application": settings})


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("Counter Set: Performance Limiters", "Performance Limiters"),
        ("Counter Set: (null)", ""),
        ("Counter Set: ", ""),
        ("Shader Timeline: Disabled", ""),
    ],
)
def test_the_counter_set_stands_in_the_toc(setting: str, expected: str) -> None:
    assert counter_set(run_of("Other: 1", setting)) == expected


@pytest.mark.parametrize(
    ("selection", "said"),
    [
        (Selection("T", adds_counters=True), "GPU counters are not available on this chip"),
        (Selection("/t", own_counters=True), "GPU counters are not available on this chip"),
        (Selection("/t", own_counters=None), "the template /t switches no set of them on"),
    ],
)
def test_a_set_that_was_asked_for_and_is_not_named_is_said(selection: Selection, said: str) -> None:
    [warning] = counter_warnings(selection, run_of("Counter Set: (null)"))
    assert said in warning
    assert counter_warnings(selection, run_of("Counter Set: Performance Limiters")) == ()


VALUES = "gpu-counter-value"


@pytest.mark.parametrize(
    ("tables", "filled", "empty", "said"),
    [
        ((WORK, COUNTERS, VALUES), {WORK, VALUES}, {COUNTERS}, ""),
        ((WORK, COUNTERS, VALUES), {WORK, COUNTERS}, {VALUES}, ""),
        ((WORK, COUNTERS, VALUES), {WORK}, set(), ""),  # not looked at
        ((WORK, COUNTERS, VALUES), {WORK}, {COUNTERS, VALUES}, f"{VALUES} has no rows"),
        ((WORK,), {WORK}, set(), f"there is no {COUNTERS}"),
        ((), set(), set(), f"The recording has no table {WORK}"),
    ],
)
def test_a_promise_of_counters_is_kept_by_either_table(
    tables: tuple[str, ...], filled: set[str], empty: set[str], said: str
) -> None:
    found = " ".join(lacking(run_of("Counter Set: A", tables=tables), filled, empty))
    assert said in found
    assert bool(found) is bool(said)
    unset = replace(run_of("Counter Set: (null)"), tables=run_of(tables=tables).tables)
    assert len(list(lacking(unset, filled, empty))) == (WORK not in tables)
