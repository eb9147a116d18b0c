"""A Mac stays awake for a night, and no longer."""

import logging
import os
from collections.abc import Collection
from pathlib import Path

import psutil
import pytest

from tracekit.nightly.schedule.running import awake

pytestmark = pytest.mark.processes


def script(folder: Path, text: str) -> Path:
    program = folder / "caffeinate"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return program


def started(before: Collection[psutil.Process]) -> list[psutil.Process]:
    """What this process started since; servers of other tests are its children too."""
    return [one for one in psutil.Process().children() if one not in before]


def test_caffeinate_holds_on_as_long_as_the_night(tmp_path: Path) -> None:
    program = script(tmp_path, f'echo "$@" > {tmp_path}/said; exec sleep 600')
    before = psutil.Process().children()
    with awake(program, "darwin"):
        [child] = started(before)
        while not (tmp_path / "said").exists() or not (tmp_path / "said").read_text():
            assert child.is_running()
        assert (tmp_path / "said").read_text() == f"-i -s -w {os.getpid()}\n"
    assert started(before) == []


def test_elsewhere_nothing_is_started(tmp_path: Path) -> None:
    program = script(tmp_path, f"touch {tmp_path}/ran; exec sleep 600")
    before = psutil.Process().children()
    with awake(program, "linux"):
        assert started(before) == []
    with awake(tmp_path / "absent", "darwin"):
        assert started(before) == []
    assert not (tmp_path / "ran").exists()


def test_one_that_cannot_be_started_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    program = tmp_path / "caffeinate"
    program.write_text("no program")
    with caplog.at_level(logging.WARNING), awake(program, "darwin"):
        pass
    assert "may fall asleep" in caplog.text
