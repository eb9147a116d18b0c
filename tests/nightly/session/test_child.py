"""Processes of a session: how a workload is greeted, asked and ended, and a program run."""

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from tracekit.base.errors import RecordingError, ToolError, UsageError
from tracekit.base.processes import Child, start_child
from tracekit.nightly.session.child import RemoteWorkload, start_workload
from tracekit.nightly.session.program import Bounds, BudgetSpentError, Program, Timeouts, run
from tracekit.record.supervisor import Supervisor
from tracekit.workload.interleaved.protocol import (
    PROTOCOL,
    Calibrate,
    Calibrated,
    ChildAnswer,
    ChildRequest,
    Failed,
    Finished,
    Hello,
    Prepare,
    Ready,
    RunSteps,
    StepTimes,
    line_of,
)

PATIENT = Timeouts(20, 20, 20, 20, 20, 1)
QUESTION = ChildRequest(calibration=Calibrate())
Pretend = Callable[..., RemoteWorkload]


@pytest.fixture
def pretend(tmp_path: Path) -> Iterator[Pretend]:
    """Make a child of a script of Python; none outlives the test."""
    started_children: list[Child] = []

    def make(script: str, deadline: float = math.inf) -> RemoteWorkload:
        log = tmp_path / "log"
        log.write_text("words of another night\n")
        argv, pipe = [sys.executable, "-IS", "-c", script], subprocess.PIPE
        with log.open("ab") as err:
            started_children.append(
                start_child(argv, PATIENT.policy, env=os.environ, stdout=pipe, stderr=err)
            )
        bounds = Bounds(Supervisor(tmp_path), PATIENT, deadline)
        return RemoteWorkload("the candidate", started_children[-1], log, 23, bounds)

    yield make
    for child in started_children:
        child.clean_up()


def saying(*answers: ChildAnswer, then: str = "sys.stdin.read()") -> str:
    lines = b"".join(line_of(answer) for answer in answers)
    return f"import os, sys; os.write(1, {lines!r}); {then}"


def test_answers_come_in_order_and_whole(pretend: Pretend) -> None:
    ready, many = Ready("cpu", last=5, warnings=("late",)), StepTimes((123,) * 25_000, length=9)
    greeting = line_of(ChildAnswer(hello=Hello(PROTOCOL, "0.1.0")))
    later_lines = line_of(ChildAnswer(ready=ready)) + line_of(ChildAnswer(steps=many))
    later_lines += line_of(ChildAnswer(calibration=Calibrated(77, 5))) + line_of(
        ChildAnswer(finished=Finished())
    )
    # The first answer comes in pieces, all others at once.
    script = f"import os, sys, time; os.write(1, {greeting[:9]!r}); time.sleep(0.1)\n"
    script += f"sys.stdout.buffer.write({greeting[9:] + later_lines!r})"
    child = pretend(script)
    assert child.greet(Path("python")) == child.hello == Hello(PROTOCOL, "0.1.0")
    assert child.prepare(Prepare("naps")) == child.ready == ready
    assert (child.run_steps(RunSteps(1.0)), child.calibrate(Calibrate())) == (many, 77)
    child.begin_finishing()
    assert (child.end_finishing(), child.child.exit_status) == (Finished(), 0)


def test_who_does_not_answer_in_time_is_quoted(pretend: Pretend) -> None:
    script = "import os, sys; os.write(2, b'busy'); os.write(1, b'{'); sys.stdin.read()"
    child = pretend(script)
    while not child.log.read_bytes()[child.since :]:
        time.sleep(0.01)
    with pytest.raises(ToolError) as caught:
        child.ask(QUESTION, 0.3)
    assert caught.value.message == (
        "The candidate did not answer within 0 s and was ended. Its last words: busy"
    )
    # A turn has the time of its steps, as long as they last, ten times, and the patience beyond.
    child = pretend(script, deadline=time.monotonic() + 20)
    child.bounds = replace(child.bounds, timeouts=replace(PATIENT, turn=0.19))
    child.ready = Ready("cpu", last=2_000_000)
    with pytest.raises(ToolError, match="did not answer within 1 s"):
        child.run_steps(RunSteps(0.01, least=5, wake=0.01))
    child = pretend("import sys; sys.stdin.read()", deadline=time.monotonic() + 0.2)
    message = "^The night's time was spent while the candidate worked"
    with pytest.raises(BudgetSpentError, match=message):
        child.ask(QUESTION, math.inf)


def test_a_failure_keeps_its_kind(pretend: Pretend) -> None:
    for code, kind in ((2, UsageError), (3, ToolError), (4, ToolError)):
        child = pretend(saying(ChildAnswer(failed=Failed("it broke.", "fix it", code))))
        with pytest.raises(kind) as caught:
            child.prepare(Prepare("naps"))
        assert caught.value.message == "The candidate: it broke.", code
        assert caught.value.hint == "fix it", code


@pytest.mark.processes
def test_other_greetings_are_an_error(pretend: Pretend) -> None:
    for script, reason in (
        (saying(ChildAnswer(hello=Hello(99, "9.0"))),
         "has tracekit 9.0, which takes turns by protocol 99; this one does by protocol 2"),
        (saying(ChildAnswer(finished=Finished())), "something else than it was asked"),
        (saying(then="os.write(1, b'hello\\n')"), "gave an invalid answer"),
        (saying(then="os.close(1); sys.stdin.read(); os._exit(0)"),
         "ended in the middle of its work, with no exit code"),
        (saying(then="os.write(2, b'No module named other'); sys.exit(1)"),
         r"with exit code 1\. Its last words: No module named other"),
    ):  # fmt: skip
        with pytest.raises(ToolError, match=reason) as caught:
            pretend(script).greet(Path("python"))
        hints = {"No module": "`uv pip install --python ", "protocol": "the same tracekit"}
        expected = next((hint for words, hint in hints.items() if words in reason), "")
        assert expected in caught.value.hint, reason


@pytest.mark.processes
def test_a_real_one_is_greeted_and_ended(
    ready: Callable[..., Any], bounds: Bounds, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    log.write_text("words of another night\n")
    with ready(reference=None) as prepared:
        variant = prepared.candidate
    with start_workload("the candidate", variant, log, bounds) as child:
        assert child.hello.pid == child.child.pid
        assert psutil.Process(child.child.pid).cwd() == str(variant.cwd)
        with pytest.raises(ToolError, match="that nothing was prepared in"):
            child.ask(ChildRequest(steps=RunSteps(1.0)), 20)
    assert child.child.exit_status == 3
    false = tmp_path / "false"
    false.write_text("#!/bin/sh\nexit 1\n")
    false.chmod(0o755)
    dead = replace(variant, python=false)
    reason = r"^The candidate ended in the middle of its work, with exit code 1\.$"
    with pytest.raises(ToolError, match=reason), start_workload("the candidate", dead, log, bounds):
        pytest.fail("it was greeted")
    assert log.read_text() == "words of another night\n"


def shell(folder: Path, line: str, output: Path | None = None) -> Program:
    log = folder / "logs" / "one.log"
    return Program(("sh", "-c", line), dict(os.environ), folder, log, output)


def test_a_programs_output_goes_to_its_log_and_output(bounds: Bounds, tmp_path: Path) -> None:
    log, output = tmp_path / "logs" / "one.log", tmp_path / "output"
    output.write_text("of the one before")
    assert run(shell(tmp_path, "pwd; echo two >&2; exit 5"), bounds, 10) == 5
    assert run(shell(tmp_path, "echo one; echo three >&2; kill -9 $$", output), bounds, 10) == -9
    assert (log.read_text(), output.read_text()) == (f"{tmp_path}\ntwo\nthree\n", "one\n")
    with pytest.raises(RecordingError, match=r"one\.log cannot be written"):
        run(shell(output, "true"), bounds, 10)


def test_one_that_takes_too_long_is_ended(bounds: Bounds, tmp_path: Path) -> None:
    reason = r"did not end within 0\.5 s and was ended\. Its last words: slow"
    with pytest.raises(ToolError, match=reason):
        run(shell(tmp_path, "echo slow; exec sleep 60"), bounds, 0.5)
    soon = replace(bounds, deadline=time.monotonic() + 0.2)
    with pytest.raises(BudgetSpentError, match="time was spent while"):
        run(shell(tmp_path, "exec sleep 60"), soon, 60)
