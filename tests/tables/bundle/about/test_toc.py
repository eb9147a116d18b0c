"""The table of contents of a bundle, read and written."""

from dataclasses import replace
from pathlib import Path

import pytest

from bundle_writer import TIME, Col, Issue, Run, RunInfo, Table, write_bundle, write_runs
from tracekit.base.errors import InputError, RecordingError
from tracekit.base.recording import Process
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.container.store import Unreadable
from tracekit.tables.bundle.run_info import issues_of, listed, toc_of, write_toc
from tracekit.tables.toc import TocTable, read_toc

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


def test_without_a_document_tables_are_the_same(tmp_path: Path) -> None:
    known = toc_of(Bundle(write_bundle(tmp_path / "a.trace", TABLES, info=INFO)))
    bare = toc_of(Bundle(write_bundle(tmp_path / "b.trace", TABLES, with_document=False)))
    assert bare.runs[0].tables == known.runs[0].tables
    assert bare.runs[0].template == ""


def test_what_is_written_reads_the_same(tmp_path: Path) -> None:
    bundle = Bundle(write_bundle(tmp_path / "a.trace", TABLES, info=INFO))
    write_toc(bundle, tmp_path / "toc.xml")
    assert read_toc(tmp_path / "toc.xml") == toc_of(bundle)
    text = (tmp_path / "toc.xml").read_text()
    assert "<value>Counter Set: A</value>" in text
    assert "secret" not in text


def test_a_toc_that_cannot_be_written(tmp_path: Path) -> None:
    bundle = Bundle(write_bundle(tmp_path / "a.trace", TABLES))
    with pytest.raises(RecordingError):
        write_toc(bundle, tmp_path / "a.trace" / "open.creq" / "toc.xml")


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


def test_a_table_that_cannot_be_read_is_listed(tmp_path: Path) -> None:
    path = write_bundle(tmp_path / "a.trace", TABLES)
    stores = path / "corespace/run1/core/stores"
    (stores / "indexed-store-1/schema.xml").write_bytes(b"no XML")
    bundle = Bundle(path)
    assert [one.schema for one in toc_of(bundle).runs[0].tables] == ["tick", "kdebug", "tick"]
    assert isinstance(listed(bundle.runs[0])[1], Unreadable)


def test_a_table_without_a_schema_is_not_listed(tmp_path: Path) -> None:
    path = write_bundle(tmp_path / "a.trace", TABLES)
    (path / "corespace/run1/core/stores/indexed-store-0/spec.plist").write_bytes(b"")
    (path / "corespace/run1/core/table-manager/tables.plist").unlink()
    bundle = Bundle(path)
    assert [one.index for one in toc_of(bundle).runs[0].tables] == [1, 2]
    assert [one.number for one in listed(bundle.runs[0])] == [1, 2]


def test_a_run_without_stores_is_refused(tmp_path: Path) -> None:
    path = write_bundle(tmp_path / "a.trace", ())
    with pytest.raises(InputError, match="stores is missing"):
        toc_of(Bundle(path))
