"""The hot loop and what hangs on it, in this process, with steps that count."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tracekit.base.errors import RecordingError
from tracekit.record.host.recorder import Listener
from tracekit.workload.journal import WorkloadReport, fold
from tracekit.workload.worker.loop import FEWEST, FEWEST_PAIRS, Loop, Stop, budget, measure
from tracekit.workload.worker.phases import calm_down, capture_steps
from tracekit.workload.worker.spec import Account, Spec
from tracekit.workload.workload import Gauge, Request, Span, Step, StepReport

NEVER = 2**63 - 1


class Counter:
    """A step that knows what was done with it."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.names: set[str] = set()
        self.on_wait: Callable[[], None] = lambda: None

    def submit(self) -> int:
        """Hand out the number of the call."""
        self.calls.append("submit")
        return len(self.calls)

    def wait(self, work: int) -> None:
        """Take back what the last call handed out."""
        assert work == len(self.calls)
        self.calls.append("wait")
        self.on_wait()

    def step(self) -> Step:
        """Be the step of a workload."""
        return Step(self.submit, self.wait, "cpu", specializations=lambda: frozenset(self.names))


@pytest.fixture(autouse=True)
def _unsettled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracekit.workload.worker.loop._SETTLE", 0.0)


@pytest.fixture
def counter() -> Counter:
    return Counter()


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    one = Account(tmp_path / "workload.jsonl", tmp_path / "workload.json")
    yield one
    one.end("done")


@pytest.fixture
def loop(counter: Counter, account: Account) -> Loop:
    return Loop(counter.step(), account, Stop())


@pytest.fixture
def told(tmp_path: Path) -> Callable[[], WorkloadReport]:
    return lambda: fold(tmp_path / "workload.jsonl")


@pytest.fixture
def spec(tmp_path: Path) -> Spec:
    return Spec(
        file=tmp_path / "none.py",
        name="none",
        journal=tmp_path / "workload.jsonl",
        report=tmp_path / "workload.json",
        warmup=4,
        repeats=1,
    )


Told = Callable[[], WorkloadReport]


def test_each_step_is_submitted_awaited_and_marked(
    loop: Loop, counter: Counter, told: Told
) -> None:
    assert loop.run("steady", 3, NEVER) == 3
    assert counter.calls == ["submit", "wait"] * 3
    steps = told().steps
    assert [step.phase for step in steps] == ["steady"] * 3
    moments = [(one.start, one.submitted, one.completed) for one in steps]
    flat = [moment for step in moments for moment in step]
    assert flat == sorted(flat)
    assert loop.last == steps[-1].completed - steps[-1].start


@pytest.mark.parametrize(
    ("wanted", "deadline", "made"), [(100, 0, FEWEST), (1, 0, 1), (0, NEVER, 0)]
)
def test_a_deadline_long_past_still_lets_some_steps_be_made(
    wanted: int, deadline: int, made: int, loop: Loop
) -> None:
    assert loop.run("steady", wanted, deadline) == made


def test_a_request_to_stop_is_heard_after_the_step(loop: Loop, counter: Counter) -> None:
    def ask() -> None:
        loop.stop.requests += 1

    counter.on_wait = ask
    assert loop.run("steady", 100, NEVER) == 1
    assert counter.calls == ["submit", "wait"]
    assert loop.run("steady", 100, NEVER) == 0


def test_unrecorded_steps_leave_no_mark(loop: Loop, counter: Counter, told: Told) -> None:
    loop.run_unrecorded(4)
    assert counter.calls == ["submit", "wait"] * 4
    assert told().steps == ()


def test_a_pipeline_is_marked_once(loop: Loop, counter: Counter, told: Told) -> None:
    counter.names = {"b", "a"}
    assert loop.look()
    assert not loop.look()
    counter.names = {"b", "a", "c"}
    loop.run("steady", 2, NEVER)
    assert [one.name for one in told().specializations] == ["a", "b", "c"]


def test_a_new_pipeline_starts_the_warm_up_again(loop: Loop, counter: Counter, told: Told) -> None:
    def compile_another() -> None:
        if len(counter.calls) == 6:
            counter.names = {"late"}

    counter.on_wait = compile_another
    calm_down(loop, 4)
    assert len(told().steps) == 3 + 4
    assert told().warnings == ()


def test_a_warm_up_out_of_time_is_told(
    loop: Loop, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracekit.workload.worker.phases._MOST_WARMUP", 0)
    calm_down(loop, 4)
    assert len(told().steps) == 1
    (warning,) = told().warnings
    assert warning == "The warm-up ended before 4 steps in a row brought no new pipeline."


def test_blocks_take_turns(loop: Loop, counter: Counter, told: Told, spec: Spec) -> None:
    loop.last = 50_000_000  # so that a block is one step
    measure(loop, spec)
    blocks = told().blocks
    assert len(blocks) >= 2 * FEWEST_PAIRS
    assert [block.recorded for block in blocks[:8]] == [True, False, False, True] * 2
    assert {block.steps for block in blocks} == {1}
    assert len(counter.calls) == 2 * len(blocks)
    assert len(told().steps) == sum(block.recorded for block in blocks)


def test_blocks_end_when_there_is_nothing_left_to_do(
    counter: Counter, account: Account, told: Told, spec: Spec
) -> None:
    """A block that was cut short is not marked: it cannot be compared."""
    step = replace(counter.step(), exhausted=lambda: counter.calls.count("wait") >= 7)
    loop = Loop(step, account, Stop(), last=25_000_000)  # a block is two steps
    measure(loop, spec)
    assert counter.calls.count("wait") == 7
    blocks = [(block.recorded, block.steps) for block in told().blocks]
    assert blocks == [(True, 2), (False, 2), (False, 2)]


def test_steps_that_would_take_too_long_are_not_compared(
    loop: Loop, counter: Counter, told: Told, spec: Spec
) -> None:
    loop.last = 2_000_000_000
    measure(loop, spec)
    assert counter.calls == []
    why = "Steps of 2.0 s are too long to measure what recording costs."
    assert (told().warnings, told().overhead_reason) == ((why,), why)


def test_the_measurement_ends_in_time_though_steps_become_slow(
    loop: Loop, counter: Counter, told: Told, spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracekit.workload.worker.loop._MOST", 1.0)
    counter.on_wait = lambda: time.sleep(0.1)
    loop.last = 1_000_000  # so that a block has 50 steps, which now take 5 s
    begun = time.monotonic_ns()
    measure(loop, spec)
    assert told().blocks == ()
    listener = Listener(spec.journal)
    listener.listen()
    assert begun < time.monotonic_ns() <= listener.busy + 1_000_000_000
    assert not listener.paused


@pytest.mark.parametrize(
    ("seconds", "expected"), [(None, 1.0), (5.0, 1.0), (10.0, 1.0), (60.0, 6.0), (3600.0, 20.0)]
)
def test_the_measurement_takes_a_tenth_of_the_limit_up_to_a_bound(
    tmp_path: Path, seconds: float | None, expected: float
) -> None:
    path = tmp_path / "x"
    spec = Spec(path, "x", path, path, repeats=1, seconds=seconds)
    assert budget(spec) == expected


def test_the_report_is_saved_at_each_phase(account: Account, tmp_path: Path) -> None:
    account.enter("prepare", "preparing")
    account.enter("steady", "steady")
    saved = (tmp_path / "workload.json").read_text()
    assert '"state": "steady"' in saved
    assert '"name": "prepare"' in saved


def test_what_was_asked_before_a_settlement_is_not_asked_again() -> None:
    stop = Stop()
    assert not stop.settle()
    stop.requests += 1
    assert stop.requested
    assert stop.settle()
    assert not stop.requested
    stop.requests += 1
    assert stop.requested


def test_what_a_step_tells_is_marked_with_it(account: Account, tmp_path: Path) -> None:
    said = StepReport(
        "sdpa", 3, [Span("admit", 1, 2)], [Gauge("used", 4, 5)], [Request(0, 1, 2, 3)]
    )
    step = Step(int, lambda _: None, "cpu", tell=lambda: said)
    Loop(step, account, Stop()).run("steady", 2, NEVER)
    report = fold(tmp_path / "workload.jsonl")
    assert [(mark.variant, mark.tokens) for mark in report.steps] == [("sdpa", 3)] * 2
    assert report.spans == (Span("admit", 1, 2),) * 2
    assert report.gauges == (Gauge("used", 4, 5),) * 2
    assert report.requests == (Request(0, 1, 2, 3),) * 2


@pytest.mark.parametrize("fails", [False, True])
def test_captured_steps_lie_between_start_and_stop(
    fails: bool, loop: Loop, counter: Counter, told: Told, tmp_path: Path
) -> None:
    def fail() -> None:
        raise RuntimeError("lost the device")

    path = tmp_path / "a.gputrace"
    metal = SimpleNamespace(
        start_capture=lambda _: counter.calls.append("start") or path.mkdir(),
        stop_capture=lambda: counter.calls.append("stop"),
    )
    if fails:
        counter.on_wait = fail
        with pytest.raises(RuntimeError, match="lost the device"):
            capture_steps(loop, metal, path, 2)
    else:
        capture_steps(loop, metal, path, 2)
    assert counter.calls == ["start", *["submit", "wait"] * (1 if fails else 2), "stop"]
    assert (told().state, told().steps) == ("capturing", ())
    with pytest.raises(RecordingError, match="never written over"):
        capture_steps(loop, metal, path, 2)
