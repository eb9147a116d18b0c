"""From a plan to `capture.gputrace`, and what is said where none comes of it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tracekit import pipeline
from tracekit.base.errors import InterruptedRunError, RecordingError, ToolError, UsageError
from tracekit.base.recording import Recording
from tracekit.record.gputrace import UNTIMED, Timeouts, capture_gpu
from tracekit.workload.journal import fold
from tracekit.workload.plan import Plan
from tracekit.workload.workload import Workload

pytestmark = pytest.mark.processes

Mac = Callable[..., None]
Capture = Callable[..., Recording]


def never(size: int = 4) -> Any:
    """Stand for a workload that only a worker prepares."""
    pytest.fail(f"prepared in the wrong process: {size}")


@pytest.fixture
def plan(tmp_path: Path, workloads: Path) -> Plan:
    dots = Workload("dots", workloads / "dots.py", never)
    return Plan(workload=dots, warmup=2, output=tmp_path / "run")


@pytest.fixture
def capture(plan: Plan) -> Capture:
    """Capture the plan, with other values where given."""

    def run(timeouts: Timeouts | None = None, **values: Any) -> Recording:
        asked = Plan(**{**vars(plan), **values})
        return capture_gpu(asked, timeouts=timeouts or Timeouts(whole=60))

    return run


def test_a_few_steps_after_the_warm_up_are_captured_and_nothing_of_it_is_timed(
    mac: Mac, capture: Capture
) -> None:
    recording = capture()
    seen = json.loads((recording.gputrace / "metadata").read_text())
    assert seen == {"steps": 3, "validation": False}
    report = fold(recording.journal_file)
    assert [phase.name for phase in report.phases] == ["prepare", "warm-up", "gputrace"]
    assert {step.phase for step in report.steps} == {"warm-up"}
    provenance = recording.provenance()
    assert (provenance.recorder, provenance.repeats) == ("gputrace", 3)
    assert UNTIMED in provenance.warnings
    assert provenance.stages["record"].state == report.state == "done"
    [line] = provenance.command_lines
    assert line[:2] == ("MTL_CAPTURE_ENABLED=1", sys.executable)
    assert line[-2:] == ("tracekit.workload.worker", str(recording.spec_file.resolve()))
    assert provenance.targets[0].pid == report.pid
    for after in (pipeline.export, pipeline.analyze):
        with pytest.raises(RecordingError, match="nothing of it was timed") as caught:
            after(recording)
        assert f"tracekit open {recording.folder}" in caught.value.hint
    assert not recording.result_file.exists()


@pytest.mark.parametrize(
    ("metal", "dots", "said"),
    [
        pytest.param("silent", "", "Metal captured nothing", id="silent"),
        pytest.param("false", "", "did not say why", id="false"),
        pytest.param("refuse", "", "could not begin to capture: .*not enabled", id="refused"),
        pytest.param("", "cpu", "runs on the CPU", id="cpu-workload"),
        pytest.param("cpu", "", "runs on the CPU", id="no-metal"),
        pytest.param("", "die", "ended with exit code 9", id="died"),
    ],
)
def test_a_capture_that_did_not_come_is_said_and_what_is_there_kept(
    metal: str, dots: str, said: str, mac: Mac, plan: Plan
) -> None:
    mac(metal, dots)
    with pytest.raises(ToolError, match=f"Nothing was captured. .*{said}"):
        capture_gpu(plan, timeouts=Timeouts(whole=60))
    recording = Recording(plan.output or Path())
    assert recording.provenance().stages["record"].state == "failed"
    assert recording.journal_file.exists()
    assert not recording.gputrace.exists()


def test_a_capture_that_takes_too_long_is_ended(mac: Mac, capture: Capture, tmp_path: Path) -> None:
    mac("", "hang")
    with pytest.raises(ToolError, match=r"not done within 2 s"):
        capture(Timeouts(whole=2, leave=0.2))
    pid = fold(Recording(tmp_path / "run").journal_file).pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        pytest.param({"workload": None, "attach": 1}, "captures a workload", id="attach"),
        pytest.param({"workload": None}, "Say what to record", id="nothing"),
        pytest.param({"recorder": "host"}, "--recorder host has no meaning", id="recorder"),
        pytest.param({"time_limit": 3.0}, "--time-limit has no meaning", id="time-limit"),
        pytest.param(
            {"templates": ("Blank",), "method": "attach", "counters": "on"},
            "--method attach, --template, --counters on",
            id="several",
        ),
    ],
)
def test_what_makes_no_sense_with_a_capture_is_a_usage_error(
    values: dict[str, Any], said: str, mac: Mac, capture: Capture, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=said):
        capture(**values)
    assert not (tmp_path / "run").exists()


def test_no_worker_outlives_tracekit(mac: Mac, workloads: Path, tmp_path: Path) -> None:
    mac("", "hang")
    folder = tmp_path / "run"
    argv = [sys.executable, "-m", "tracekit", "capture", "--gputrace", "--workload", "dots"]
    argv += ["--workloads", str(workloads), "--output", str(folder)]
    process = subprocess.Popen(argv)
    try:
        journal = folder / "workload.jsonl"
        deadline = time.monotonic() + 60
        while fold(journal).state != "warming" and time.monotonic() < deadline:
            time.sleep(0.02)
        pid = fold(journal).pid
    finally:
        process.kill()
        process.wait()
    deadline = time.monotonic() + 60
    while _runs(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_an_interrupted_capture_says_so(
    mac: Mac, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    mac("", "hang")

    def impatient(text: str) -> None:
        if text.startswith("preparing"):
            raise KeyboardInterrupt

    with pytest.raises(InterruptedRunError, match="Interrupted while"):
        capture_gpu(plan, impatient, Timeouts(whole=60, leave=0.2))
