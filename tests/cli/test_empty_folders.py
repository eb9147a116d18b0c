"""An empty folder, given to every command that takes one: each says what it lacks."""

from pathlib import Path
from typing import Any

import pytest

from command_line import assert_error


def test_a_command_names_the_contents_that_an_empty_folder_lacks(
    tmp_path: Path, tracekit: Any, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    monkeypatch.chdir(tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    for line, words in (
        ("runs index empty", "There is no run in empty."),
        ("batch empty --output batch", "There is no recording in empty."),
        ("query --list empty", "There is no run in empty."),
        ("tables empty", "empty is not a run's folder"),
        ("convert empty out --to csv", "empty is not a run's folder"),
        ("import empty --output run", "No export and no bundle in empty."),
        ("export empty", "empty is not a run's folder"),
        ("analyze empty", "empty is not a run's folder"),
        ("report empty", "empty is not a run's folder"),
        ("open empty", "empty is not a run's folder"),
        ("compare empty empty", "empty is not a run's folder"),
        ("nightly gate empty", "empty has no night.json"),
        ("nightly history --history empty", "empty is a folder, not a history"),
    ):
        with subtests.test(line):
            result = tracekit(*line.split())
            assert_error(result, 3, words)
            assert "\nhint: " in result.err
            assert [path for path in tmp_path.rglob("*") if path != empty] == []


def test_nothing_to_prune_is_said(
    tmp_path: Path, tracekit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = tracekit("runs", "prune", tmp_path, "--keep", "1d")
    assert (result.code, "There is no run and no night to prune." in result.err) == (0, True)


def test_a_folder_of_workloads_is_there_and_has_some(
    tmp_path: Path, tracekit: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    options = ("--workload", "paged", "--output", "run")
    for line in (("list", "workloads"), ("capture", *options), ("record", *options)):
        assert_error(tracekit(*line, "--workloads", "gone"), 2, "gone is not a folder", "Name the")
    assert not Path("run").exists()
    assert tracekit("list", "workloads", "--workloads", "empty").code == 0
    assert "There is no workload in empty" in caplog.text
