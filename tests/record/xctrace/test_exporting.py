"""Which tables are exported, into which files, and what is said of empty and failing ones."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from real_state import STATE
from tracekit.base.recording import Recording
from tracekit.record.xctrace.command_line import Selection
from tracekit.record.xctrace.exporting import counter_set, counter_warnings, export, lacking, only
from tracekit.record.xctrace.tool import Timeouts, Xctrace, locate
from tracekit.tables.toc import TocRun, TocTable

Scenario = Callable[..., None]
WORK, COUNTERS, VALUES = (
    "metal-gpu-intervals", "metal-gpu-counter-intervals", "gpu-counter-value",
)  # fmt: skip
SCHEMAS = (WORK, "metal-gpu-state-intervals", "metal-driver-intervals", COUNTERS, "not-there")


@pytest.fixture
def tool(scenario: Scenario, recording: Recording) -> Xctrace:
    """Return the fake, with a bundle of its own in the run's folder."""
    recording.bundle.mkdir()
    (recording.bundle / "form.template").write_text(json.dumps(STATE))
    return locate(timeouts=Timeouts(pauses=(0, 0)))


def names(recording: Recording) -> set[str]:
    return {path.name for path in recording.exports.iterdir()}


@pytest.mark.processes
def test_tables_are_exported_one_a_file_and_one_that_fails_leaves_the_others_alone(
    tool: Xctrace, recording: Recording, scenario: Scenario
) -> None:
    told: list[str] = []
    assert export(tool, recording, only(SCHEMAS), told.append) == ()
    assert names(recording) == {f"{schema}.xml" for schema in (*SCHEMAS[:4], "time-info", "toc")}
    assert told[:2] == ["table of contents", f"{WORK}.xml (1 of 5)"]
    for path in recording.exports.iterdir():
        path.unlink()
    scenario(trap=["metal-driver-intervals"], not_xml=["metal-gpu-state-intervals"], empty=True)
    said = "\n".join(export(tool, recording, lambda _: frozenset(SCHEMAS), print))
    for part in (
        "The recording has no table not-there.",
        "signal SIGTRAP",
        "wrote no XML",
        f"{WORK} has no rows: no work of any process",
    ):
        assert part in said
    assert {f"{WORK}.xml", "metal-driver-intervals.xml.partial"} <= names(recording)
    assert "metal-driver-intervals.xml" not in names(recording)


@pytest.mark.processes
def test_a_table_without_rows_is_stood_in_for(
    tool: Xctrace, recording: Recording, scenario: Scenario, tmp_path: Path
) -> None:
    toc, tables = tmp_path / "toc.xml", dict[str, str]()
    toc.write_text(
        "<?xml version='1.0'?><trace-toc><run number='1'><info/><data><table schema='first'/>"
        "<table schema='second'/><table schema='third'/></data></run></trace-toc>"
    )
    for rows, schema in enumerate(("first", "second")):
        node = f"<node><schema name='{schema}'/>{'<row/>' * rows}</node>"
        file = tmp_path / f"{schema}.xml"
        file.write_text(f"<?xml version='1.0'?>\n<trace-query-result>{node}</trace-query-result>\n")
        tables[schema] = str(file)
    scenario(exports={"toc": str(toc), "tables": tables})

    def choose(there: frozenset[str]) -> frozenset[str]:
        return frozenset({"first"}) if "first" in there else frozenset({"second"})

    [said] = export(tool, recording, choose, print)
    assert f"has no table {WORK}" in said
    assert names(recording) == {"toc.xml", "first.xml", "second.xml"}


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
        (Selection("T"), ""),
    ],
)
def test_a_set_that_was_asked_for_and_is_not_named_is_said(selection: Selection, said: str) -> None:
    warnings = counter_warnings(selection, run_of("Counter Set: (null)"))
    assert said in "".join(warnings)
    assert len(warnings) == bool(said)
    assert counter_warnings(selection, run_of("Counter Set: Performance Limiters")) == ()


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
