"""Standard input that a program would not get: refused before the program starts."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.errors import UsageError
from tracekit.base.recording import Recording
from tracekit.record.progress import quiet
from tracekit.record.recorder import ProgramLaunch, RecordingRequest
from tracekit.record.xctrace.recorder import XctraceRecorder
from tracekit.record.xctrace.tool import Xctrace

LOST = "so the program might read nothing"


@pytest.fixture(autouse=True)
def _input(tmp_path: Path) -> Iterator[None]:
    """Put a file with content in the place of our standard input."""
    (tmp_path / "input").write_text("content")
    kept_descriptor = os.dup(0)
    with (tmp_path / "input").open("rb") as file:
        os.dup2(file.fileno(), 0)
    yield
    os.dup2(kept_descriptor, 0)
    os.close(kept_descriptor)


@pytest.mark.parametrize("words", ["bench ab -- cat -- cat", "doctor --symptom memory -- cat"])
def test_a_command_that_runs_a_program_several_times_refuses_it(words: str, tracekit: Any) -> None:
    refused = tracekit(*words.split())
    assert refused.code == 2
    assert LOST in refused.err


def test_xctrace_hands_none_on(tmp_path: Path) -> None:
    recorder = XctraceRecorder(Xctrace("/X/xctrace"), lambda there: there)
    request = RecordingRequest(ProgramLaunch(("cat",), reads_input=True), 1.0)
    with pytest.raises(UsageError, match=LOST):
        recorder.record(request, Recording(tmp_path / "run"), quiet)
