"""What is known of a run whose bundle has no document."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from bundle_writer import TIME, Col, Table, write_bundle
from tracekit.base.recording import Process as Target
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.run_info import RunInfo, run_info
from tracekit.tables.toc import TocRun

SAMPLED = Col("update-time", "Time", "XRSampleTimestampTypeID", TIME)
STARTED = Col("trace-start-time", "Start", "XRTimeSinceEpochTypeID")
NAMED = [
    Col("time", "Time", "XRRecordedEventTimestampTypeID", TIME),
    Col("pid", "Pid", "XRProcessIDTypeID"),
    Col("process-name", "Name", "XRPrototypeStringTypeID"),
]
TABLES = (
    Table("time-info", [SAMPLED]),
    Table("time-info", [SAMPLED, STARTED]),
    Table("time-info", [SAMPLED, STARTED], [(0, Decimal("1774906678.749008896"))]),
    Table("process-info", NAMED, [(0, 4711, "python3")]),
)


def written(folder: Path, tables: Any = TABLES, **of_run: Any) -> Path:
    return write_bundle(folder / "made.trace", tables, with_document=False, **of_run)


def told(bundle: Path) -> RunInfo:
    return run_info(Bundle(bundle).runs[0])


def test_target_system_and_start(tmp_path: Path) -> None:
    found = told(written(tmp_path))
    assert found.run == TocRun(
        number=1,
        device={"os-version": "26.3.1"},
        target=Target(4711, "python3"),
        start_date="2026-03-30T21:37:58.749Z",
    )
    assert found.settings == {}
    (remark,) = found.remarks
    assert remark == (
        "Device, template, settings, duration and end of run 1 are not available, because "
        "made.trace has no form.template."
    )


@pytest.mark.parametrize(
    ("number", "version"), [(260301, "26.3.1"), (260300, "26.3"), (150703, "15.7.3")]
)
def test_the_version_of_macos(tmp_path: Path, number: int, version: str) -> None:
    bundle = written(tmp_path, binding={"osx-version": number})
    assert told(bundle).run.device == {"os-version": version}


def test_what_the_parameters_do_not_say_is_empty(tmp_path: Path) -> None:
    bundle = written(tmp_path, (), binding={"osx-version": None}, modeling={"target-pid": "SINGLE"})
    assert told(bundle).run == TocRun(1)


def test_a_target_without_a_name(tmp_path: Path) -> None:
    assert told(written(tmp_path, TABLES[:3])).run.target == Target(4711, "")


def test_a_start_before_1970_is_none(tmp_path: Path) -> None:
    bundle = written(tmp_path, [Table("time-info", [SAMPLED, STARTED], [(0, -5)])])
    assert told(bundle).run.start_date == ""


@pytest.mark.parametrize("content", [b"", b"no plist", None])
def test_damaged_parameters_are_told(tmp_path: Path, content: bytes | None) -> None:
    bundle = written(tmp_path)
    file = bundle / "corespace/run1/core/core-config/exposedTableInfo.plist"
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    found = told(bundle)
    assert found.run == TocRun(1)
    assert "core-config/exposedTableInfo.plist" in found.remarks[1]
