"""Recordings that fail, hang or are interrupted: what is tried again, saved, left running."""

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from children import running, started_since
from recording_fakes import (
    DEADLINES,
    QUICK,
    SLOW,
    STEEP,
    Record,
    Scenario,
    runs,
)
from tracekit.base.errors import InterruptedRunError, ToolError
from tracekit.base.recording import Recording
from tracekit.record.recorder import Attach, Launch

pytestmark = pytest.mark.processes


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param(
            {"refuse": {"code": 21, "text": "Cannot find process for provided pid: 1", "times": 2}},
            id="pid-not-found-yet",
        ),
        pytest.param(
            {"refuse": {"code": 2, "text": "_lockKPerf: could not lock kperf.", "times": 1}},
            id="performance-lock",
        ),
        pytest.param({"die": {"at": "start", "code": 139, "times": 1}}, id="died-at-start"),
    ],
)
def test_failures_that_pass_are_tried_again(
    record: Record, scenario: Scenario, told: list[str], sleeper: int, keys: dict[str, Any]
) -> None:
    scenario(**keys)
    assert record(Attach(sleeper), limit=0.1).failure == ""
    assert "xctrace could not start; trying again in 0 s" in told


def test_what_a_failed_try_left_is_kept_aside(
    record: Record, scenario: Scenario, recording: Recording
) -> None:
    scenario(locked=1)
    recording.journal_file.touch()
    recorded = record(Launch(("/bin/true",), journal=recording.journal_file))
    assert recorded.failure == ""
    assert (recording.folder / "recording-try-1.trace").is_dir()
    assert (recording.folder / "workload-try-1.jsonl").exists()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        pytest.param(
            {"refuse": {"code": 21, "text": "Cannot find process for provided pid: 1"}},
            r"Nothing was recorded: xctrace ended before it said anything\. There is no process "
            r"with that id(.|\n)*failed with exit code 21:\nCannot find process",
            id="pid-not-found",
        ),
        pytest.param(
            {"refuse": {"code": 30, "text": "Provided template parameter 'A' is ambiguous"}},
            "Two templates have this name", id="ambiguous-template",
        ),
        pytest.param(
            {"refuse": {"code": 1, "text": "Failed starting ktrace session."}},
            "The system does not let xctrace start a kernel trace", id="no-ktrace",
        ),
        pytest.param(
            {"die": {"at": "start", "code": 139}},
            r"xctrace ended before it began to record\.(.|\n)*signal SIGSEGV", id="dies-always",
        ),
        pytest.param(
            {"die": {"at": "saving", "code": 139}},
            r"xctrace ended while it saved\. The bundle has no template document", id="dies-saving",
        ),
        pytest.param({"saves": False}, "There is no bundle at", id="no-bundle"),
        pytest.param(
            {"missing_template": 99}, "The bundle has no template document", id="not-exportable"
        ),
    ],
)  # fmt: skip
def test_nothing_came_and_why(
    record: Record, scenario: Scenario, keys: dict[str, Any], message: str
) -> None:
    scenario(**keys)
    with pytest.raises(ToolError, match=message):
        record(QUICK)


@pytest.mark.parametrize(
    ("hang", "short", "when"),
    [
        ("announced", {"start": 3}, "before it began to record"),
        ("recording", {"slack": 0.3}, "while it recorded"),
        ("stopping", {"stopping": 0.3}, "while it stopped"),
        ("saving", {"saving": 0.3}, "while it saved"),
    ],
)
def test_a_recorder_that_hangs_is_ended_and_nothing_is_left_running(
    record: Record, scenario: Scenario, hang: str, short: dict[str, Any], when: str
) -> None:
    scenario(hang=hang)
    deadlines = replace(DEADLINES, signals=STEEP, **short)
    before = running()
    with pytest.raises(ToolError, match=f"xctrace hung {when} and had to be killed") as caught:
        record(Attach(os.getpid()), limit=0.1, deadlines=deadlines)
    assert "--attach" in caught.value.hint
    assert started_since(before) == []


def test_a_recorder_that_hangs_after_it_saved_loses_nothing(
    record: Record, scenario: Scenario, recording: Recording
) -> None:
    scenario(hang="saved")
    recorded = record(QUICK, deadlines=replace(DEADLINES, exit=0.3, signals=STEEP))
    assert recorded.failure.startswith("xctrace hung after it had saved and had to be killed")
    assert recording.bundle.is_dir()


def test_a_worker_that_is_left_running_is_ended_by_its_own_pid(
    record: Record, scenario: Scenario, recording: Recording
) -> None:
    scenario(leaves_target=True)
    recorded = record(SLOW, limit=0.2)
    assert recorded.failure == ""
    assert not runs(recorded.targets[0].pid)


def interrupting(
    moment: str, told: list[str], number: int = signal.SIGINT
) -> Callable[[str], None]:
    """Make a progress that sends us a signal when it is told `moment`."""

    def progress(text: str) -> None:
        told.append(text)
        if text == moment:
            os.kill(os.getpid(), number)

    return progress


@pytest.mark.parametrize("moment", ["recording", "stopping", "saving; this can take minutes"])
def test_ctrl_c_stops_and_saves(record: Record, told: list[str], moment: str) -> None:
    limit = 30 if moment == "recording" else 0.3
    recorded = record(SLOW, limit=limit, progress=interrupting(moment, told))
    assert recorded.interrupted
    assert recorded.failure == ""
    assert recorded.warnings == ()
    # Later on, the recording may have come to its end by itself.
    assert moment != "recording" or "asked xctrace to stop and to save what it has" in told
    assert told[-1] == "checking the bundle"
    assert not runs(recorded.targets[0].pid)


def test_ctrl_c_while_the_bundle_is_checked_loses_nothing(
    record: Record, recording: Recording, told: list[str], sleeper: int
) -> None:
    recorded = record(
        Attach(sleeper), limit=0.1, progress=interrupting("checking the bundle", told)
    )
    assert recorded.interrupted
    assert recorded.targets[0].pid == sleeper
    assert recorded.warnings[0].startswith("The bundle was saved, but not checked")
    assert recording.bundle.is_dir()


def test_ctrl_c_before_anything_was_recorded(
    record: Record, scenario: Scenario, told: list[str]
) -> None:
    scenario(hang="announced")
    with pytest.raises(InterruptedRunError, match="Stopped before anything was recorded"):
        record(
            QUICK,
            deadlines=replace(DEADLINES, signals=STEEP),
            progress=interrupting("xctrace is starting", told),
        )
