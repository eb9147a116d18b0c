"""A recorder that starts slowly or never, and a workload that is late or never comes to its work.

All deadlines are a hundredth of the usual ones, 0.6 s for a minute, or three hundredths where a
worker has to start in time.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpu_jobs import write_jobs
from tracekit import open as open_run

Scenario = Callable[..., None]

pytestmark = pytest.mark.usefixtures("nothing_is_left_running")
NEVER = 2.0
METHODS = pytest.mark.parametrize("method", ["launch", "attach"])


@pytest.fixture
def record(
    scenario: Scenario,
    tracekit: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Any]:
    """Record the workload that plays a GPU."""
    target = write_jobs(tmp_path / "workloads")
    options = ("--telemetry", "off", "--warmup", "2", "--output", tmp_path / "run")

    def run(*more: str, patience: float | str = 0.01) -> Any:
        monkeypatch.setenv("TRACEKIT_PATIENCE", str(patience))
        return tracekit("record", *target, *options, *more)

    return run


def starts(tmp_path: Path) -> int:
    lines = (tmp_path / "scenario.said").read_text().splitlines()
    return sum(line.startswith("Starting recording") for line in lines)


@METHODS
def test_a_start_of_a_minute_is_waited_for(
    method: str, record: Callable[..., Any], scenario: Scenario, tmp_path: Path
) -> None:
    scenario(start_delay=1.8)
    done = record("--method", method, "--repeats", "20", patience=0.03)
    assert done.code == 0, done.err
    assert starts(tmp_path) == 1
    assert not [text for text in open_run(tmp_path / "run").provenance.warnings if "stop" in text]


@METHODS
def test_a_recorder_that_does_not_start_is_started_once_more_and_then_given_up(
    method: str, record: Callable[..., Any], scenario: Scenario, tmp_path: Path
) -> None:
    scenario(start_delay=NEVER)
    done = record("--method", method, "--repeats", "20")
    assert done.code == 3, done.err
    words = " ".join(done.err.split())
    assert "xctrace was started twice, did not begin to record in time, and was stopped" in words
    assert "Quit Instruments and other recorders, wait a minute" in words
    assert starts(tmp_path) == 2


def test_a_service_that_hung_rests_before_the_next_start(
    record: Callable[..., Any], scenario: Scenario, tmp_path: Path
) -> None:
    scenario(start_delay={"seconds": NEVER, "times": 1}, stuck_for=0.2)
    assert record("--method", "attach", "--repeats", "20").code == 0
    assert (tmp_path / "run" / "recording-try-1.trace").is_dir()
    assert starts(tmp_path) == 2


def test_the_notification_counts_if_no_line_comes(
    record: Callable[..., Any], scenario: Scenario
) -> None:
    scenario(silent_start=True)
    assert record("--method", "attach", "--repeats", "20").code == 0


def test_a_launched_workload_that_never_became_steady_fails(
    record: Callable[..., Any], scenario: Scenario, tmp_path: Path
) -> None:
    done = record("--method", "launch", "--repeats", "20", "--die")
    assert done.code == 3
    words = " ".join(done.err.split())
    assert "The recording ended before the workload came to its steady phase." in words
    assert "Its last state was preparing" in words
    assert open_run(tmp_path / "run").provenance.stages["record"].state == "failed"


def test_a_launched_workload_that_sleeps_is_found_out_and_no_rule_passes(
    record: Callable[..., Any], scenario: Scenario, tracekit: Callable[..., Any], tmp_path: Path
) -> None:
    scenario(asleep=True)
    done = record("--method", "launch")
    assert done.code == 3
    assert "The workload never began: it wrote nothing" in " ".join(done.err.split())
    provenance = open_run(tmp_path / "run").provenance
    assert provenance.end_reason.startswith("The launched workload reported nothing")
    tracekit("export", tmp_path / "run")
    tracekit("analyze", tmp_path / "run")
    result = open_run(tmp_path / "run").result
    [truncated] = [check for check in result.checks if check.rule == "capture-truncated"]
    assert truncated.status == "found"
    assert "passed" not in {check.status for check in result.checks}


def test_the_limit_of_a_launched_workload_begins_when_it_is_ready(
    record: Callable[..., Any], tmp_path: Path
) -> None:
    done = record("--method", "launch", "--time-limit", "200ms", "--prepare", "0.4", patience=0.03)
    assert done.code == 0, done.err
    provenance = open_run(tmp_path / "run").provenance
    [line] = provenance.command_lines
    assert line[line.index("--time-limit") + 1] == "18200ms"
    assert provenance.end_reason == "Target app exited"


def test_a_launched_workload_that_outlives_its_limit_is_stopped(
    record: Callable[..., Any], tmp_path: Path
) -> None:
    done = record(
        "--method",
        "launch",
        "--time-limit",
        "200ms",
        "--warmup",
        "0",
        "--hang",
        "10",
        patience=0.03,
    )
    provenance = open_run(tmp_path / "run").provenance
    assert provenance.end_reason.startswith("The workload outlived its time limit"), done.err


def test_a_patience_that_is_not_a_number_is_refused(
    record: Callable[..., Any], tmp_path: Path
) -> None:
    for text in ("often", "0", "-1", "inf"):
        done = record("--method", "launch", patience=text)
        assert done.code == 2, text
        assert f"TRACEKIT_PATIENCE is '{text}', not a number above 0." in done.err
    assert not (tmp_path / "run").exists()
