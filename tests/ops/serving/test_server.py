"""The harness as a worker meets it, and its attention against a float64 reference."""

from dataclasses import replace
from itertools import islice
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from tracekit.base.errors import ToolError, UsageError
from tracekit.base.tolerances import BOUNDS
from tracekit.ops.attention.paged import append
from tracekit.ops.serving.engine import Chunk, RunningSequence
from tracekit.ops.serving.load import Lengths, Rate, ScheduledRequest, ServerLoad, Spike
from tracekit.ops.serving.server import (
    ContiguousModel,
    GatheringModel,
    LatencyLimits,
    ModelShape,
    PagedModel,
    offered_load,
    rehearse,
    serving_step,
    verify,
)
from tracekit.workload.workload import Measured, Step, StepReport

LOAD = ServerLoad(
    rate=Rate(400.0, spikes=(Spike(0.01, 0.02, 900.0),)),
    prompts=Lengths("prompt", "uniform", 8, 1, 20),
    outputs=Lengths("output", "lognormal", 4, 1, 12),
    count=12,
    seed=3,
)
SIZES: dict[str, Any] = {"layers": 1, "block_size": 4, "slots": 3, "chunk": 8, "dtype": mx.float32}
SHAPE = ModelShape(q_heads=2, kv_heads=1, head_dim=16, blocks=20, longest=LOAD.longest, **SIZES)
MODEL = ModelShape(q_heads=4, kv_heads=2, head_dim=32, blocks=12, longest=40, **SIZES)


def serve_step(step: Step) -> list[StepReport]:
    step.begin()
    reports = []
    while not step.exhausted():
        step.wait(step.submit())
        reports.append(step.tell())
        assert len(reports) < 10_000, "the server does not come to an end"
    return reports


def test_a_rehearsal_serves_nobody() -> None:
    step = serving_step(LOAD, SHAPE, LatencyLimits())
    for _ in range(7):
        step.wait(step.submit())
        assert step.tell() == StepReport(tokens=0)
    assert not step.exhausted()
    assert sum(len(report.requests) for report in serve_step(step)) == 12


def test_unset_limits_are_not_reported() -> None:
    def read_limit_gauges(limits: LatencyLimits) -> dict[str, float]:
        gauges = serve_step(serving_step(LOAD, SHAPE, limits))[0].gauges
        return {gauge.name: gauge.value for gauge in gauges if gauge.name.startswith("limit")}

    bare_gauges = {"limit_active_sequences": 3.0, "limit_blocks": 20.0, "limit_tick": 200e6}
    assert read_limit_gauges(LatencyLimits()) == bare_gauges
    full = {"limit_ttft": 150e6, "limit_tpot": 20.5e6, "limit_tick": 75e6}
    assert read_limit_gauges(LatencyLimits(ttft=150.0, tpot=20.5, tick=75.0)) == bare_gauges | full


def test_the_offered_load_is_printed_before_the_run() -> None:
    fast, slow = (
        serving_step(replace(LOAD, rate=Rate(rate)), SHAPE, LatencyLimits()).results
        for rate in (80, 20)
    )
    assert fast["scheduled_requests"] == slow["scheduled_requests"] == Measured(12, "count")
    assert fast["schedule_length"] == Measured(150e6, "ns")
    assert slow["scheduled_request_rate"] == Measured(20.0, "requests/s")
    slow_rate, fast_rate = (gauges["scheduled_token_rate"].value for gauges in (slow, fast))
    assert slow_rate * 0.6 == pytest.approx(fast_rate * 0.15)
    for results in (fast, slow):
        for name in ("offered_load", "rehearsed_decode", "rehearsed_prefill_chunk"):
            assert results[name].value > 0, name


@pytest.mark.parametrize(("dtype", "layers"), [("float32", 1), ("float16", 3), ("bfloat16", 2)])
def test_served_tokens_equal_the_reference(dtype: str, layers: int) -> None:
    shape = replace(MODEL, dtype=getattr(mx, dtype), layers=layers)
    assert 0 < verify(PagedModel(shape, seed=1)) < BOUNDS[dtype]


@pytest.mark.parametrize(
    "changed",
    [
        {"chunk": 1}, {"chunk": 7}, {"chunk": 64}, {"block_size": 16, "blocks": 3}, {"slots": 1},
        {"slots": 9}, {"q_heads": 2}, {"blocks": 2}, {"longest": 2, "blocks": 1},
    ],
)  # fmt: skip
def test_any_cut_of_prompts_and_pages_gives_the_same(changed: dict[str, int]) -> None:
    assert verify(PagedModel(replace(MODEL, **changed), seed=1)) < 1e-5


@pytest.mark.parametrize("model_class", [GatheringModel, ContiguousModel])
@pytest.mark.parametrize("changed", [{}, {"chunk": 7}, {"slots": 9, "layers": 3}, {"longest": 2}])
def test_other_attention_gives_the_same_tokens(
    model_class: type[PagedModel], changed: dict[str, int]
) -> None:
    assert verify(model_class(replace(MODEL, **changed), seed=1)) < 1e-5


def test_each_attention_serves_the_same_schedule_to_its_end() -> None:
    served = []
    for attention in ("paged", "gather-sdpa", "sdpa"):
        reports = serve_step(serving_step(LOAD, SHAPE, LatencyLimits(), attention))
        served.append(sum(report.tokens for report in reports))
    assert served[0] == served[1] == served[2] > 0


class OneOff(PagedModel):
    """Writes the newest token a row too late."""

    def write_tokens(self, decoding: list[RunningSequence]) -> None:
        tables, lens = self._tables(decoding), self._lens(decoding)[: self.shape.slots]
        rows = self.keys[self._newest(decoding)]
        self._k_pages[0] = append(self._k_pages[0], rows, tables, lens)


def test_a_key_in_the_wrong_row_is_found() -> None:
    with pytest.raises(ToolError, match=r"Attention is off by .*; float32 allows 1e-05"):
        verify(OneOff(MODEL, seed=1))


def attend_token(model: PagedModel, content: int, blocks: list[int], slot: int) -> np.ndarray:
    """Prefill five tokens and decode one, with another sequence beside it."""
    sequence_under_test = RunningSequence(
        ScheduledRequest(0, 0, 5, 3, content), 0, slot=slot, blocks=blocks
    )
    neighbour = RunningSequence(
        ScheduledRequest(1, 0, 3, 3, 77), 0, slot=(slot + 1) % 3, blocks=[9, 10], tokens=[0]
    )
    for sequence in (sequence_under_test, neighbour):
        model.write_prompt(Chunk(sequence, 0, sequence.job.prompt_tokens))
        model.attend_prompt(Chunk(sequence, 0, sequence.job.prompt_tokens))
    sequence_under_test.tokens.append(0)
    model.write_tokens([sequence_under_test, neighbour])
    return np.array(model.attend_tokens([sequence_under_test, neighbour])[slot])


def test_neither_slot_nor_blocks_nor_the_neighbour_change_a_result() -> None:
    base_result = attend_token(PagedModel(MODEL, seed=1), 5, [0, 1], slot=0)
    assert np.allclose(
        base_result, attend_token(PagedModel(MODEL, seed=1), 5, [7, 2], slot=2), atol=1e-6
    )
    assert not np.allclose(
        base_result, attend_token(PagedModel(MODEL, seed=1), 6, [0, 1], slot=0), atol=1e-2
    )


def test_rehearsal_touches_no_block_that_is_given_out() -> None:
    model = PagedModel(MODEL, seed=1)
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
    model = PagedModel(replace(MODEL, blocks=4_000, block_size=16, head_dim=64), seed=1)
    pool = 2 * model._k_pages[0].nbytes
    sequence = RunningSequence(ScheduledRequest(0, 0, 20, 8), 0, slot=1, blocks=[3, 99], tokens=[0])
    for first_token, count in ((0, 8), (8, 8), (16, 4)):
        model.wait(model.attend_prompt(Chunk(sequence, first_token, count)))
    mx.reset_peak_memory()
    memory_before = mx.get_active_memory()
    for _ in range(3):
        model.write_prompt(Chunk(sequence, 16, 4))
        model.write_tokens([sequence])
        parts = (model.attend_prompt(Chunk(sequence, 16, 4)), model.attend_tokens([sequence]))
        for part in parts:
            model.wait(part)
        sequence.tokens.append(0)
    assert mx.get_peak_memory() - memory_before < pool / 4


def test_the_offered_load_is_the_schedules_share_of_the_time() -> None:
    jobs = (ScheduledRequest(0, 0, 9, 11), ScheduledRequest(1, 100_000_000, 8, 1))
    # three pieces of 10 ms, and ten tokens of 4 ms shared by two slots
    load = offered_load(jobs, (4e6, 10e6), replace(SHAPE, slots=2, chunk=8))
    assert load == pytest.approx(0.5)


def test_shapes_that_cannot_be_had_are_refused() -> None:
    with pytest.raises(UsageError, match="cannot be shared out"):
        PagedModel(replace(MODEL, q_heads=3), seed=0)
    with pytest.raises(UsageError, match="The cache of keys and values takes"):
        PagedModel(replace(MODEL, blocks=10**12), seed=0)
