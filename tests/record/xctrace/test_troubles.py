"""Troubles of a machine, through the command line: a sentence, and the command that helps."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import join_stderr

Scenario = Callable[..., None]
PROGRAM = ("--", sys.executable, "-I", "-S", "-c", "")


@pytest.mark.parametrize(
    ("trouble", "sentence", "command"),
    [
        ("missing", "Only the Command Line Tools are installed", "sudo xcode-select --switch"),
        ("tools", "Only the Command Line Tools are installed", "sudo xcode-select --switch"),
        ("licence", "The licence of Xcode has not been accepted.", "sudo xcodebuild -license"),
        ("first_launch", "Xcode has not been started yet", "sudo xcodebuild -runFirstLaunch"),
    ],
)
def test_an_xcode_that_cannot_be_used_is_named_with_its_repair(
    trouble: str, sentence: str, command: str, scenario: Scenario, tracekit: Callable[..., Any],
    tmp_path: Path,
) -> None:  # fmt: skip
    scenario(toolchain=trouble)
    done = tracekit("record", "--recorder", "xctrace", "--output", tmp_path / "run", *PROGRAM)
    assert done.code == 3
    assert sentence in join_stderr(done)
    assert command in join_stderr(done)


def test_a_password_that_macos_will_ask_for_is_announced(
    scenario: Scenario, tracekit: Callable[..., Any], tmp_path: Path
) -> None:
    scenario(developer_mode=False)
    done = tracekit("record", "--output", tmp_path / "run", *PROGRAM)
    assert done.code == 0
    text = join_stderr(done)
    assert "Developer Mode is off, so macOS may ask for the name and password" in text
    assert "`sudo DevToolsSecurity -enable` ends that." in text


def test_a_full_disk_is_named(
    scenario: Scenario, tracekit: Callable[..., Any], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("TRACEKIT_DISK_FLOOR", "1e9")
    done = tracekit("record", "--output", tmp_path / "run", *PROGRAM)
    assert done.code == 3
    assert "GB must stay free" in join_stderr(done)
    assert "TRACEKIT_DISK_FLOOR=2" in join_stderr(done)


def test_options_that_would_be_ignored_are_refused(
    scenario: Scenario, tracekit: Callable[..., Any], tmp_path: Path
) -> None:
    done = tracekit("record", "--warmup", "9", "--output", tmp_path / "run", *PROGRAM)
    assert done.code == 2
    assert "--warmup counts the steps of a workload" in join_stderr(done)
    assert not (tmp_path / "run").exists()
    capture = ("capture", "--gputrace", "--workload", "paged", "--output", tmp_path / "run")
    for options in (
        ("--export", "all"), ("--no-redact",), ("--telemetry", "off"), ("--counters", "off"),
        ("--light",), ("--instrument", "GPU"),
    ):  # fmt: skip
        done = tracekit(*capture, *options)
        assert done.code == 2, options
        assert options[0] in join_stderr(done)
    assert not (tmp_path / "run").exists()
