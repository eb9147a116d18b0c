"""The worker as recorders see it: a program, a journal, an exit code."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tracekit.workload.journal import WorkloadReport, fold
from tracekit.workload.worker.spec import Spec, command
from worker_naps import naps_that

pytestmark = pytest.mark.processes

Start = Callable[..., subprocess.Popen[str]]
When = Callable[..., WorkloadReport]
MakeSpec = Callable[..., Spec]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start the worker of the spec that was made; none outlives the test."""
    started: list[subprocess.Popen[str]] = []

    def begin(**options: Any) -> subprocess.Popen[str]:
        argv = command(tmp_path / "worker.json")
        started.append(subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, **options))
        return started[-1]

    yield begin
    for process in started:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)


@pytest.fixture
def when(report: Callable[[], WorkloadReport]) -> When:
    def until(condition: Callable[[WorkloadReport], bool]) -> WorkloadReport:
        for _ in range(3000):
            if condition(report()):
                return report()
            time.sleep(0.01)
        pytest.fail(f"the journal never said so: {report()}")

    return until


def await_end(worker: subprocess.Popen[str]) -> tuple[int, str]:
    _, complaint = worker.communicate(timeout=60)
    return worker.returncode, complaint


def load_report(spec: Spec) -> WorkloadReport:
    saved_report = msgspec.json.decode(spec.report.read_bytes(), type=WorkloadReport)
    assert saved_report == fold(spec.journal)
    return saved_report


def count(report: WorkloadReport, phase: str) -> int:
    return sum(step.phase == phase for step in report.steps)


def test_a_whole_life(make_spec: MakeSpec, start: Start) -> None:
    text = naps_that().replace("def naps()", "def naps(size: int)").replace("=3", "=size, flops=7")
    spec = make_spec(text, reference=True, parameters={"size": 3})
    assert await_end(start()) == (0, "")
    report = load_report(spec)
    assert (report.state, report.complete, report.error) == ("done", True, "")
    assert [phase.name for phase in report.phases] == ["prepare", "warm-up", "steady"]
    assert (count(report, "warm-up"), count(report, "steady")) == (2, 5)
    assert (report.workload, report.parameters) == ("naps", {"size": 3})
    assert (report.model.tokens, report.model.flops, report.backend) == (3, 7, "cpu")
    assert report.pid > 0
    assert report.process
    # a worker whose workload has no MLX loads none
    assert {gauge.source for gauge in report.gauges} == {"tracekit (Python)"}
    reasons = {level.reason for level in report.memory if level.what == "mlx_active"}
    assert reasons == {"MLX is not loaded"}
    assert len(report.anchors) == 2
    ends = [phase.end for phase in report.phases]
    assert ends[:-1] == [phase.start for phase in report.phases[1:]]
    for step in report.steps:
        assert step.start <= step.submitted <= step.completed
        assert step.completed - step.submitted >= 1_000_000
        assert step.phase != "steady" or step.start >= report.phases[-1].start


def test_a_step_that_raises_is_reported(make_spec: MakeSpec, start: Start) -> None:
    spec = make_spec(naps_that(step='1 / 0 if made == 4 else ""'))
    code, complaint = await_end(start())
    reason = "The workload failed: ZeroDivisionError: division by zero"
    assert complaint.rstrip().endswith(reason)
    assert "Traceback" in complaint
    report = load_report(spec)
    assert (report.state, report.complete, report.error) == ("failed", True, reason)
    assert code == report.exit_code == len(report.steps) == 3


def test_refused_parameters_are_usage(make_spec: MakeSpec, start: Start) -> None:
    make_spec(naps_that(prepare='raise UsageError("Size 1 is too small.", "Take 2.")'))
    assert await_end(start()) == (2, "error: Size 1 is too small.\nhint: Take 2.\n")


def test_it_waits_for_the_go(make_spec: MakeSpec, start: Start, when: When, tmp_path: Path) -> None:
    spec = make_spec(go_file=tmp_path / "go")
    worker = start()
    waiting = when(lambda report: report.state == "waiting" and len(report.phases) == 3)
    assert waiting.phases[-1].name == "waiting"
    assert count(waiting, "steady") == 0
    (tmp_path / "go").touch()
    when(lambda report: report.complete)
    assert worker.poll() is None
    (tmp_path / "go").unlink()
    assert worker.wait(30) == 0
    phases = {
        phase.name: count(load_report(spec), phase.name) for phase in load_report(spec).phases
    }
    assert phases == {"prepare": 0, "warm-up": 2, "waiting": 0, "wake-up": 2, "steady": 5}


def test_a_worker_that_fails_stays_for_its_recorder_too(
    make_spec: MakeSpec, start: Start, when: When, tmp_path: Path
) -> None:
    slow_and_wrong = naps_that(step="time.sleep(0.4); 1 / (made < 4)")
    make_spec(slow_and_wrong, go_file=tmp_path / "go", repeats=100)
    (tmp_path / "go").touch()
    worker = start()
    report = when(lambda report: report.complete)
    # slow steps wake it up but once
    assert (report.state, count(report, "wake-up"), worker.poll()) == ("failed", 1, None)
    (tmp_path / "go").unlink()
    assert worker.wait(30) == 3


def test_a_worker_that_stays_heeds_a_signal(
    make_spec: MakeSpec, start: Start, when: When, tmp_path: Path
) -> None:
    spec = make_spec(go_file=tmp_path / "go")
    (tmp_path / "go").touch()
    worker = start()
    when(lambda report: report.complete)
    worker.send_signal(signal.SIGINT)
    assert worker.wait(30) == 0
    assert load_report(spec).state == "done"


@pytest.mark.parametrize("state", ["waiting", "steady", "done"])
def test_a_worker_ends_with_its_recorder(
    state: str, make_spec: MakeSpec, start: Start, when: When, tmp_path: Path
) -> None:
    endless = {} if state == "done" else {"repeats": None, "seconds": 600}
    spec = make_spec(go_file=tmp_path / "go", lifeline=True, **endless)
    if state != "waiting":
        (tmp_path / "go").touch()
    worker = start(stdin=subprocess.PIPE)
    when(lambda report: report.state == state)
    worker.communicate("what is said does not matter", timeout=60)
    assert worker.returncode == 130  # by its lifeline, where it only stayed
    assert load_report(spec).state == ("done" if state == "done" else "interrupted")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_one_sentence(make_spec: MakeSpec, start: Start) -> None:
    journal = make_spec().journal
    journal.symlink_to("/dev/full")
    assert await_end(start()) == (
        3,
        f"error: {journal} cannot be written: No space left on device.\n",
    )


WAITS = """
import time
from tracekit.workload.worker.stopping import Stop
stop = Stop()
stop.on_end_of(0, grace=0.1)
while not stop.requested:
    time.sleep(0.01)
print(stop.abandoned, flush=True)
time.sleep(600)
"""


def test_who_does_not_stop_is_ended() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WAITS], input="", capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (130, "True\n")
