"""The harness as a worker meets it: rehearsal, run, end; with MLX and a real clock."""

import gc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import mlx.core as mx
import pytest

from tracekit.ops.serving.load import Lengths, Load, Rate, Spike
from tracekit.ops.serving.server import Limits, Shape, serving_step
from tracekit.workload.journal import WorkloadReport, fold
from tracekit.workload.worker.phases import run
from tracekit.workload.worker.spec import Account, Spec
from tracekit.workload.worker.stopping import Stop
from tracekit.workload.workload import Measured, Step, StepReport

LOAD = Load(
    rate=Rate(400.0, spikes=(Spike(0.01, 0.02, 900.0),)),
    prompts=Lengths("prompt", "uniform", 8, 1, 20),
    outputs=Lengths("output", "lognormal", 4, 1, 12),
    count=12,
    seed=3,
)
SHAPE = Shape(
    q_heads=2,
    kv_heads=1,
    head_dim=16,
    layers=1,
    blocks=20,
    block_size=4,
    slots=3,
    chunk=8,
    longest=LOAD.longest,
    dtype=mx.float32,
)
Serve = Callable[..., WorkloadReport]


def served(step: Step) -> list[StepReport]:
    step.begin()
    told = []
    while not step.exhausted():
        step.wait(step.submit())
        assert step.tell is not None
        told.append(step.tell())
        assert len(told) < 10_000, "the server does not come to an end"
    return told


def test_a_rehearsal_serves_nobody() -> None:
    step = serving_step(LOAD, SHAPE, Limits())
    for _ in range(7):
        step.wait(step.submit())
        assert step.tell is not None
        assert step.tell() == StepReport(tokens=0)
    assert not step.exhausted()
    assert sum(len(told.requests) for told in served(step)) == 12


def test_limits_that_are_not_set_are_not_told() -> None:
    limits = [Limits(), Limits(ttft=150.0, tpot=20.5, tick=75.0)]
    bare, full = (
        {gauge.name: gauge.value for gauge in served(serving_step(LOAD, SHAPE, one))[0].gauges}
        for one in limits
    )
    assert {name: value for name, value in bare.items() if name.startswith("limit")} == {
        "limit_active_sequences": 3.0,
        "limit_blocks": 20.0,
        "limit_tick": 200e6,
    }
    assert full["limit_ttft"] == 150e6
    assert full["limit_tpot"] == 20.5e6
    assert full["limit_tick"] == 75e6


def test_what_is_offered_is_said_before_the_run() -> None:
    fast, slow = (
        serving_step(replace(LOAD, rate=Rate(rate)), SHAPE, Limits()).results for rate in (80, 20)
    )
    assert fast["scheduled_requests"] == slow["scheduled_requests"] == Measured(12, "count")
    assert fast["schedule_length"] == Measured(150e6, "ns")
    assert slow["scheduled_request_rate"] == Measured(20.0, "requests/s")
    tokens = slow["scheduled_token_rate"]
    assert isinstance(tokens, Measured)
    assert tokens.value is not None
    assert tokens.value * 0.6 == pytest.approx(fast["scheduled_token_rate"].value * 0.15)
    for results in (fast, slow):
        for name in ("offered_load", "rehearsed_decode", "rehearsed_prefill_chunk"):
            assert results[name].value > 0


WORKLOAD = """
import mlx.core as mx
from tracekit.ops.serving.load import Lengths, Load, Rate
from tracekit.ops.serving.server import Limits, Shape, serving_step
from tracekit.workload import Step, workload

@workload
def short(seconds: float = 60.0, rate: float = 300.0) -> Step:
    '''Serve for too short a time.'''
    prompts, outputs = Lengths("prompt", "fixed", 8, 1, 8), Lengths("output", "fixed", 40, 1, 40)
    load = Load(Rate(rate), prompts, outputs, duration=seconds)
    shape = Shape(2, 1, 16, 1, 36, 4, 3, 8, load.longest, mx.float32)
    return serving_step(load, shape, Limits())
"""


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Serve]:
    """Live a worker's life in this process; return its account."""

    def live(**values: object) -> WorkloadReport:
        file = tmp_path / "short.py"
        file.write_text(WORKLOAD)
        journal, report = tmp_path / "workload.jsonl", tmp_path / "workload.json"
        account = Account(journal, report)
        spec = Spec(file, "short", journal, report, warmup=1, **values)
        run(spec, account, Stop(), 0)
        account.end("done")
        return fold(journal)

    yield live
    gc.unfreeze()  # what a worker freezes, for it is alone in its process


def test_when_time_is_up_the_open_requests_are_told(worker: Serve) -> None:
    report = worker(seconds=0.3)
    states = [one.state for one in report.requests]
    assert "unfinished" in states
    left = report.results["arrivals_after_the_end"].value
    assert left == 300 * 60 - len(report.requests)
    assert sorted(one.number for one in report.requests) == list(range(len(states)))


def test_a_schedule_that_is_served_ends_the_run_before_its_time(worker: Serve) -> None:
    report = worker(seconds=60.0, parameters={"seconds": 0.05, "rate": 100.0})
    assert [one.state for one in report.requests] == ["completed"] * 5
    assert report.results["arrivals_after_the_end"].value == 0
    names = {gauge.name: gauge.value for gauge in report.gauges}
    assert (names["active_sequences"], names["used_blocks"]) == (0, 0)
