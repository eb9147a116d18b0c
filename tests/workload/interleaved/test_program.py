import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit.workload.interleaved.protocol import (
    PROTOCOL,
    Calibrate,
    ChildRequest,
    Finish,
    Prepare,
    RunSteps,
)

pytestmark = pytest.mark.processes

Start = Callable[..., Any]


def naps(workloads: Path, **parameters: Any) -> ChildRequest:
    return ChildRequest(prepare=Prepare("naps", workloads, parameters, 2))


def test_a_whole_life(line: Start, workloads: Path) -> None:
    child = line()
    hello = child.hear().hello
    assert hello.protocol == PROTOCOL
    assert hello.pid == child.process.pid
    assert child.ask(naps(workloads, trick="read")).ready.backend == "cpu"  # it finds nothing
    assert len(child.ask(ChildRequest(steps=RunSteps(0.0))).steps.times) == 5
    assert child.ask(ChildRequest(calibration=Calibrate(seconds=0.0))).calibration.nanoseconds > 0
    assert child.ask(ChildRequest(finish=Finish())).finished.results["depth"].value == 0.25
    assert child.end() == (0, "prepared\n")


def test_a_failure_is_answered_and_its_traceback_kept(line: Start, workloads: Path) -> None:
    child = line()
    child.hear()
    child.ask(naps(workloads, trick="fail"))
    failed = child.ask(ChildRequest(steps=RunSteps(0.0, 9))).failed
    assert (failed.message, failed.exit_code) == ("The workload failed: RuntimeError", 3)
    code, said = child.end()
    assert code == 3
    assert "Traceback" in said


@pytest.mark.parametrize(
    ("asked", "message", "code"),
    [
        (b"what?\n", "What was asked is no request", 3),
        (ChildRequest(prepare=Prepare("nap-s")), "There is no workload 'nap-s'.", 2),
        (
            ChildRequest(steps=RunSteps(1.0)),
            "Steps were asked of a child that nothing was prepared in.",
            3,
        ),
    ],
)
def test_what_cannot_be_done_is_told(
    line: Start, asked: ChildRequest | bytes, message: str, code: int
) -> None:
    child = line()
    child.hear()
    failed = child.ask(asked).failed
    assert failed.message.startswith(message)
    assert failed.exit_code == code
    assert child.end() == (code, "")


def test_who_is_asked_no_more_leaves_after_the_step(line: Start, workloads: Path) -> None:
    child = line()
    child.hear()
    child.ask(naps(workloads))
    child.send(ChildRequest(steps=RunSteps(60.0)))
    time.sleep(0.1)
    begun = time.monotonic()
    assert child.end() == (130, "prepared\n")
    assert time.monotonic() - begun < 4


@pytest.mark.parametrize(("number", "busy"), [(signal.SIGTERM, False), (signal.SIGINT, True)])
def test_a_signal_ends_it_after_the_step_and_no_turn_is_told(
    line: Start, workloads: Path, number: int, busy: bool
) -> None:
    child = line()
    child.hear()
    child.ask(naps(workloads))
    if busy:
        child.send(ChildRequest(steps=RunSteps(60.0)))
        time.sleep(0.1)
    os.kill(child.process.pid, number)
    assert child.process.wait(10) == 130
    assert child.process.stdout.read() == b""
