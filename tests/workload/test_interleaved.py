"""The child of interleaved runs: its protocol, its state in this process, and its program."""

import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.errors import InputError, ToolError
from tracekit.workload.interleaved import resident_command
from tracekit.workload.interleaved.protocol import (
    PROTOCOL,
    Calibrate,
    Calibrated,
    ChildAnswer,
    ChildRequest,
    Failed,
    Finish,
    Finished,
    Hello,
    Prepare,
    Ready,
    RunSteps,
    StepTimes,
    answer_of,
    line_of,
    request_of,
)
from tracekit.workload.interleaved.resident import Resident, calibrate, step_times, work_of
from tracekit.workload.worker.loop import StepLoop
from tracekit.workload.worker.notes import Notes
from tracekit.workload.worker.stopping import Stop
from tracekit.workload.workload import IDLE, Measured, Step, Work

processes = pytest.mark.processes
NAPS = """
import sys
import time

from tracekit.workload import IDLE, Step, StepReport, workload

names = set()
counted = {"steps": 0, "begun": 0}


@workload
def naps(seconds: float = 0.001, trick: str = "") -> Step:
    counted.update(steps=0, begun=0)
    names.clear()
    print("prepared")
    names.update(["prepared"])

    def wait(_):
        counted["steps"] += 1
        if trick == "churn" or (trick == "compile" and counted["steps"] in (1, 2, 20)):
            names.add(f"kernel-{counted['steps']}")
        if trick == "read":
            assert sys.stdin.read() == ""
        time.sleep(seconds)

    def tell():
        idle = counted["steps"] % 2 == 0
        return StepReport(variant=IDLE) if idle else StepReport(tokens=counted["steps"])

    return Step(
        submit=lambda: None,
        wait=wait,
        backend="cpu",
        tokens=3,
        specializations=lambda: frozenset(names),
        results={"depth": 0.25},
        begin=lambda: counted.update(begun=counted["begun"] + 1),
        tell=tell if trick == "idle" else None,
        exhausted=lambda: trick == "exhausted" and counted["steps"] >= 7,
        finish=lambda: dict(counted),
        leave=lambda: print("left"),
    )
"""


def test_messages_arrive_unchanged() -> None:
    for message in (
        ChildRequest(prepare=Prepare("paged", Path("/own"), {"batch": 2, "kernel": None}, 7)),
        ChildRequest(steps=RunSteps(0.5, 9, 0.01)),
        ChildRequest(calibration=Calibrate("gpu", mlx=True)),
        ChildRequest(finish=Finish()),
        ChildAnswer(hello=Hello(PROTOCOL, "0.1.0", "3.12.1", "0.30.0", 4711)),
        ChildAnswer(
            ready=Ready("metal", "0.30.0", {"memory_size": 1 << 40}, 16, 12, 345, ("late",))
        ),
        ChildAnswer(steps=StepTimes((1, 2, 3), 4, 5, 6, ("a", "b"), ("kernel",), True)),
        ChildAnswer(calibration=Calibrated(123, 4)),
        ChildAnswer(
            finished=Finished({"error": Measured(None, "ratio", "lower", "nobody looked")})
        ),
        ChildAnswer(failed=Failed("it broke", "fix it", 2)),
    ):
        line = line_of(message)
        assert (line[-1:], line.count(b"\n"), len(json.loads(line))) == (b"\n", 1, 1), message
        assert (request_of if isinstance(message, ChildRequest) else answer_of)(line) == message


def test_other_messages_are_not_requests(subtests: pytest.Subtests) -> None:
    for line in (
        *(b"", b"{", b"[]", b"{}", b"\xff", b'{"dance":{}}', b'{"steps":{}}', b'{"steps":null}'),
        *(b'{"steps":{"seconds":"x"}}', b'{"finish":{},"calibration":{}}'),
    ):
        with subtests.test(line), pytest.raises(InputError, match="The line is not"):
            request_of(line)


def test_other_messages_are_not_answers() -> None:
    for line in (b"", b"hello", b'{"steps":{"times":["x"]}}', b'{"hello":{}}'):
        with pytest.raises(InputError, match="The line is not an answer"):
            answer_of(line)


def test_calibration_is_the_median_of_work_done_five_times_at_least() -> None:
    done: list[int] = []
    calibration = calibrate(lambda: done.append(1), Calibrate(seconds=0.0, wake=0.0))
    assert (calibration.times, len(done)) == (5, 6)
    for mlx in (False, True):
        calibration = calibrate(work_of(Calibrate(mlx=mlx)), Calibrate(seconds=0.02, wake=0.0))
        assert calibration.times >= 5, mlx
        assert 1e3 < calibration.nanoseconds < 1e8, mlx


def test_a_device_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlx.core", None)
    with pytest.raises(ToolError, match=r"^The machine's pace cannot be measured by MLX"):
        work_of(Calibrate("gpu"))


@pytest.fixture
def workloads(tmp_path: Path) -> Path:
    (tmp_path / "naps.py").write_text(NAPS)
    return tmp_path


@pytest.fixture
def resident() -> Iterator[Resident]:
    yield Resident(Stop())
    gc.unfreeze()


def prepare(resident: Resident, workloads: Path, warmup: int = 2, **parameters: Any) -> Ready:
    preparation = Prepare("naps", workloads, {"seconds": 0.0, **parameters}, warmup)
    return resident.answer(ChildRequest(prepare=preparation)).ready


def make_steps(
    resident: Resident, seconds: float = 0.0, min_steps: int = 5, wake: float = 0.0
) -> StepTimes:
    return resident.answer(ChildRequest(steps=RunSteps(seconds, min_steps, wake))).steps


def test_it_is_warm_once_it_is_ready(resident: Resident, workloads: Path) -> None:
    ready = prepare(resident, workloads, warmup=4)
    assert (ready.backend, ready.tokens, ready.steps, ready.warnings) == ("cpu", 3, 4, ())
    assert ready.last > 0
    never = prepare(resident, workloads, trick="churn")
    assert never.steps == 64
    assert "before 2 steps in a row brought no new pipeline" in never.warnings[0]


def test_steps_that_wait_for_load_are_kept_apart(resident: Resident, workloads: Path) -> None:
    prepare(resident, workloads, warmup=2, trick="idle")
    turn = make_steps(resident, min_steps=4)
    assert (len(turn.times), turn.idle, turn.variants) == (2, 2, ())
    assert turn.tokens == 3 + 5


def test_work_that_runs_out_is_said(resident: Resident, workloads: Path) -> None:
    prepare(resident, workloads, warmup=2, trick="exhausted")
    first_turn, second = make_steps(resident, seconds=1), make_steps(resident, seconds=1)
    assert (len(first_turn.times), first_turn.exhausted) == (5, True)
    assert second == StepTimes(exhausted=True)


def test_tokens_are_those_of_the_variant() -> None:
    variants = {"paged": Work(tokens=7), "sdpa": Work(tokens=5)}
    step = Step(int, lambda _: None, "cpu", tokens=100, variants=variants)
    notes = Notes()
    for start, values in ((10, {"variant": "paged"}), (20, {"variant": "sdpa", "tokens": 1})):
        notes.mark("step", start=start, submitted=start, completed=start + 4, **values)
    notes.mark("step", start=30, submitted=31, completed=39, variant=IDLE)
    assert step_times(notes, step) == StepTimes((4, 4), 1, 8, 29, ("paged", "sdpa"))


def test_new_pipelines_prolong_a_warm_up_and_are_named(resident: Resident, workloads: Path) -> None:
    assert prepare(resident, workloads, trick="compile").steps == 4
    assert make_steps(resident, min_steps=16).specializations == ("kernel-20",)
    assert make_steps(resident).specializations == ()


def test_a_turn_has_its_fewest_steps_or_its_time(resident: Resident, workloads: Path) -> None:
    prepare(resident, workloads, seconds=0.002)
    for min_steps in (7, 6):  # each turn tells its own steps
        turn = make_steps(resident, min_steps=min_steps)
        assert turn == StepTimes(turn.times, 0, 3 * min_steps, turn.length)
        assert len(turn.times) == min_steps
        assert min(turn.times) >= 0.002e9, min_steps
        assert sum(turn.times) <= turn.length, min_steps
    assert 0.045e9 < make_steps(resident, seconds=0.05).length < 0.5e9


def test_work_begins_once_and_steps_that_wake_it_do_not_count(
    resident: Resident, workloads: Path
) -> None:
    prepare(resident, workloads)
    make_steps(resident)
    assert len(make_steps(resident, wake=0.05).times) == 5
    results = resident.answer(ChildRequest(finish=Finish())).finished.results
    assert (results["begun"], results["depth"]) == (Measured(1), Measured(0.25))
    assert results["steps"].value > 12  # two warm up, ten are told


class Line:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.hello = answer_of(process.stdout.readline()).hello

    def send(self, request: ChildRequest | bytes) -> None:
        self.process.stdin.write(request if isinstance(request, bytes) else line_of(request))
        self.process.stdin.flush()

    def ask(self, request: ChildRequest | bytes) -> ChildAnswer:
        self.send(request)
        return answer_of(self.process.stdout.readline())

    def end(self) -> tuple[int, str]:
        """Close its input and wait; return its exit code and what it wrote to stderr."""
        output, err = self.process.communicate(timeout=20)
        assert output == b""
        return self.process.returncode, err.decode()


@pytest.fixture
def child() -> Iterator[Line]:
    """A child that has said hello; it does not outlive the test."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(resident_command(Path(sys.executable)), **pipes) as process:
        yield Line(process)
        process.kill()


def naps(workloads: Path, **parameters: Any) -> ChildRequest:
    return ChildRequest(prepare=Prepare("naps", workloads, parameters, 2))


@processes
def test_a_whole_life(child: Line, workloads: Path) -> None:
    hello, python = child.hello, ".".join(map(str, sys.version_info[:3]))
    assert (hello.protocol, hello.pid, hello.python) == (PROTOCOL, child.process.pid, python)
    assert child.ask(naps(workloads, trick="read")).ready.backend == "cpu"  # it finds nothing
    assert len(child.ask(ChildRequest(steps=RunSteps(0.0))).steps.times) == 5
    assert child.ask(ChildRequest(calibration=Calibrate(seconds=0.0))).calibration.nanoseconds > 0
    assert child.ask(ChildRequest(finish=Finish())).finished.results["depth"].value == 0.25
    assert child.end() == (0, "prepared\nleft\n")


@processes
@pytest.mark.parametrize(
    ("asked", "message", "code"),
    [
        (b"what?\n", "The line is not a request", 3),
        (ChildRequest(prepare=Prepare("nap-s")), "There is no workload 'nap-s'.", 2),
        (ChildRequest(steps=RunSteps(1.0)), "Steps were asked of a child that nothing was", 3),
    ],
)
def test_impossible_requests_are_answered(
    child: Line, asked: ChildRequest | bytes, message: str, code: int
) -> None:
    failed = child.ask(asked).failed
    assert (failed.message.startswith(message), failed.exit_code) == (True, code)
    assert child.end() == (code, "")


@processes
@pytest.mark.parametrize("number", [0, signal.SIGINT])  # 0 sends none: it is asked no more
def test_who_is_stopped_leaves_after_the_step(child: Line, workloads: Path, number: int) -> None:
    child.ask(naps(workloads))
    child.send(ChildRequest(steps=RunSteps(60.0)))
    time.sleep(0.1)
    os.kill(child.process.pid, number)
    assert child.end() == (130, "prepared\n")  # within 20 s


@processes
def test_a_signal_ends_one_that_waits_to_be_asked(child: Line) -> None:
    os.kill(child.process.pid, signal.SIGTERM)
    assert child.process.wait(20) == 130


def test_planted_work_makes_each_step_longer_and_goes_with_the_turn() -> None:
    resident = Resident(Stop())
    step = Step(submit=lambda: None, wait=lambda _: None, backend="cpu")
    resident._loop = StepLoop(step, resident.notes, resident.stop)
    planted = 20_000_000.0
    turn = resident.answer(ChildRequest(steps=RunSteps(0.0, 5, 0.0, planted))).steps
    assert turn is not None
    assert min(turn.times) > planted / 4, "a busy machine may make a unit look longer than it is"
    assert resident._loop.step is step
