"""Steps that Metal captures, in this process, with an MLX that notes what it is asked."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from tracekit.base.errors import RecordingError, ToolError
from tracekit.workload.journal import fold
from tracekit.workload.worker.loop import Loop, Stop
from tracekit.workload.worker.phases import capture_steps
from tracekit.workload.worker.spec import Account
from tracekit.workload.workload import Step

Asked = list[str]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Put an MLX in place; return what it was asked for, and what was done meanwhile."""
    told: Asked = []

    def start(path: str) -> None:
        told.append("start")
        Path(path).mkdir()

    core = ModuleType("mlx.core")
    core.metal = SimpleNamespace(  # type: ignore[attr-defined]
        is_available=lambda: True,
        start_capture=start,
        stop_capture=lambda: told.append("stop"),
    )
    monkeypatch.setitem(sys.modules, "mlx.core", core)
    return told


@pytest.fixture
def loop_of(tmp_path: Path, asked: Asked) -> Iterator[Callable[..., Loop]]:
    account = Account(tmp_path / "workload.jsonl", tmp_path / "workload.json")

    def make(backend: str = "metal", wait: Callable[[object], None] | None = None) -> Loop:
        step = Step(lambda: asked.append("step"), wait or (lambda _: None), backend)
        return Loop(step, account, Stop())

    yield make
    account.end("done")


def test_the_steps_lie_between_start_and_stop(
    tmp_path: Path, loop_of: Callable[..., Loop], asked: Asked
) -> None:
    capture_steps(loop_of(), tmp_path / "a.gputrace", 2)
    assert asked == ["start", "step", "step", "stop"]
    report = fold(tmp_path / "workload.jsonl")
    assert report.state == "capturing"
    assert report.steps == ()


def test_a_capture_is_closed_when_a_step_fails(
    tmp_path: Path, loop_of: Callable[..., Loop], asked: Asked
) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("lost the device")

    with pytest.raises(RuntimeError, match="lost the device"):
        capture_steps(loop_of(wait=fail), tmp_path / "a.gputrace", 2)
    assert asked == ["start", "step", "stop"]


def test_an_old_capture_is_kept(tmp_path: Path, loop_of: Callable[..., Loop], asked: Asked) -> None:
    (tmp_path / "a.gputrace").mkdir()
    with pytest.raises(RecordingError, match="never written over"):
        capture_steps(loop_of(), tmp_path / "a.gputrace", 2)
    assert asked == []


def test_work_on_the_cpu_is_not_captured(tmp_path: Path, loop_of: Callable[..., Loop]) -> None:
    with pytest.raises(ToolError, match="no GPU work to capture"):
        capture_steps(loop_of("cpu"), tmp_path / "a.gputrace", 2)
