"""A tool without Xcode: answers from a list, or the fake on PATH."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recording_fakes import DEADLINES, Record, Scenario
from tracekit.base.recording import Recording
from tracekit.record.recorder import Recorded, Request, Target
from tracekit.record.xctrace.attempts import Manner
from tracekit.record.xctrace.claim import Premises
from tracekit.record.xctrace.command import Completed
from tracekit.record.xctrace.exporting import only
from tracekit.record.xctrace.recorder import XctraceRecorder
from tracekit.record.xctrace.recording_process import Deadlines
from tracekit.record.xctrace.tool import Timeouts, Xctrace, locate

Answer = Completed | Callable[[tuple[str, ...]], Completed]


class Answers:
    """A `Run` that gives answers from a list and notes what was asked."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, ...]] = []

    def __call__(self, argv: tuple[str, ...], timeout: float) -> Completed:
        """Note the command line and return the next answer; the last one is given again."""
        assert timeout > 0
        self.asked.append(argv)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer(argv) if callable(answer) else answer


@pytest.fixture
def answers() -> type[Answers]:
    return Answers


@pytest.fixture
def say() -> Callable[..., Completed]:
    """Make an answer: what is said, how it ends."""

    def make(stdout: str = "", stderr: str = "", returncode: int = 0) -> Completed:
        return Completed(("xctrace",), returncode, stdout, stderr)

    return make


@pytest.fixture
def tool() -> Callable[[Answers], Xctrace]:
    """Make a tool that asks `Answers` and does not pause."""

    def make(run: Answers) -> Xctrace:
        return Xctrace("/X/xctrace", run, Timeouts(pauses=(0, 0)))

    return make


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    folder = tmp_path / "run"
    folder.mkdir()
    return Recording(folder)


@pytest.fixture
def sleeper() -> Iterator[int]:
    with subprocess.Popen(("sleep", "60")) as process:
        yield process.pid
        process.kill()


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def record(scenario: Scenario, recording: Recording, told: list[str]) -> Record:
    """Record a target with the fake; what progress is told is in `told`."""

    def run(
        target: Target,
        *,
        limit: float = 30,
        deadlines: Deadlines = DEADLINES,
        progress: Callable[[str], None] = told.append,
        premises: Premises | None = None,
    ) -> Recorded:
        tool = locate(timeouts=Timeouts(pauses=(0, 0)))
        manner = Manner(deadlines, pauses=(0, 0), premises=premises or Premises())
        recorder = XctraceRecorder(tool, only(), manner)
        return recorder.record(Request(target, limit, counters="off"), recording, progress)

    return run
