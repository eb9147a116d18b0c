import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from tracekit.base.errors import RecordingError, ToolError
from tracekit.nightly.session.child import started
from tracekit.nightly.session.side import Side
from tracekit.workload.turns.protocol import Turn, TurnRequest

pytestmark = pytest.mark.usefixtures("children")


@pytest.fixture
def side(ready: Callable[..., Any]) -> Side:
    with ready(reference=None) as prepared:
        return prepared.candidate


def test_a_child_is_greeted_and_ended(side: Side, tmp_path: Path) -> None:
    with started("the candidate", side, tmp_path / "log") as child:
        assert child.hello.pid == child.process.pid
        assert psutil.Process(child.process.pid).cwd() == str(side.cwd)
    assert child.process.returncode == 130


def test_a_child_of_another_thread_is_ended_too(side: Side, tmp_path: Path) -> None:
    codes: list[int | None] = []

    def live() -> None:
        with started("the candidate", side, tmp_path / "log") as child:
            pass
        codes.append(child.process.returncode)

    thread = threading.Thread(target=live)
    thread.start()
    thread.join()
    assert codes == [130]


def test_only_its_own_words_are_quoted(side: Side, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("words of another night\n")
    with started("the candidate", side, log) as child, pytest.raises(ToolError) as caught:
        child.ask(TurnRequest(turn=Turn(1.0)), 10)
    assert caught.value.message == (
        "The candidate: A turn was asked of a child that nothing was prepared in."
    )
    assert log.read_text() == "words of another night\n"


def test_what_cannot_be_started_is_told(side: Side, tmp_path: Path) -> None:
    gone = replace(side, python=tmp_path / "gone")
    told, log = "gone cannot be started: No such file", tmp_path / "log"
    with pytest.raises(ToolError, match=told), started("the candidate", gone, log):
        pytest.fail("it was started")


def test_a_log_that_cannot_be_written_is_told(side: Side, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    told, log = r"one\.log cannot be written", tmp_path / "file" / "one.log"
    with pytest.raises(RecordingError, match=told), started("the candidate", side, log):
        pytest.fail("it was started")
