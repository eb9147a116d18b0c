"""Fewer steps than were asked for: terminal, page and JSON say so, and why recording ended."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.processes

WORK = """import time

from tracekit.workload import Step, workload


@workload
def nap(most: int = 1_000_000) -> Step:
    steps = []

    def submit():
        time.sleep(0.01)
        steps.append(1)

    return Step(submit, lambda _: None, "cpu", exhausted=lambda: len(steps) >= most)
"""


@pytest.fixture
def folder(tmp_path: Path, scenario: Callable[..., None]) -> Path:
    (tmp_path / "nap.py").write_text(WORK)
    return tmp_path


def record_nap(
    folder: Path, tracekit: Any, *words: str, command: str = "record"
) -> tuple[Any, dict[str, Any]]:
    """Record the workload into the folder `run`; return the outcome, and the run's provenance."""
    options = ("--workloads", folder, "--workload", "nap", "--warmup", "2")
    result = tracekit(command, *options, *words, "--output", folder / "run", "--json")
    # The fake's trace may lack GPU work of such a workload.
    assert result.code in {0, 4}, result.err
    return result, json.loads((folder / "run" / "recording.json").read_text())


@pytest.mark.parametrize("recorder", ["host", "xctrace"])
@pytest.mark.parametrize(
    ("words", "shortfall"),
    [
        (("--repeats", "12345", "--time-limit", "200ms"), "time limit of 200 ms ended the steady"),
        (("--repeats", "50", "--most", "10"), "The workload had nothing left to do after 8 of 50"),
        (("--repeats", "5"), ""),
        (("--time-limit", "200ms"), ""),
    ],
)
def test_a_shortfall_of_steps_is_said(
    recorder: str, words: tuple[str, ...], shortfall: str, folder: Path, tracekit: Any
) -> None:
    command = "capture" if shortfall else "record"
    options = ("--recorder", recorder)
    result, recording = record_nap(folder, tracekit, *options, *words, command=command)
    lines = [text for text in recording["warnings"] if shortfall in text and " steps." in text]
    assert len(lines) == bool(shortfall), recording["warnings"]
    for line in lines:
        assert line in json.loads(result.out)["provenance"]["warnings"]
        assert line in (folder / "run" / "report.html").read_text()
        stderr = tracekit("analyze", folder / "run").err
        assert line in " ".join(stderr.split())


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--repeats", "12345", "--time-limit", "200ms"), "Time limit reached"),
        (("--time-limit", "200ms"), "Time limit reached"),
        (("--repeats", "5"), "Target exited"),
        (("--most", "10"), "Target exited"),
    ],
)
def test_the_host_recorder_says_whether_the_time_limit_ended_a_workload(
    words: tuple[str, ...], reason: str, folder: Path, tracekit: Any
) -> None:
    _, recording = record_nap(folder, tracekit, "--recorder", "host", *words)
    assert recording["end_reason"] == reason


def test_steps_mean_nothing_to_a_program(folder: Path, tracekit: Any) -> None:
    options = ("--repeats", "7", "--recorder", "host", "--output", folder / "run")
    result = tracekit("record", *options, "--", "true")
    assert result.code == 0, result.err
    words = "--repeats 7 was not followed: only a workload has steps."
    assert words in " ".join(result.err.split())
