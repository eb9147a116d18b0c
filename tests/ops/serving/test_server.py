"""The harness as a worker meets it, and its attention against a float64 reference."""

import gc
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest

from tracekit.base.errors import ToolError, UsageError
from tracekit.ops.attention.paged import append
from tracekit.ops.serving.engine import Chunk, RunningSequence
from tracekit.ops.serving.load import Job, Lengths, Load, Rate, Spike
from tracekit.ops.serving.server import (
    Limits,
    Model,
    Shape,
    offered_load,
    rehearse,
    serving_step,
    verify,
)
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
        run(spec, account, Stop())
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


MODEL = Shape(
    q_heads=4,
    kv_heads=2,
    head_dim=32,
    layers=1,
    blocks=12,
    block_size=4,
    slots=3,
    chunk=8,
    longest=40,
    dtype=mx.float32,
)


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16])
@pytest.mark.parametrize("layers", [1, 3])
def test_what_is_served_agrees_with_the_reference(dtype: mx.Dtype, layers: int) -> None:
    error = verify(Model(replace(MODEL, dtype=dtype, layers=layers), seed=1))
    assert 0 < error < {mx.float32: 1e-5, mx.float16: 2e-3, mx.bfloat16: 2e-2}[dtype]


@pytest.mark.parametrize(
    "changed",
    [
        {"chunk": 1}, {"chunk": 7}, {"chunk": 64}, {"block_size": 16, "blocks": 3}, {"slots": 1},
        {"slots": 9}, {"q_heads": 2}, {"blocks": 2}, {"longest": 2, "blocks": 1},
    ],
)  # fmt: skip
def test_any_cut_of_prompts_and_pages_gives_the_same(changed: dict[str, int]) -> None:
    assert verify(Model(replace(MODEL, **changed), seed=1)) < 1e-5


class OneOff(Model):
    """Writes the newest token a row too late."""

    def write_tokens(self, decoding: list[RunningSequence]) -> None:
        """Append to the row behind the right one."""
        tables, lens = self._tables(decoding), self._lens(decoding)[: self.shape.slots]
        rows = self.keys[self._newest(decoding)]
        self._k_pages[0] = append(self._k_pages[0], rows, tables, lens)


def test_a_key_in_the_wrong_row_is_found() -> None:
    with pytest.raises(ToolError, match=r"Attention is off by .*; float32 allows 1e-05"):
        verify(OneOff(MODEL, seed=1))


def attended(model: Model, content: int, blocks: list[int], slot: int) -> np.ndarray:
    """Prefill five tokens and decode one, with another sequence beside it."""
    one = RunningSequence(Job(0, 0, 5, 3, content), 0, slot=slot, blocks=blocks)
    other = RunningSequence(Job(1, 0, 3, 3, 77), 0, slot=(slot + 1) % 3, blocks=[9, 10], tokens=[0])
    for sequence in (one, other):
        model.write_prompt(Chunk(sequence, 0, sequence.job.prompt_tokens))
        model.attend_prompt(Chunk(sequence, 0, sequence.job.prompt_tokens))
    one.tokens.append(0)
    model.write_tokens([one, other])
    return np.array(model.attend_tokens([one, other])[slot])


def test_neither_slot_nor_blocks_nor_the_neighbour_change_a_result() -> None:
    one = attended(Model(MODEL, seed=1), 5, [0, 1], slot=0)
    assert np.allclose(one, attended(Model(MODEL, seed=1), 5, [7, 2], slot=2), atol=1e-6)
    assert not np.allclose(one, attended(Model(MODEL, seed=1), 6, [0, 1], slot=0), atol=1e-2)


def test_rehearsal_touches_no_block_that_is_given_out() -> None:
    model = Model(MODEL, seed=1)
    for plan in islice(rehearse(model), 7):
        assert plan.chunk is not None
        model.write_prompt(plan.chunk)
        model.write_tokens(plan.decoding)
        model.wait(model.attend_prompt(plan.chunk))
        model.wait(model.attend_tokens(plan.decoding))
    pages = np.array(model._k_pages[0])
    assert not pages[: MODEL.blocks].any()
    assert pages[MODEL.blocks].any()


def test_pages_are_written_in_place() -> None:
    model = Model(replace(MODEL, blocks=4_000, block_size=16, head_dim=64), seed=1)
    pool = 2 * model._k_pages[0].nbytes
    one = RunningSequence(Job(0, 0, 20, 8), 0, slot=1, blocks=[3, 99], tokens=[0])
    for first, count in ((0, 8), (8, 8), (16, 4)):
        model.wait(model.attend_prompt(Chunk(one, first, count)))
    mx.reset_peak_memory()
    before = mx.get_active_memory()
    for _ in range(3):
        model.write_prompt(Chunk(one, 16, 4))
        model.write_tokens([one])
        parts = (model.attend_prompt(Chunk(one, 16, 4)), model.attend_tokens([one]))
        for part in parts:
            model.wait(part)
        one.tokens.append(0)
    assert mx.get_peak_memory() - before < pool / 4


def test_the_offered_load_is_what_the_schedule_takes_of_the_time() -> None:
    jobs = (Job(0, 0, 9, 11), Job(1, 100_000_000, 8, 1))
    # three pieces of 10 ms, and ten tokens of 4 ms shared by two slots
    load = offered_load(jobs, (4e6, 10e6), replace(SHAPE, slots=2, chunk=8))
    assert load == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("changed", "words"),
    [({"q_heads": 3}, "cannot be shared out"), ({"blocks": 10**12}, "The pool takes")],
)
def test_shapes_that_cannot_be_had_are_refused(changed: dict[str, int], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Model(replace(MODEL, **changed), seed=0)
