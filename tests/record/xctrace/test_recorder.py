"""What a recording of the fake leaves: what a user is told, what is kept, what is running."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from recording_fakes import (
    COUNTERS,
    DEADLINES,
    FAILING,
    QUICK,
    SLOW,
    Record,
    Scenario,
    runs,
)
from tracekit.base.recording import Recording
from tracekit.record.recorder import Attach, Launch, Target
from tracekit.tables.toc import read_toc
from tracekit.workload.journal import ClockAnchor, Journal

pytestmark = pytest.mark.processes


def test_a_program_that_ends_by_itself(
    record: Record, recording: Recording, told: list[str]
) -> None:
    recorded = record(QUICK)
    assert recorded.failure == ""
    assert recorded.warnings == ()
    assert recorded.end_reason == "Target app exited"
    assert not recorded.interrupted
    assert [one.name for one in recorded.targets] == ["true"]
    assert recorded.started <= recorded.ended
    assert told == [
        "xctrace is starting",
        "recording",
        "stopping",
        "saving; this can take minutes",
        "saved",
        "checking the bundle",
    ]
    assert read_toc(recording.toc_file).runs[0].template == "Metal System Trace"


def test_a_program_that_outlives_the_limit_is_ended_and_the_trace_is_whole(
    record: Record,
) -> None:
    recorded = record(SLOW, limit=0.2)
    assert recorded.failure == ""
    assert recorded.end_reason == "Time limit reached"
    assert not runs(recorded.targets[0].pid)


def test_a_program_that_is_attached_to_lives_on(record: Record, sleeper: int) -> None:
    recorded = record(Attach(sleeper), limit=0.2)
    assert recorded.failure == ""
    assert recorded.targets[0].pid == sleeper
    assert psutil.pid_exists(sleeper)


def test_a_program_that_fails_is_told_with_how_it_ended(
    record: Record, recording: Recording
) -> None:
    recorded = record(FAILING)
    assert recorded.failure == (
        "The recorded program failed (exit(3)); the trace up to then is kept."
    )
    assert recording.bundle.is_dir()


def test_children_of_the_target_count_as_targets(record: Record) -> None:
    recorded = record(Launch(("/bin/sh", "-c", "sleep 1; true")))
    assert [one.name for one in recorded.targets] == ["sh", "sleep"]


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param({"full_stop": True}, id="full-stop"),
        pytest.param({"silent_save": True}, id="no-saved-line"),
        pytest.param({"repeat_lines": True}, id="lines-twice"),
        pytest.param({"noise": 5_000_000}, id="megabytes-of-noise"),
        pytest.param({"start_delay": 0.3}, id="starts-late"),
        pytest.param({"missing_template": 2}, id="not-yet-exportable"),
        pytest.param({"inherit": True}, id="hands-its-environment-on"),
        pytest.param({"prompts": True}, id="would-prompt"),
    ],
)
def test_oddities_that_change_nothing(
    record: Record, scenario: Scenario, keys: dict[str, Any]
) -> None:
    scenario(**keys)
    recorded = record(QUICK)
    assert (recorded.failure, recorded.warnings) == ("", ())


@pytest.mark.parametrize(
    ("keys", "target", "part"),
    [
        pytest.param(
            {"issues": [["Warning", COUNTERS]]}, QUICK,
            "GPU counters are not available on this chip and Xcode: xctrace says", id="warning",
        ),
        pytest.param(
            {
                "translate": {
                    "Starting recording": "La grabación empieza",
                    "Ctrl-C to stop the recording": "Ctrl-C para terminar",
                    "Target app exited, ending recording...": "El proceso ha terminado",
                    "Recording completed. Saving output file...": "Guardando",
                    "Output file saved as: recording.trace": "Guardado: recording.trace",
                }
            },
            QUICK, "xctrace did not speak English", id="another-language",
        ),
        pytest.param(
            {"leaves_staging": True}, QUICK, "xctrace left 1 MB of staging files", id="staging"
        ),
    ],
)  # fmt: skip
def test_whole_with_a_warning(
    record: Record, scenario: Scenario, keys: dict[str, Any], target: Target, part: str
) -> None:
    scenario(**keys)
    recorded = record(target)
    assert recorded.failure == ""
    [warning] = recorded.warnings
    assert warning.startswith(part)


def test_a_limit_that_is_ignored_is_kept_by_us(
    record: Record, scenario: Scenario, sleeper: int
) -> None:
    scenario(ignores_limit=True)
    recorded = record(Attach(sleeper), limit=0.1, deadlines=replace(DEADLINES, slack=0.5))
    assert recorded.failure == ""
    assert recorded.end_reason == "User stopped recording"
    assert recorded.warnings == ("xctrace did not stop in time and was stopped with SIGINT.",)


def test_a_bundle_that_grows_may_be_saved_for_long(record: Record, scenario: Scenario) -> None:
    scenario(save_delay=2.5)
    recorded = record(QUICK, deadlines=replace(DEADLINES, saving=1.5))
    assert (recorded.failure, recorded.warnings) == ("", ())


def test_errors_of_xctrace_make_a_partial_recording(
    record: Record, scenario: Scenario, recording: Recording
) -> None:
    scenario(issues=[["Error", "Hitches is not supported on this platform."]])
    recorded = record(QUICK)
    assert recorded.failure == (
        "xctrace recorded with errors: Hitches is not supported on this platform. "
        "What it saved is kept."
    )
    assert recording.bundle.is_dir()


def test_the_clock_is_laid_on_the_worker_s(
    record: Record, scenario: Scenario, tmp_path: Path
) -> None:
    scenario(start_date="1970-01-01T00:01:40.500+00:00")
    journal = Journal(tmp_path / "workload.jsonl")
    anchor = ClockAnchor(monotonic=7_000_000_000, epoch=100_000_000_000)
    journal.write("anchor", monotonic=anchor.monotonic, epoch=anchor.epoch)
    journal.close()
    recorded = record(Launch(("/bin/true",), journal=tmp_path / "workload.jsonl"))
    assert recorded.clock["origin"] == 7_500_000_000
    assert recorded.clock["uncertainty"] == 1_000_000
