"""A worker in this process: what it is asked, its hot loop and what hangs on it."""

import gc
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mlx.core as mx
import pytest

from tracekit.base.errors import InputError, RecordingError
from tracekit.record.host.recorder import Listener
from tracekit.workload.journal import WorkloadReport
from tracekit.workload.worker.__main__ import _work
from tracekit.workload.worker.loop import (
    FEWEST,
    FEWEST_PAIRS,
    ReferenceWork,
    StepLoop,
    Stop,
    budget,
    measure,
)
from tracekit.workload.worker.phases import calm_down, capture_steps, note, run
from tracekit.workload.worker.spec import Account, Spec
from tracekit.workload.workload import (
    REFERENCE,
    Gauge,
    Measured,
    Memory,
    Request,
    Span,
    Step,
    StepReport,
)
from worker_naps import naps_that

NEVER = 2**63 - 1
Report = Callable[[], WorkloadReport]
Live = Callable[..., WorkloadReport]


class Counter:
    """A step that knows what was done with it: `submit` gives a number, which `wait` takes back."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.names: set[str] = set()
        self.on_wait: Callable[[], None] = lambda: None

    def submit(self) -> int:
        self.calls.append("submit")
        return len(self.calls)

    def wait(self, work: int) -> None:
        assert work == len(self.calls)
        self.calls.append("wait")
        self.on_wait()

    def step(self) -> Step:
        return Step(self.submit, self.wait, "cpu", specializations=lambda: frozenset(self.names))


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    new_account = Account(tmp_path / "workload.jsonl", tmp_path / "workload.json")
    yield new_account
    new_account.end("done")


@pytest.fixture
def lived(make_spec: Callable[..., Spec], account: Account, report: Report) -> Iterator[Live]:
    """Live a worker's life in this process; return its report."""

    def live(text: str = "", **values: Any) -> WorkloadReport:
        run(make_spec(text, **values), account, Stop())
        return report()

    yield live
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _unsettled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracekit.workload.worker.loop._SETTLE", 0.0)


@pytest.fixture
def counter() -> Counter:
    return Counter()


@pytest.fixture
def loop(counter: Counter, account: Account) -> StepLoop:
    return StepLoop(counter.step(), account, Stop())


@pytest.fixture
def spec(make_spec: Callable[..., Spec]) -> Spec:
    return make_spec(warmup=4, repeats=1)


def test_each_step_is_awaited_and_marked(loop: StepLoop, counter: Counter, report: Report) -> None:
    assert loop.run("steady", 3, NEVER) == 3
    assert counter.calls == ["submit", "wait"] * 3
    steps = report().steps
    assert [step.phase for step in steps] == ["steady"] * 3
    flat = [moment for step in steps for moment in (step.start, step.submitted, step.completed)]
    assert flat == sorted(flat)
    assert loop.last_step_time == steps[-1].completed - steps[-1].start
    assert [*loop.step_times] == [step.completed - step.start for step in steps]


def test_a_deadline_long_past_still_lets_some_steps_be_made(loop: StepLoop) -> None:
    limits = ((100, 0), (1, 0), (0, NEVER))
    assert [loop.run("steady", *how) for how in limits] == [FEWEST, 1, 0]


def test_a_stop_is_heard_after_the_step(loop: StepLoop, counter: Counter, report: Report) -> None:
    def ask() -> None:
        loop.stop.requests += 1

    counter.on_wait = ask
    assert loop.run("steady", 100, NEVER) == 1
    assert loop.run("steady", 100, NEVER) == 0
    assert (loop.stop.settle(), loop.stop.settle()) == (True, False)
    assert not loop.stop.requested  # what was asked before is not asked again
    assert loop.run_unrecorded(4) == 4  # without a mark
    assert counter.calls == ["submit", "wait"] * 5
    assert len(report().steps) == 1


def test_a_pipeline_is_marked_once(loop: StepLoop, counter: Counter, report: Report) -> None:
    counter.names = {"b", "a"}
    loop.look()
    loop.look()
    counter.names = {"b", "a", "c"}
    loop.run("steady", 2, NEVER)
    assert [specialization.name for specialization in report().specializations] == ["a", "b", "c"]


def test_new_pipelines_prolong_the_warm_up(
    loop: StepLoop, counter: Counter, report: Report
) -> None:
    def compile_another() -> None:
        if len(counter.calls) == 6:
            counter.names = {"late"}

    counter.on_wait = compile_another
    calm_down(loop, 4)
    assert len(report().steps) == 3 + 4
    assert report().warnings == ()


def test_a_warm_up_out_of_time_is_reported(
    loop: StepLoop, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracekit.workload.worker.phases._MOST_WARMUP", 0)
    calm_down(loop, 4)
    reason = "The warm-up ended before 4 steps in a row brought no new pipeline."
    assert (len(report().steps), report().warnings) == (1, (reason,))


def test_blocks_take_turns(loop: StepLoop, counter: Counter, report: Report, spec: Spec) -> None:
    loop.last_step_time = 50_000_000  # so that a block is one step
    measure(loop, spec)
    blocks = report().blocks
    assert len(blocks) >= 2 * FEWEST_PAIRS
    assert [block.recorded for block in blocks[:8]] == [True, False, False, True] * 2
    assert {block.steps for block in blocks} == {1}
    assert len(counter.calls) == 2 * len(blocks)
    assert len(report().steps) == sum(block.recorded for block in blocks)


def test_blocks_end_when_there_is_nothing_left_to_do(
    counter: Counter, account: Account, report: Report, spec: Spec
) -> None:
    """A block that was cut short is not marked: it cannot be compared."""
    step = replace(counter.step(), exhausted=lambda: counter.calls.count("wait") >= 5)
    loop = StepLoop(step, account, Stop(), last_step_time=25_000_000)  # a block is two steps
    measure(loop, spec)
    assert counter.calls.count("wait") == 5
    blocks = [(block.recorded, block.steps) for block in report().blocks]
    assert blocks == [(True, 2), (False, 2)]
    listener = Listener(spec.journal)
    listener.listen()
    assert not listener.paused  # though the last one was to be unrecorded


def test_steps_that_would_take_too_long_are_not_compared(
    loop: StepLoop, counter: Counter, report: Report, spec: Spec
) -> None:
    loop.last_step_time = 2_000_000_000
    measure(loop, spec)
    assert counter.calls == []
    reason = "Steps of 2.0 s are too long to measure the cost of recording."
    assert (report().warnings, report().overhead_reason) == ((reason,), reason)


def test_one_long_step_does_not_prevent_the_comparison(
    loop: StepLoop, counter: Counter, report: Report, spec: Spec
) -> None:
    loop.step_times.extend([50_000_000, 50_000_000, 2_000_000_000])
    loop.last_step_time = 2_000_000_000
    measure(loop, spec)
    assert (report().warnings, report().overhead_reason) == ((), "")
    assert {block.steps for block in report().blocks} == {1}


def test_the_measurement_ends_in_time_though_steps_become_slow(
    loop: StepLoop, counter: Counter, report: Report, spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracekit.workload.worker.loop._MOST", 1.0)
    counter.on_wait = lambda: time.sleep(0.1)
    loop.last_step_time = 1_000_000  # so that a block has 50 steps, which now take 5 s
    start_time = time.monotonic_ns()
    measure(loop, spec)
    assert report().blocks == ()
    listener = Listener(spec.journal)
    listener.listen()
    assert start_time < time.monotonic_ns() <= listener.busy + 1_000_000_000
    assert not listener.paused


def test_values_of_a_step_are_marked_with_it(account: Account, report: Report) -> None:
    span, gauge, request = Span("admit", 1, 2), Gauge("used", 4, 5), Request(0, 1, 2, 3)
    step_report = StepReport("sdpa", 3, [span], [gauge], [request])
    step = Step(int, lambda _: None, "cpu", tell=lambda: step_report)
    StepLoop(step, account, Stop()).run("steady", 2, NEVER)
    workload_report = report()
    assert [(mark.variant, mark.tokens) for mark in workload_report.steps] == [("sdpa", 3)] * 2
    assert workload_report.spans == (span, span)
    assert (workload_report.gauges, workload_report.requests) == (
        (gauge, gauge),
        (request, request),
    )


@pytest.mark.parametrize("fails", [False, True])
def test_captured_steps_lie_between_start_and_stop(
    fails: bool, loop: StepLoop, counter: Counter, report: Report, tmp_path: Path
) -> None:
    def fail() -> None:
        raise RuntimeError("lost the device")

    path = tmp_path / "a.gputrace"
    core = SimpleNamespace(
        synchronize=lambda: counter.calls.append("synchronize"),
        metal=SimpleNamespace(
            start_capture=lambda _: counter.calls.append("start") or path.mkdir(),
            stop_capture=lambda: counter.calls.append("stop"),
        ),
    )
    if fails:
        counter.on_wait = fail
        with pytest.raises(RuntimeError, match="lost the device"):
            capture_steps(loop, core, path, 2)
    else:
        capture_steps(loop, core, path, 2)
    steps = ["submit", "wait"] if fails else ["submit", "wait", "submit", "wait", "synchronize"]
    assert counter.calls == ["synchronize", "start", "synchronize", *steps, "stop"]
    assert (report().state, report().steps) == ("capturing", ())
    assert '"state": "capturing"' in (tmp_path / "workload.json").read_text()  # saved at each phase
    with pytest.raises(RecordingError, match="never written over"):
        capture_steps(loop, core, path, 2)


def test_reference_work_rests_far_longer_than_it_took(loop: StepLoop, report: Report) -> None:
    done: list[int] = []
    work = ReferenceWork(lambda: done.append(1), "MLX")
    for _ in range(3):
        work.take(loop)
    [gauge], [span] = report().gauges, report().spans
    assert (gauge.name, gauge.unit, gauge.source) == (REFERENCE, "ns", "tracekit (MLX)")
    assert (span.name, span.start, span.end - span.start) == (REFERENCE, gauge.at, gauge.value)
    assert work.due_time >= span.end + 50_000_000
    work.due_time = 0
    work.take(loop)
    assert len(done) == 2
    slow = ReferenceWork(lambda: time.sleep(0.002), "Python")
    slow.take(loop)
    assert slow.due_time >= time.monotonic_ns() + 60 * 2_000_000 - 20_000_000


def test_the_workloads_own_reference_goes_first(loop: StepLoop, report: Report) -> None:
    loop.mark_report(StepReport(gauges=(Gauge("used", 1.0, 5),)))
    assert not loop.referenced
    loop.mark_report(StepReport(gauges=(Gauge(REFERENCE, 7.0, 5, "ns"),)))
    loop.mark_report(StepReport())
    ReferenceWork(lambda: None, "Python").take(loop)
    assert [gauge.source for gauge in report().gauges] == ["workload", "workload"]


WORKLOAD = """
import time
from tracekit.workload import Gauge, Measured, Request, Step, StepReport, workload

begun = []

@workload
def naps() -> Step:
    return Step(submit=lambda: None, wait=lambda _: None, {more})
"""
PACED = 'tell=lambda: StepReport(gauges=(Gauge("reference", 5.0, time.monotonic_ns(), "ns"),))'
SERVES = """backend="cpu", begin=lambda: begun.append(1),
        tell=lambda: StepReport(tokens=len(begun)),
        finish=lambda: {"began": Measured(len(begun), "count")},
        leave=lambda: StepReport(requests=[Request(7, 5, 3, 2)])"""


@pytest.mark.parametrize(
    ("wanted", "more", "sources"),
    [
        (True, 'backend="cpu"', {"tracekit (MLX)"}),
        (True, f'backend="cpu", {PACED}', {"workload"}),
        (True, 'backend="metal"', set()),
        (False, 'backend="cpu"', set()),
    ],
)
def test_a_worker_does_reference_work_in_steady_steps_on_a_cpu_only(
    lived: Live, wanted: bool, more: str, sources: set[str]
) -> None:
    workload_report = lived(WORKLOAD.replace("{more}", more), reference=wanted, repeats=8)
    assert {gauge.source for gauge in workload_report.gauges} == sources
    steady = next(phase for phase in workload_report.phases if phase.name == "steady")
    assert bool(workload_report.spans) == (sources == {"tracekit (MLX)"})
    for span in workload_report.spans:
        assert steady.start <= span.start < span.end
        overlapping_steps = [
            step
            for step in workload_report.steps
            if step.start < span.end and span.start < step.completed
        ]
        assert overlapping_steps == [], span


def test_remaining_values_are_reported_after_the_steady_phase(lived: Live) -> None:
    workload_report = lived(WORKLOAD.replace("{more}", SERVES))
    assert [step.tokens for step in workload_report.steps] == [0, 0, 1, 1, 1, 1, 1]
    assert workload_report.results == {"began": Measured(1, "count")}
    assert workload_report.requests == (Request(7, 5, 3, 2),)


def test_time_ends_the_steady_phase_and_memory_is_noted_after_each(lived: Live) -> None:
    workload_report = lived(repeats=None, seconds=0.1)
    steady = workload_report.phases[-1]
    assert 100_000_000 <= steady.end - steady.start < 2_000_000_000
    resident = [level for level in workload_report.memory if level.what == "resident"]
    phases = ["baseline", "prepare", "warm-up", "steady"]
    assert [level.phase for level in resident] == phases
    assert all(level.bytes for level in resident)
    assert resident[-1].at >= steady.end
    assert all(step.completed <= steady.end for step in workload_report.steps)


def test_questions_before_a_failure_are_answered(make_spec: Callable[..., Spec]) -> None:
    spec, stop = make_spec(naps_that(prepare="1 / 0")), Stop(requests=1)
    assert _work(spec, Account(spec.journal, spec.report), stop) == 3
    assert not stop.requested  # so that it stays for its recorder


def test_peaks_of_mlx_count_from_note_to_note(
    account: Account, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    def note_memory(phase: str) -> dict[str, Memory]:
        note(account, phase)
        return {level.what: level for level in report().memory if level.phase == phase}

    note_memory("before")
    mx.eval(mx.zeros(4_000_000, mx.uint8) + 1)
    busy, calm = note_memory("busy"), note_memory("calm")
    assert busy["mlx_peak"].bytes - busy["mlx_active"].bytes >= 4_000_000
    assert calm["mlx_peak"].bytes - calm["mlx_active"].bytes < 4_000_000
    assert busy["mlx_cache"].bytes >= 0
    assert busy["resident"].at <= calm["resident"].at
    monkeypatch.setitem(sys.modules, "mlx.core", SimpleNamespace(get_active_memory=lambda: 7))
    older = {kind: (level.bytes, level.reason) for kind, level in note_memory("older").items()}
    assert (older["mlx_active"], older["mlx_peak"]) == ((7, ""), (None, "this MLX does not say"))
    monkeypatch.delitem(sys.modules, "mlx.core")
    without = note_memory("without")
    assert (without["mlx_peak"].bytes, without["mlx_peak"].reason) == (None, "MLX is not loaded")
    assert without["resident"].bytes > 1_000_000


def test_a_spec_is_saved_and_read_back(tmp_path: Path, make_spec: Callable[..., Spec]) -> None:
    spec_values = {"parameters": {"batch": 4, "dtype": "float16"}, "go_file": tmp_path / "go"}
    spec = make_spec(**spec_values, repeats=7, seconds=1.5, measure_overhead=True, lifeline=True)
    assert Spec.load(tmp_path / "worker.json") == spec
    for text in ("", "[]", '{"name": "naps"}', "\x00"):
        (tmp_path / "worker.json").write_text(text)
        with pytest.raises(InputError, match="does not have a worker's instructions"):
            Spec.load(tmp_path / "worker.json")


def test_how_long_is_measured_follows_from_the_limit_and_the_steps_wanted(spec: Spec) -> None:
    limits = (None, 10.0, 60.0, 3600.0)
    assert [budget(replace(spec, seconds=limit)) for limit in limits] == [1.0, 1.0, 6.0, 20.0]
    specs = [replace(spec, seconds=1.0, steps=steps) for steps in (0, 10, 20, 100, 110, 1000)]
    assert [spec.steady(50_000_000) / 1e9 for spec in specs] == [1.0, 1.0, 1.1, 5.5, 6.0, 6.0]
