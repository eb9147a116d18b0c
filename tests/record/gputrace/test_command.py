"""`tracekit capture --gputrace`: what it prints, and its exit codes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.processes

Mac = Callable[..., None]


@pytest.fixture
def capture(tracekit: Callable[..., Any], workloads: Path, tmp_path: Path) -> Callable[..., Any]:
    """Capture the workload of the tests into a folder with a space in its name."""
    own = ["--workload", "dots", "--workloads", str(workloads)]
    folder = ["--output", str(tmp_path / "a run")]
    return lambda *arguments: tracekit("capture", "--gputrace", *own, *folder, *arguments)


def test_it_prints_where_the_capture_is_and_how_to_open_it(
    mac: Mac, capture: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "a run" / "capture.gputrace"
    ran = capture("--repeats", "2", "--size", "7")
    assert (ran.code, ran.out) == (0, f"{path}\n")
    told = json.loads((path.parent / "recording.json").read_text())
    assert (told["recorder"], told["parameters"], told["repeats"]) == ("gputrace", {"size": 7}, 2)
    assert f"open '{path}'" in ran.err
    assert "nothing of this run was timed" in ran.err
    assert json.loads((path / "metadata").read_text())["steps"] == 2
    assert not (path.parent / "report.html").exists()
