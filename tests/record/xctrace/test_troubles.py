"""Troubles of a machine, through the command line: a sentence, and the command that helps."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import join_stderr
from gpu_jobs import program_of

Scenario = Callable[..., None]
WORK = ("--", *program_of(20))
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
    done = tracekit("record", "--output", tmp_path / "run", *WORK)
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
    assert "`tracekit runs prune --keep 7d` frees the space of old bundles" in join_stderr(done)


def test_a_disk_that_is_full_before_all_is_saved_is_named(
    scenario: Scenario, tracekit: Callable[..., Any], tmp_path: Path
) -> None:
    text = "Error writing the trace file: No space left on device"
    scenario(die={"at": "saving", "code": 1, "text": text})
    done = tracekit("record", "--output", tmp_path / "run", *WORK)
    assert done.code == 3
    assert "The disk is full." in join_stderr(done)
    assert "`tracekit runs prune --keep 7d` frees the space of old bundles" in join_stderr(done)


def test_a_dialog_that_nobody_answers_is_named_with_the_command_that_ends_it(
    scenario: Scenario, tracekit: Callable[..., Any], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("TRACEKIT_PATIENCE", "0.01")
    scenario(dialog=True)
    done = tracekit("record", "--output", tmp_path / "run", *WORK)
    assert done.code == 3
    sentence = "macOS asked for the name and password of an administrator, and got none."
    assert sentence in join_stderr(done)
    assert "`sudo DevToolsSecurity -enable` ends that question" in join_stderr(done)


@pytest.mark.parametrize(
    ("displays", "change"),
    [(["on", "off"], "off"), (["off", "on"], "on"), (["on"], ""), (["off"], "")],
)
def test_a_display_that_turns_off_is_named_with_the_command_that_keeps_it_on(
    displays: list[str], change: str, scenario: Scenario, tracekit: Callable[..., Any],
    tmp_path: Path,
) -> None:  # fmt: skip
    scenario(displays=displays)
    done = tracekit("record", "--output", tmp_path / "run", *WORK)
    assert done.code == 0
    words = f"A display turned {change} while it was recorded, which may change the pace of the GPU"
    command = "`caffeinate -d -i -s tracekit capture …` keeps displays on."
    text = join_stderr(done)
    assert (words in text, command in text) == (bool(change), bool(change))


def test_a_recording_in_another_language_is_whole(
    scenario: Scenario, tracekit: Callable[..., Any], tmp_path: Path
) -> None:
    scenario(language="de")
    done = tracekit("record", "--output", tmp_path / "run", *WORK)
    assert done.code == 0
    assert "xctrace did not speak English" in join_stderr(done)


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
