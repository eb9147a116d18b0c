"""Dense, naive and gathered attention agree with each other and with float64."""

import mlx.core as mx
import numpy as np
import pytest

from problems import small_problem
from tracekit.base.errors import UsageError
from tracekit.ops.attention.dense import (
    DenseProblem,
    DenseShape,
    Layout,
    causal_mask,
    dense_problem,
    draw_dense,
    gather_pages,
    largest_dense_error,
    naive_attention,
    padding_mask,
    sdpa,
)
from tracekit.ops.attention.paged import paged_attention
from tracekit.ops.attention.problem import context_lengths


def drawn(*shape: int) -> mx.array:
    return mx.array(np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32))


def assert_near(result: mx.array, expected: mx.array | np.ndarray) -> None:
    np.testing.assert_allclose(np.array(result), np.array(expected), rtol=1e-5, atol=1e-6)


def test_naive_attention_is_the_formula_for_each_head() -> None:
    q, keys, values = drawn(1, 4, 3, 8), drawn(1, 2, 5, 8), drawn(1, 2, 5, 8)
    result = naive_attention(q, keys, values, scale=0.5)
    for head in range(4):
        weights = np.exp(np.array(q[0, head]) @ np.array(keys[0, head // 2]).T / 2)
        weights /= weights.sum(axis=-1, keepdims=True)
        assert_near(result[0, head], weights @ np.array(values[0, head // 2]))


@pytest.mark.parametrize("layout", ["BHSD", "BSHD"])
def test_sdpa_agrees_with_naive_attention_in_both_layouts(layout: Layout) -> None:
    q, keys, values = drawn(2, 4, 3, 16), drawn(2, 2, 7, 16), drawn(2, 2, 7, 16)
    mask = padding_mask(mx.array([4, 7]), 7)
    expected = naive_attention(q, keys, values, scale=0.25, mask=mask)
    inputs = (q, keys, values)
    if layout == "BSHD":
        inputs = tuple(array.swapaxes(1, 2) for array in inputs)
    result = sdpa(*inputs, scale=0.25, mask=mask, layout=layout)
    assert_near(result.swapaxes(1, 2) if layout == "BSHD" else result, expected)


def test_a_causal_mask_lets_the_last_query_see_everything() -> None:
    assert causal_mask(2, 4).tolist() == [[True, True, True, False], [True, True, True, True]]
    q, keys = drawn(1, 2, 4, 16), drawn(1, 2, 4, 16)
    causal_result = naive_attention(q, keys, keys, scale=0.25, mask=causal_mask(4, 4))
    assert_near(causal_result, sdpa(q, keys, keys, scale=0.25, mask="causal"))


def test_gathered_pages_are_the_sequence_in_order() -> None:
    problem = small_problem([3, 8], q_heads=4, kv_heads=2, head_dim=64, max_blocks=3)
    keys, values = gather_pages(problem, longest=5)
    assert keys.shape == values.shape == (2, 2, 8, 64)  # whole pages
    page = problem.block_tables[1, 1].item()
    assert mx.array_equal(keys[1, :, 5], problem.k_pages[page, 1])
    mask = padding_mask(mx.array([3, 5]), 8)
    dense = sdpa(problem.q[:, :, None], keys, values, scale=0.125, mask=mask)[:, :, 0]
    lens = mx.array([3, 5], mx.int32)
    pages = (problem.k_pages, problem.v_pages)
    paged = paged_attention(problem.q, *pages, problem.block_tables, lens, scale=0.125)
    assert_near(dense, paged)


def dense(lens: list[int], queries: int = 1, dtype: mx.Dtype = mx.float32) -> DenseProblem:
    pages = small_problem(lens, q_heads=4, kv_heads=2, head_dim=16, max_blocks=4, dtype=dtype)
    return dense_problem(pages, lens, queries=queries)


def attend(problem: DenseProblem) -> mx.array:
    return sdpa(problem.q, problem.keys, problem.values, scale=problem.scale, mask=problem.mask())


@pytest.mark.parametrize("queries", [1, 3])
@pytest.mark.parametrize("lens", [[12, 12], [12, 5, 9], [16, 3], [7, 7]], ids=str)
def test_mlx_agrees_with_the_reference(lens: list[int], queries: int) -> None:
    problem = dense(lens, queries)
    assert problem.longest == max(lens)
    assert largest_dense_error(problem, attend(problem), sequences=range(len(lens))) < 2e-6


def test_masks_are_made_only_if_needed() -> None:
    assert dense([8, 8]).mask() is None
    assert dense([8, 8], queries=2).mask() == "causal"
    assert dense([2, 4]).mask().tolist() == [[[[True, True, False, False]]], [[[True] * 4]]]
    assert dense([2, 3], queries=2).mask()[:, 0].tolist() == [
        [[True, False, False], [True, True, False]],
        [[True, True, False], [True, True, True]],
    ]


def test_of_many_queries_the_first_and_the_last_are_looked_at() -> None:
    problem = draw_dense(DenseShape((300,), 300, 2, 1, 8, 4, queries=300), dtype=mx.float32)
    for place in (0, 299):
        wrong = attend(problem)
        wrong[0, 1, place] += 0.5
        assert largest_dense_error(problem, wrong) > 0.1, place


def test_queries_must_lie_in_their_context() -> None:
    with pytest.raises(UsageError, match="4 queries do not fit into a context of 3 tokens"):
        dense([8, 3], queries=4)


def test_lengths_are_full_or_drawn() -> None:
    assert context_lengths(3, 2, 4, 16, seed=None) == [32, 32, 32]
    drawn = context_lengths(40, 2, 2, 16, seed=7)
    assert drawn == context_lengths(40, 2, 2, 16, seed=7) != context_lengths(40, 2, 2, 16, seed=8)
    assert 1 <= min(drawn) < max(drawn) <= 32
    with pytest.raises(UsageError, match="cannot use 5 blocks of 4"):
        context_lengths(1, 5, 4, 16, seed=None)
