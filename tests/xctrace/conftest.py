"""A tool without Xcode: answers from a list, or the fake on PATH."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tracekit.recording import Recording
from tracekit.xctrace.command import Completed
from tracekit.xctrace.tool import Patience, Xctrace

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
        return Xctrace("/X/xctrace", run, Patience(pauses=(0, 0)))

    return make


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    folder = tmp_path / "run"
    folder.mkdir()
    return Recording(folder)
