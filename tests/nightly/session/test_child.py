import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tracekit.base.errors import ToolError, UsageError
from tracekit.base.processes import Child, start_child
from tracekit.nightly.session.child import RemoteWorkload
from tracekit.nightly.session.program import Bounds, BudgetSpentError, Timeouts
from tracekit.record.supervisor.supervisor import Supervisor
from tracekit.workload.interleaved.protocol import (
    PROTOCOL,
    Answer,
    Calibrate,
    Calibrated,
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

pytestmark = [pytest.mark.usefixtures("children"), pytest.mark.processes]

HASTY = Timeouts(0.3, 0.3, 0.3, 0.3, 0.3, 0.3)
Pretend = Callable[..., RemoteWorkload]


@pytest.fixture
def pretend(tmp_path: Path) -> Iterator[Pretend]:
    """Make a child of a script of Python; none outlives the test."""
    started: list[Child] = []

    def make(script: str, deadline: float = math.inf, timeouts: Timeouts = HASTY) -> RemoteWorkload:
        log = tmp_path / "log"
        argv, pipe = [sys.executable, "-S", "-c", script], subprocess.PIPE
        with log.open("ab") as err:
            started.append(
                start_child(argv, timeouts.policy, env=os.environ, stdout=pipe, stderr=err)
            )
        bounds = Bounds(Supervisor(tmp_path), timeouts, deadline)
        return RemoteWorkload("the candidate", started[-1], log, 0, bounds)

    yield make
    for child in started:
        child.clean_up()


def saying(*answers: Answer, then: str = "sys.stdin.read()") -> str:
    said = b"".join(line_of(one) for one in answers)
    return f"import sys, time; sys.stdout.buffer.write({said!r}); sys.stdout.flush(); {then}"


PATIENT = Timeouts(20, 20, 20, 20, 20, 1)


def test_answers_come_in_order(pretend: Pretend) -> None:
    ready, turned = Ready("cpu", last=5, warnings=("late",)), StepTimes((1, 2), length=9)
    finished = Finished()
    child = pretend(
        saying(
            Answer(hello=Hello(PROTOCOL, "0.1.0")),
            Answer(ready=ready),
            Answer(steps=turned),
            Answer(calibration=Calibrated(77, 5)),
            Answer(finished=finished),
            then="",
        ),
        timeouts=PATIENT,
    )
    assert child.greet(Path("python")) == child.hello == Hello(PROTOCOL, "0.1.0")
    assert child.prepare(Prepare("naps")) == child.ready == ready
    assert child.run_steps(RunSteps(1.0)) == turned
    assert child.calibrate(Calibrate()) == 77
    assert child.finish() == finished
    assert child.child.exit_status == 0


def test_an_answer_in_pieces_is_one(pretend: Pretend) -> None:
    words = line_of(Answer(hello=Hello(PROTOCOL, "0.1.0")))
    first, second = words[:9], words[9:]
    script = (
        f"import sys, time; out = sys.stdout.buffer; out.write({first!r}); out.flush(); "
        f"time.sleep(0.1); out.write({second!r}); out.flush(); sys.stdin.read()"
    )
    assert pretend(script, timeouts=PATIENT).greet(Path("python")).tracekit == "0.1.0"


def test_an_answer_of_a_million_steps_comes_whole(pretend: Pretend) -> None:
    script = (
        "import sys; sys.stdout.write('{\"steps\":{\"times\":[' + ','.join(['123'] * 1000000)"
        " + '],\"length\":1}}\\n'); sys.stdout.flush(); sys.stdin.read()"
    )
    assert pretend(script, timeouts=PATIENT).run_steps(RunSteps(1.0)).times == (123,) * 1_000_000


def test_who_says_nothing_is_told(pretend: Pretend) -> None:
    child = pretend("import sys; sys.stderr.write('busy'); sys.stderr.flush(); sys.stdin.read()")
    time.sleep(0.3)
    with pytest.raises(ToolError) as caught:
        child.ask(ChildRequest(calibration=Calibrate()), 0.3)
    assert caught.value.message == (
        "The candidate did not answer within 0 s and was ended. Its last words: busy"
    )


def test_a_word_that_is_not_ended_is_no_answer(pretend: Pretend) -> None:
    child = pretend("import sys; sys.stdout.write('{'); sys.stdout.flush(); sys.stdin.read()")
    with pytest.raises(ToolError, match="did not answer"):
        child.ask(ChildRequest(calibration=Calibrate()), 0.3)


def test_the_night_s_end_comes_before_a_timeout(pretend: Pretend) -> None:
    child = pretend("import sys; sys.stdin.read()", deadline=time.monotonic() + 0.2)
    told = "^The night's time was spent while the candidate worked"
    with pytest.raises(BudgetSpentError, match=told):
        child.ask(ChildRequest(calibration=Calibrate()), 60)


@pytest.mark.parametrize(("code", "kind"), [(2, UsageError), (3, ToolError), (4, ToolError)])
def test_a_failure_is_what_it_was_there(
    pretend: Pretend, code: int, kind: type[ToolError] | type[UsageError]
) -> None:
    child = pretend(saying(Answer(failed=Failed("it broke.", "fix it", code))), timeouts=PATIENT)
    with pytest.raises(kind) as caught:
        child.prepare(Prepare("naps"))
    assert (caught.value.message, caught.value.hint) == ("The candidate: it broke.", "fix it")


def test_another_answer_than_was_asked_for_is_refused(pretend: Pretend) -> None:
    child = pretend(saying(Answer(finished=Finished())), timeouts=PATIENT)
    with pytest.raises(ToolError, match="something else than it was asked"):
        child.run_steps(RunSteps(1.0))


def test_a_side_that_closes_its_output_is_gone(pretend: Pretend) -> None:
    child = pretend("import os, sys; os.close(1); sys.stdin.read(); os._exit(0)")
    with pytest.raises(ToolError, match=r"ended in the middle of its work, with no exit code"):
        child.ask(ChildRequest(calibration=Calibrate()), 20)


def test_what_is_missing_elsewhere_is_not_taken_for_tracekit(pretend: Pretend) -> None:
    script = "import sys; sys.stderr.write('No module named other'); sys.exit(1)"
    with pytest.raises(ToolError, match=r"with exit code 1\. Its last words: No module named"):
        pretend(script, timeouts=PATIENT).greet(Path("python"))
