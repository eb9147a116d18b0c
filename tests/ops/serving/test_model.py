"""Attention over pages as a server uses it, against a float64 reference."""

from dataclasses import replace
from itertools import islice

import mlx.core as mx
import numpy as np
import pytest

from tracekit.base.errors import ToolError, UsageError
from tracekit.ops.attention.paged import append
from tracekit.ops.serving.engine import Chunk, RunningSequence
from tracekit.ops.serving.load import Job
from tracekit.ops.serving.server import Model, Shape, offered_load, rehearse, verify

SHAPE = Shape(
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
    error = verify(Model(replace(SHAPE, dtype=dtype, layers=layers), seed=1))
    assert 0 < error < {mx.float32: 1e-5, mx.float16: 2e-3, mx.bfloat16: 2e-2}[dtype]


@pytest.mark.parametrize(
    "changed",
    [
        {"chunk": 1},
        {"chunk": 7},
        {"chunk": 64},
        {"block_size": 16, "blocks": 3},
        {"slots": 1},
        {"slots": 9},
        {"q_heads": 2},
        {"blocks": 2},
        {"longest": 2, "blocks": 1},
    ],
)
def test_any_cut_of_prompts_and_pages_gives_the_same(changed: dict[str, int]) -> None:
    assert verify(Model(replace(SHAPE, **changed), seed=1)) < 1e-5


class OneOff(Model):
    """Writes the newest token a row too late."""

    def write_tokens(self, decoding: list[RunningSequence]) -> None:
        """Append to the row behind the right one."""
        tables, lens = self._tables(decoding), self._lens(decoding)[: self.shape.slots]
        rows = self.keys[self._newest(decoding)]
        self._k_pages[0] = append(self._k_pages[0], rows, tables, lens)


def test_a_key_in_the_wrong_row_is_found() -> None:
    with pytest.raises(ToolError, match=r"Attention is off by .*; float32 allows 1e-05"):
        verify(OneOff(SHAPE, seed=1))


def served(model: Model, content: int, blocks: list[int], slot: int) -> np.ndarray:
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
    one = served(Model(SHAPE, seed=1), 5, [0, 1], slot=0)
    assert np.allclose(one, served(Model(SHAPE, seed=1), 5, [7, 2], slot=2), atol=1e-6)
    assert not np.allclose(one, served(Model(SHAPE, seed=1), 6, [0, 1], slot=0), atol=1e-2)


def test_rehearsal_touches_no_block_that_is_given_out() -> None:
    model = Model(SHAPE, seed=1)
    for plan in islice(rehearse(model), 7):
        assert plan.chunk is not None
        model.write_prompt(plan.chunk)
        model.write_tokens(plan.decoding)
        model.wait(model.attend_prompt(plan.chunk))
        model.wait(model.attend_tokens(plan.decoding))
    pages = np.array(model._k_pages[0])
    assert not pages[: SHAPE.blocks].any()
    assert pages[SHAPE.blocks].any()


def test_pages_are_written_in_place() -> None:
    model = Model(replace(SHAPE, blocks=4_000, block_size=16, head_dim=64), seed=1)
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
    jobs = (Job(0, 0, 9, 11), Job(1, 0, 8, 1))
    # three pieces of 10 ms, and ten tokens of 4 ms shared by two slots
    load = offered_load(jobs, (4e6, 10e6), seconds=0.1, slots=2, chunk=8)
    assert load == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("changed", "words"),
    [({"q_heads": 3}, "cannot be shared out"), ({"blocks": 10**12}, "The pool takes")],
)
def test_shapes_that_cannot_be_had_are_refused(changed: dict[str, int], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Model(replace(SHAPE, **changed), seed=0)
