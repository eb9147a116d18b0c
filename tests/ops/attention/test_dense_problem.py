"""Dense problems: their masks, their reference, and what contradicts."""

import mlx.core as mx
import numpy as np
import pytest

from problems import small_problem
from tracekit.base.errors import UsageError
from tracekit.ops.attention.dense import (
    DenseProblem,
    DenseShape,
    dense_problem,
    draw_dense,
    largest_dense_error,
    sdpa,
)
from tracekit.ops.attention.problem import context_lengths, largest_error


def dense(lens: list[int], queries: int = 1, dtype: mx.Dtype = mx.float32) -> DenseProblem:
    pages = small_problem(lens, q_heads=4, kv_heads=2, head_dim=16, max_blocks=4, dtype=dtype)
    return dense_problem(pages, lens, queries=queries)


def attended(problem: DenseProblem) -> mx.array:
    return sdpa(problem.q, problem.keys, problem.values, scale=problem.scale, mask=problem.mask())


@pytest.mark.parametrize("queries", [1, 3])
@pytest.mark.parametrize("lens", [[12, 12], [12, 5, 9], [16, 3], [7, 7]], ids=str)
def test_mlx_agrees_with_the_reference(lens: list[int], queries: int) -> None:
    problem = dense(lens, queries)
    assert problem.longest == max(lens)
    assert largest_dense_error(problem, attended(problem), sequences=range(len(lens))) < 2e-6


def test_one_query_is_what_paged_attention_computes() -> None:
    lens = [12, 5, 9]
    pages = small_problem(lens, q_heads=4, kv_heads=2, head_dim=16, max_blocks=4)
    out = attended(dense_problem(pages, lens))[:, :, 0]
    assert largest_error(pages, out, sequences=range(3)) < 2e-6


def test_masks_are_only_made_where_they_are_needed() -> None:
    assert dense([8, 8]).mask() is None
    assert dense([8, 8], queries=2).mask() == "causal"
    padded = dense([2, 4]).mask()
    assert isinstance(padded, mx.array)
    assert padded.tolist() == [[[[True, True, False, False]]], [[[True] * 4]]]
    several = dense([2, 3], queries=2).mask()
    assert isinstance(several, mx.array)
    assert several[:, 0].tolist() == [
        [[True, False, False], [True, True, False]],
        [[True, True, False], [True, True, True]],
    ]


def test_the_reference_sees_what_the_mask_shows() -> None:
    problem = dense([2, 3], queries=2)
    mask = problem.mask()
    assert isinstance(mask, mx.array)
    for one in (0, 1):
        assert problem.seen(one).tolist() == mask[one, 0].tolist()


def test_of_many_queries_the_first_and_the_last_are_looked_at() -> None:
    shape = DenseShape((300,), 300, 2, 1, 8, 4, queries=300)
    problem = draw_dense(shape, dtype=mx.float32, seed=3)
    out = attended(problem)
    assert largest_dense_error(problem, out, sequences=[0]) < 2e-6
    for place in (0, 299):
        wrong = mx.array(out)
        wrong[0, 1, place] += 0.5
        found = largest_dense_error(problem, wrong, sequences=[0])
        assert found == pytest.approx(0.5 / float(mx.abs(out).max()), rel=0.01)


def test_what_is_no_number_is_infinitely_wrong() -> None:
    problem = dense([4, 4])
    out = attended(problem)
    out[1] = mx.nan
    assert largest_dense_error(problem, out, sequences=[0, 1]) == np.inf
    assert largest_dense_error(problem, out, sequences=[0]) < 2e-6


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
