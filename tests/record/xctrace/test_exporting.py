"""Which tables are exported, into which files, and what is said of empty and failing ones."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tracekit.base.recording import Recording
from tracekit.record.recorder import Launch, Request
from tracekit.record.xctrace.exporting import export, has_rows, lacking, only
from tracekit.record.xctrace.recorder import XctraceRecorder
from tracekit.record.xctrace.tool import Timeouts, Xctrace, locate
from tracekit.tables.toc import TocRun, TocTable

pytestmark = pytest.mark.processes

Scenario = Callable[..., None]
SCHEMAS = (
    "metal-gpu-intervals",
    "metal-gpu-state-intervals",
    "metal-application-encoders-list",
    "metal-command-buffer-completed",
    "metal-driver-intervals",
    "metal-gpu-counter-intervals",
    "metal-application-command-buffer-submissions",
)


def run_of(*schemas: str) -> TocRun:
    tables = tuple(TocTable(number, schema) for number, schema in enumerate(schemas, 1))
    return TocRun(1, tables=tables)


@pytest.fixture
def tool(scenario: Scenario) -> Xctrace:
    return locate(timeouts=Timeouts(pauses=(0, 0)))


@pytest.fixture
def recorded(tool: Xctrace, recording: Recording) -> Recording:
    """Record a program that ends at once."""
    launch = Launch(("/bin/true",))
    XctraceRecorder(tool, only(SCHEMAS)).record(
        Request(launch, 10, counters="off"), recording, print
    )
    return recording


def test_tables_are_exported_one_a_file(tool: Xctrace, recorded: Recording) -> None:
    told: list[str] = []
    assert export(tool, recorded, only(SCHEMAS), told.append) == ()
    assert sorted(path.name for path in recorded.exports.iterdir()) == [
        "metal-application-encoders-list.xml",
        "metal-command-buffer-completed.xml",
        "metal-driver-intervals.xml",
        "metal-gpu-counter-intervals.xml",
        "metal-gpu-intervals.xml",
        "metal-gpu-state-intervals.xml",
        "time-info.xml",
        "toc.xml",
    ]
    assert told[:2] == ["table of contents", "metal-gpu-intervals.xml (1 of 7)"]
    assert len(told) == 8
    assert has_rows(recorded.exports / "metal-gpu-intervals.xml")


def test_a_bundle_without_gpu_work_is_told_loudly(
    tool: Xctrace, recorded: Recording, scenario: Scenario
) -> None:
    scenario(empty=True)
    [warning] = export(tool, recorded, only(SCHEMAS), print)
    assert warning.startswith("metal-gpu-intervals has no rows: no work of any process")


def test_a_table_that_fails_leaves_the_others_alone(
    tool: Xctrace, recorded: Recording, scenario: Scenario
) -> None:
    scenario(trap=["metal-driver-intervals"], not_xml=["metal-gpu-state-intervals"])
    warnings = export(tool, recorded, only(SCHEMAS), print)
    assert len(warnings) == 2
    assert any("signal SIGTRAP" in warning for warning in warnings)
    assert any("wrote no XML" in warning for warning in warnings)
    names = {path.name for path in recorded.exports.iterdir()}
    assert "metal-driver-intervals.xml" not in names
    assert "metal-driver-intervals.xml.partial" in names
    assert "metal-gpu-intervals.xml" in names


def test_a_trace_of_something_else_is_told(
    tool: Xctrace, recorded: Recording, scenario: Scenario, tmp_path: Path
) -> None:
    toc = tmp_path / "toc.xml"
    toc.write_text(
        "<?xml version='1.0'?><trace-toc><run number='1'><info/><data>"
        "<table schema='time-profile'/></data></run></trace-toc>"
    )
    scenario(exports={"toc": str(toc), "tables": {}})
    [warning] = export(tool, recorded, only(SCHEMAS), print)
    assert "has no table metal-gpu-intervals" in warning


def test_a_table_without_rows_is_stood_in_for(
    tool: Xctrace, recorded: Recording, scenario: Scenario, tmp_path: Path
) -> None:
    empty = export_of("first", rows=0)
    filled = export_of("second", rows=1)
    (tmp_path / "toc.xml").write_text(
        "<?xml version='1.0'?><trace-toc><run number='1'><info/><data>"
        "<table schema='first'/><table schema='second'/><table schema='third'/>"
        "</data></run></trace-toc>"
    )
    tables = {}
    for schema, text in (("first", empty), ("second", filled)):
        (tmp_path / f"{schema}.xml").write_text(text)
        tables[schema] = str(tmp_path / f"{schema}.xml")
    scenario(exports={"toc": str(tmp_path / "toc.xml"), "tables": tables})
    asked: list[frozenset[str]] = []

    def choose(there: frozenset[str]) -> frozenset[str]:
        asked.append(there)
        return frozenset({"first"}) if "first" in there else frozenset({"second"})

    export(tool, recorded, choose, print)
    assert frozenset({"first", "second", "third"}) in asked
    assert asked[-1] == frozenset({"second", "third"})
    names = {path.name for path in recorded.exports.iterdir()}
    assert {"first.xml", "second.xml"} <= names
    assert "third.xml" not in names


def export_of(schema: str, rows: int) -> str:
    return (
        "<?xml version='1.0'?>\n<trace-query-result>\n"
        f"<node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'><schema name='{schema}'></schema>"
        f"{'<row/>' * rows}</node></trace-query-result>\n"
    )


def test_what_was_asked_for_and_is_not_there_is_told(tool: Xctrace, recorded: Recording) -> None:
    chosen = frozenset({"metal-gpu-intervals", "no-such-table"})
    warnings = export(tool, recorded, lambda _: chosen, print)
    assert warnings == ("The recording has no table no-such-table.",)


def test_a_promise_of_counters_is_kept_by_either_table() -> None:
    run = replace(
        run_of("metal-gpu-intervals", "metal-gpu-counter-intervals", "gpu-counter-value"),
        settings={"GPU": ("Counter Set: Performance Limiters",)},
    )
    both = {"metal-gpu-counter-intervals", "gpu-counter-value"}
    for filled in both:
        assert list(lacking(run, {filled, "metal-gpu-intervals"}, both - {filled})) == []
    [said] = lacking(run, {"metal-gpu-intervals"}, both)
    assert "metal-gpu-counter-intervals has no rows and gpu-counter-value has no rows" in said
    assert list(lacking(run, {"metal-gpu-intervals"}, set())) == []
