"""What a recording needs: room on the disk, nobody beside it, no staging files left behind."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from recording_fakes import (
    QUICK,
    SLOW,
    Record,
    Scenario,
)
from tracekit.base.errors import RecordingError, ToolError
from tracekit.base.recording import Recording
from tracekit.record.xctrace.attempts import Manner
from tracekit.record.xctrace.claim import Premises, locked, opened
from tracekit.record.xctrace.exporting import only
from tracekit.record.xctrace.recorder import XctraceRecorder
from tracekit.record.xctrace.tool import locate

pytestmark = pytest.mark.processes


def test_too_little_disk_forbids_a_recording(
    record: Record, recording: Recording, tmp_path: Path
) -> None:
    with pytest.raises(RecordingError, match=r"Nothing was recorded: 9\.5 GB are free") as caught:
        record(QUICK, premises=Premises(tmp_path / "notes", 10e9, lambda _: int(9.5e9)))
    assert "Make room" in caught.value.hint
    assert not recording.bundle.exists()


def test_a_disk_that_fills_while_recording_stops_it_and_all_is_saved(
    record: Record, recording: Recording, told: list[str], tmp_path: Path
) -> None:
    recorded = record(
        SLOW,
        premises=Premises(
            tmp_path / "notes", 10e9, lambda _: int(9e9 if "recording" in told else 50e9)
        ),
    )
    assert recorded.failure.startswith(
        f"The recording was stopped before its time: 9.0 GB are free where {recording.folder} lies"
    )
    assert recorded.failure.endswith("What it saved is kept.")
    assert recorded.warnings == ()
    assert recorded.end_reason == "User stopped recording"


def test_a_disk_that_is_all_but_full_ends_even_a_saving_recorder(
    record: Record, scenario: Scenario, told: list[str], tmp_path: Path
) -> None:
    scenario(hang="saving")

    def free(_: Path) -> int:
        return int(0.5e9 if "saving; this can take minutes" in told else 50e9)

    with pytest.raises(ToolError, match="xctrace was killed while it saved") as caught:
        record(QUICK, premises=Premises(tmp_path / "notes", 10e9, free))
    assert "0.5 GB are free where" in caught.value.message


def test_one_records_at_a_time(record: Record, recording: Recording, tmp_path: Path) -> None:
    notes = Premises(tmp_path / "notes", 0)
    with (
        locked(Path("/runs/other"), notes.notes),
        pytest.raises(ToolError, match=f"Another recording runs: process {os.getpid()}, since"),
    ):
        record(QUICK, premises=notes)
    assert not recording.bundle.exists()
    assert record(QUICK, premises=notes).failure == ""


def test_staging_files_of_a_recording_go_when_nobody_needs_them(
    record: Record, scenario: Scenario, recording: Recording, tmp_path: Path
) -> None:
    if opened(tmp_path) is None:
        pytest.skip("no lsof to ask")
    staging = tmp_path / "staging"
    other = staging / "instruments-of-someone-else.ktrace"
    other.touch()
    scenario(leaves_staging=True)
    recorded = record(QUICK, premises=Premises(tmp_path / "notes", 0, staging_age=0))
    assert recorded.warnings == ()
    assert list(staging.glob("*.ktrace")) == [other]


def test_staging_files_that_stayed_go_with_a_later_export(
    record: Record, scenario: Scenario, recording: Recording, tmp_path: Path
) -> None:
    if opened(tmp_path) is None:
        pytest.skip("no lsof to ask")
    scenario(leaves_staging=True)
    notes = Premises(tmp_path / "notes", 0)
    [warning] = record(QUICK, premises=notes).warnings
    assert "A later recording or export removes them" in warning
    later = Manner(premises=replace(notes, staging_age=0))
    XctraceRecorder(locate(), only(["metal-gpu-intervals"]), later).export(recording, print)
    assert list((tmp_path / "staging").glob("*.ktrace")) == []
