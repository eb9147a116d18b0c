"""The kernels' names and source where there is no Metal: MLX tells both while it traces."""

import re

import mlx.core as mx
import pytest

from problems import small_problem
from tracekit.base.errors import ToolError, UsageError
from tracekit.lab.msl.emulation import Generated, generated
from tracekit.ops.attention.metal import (
    Kernel,
    Plan,
    paged_decode,
    plan,
)
from tracekit.ops.attention.problem import Problem
from tracekit.ops.kernels import specializations


def _problem(batch: int, head_dim: int = 64, dtype: mx.Dtype = mx.float16) -> Problem:
    return small_problem(
        [5] * batch, q_heads=4, kv_heads=2, head_dim=head_dim, block_size=16, dtype=dtype
    )


def _traced(problem: Problem, how: Plan | None = None) -> tuple[Generated, ...]:
    def launch(*arrays: mx.array) -> mx.array:
        return paged_decode(Problem(*arrays), scale=0.125, how=how)

    pages = (problem.k_pages, problem.v_pages)
    return generated(launch, problem.q, *pages, problem.block_tables, problem.context_lens)


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16, mx.float32], ids=str)
@pytest.mark.parametrize("head_dim", [64, 256])
@pytest.mark.parametrize(
    ("kernel", "partitions"),
    [("grouped", 1), ("grouped", 2), ("per-head", None), ("barriers", None)],
)
def test_the_kernels_have_the_names_that_are_recorded(
    kernel: Kernel, partitions: int | None, head_dim: int, dtype: mx.Dtype
) -> None:
    problem = _problem(2, head_dim, dtype)
    how = plan(problem, kernel=kernel, partitions=partitions)
    names = [one.function for one in _traced(problem, how)]
    assert len(names) == how.dispatches
    assert specializations() >= set(names)


def test_every_batch_is_one_kernel_with_its_tables_in_device_memory() -> None:
    texts = {_traced(_problem(batch))[0].text for batch in (1, 7, 8, 9)}
    (text,) = texts
    for name in ("q", "k_pages", "v_pages", "block_tables", "context_lens"):
        assert re.search(rf"const device \w+\* {name} \[\[buffer", text)
    assert "const constant int32_t& max_blocks" in text
    assert "const constant float& scale" in text


def test_every_number_of_partitions_is_one_kernel_and_one_merge() -> None:
    problem = _problem(1)
    hows = [plan(problem, partitions=partitions) for partitions in (1, 2, 3, 64)]
    alone, *several = [[one.text for one in _traced(problem, how)] for how in hows]
    assert all(texts == several[0] for texts in several)
    assert several[0][0] == alone[0]
    assert "const device float* stats" in several[0][1]


def test_a_head_size_without_a_kernel_is_told() -> None:
    with pytest.raises(UsageError, match="no head size 72; it has 64, 80, 96, 128, 256"):
        paged_decode(_problem(2, 72), scale=1.0)


@pytest.mark.skipif(mx.metal.is_available(), reason="here is Metal")
def test_without_metal_a_kernel_is_refused_and_not_recorded() -> None:
    problem, before = _problem(2, 256), specializations()
    how = plan(problem, threadgroup=32)
    with pytest.raises(ToolError, match="No Metal back-end") as caught:
        paged_decode(problem, scale=1.0, how=how)
    assert caught.value.hint
    assert specializations() == before
