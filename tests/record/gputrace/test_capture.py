"""From a plan to `capture.gputrace`, and what is said where none comes of it."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from children import until, until_gone
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
        ("silent", "", "Metal captured nothing"),
        ("refuse", "", "could not begin to capture: .*not enabled"),
        ("cpu", "", "runs on the CPU"),
        ("", "die", "ended with exit code 9"),
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
    until_gone(fold(Recording(tmp_path / "run").journal_file).pid)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"workload": None, "attach": 1}, "captures a workload"),
        ({"workload": None}, "Say what to record"),
        ({"recorder": "host"}, "so --recorder has no meaning"),
        ({"time_limit": 3.0, "counters": "off"}, "so --time-limit has no meaning"),
        (
            {"templates": ("Blank",), "method": "attach", "counters": "on"},
            "so --method, --counters, --template has no meaning",
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
        until(lambda: fold(journal).state == "warming")
    finally:
        process.kill()
        process.wait()
    until_gone(fold(journal).pid)


def test_an_interrupted_capture_says_so(
    mac: Mac, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    mac("", "hang")

    def impatient(text: str) -> None:
        if text.startswith("preparing"):
            raise KeyboardInterrupt

    with pytest.raises(InterruptedRunError, match="Interrupted while"):
        capture_gpu(plan, impatient, Timeouts(whole=60, leave=0.2))
