"""`tracekit capture --gputrace`: what it prints, and its exit codes."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tracekit.cli import main

Mac = Callable[..., None]


class Ran:
    """How the command ended, and what it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
        try:
            main(["capture", "--gputrace", *arguments])
            self.code = 0
        except SystemExit as end:
            self.code = int(end.code or 0)
        printed = capsys.readouterr()
        self.out, self.err = printed.out, printed.err


@pytest.fixture
def capture(
    capsys: pytest.CaptureFixture[str], workloads: Path, tmp_path: Path
) -> Callable[..., Ran]:
    """Capture the workload of the tests into a folder with a space in its name."""
    own = ["--workload", "dots", "--workloads", str(workloads)]
    folder = ["--output", str(tmp_path / "a run")]
    return lambda *arguments: Ran(capsys, [*own, *folder, *arguments])


def test_it_prints_where_the_capture_is_and_how_to_open_it(
    mac: Mac, capture: Callable[..., Ran], tmp_path: Path
) -> None:
    path = tmp_path / "a run" / "capture.gputrace"
    ran = capture("--repeats", "2", "--size", "7")
    assert (ran.code, ran.out) == (0, f"{path}\n")
    assert f"open '{path}'" in ran.err
    assert "nothing of this run was timed" in ran.err
    assert json.loads((path / "metadata").read_text())["steps"] == 2
    assert not (path.parent / "report.html").exists()


def test_json_is_the_provenance(mac: Mac, capture: Callable[..., Ran]) -> None:
    ran = capture("--json", "--size", "7")
    told = json.loads(ran.out)
    assert told["recorder"] == "gputrace"
    assert told["parameters"] == {"size": 7}
    assert told["repeats"] == 3


def test_without_metal_the_reason_is_one_sentence(mac: Mac, capture: Callable[..., Ran]) -> None:
    mac("cpu")
    ran = capture()
    assert ran.code == 3
    assert ran.out == ""
    [error] = [line for line in ran.err.splitlines() if line.startswith("error: ")]
    assert "GPU frame capture needs Metal, and MLX finds none on this machine" in error


def test_a_program_of_someone_else_cannot_be_captured(
    mac: Mac, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = Ran(capsys, ["--", "/bin/ls"])
    assert ran.code == 2
    assert "--gputrace captures a workload" in ran.err
