"""The table of contents of a bundle, read and written."""

from dataclasses import replace
from pathlib import Path

import pytest

from bundle_writer import TIME, Col, Issue, Run, RunInfo, Table, write_bundle, write_runs
from documented_bundle import TICK
from tracekit.base.recording import Process
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.run_info import issues_of, remarks_of, toc_of
from tracekit.tables.toc import TocTable

COLUMNS = [Col("time", "Time", "XRSampleTimestampTypeID", TIME)]
TABLES = (
    Table("tick", COLUMNS, [(1,)], {"frequency": 10}),
    Table("kdebug", COLUMNS, [], {"codes": ["0x85,0x3", "33"], "target": "SINGLE"}),
    Table("tick", COLUMNS, [], {"frequency": 1}),
)
INFO = RunInfo(
    arguments="-c 1",
    environment={"TOKEN": "secret"},
    settings={"Metal": [{"GPU": ["Counter Set: A", "Depth: 1"]}]},
    paths={4711: "/opt/python3"},
)


def test_tables_stand_in_the_order_of_their_stores(tmp_path: Path) -> None:
    (run,) = toc_of(Bundle(write_bundle(tmp_path / "a.trace", TABLES, info=INFO))).runs
    assert run.tables == (
        TocTable(1, "tick", {"frequency": "10"}),
        TocTable(2, "kdebug", {"codes": '"0x85,0x3" 33', "target": "SINGLE"}),
        TocTable(3, "tick", {"frequency": "1"}),
    )
    assert run.target == Process(4711, "python3")


def test_several_runs_have_their_own(tmp_path: Path) -> None:
    runs = {
        1: Run(TABLES[:1], issues=()),
        3: Run(TABLES, info=replace(INFO, template_name="Blank"), issues=(Issue("odd"),)),
    }
    bundle = Bundle(write_runs(tmp_path / "a.trace", runs))
    first, third = toc_of(bundle).runs
    assert (first.number, first.template, len(first.tables)) == (1, "Metal System Trace", 1)
    assert (third.number, third.template, len(third.tables)) == (3, "Blank", 3)
    assert [len(issues_of(bundle, run)) for run in bundle.runs] == [0, 1]


def written(folder: Path, version: str) -> Path:
    info = RunInfo(instruments_version=version)
    return write_bundle(folder / "made.trace", [TICK], info=info)


@pytest.mark.parametrize("version", ["26.0 (17A5295f)", "26.0 (17C529)"])
def test_of_a_verified_build_nothing_is_said(tmp_path: Path, version: str) -> None:
    assert remarks_of(Bundle(written(tmp_path, version))) == ()


@pytest.mark.parametrize("version", ["", "26.0", "26.0 ()", "(a build; no build)"])
def test_an_unknown_build_is_told(tmp_path: Path, version: str) -> None:
    (remark,) = remarks_of(Bundle(written(tmp_path, version)))
    assert "made.trace is not verified for its build of Instruments, which it" in remark


def test_a_missing_document_is_told(tmp_path: Path) -> None:
    path = write_bundle(tmp_path / "made.trace", [TICK], with_document=False)
    build, info, names = remarks_of(Bundle(path))
    assert "which it does not name" in build
    assert info.startswith("Device, template, settings")
    assert names.startswith("Names of processes and threads")
