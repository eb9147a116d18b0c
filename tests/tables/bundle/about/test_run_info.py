"""How a run went: from its document, every field that a TOC has."""

from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from bundle_writer import TIME, Col, Table, write_bundle
from bundle_writer.keyed import Archived
from documented_bundle import DEVICE, SYMBOL_STORES, bundle_of, process
from tracekit.base.recording import Process
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.run_info import run_info
from tracekit.tables.toc import TocRun

INFO: dict[str, Any] = {
    "_targetUUID": DEVICE,
    "_targetModel": "MacBook Air",
    "_targetName": "A Mac",
    "_targetOperatingSystem": "26.3.1 (25D2128)",
    "_targetPlatform": "macOS",
    "targetType": 1,
    "_targetProcessName": "python3",
    "_targetProcessPid": 4711,
    "_arguments": "-c 1",
    "_targetExitStatus": 0,
    "_environment": {"TOKEN": "secret", "HOME": "/nowhere"},
    "_rawStartTime": 1774906678.749009,
    "_rawEndTime": 1774906679.640237,
    "_rawDuration": 0.8912279999,
    "_endReason": "Target app exited",
    "_instrumentVersion": "26.0 (17A5295f)",
    "_templateName": "Metal System Trace",
    "_recordingMode": "Deferred",
    "_timeLimit": "12 hours",
    "_recordingSettings": {
        "Hangs": [{"Reporting Threshold": "Brief (>100 ms)"}],
        "Metal Application": [{"GPU": ["Counter Set: (null)", "Quiet"]}, {"Depth": 3}],
    },
}
CLOCK = {DEVICE: [0, 125, 3, 1000, 1774906678.749009, "America/Los_Angeles"]}
PROCESSES = [
    process(0, "/System/Library/Kernels/kernel.release.t8103", "kernel"),
    process(4711, "/opt/python3", "python3"),
    process(6723, "com.apple.CoreSi", "com.apple.CoreSimulator"),
]
STORES = {1: {f"{DEVICE}.{pid}": {} for pid in (6723, 0, 8)} | {"no process": {}}}


class Found(NamedTuple):
    """What is read of a run."""

    run: TocRun
    remarks: tuple[str, ...]


def told(folder: Path, stores: Any = STORES, clock: Any = CLOCK, **changed: Any) -> Found:
    run = {
        "runInfo": Archived("XRRunInfo", INFO | changed),
        "processDatas": PROCESSES,
        "mach_time_info": clock,
    }
    return Found(*run_info(bundle_of(folder, run, **{SYMBOL_STORES: stores}).runs[0]))


def test_a_launched_process(tmp_path: Path) -> None:
    found = told(tmp_path)
    run = msgspec.json.format(msgspec.json.encode(found.run)).decode()
    golden = Path(__file__).parents[2] / "goldens" / "run-of-a-document.json"
    assert run == golden.read_text().strip()
    assert found.remarks == ()


def test_numbers_that_are_archived_as_texts_are_read(tmp_path: Path) -> None:
    numbers = told(tmp_path / "numbers").run
    texts = told(tmp_path / "texts", _targetProcessPid="4711", _targetExitStatus="0").run
    assert texts == numbers
    assert texts.target == Process(4711, "python3")


@pytest.mark.parametrize("pid", [None, "", "soon", True, b"4711"])
def test_a_target_without_a_pid_is_that_of_the_analysis_and_said(tmp_path: Path, pid: Any) -> None:
    found = told(tmp_path, _targetProcessPid=pid)
    assert found.run.target == Process(4711, "python3")
    (remark,) = found.remarks
    assert remark == (
        "The runInfo of run 1 in the form.template of made.trace does not say the target's pid; "
        "the parameters of the analysis say 4711."
    )


def test_what_every_document_says_is_missed(tmp_path: Path) -> None:
    found = told(tmp_path, _targetOperatingSystem=None, _rawDuration="long", targetType=None)
    (remark,) = found.remarks
    assert remark.endswith("does not say the system, the kind of target, the duration.")


def test_an_attached_process(tmp_path: Path) -> None:
    run = told(tmp_path, targetType=2, _arguments=None, _targetExitStatus=None).run
    assert (run.target, run.target_type) == (Process(4711, "python3"), "attached")
    assert (run.arguments, run.exit_status, run.termination_reason) == ("", "", "")


def test_all_processes(tmp_path: Path) -> None:
    run = told(tmp_path, targetType=0, _targetProcessPid=-1).run
    assert run.all_processes
    assert (run.target, run.target_type, run.exit_status) == (None, "", "")


@pytest.mark.parametrize(
    ("status", "reason"),
    [(0, "exit(0)"), (32, "exit(32)"), (255, "exit(255)"), (1, ""), (31, ""), (-9, "")],
)
def test_a_status_that_may_be_a_signal_gives_no_reason(
    tmp_path: Path, status: int, reason: str
) -> None:
    found = told(tmp_path, _targetExitStatus=status)
    assert found.run.exit_status == str(status)
    assert found.run.termination_reason == reason
    assert (f"{status} may be its exit status or a signal" in " ".join(found.remarks)) != bool(
        reason
    )


@pytest.mark.parametrize(
    ("zone", "date"),
    [
        ("Europe/Berlin", "2026-03-30T23:37:58.749+02:00"),
        ("GMT", "2026-03-30T21:37:58.749Z"),
        ("no/such zone", "2026-03-30T21:37:58.749Z"),
        ("../../../etc/passwd", "2026-03-30T21:37:58.749Z"),
        ("", "2026-03-30T21:37:58.749Z"),
        (7, "2026-03-30T21:37:58.749Z"),
        (
            Archived("NSTimeZone", {"NS.name": "Europe/Berlin", "NS.data": b"TZif"}),
            "2026-03-30T23:37:58.749+02:00",
        ),
    ],
)
def test_dates_stand_in_the_zone_of_the_device(tmp_path: Path, zone: Any, date: str) -> None:
    assert told(tmp_path, clock={"another": [0, 1, 1, 0, 0, zone]}).run.start_date == date


@pytest.mark.parametrize("seconds", [None, "soon", 1e300, float("inf"), float("nan"), 1 << 63])
def test_a_moment_that_no_calendar_has_is_left_out(tmp_path: Path, seconds: Any) -> None:
    run = told(tmp_path, _rawStartTime=seconds, _rawDuration=seconds).run
    assert run.start_date == ""
    assert run.duration is None


@pytest.mark.parametrize(
    ("name", "value"), [("runInfo", None), ("runInfo", "a text"), ("mach_time_info", "now")]
)
def test_a_document_in_an_unknown_form_is_told(tmp_path: Path, name: str, value: Any) -> None:
    run = {"runInfo": Archived("XRRunInfo", INFO), "processDatas": PROCESSES, name: value}
    found = Found(*run_info(bundle_of(tmp_path, run).runs[0]))
    assert found.run.device == {"os-version": "26.3.1"}
    assert found.remarks[0].startswith(
        "Device, template, settings, duration and end of run 1 are not available, because the "
        "document of made.trace "
    )


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


def test_target_system_and_start(tmp_path: Path) -> None:
    found = Found(*run_info(Bundle(written(tmp_path)).runs[0]))
    assert found.run == TocRun(
        number=1,
        device={"os-version": "26.3.1"},
        target=Process(4711, "python3"),
        start_date="2026-03-30T21:37:58.749Z",
    )
    (remark,) = found.remarks
    assert remark == (
        "Device, template, settings, duration and end of run 1 are not available, because "
        "made.trace has no form.template."
    )


def test_what_the_parameters_do_not_say_is_empty(tmp_path: Path) -> None:
    bundle = written(tmp_path, (), binding={"osx-version": None}, modeling={"target-pid": "SINGLE"})
    assert run_info(Bundle(bundle).runs[0])[0] == TocRun(1)
