import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from tracekit.base.errors import RecordingError, ToolError
from tracekit.nightly.session.child import started
from tracekit.nightly.session.program import Bounds
from tracekit.nightly.session.variants import CodeVariant
from tracekit.record.supervisor.supervisor import Supervisor
from tracekit.workload.interleaved.protocol import ChildRequest, RunSteps

pytestmark = [pytest.mark.usefixtures("children"), pytest.mark.processes]


@pytest.fixture
def variant(ready: Callable[..., Any]) -> CodeVariant:
    with ready(reference=None) as prepared:
        return prepared.candidate


@pytest.fixture
def bounds(tmp_path: Path) -> Iterator[Bounds]:
    with Supervisor(tmp_path) as supervisor:
        yield Bounds(supervisor)


def test_a_child_is_greeted_and_ended(variant: CodeVariant, bounds: Bounds, tmp_path: Path) -> None:
    with started("the candidate", variant, tmp_path / "log", bounds) as child:
        assert child.hello.pid == child.child.pid
        assert psutil.Process(child.child.pid).cwd() == str(variant.cwd)
    assert child.child.exit_status == 130


def test_a_child_of_another_thread_is_ended(
    variant: CodeVariant, bounds: Bounds, tmp_path: Path
) -> None:
    codes: list[int | None] = []

    def live() -> None:
        with started("the candidate", variant, tmp_path / "log", bounds) as child:
            pass
        codes.append(child.child.exit_status)

    thread = threading.Thread(target=live)
    thread.start()
    thread.join()
    assert codes == [130]


def test_its_own_words_are_quoted(variant: CodeVariant, bounds: Bounds, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("words of another night\n")
    with (
        started("the candidate", variant, log, bounds) as child,
        pytest.raises(ToolError) as error,
    ):
        child.ask(ChildRequest(steps=RunSteps(1.0)), 10)
    assert error.value.message == (
        "The candidate: Steps were asked of a child that nothing was prepared in."
    )
    assert log.read_text() == "words of another night\n"


def test_what_cannot_be_started(variant: CodeVariant, bounds: Bounds, tmp_path: Path) -> None:
    gone = replace(variant, python=tmp_path / "gone")
    words, log = "gone cannot be started: No such file", tmp_path / "log"
    with pytest.raises(ToolError, match=words), started("the candidate", gone, log, bounds):
        pytest.fail("it was started")


def test_a_log_that_cannot_be_written(variant: CodeVariant, bounds: Bounds, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    words, log = r"one\.log cannot be written", tmp_path / "file" / "one.log"
    with pytest.raises(RecordingError, match=words), started("the candidate", variant, log, bounds):
        pytest.fail("it was started")
