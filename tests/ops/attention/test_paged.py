"""Paged attention against the reference, and what it moves."""

from dataclasses import replace
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from problems import small_problem
from tracekit.base.errors import UsageError
from tracekit.ops.attention.dense import DenseShape, dense_traffic, gathered_traffic
from tracekit.ops.attention.paged import append, append_run, paged_attention, traffic
from tracekit.ops.attention.problem import DecodeProblem, dense_reference, largest_error
from tracekit.ops.kernels import CallTraffic

TOLERANCE = {mx.float32: 2e-6, mx.float16: 2e-3, mx.bfloat16: 2e-2}


def attend(problem: DecodeProblem, *, longest: int | None = None) -> mx.array:
    pages, tables = (problem.k_pages, problem.v_pages), problem.block_tables
    how = {"scale": problem.head_dim**-0.5, "longest": longest}
    return paged_attention(problem.q, *pages, tables, problem.context_lens, **how)


def error(problem: DecodeProblem, result: mx.array) -> float:
    return largest_error(problem, result, sequences=range(problem.batch))


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("head_dim", [64, 80, 128])
def test_ragged_sequences_agree_with_the_reference(dtype: mx.Dtype, head_dim: int) -> None:
    sizes = {"q_heads": 6, "kv_heads": 2, "head_dim": head_dim, "block_size": 16, "max_blocks": 3}
    problem = small_problem([1, 16, 17, 47], dtype=dtype, **sizes)
    result = attend(problem)
    assert (result.dtype, result.shape) == (dtype, (4, 6, head_dim))
    assert error(problem, result) <= TOLERANCE[dtype]


@settings(max_examples=25, deadline=None)
@given(
    lens=st.lists(st.integers(0, 12), min_size=1, max_size=9),
    kv_heads=st.integers(1, 3),
    group=st.integers(1, 4),
    block_size=st.sampled_from([1, 3, 4]),
    seed=st.integers(0, 99),
)
def test_any_shape_agrees_with_the_reference(
    lens: list[int], kv_heads: int, group: int, block_size: int, seed: int
) -> None:
    heads = {"q_heads": group * kv_heads, "kv_heads": kv_heads}
    pages = {"block_size": block_size, "max_blocks": 12 // block_size}
    problem = small_problem(lens, **heads, **pages, seed=seed)
    assert error(problem, attend(problem)) <= 2e-6
    assert error(problem, attend(problem, longest=max(lens))) <= 2e-6


def test_tokens_behind_the_end_do_not_count() -> None:
    problem = small_problem([5, 3], max_blocks=3)
    tables = np.array(problem.block_tables)
    keys, values = np.array(problem.k_pages), np.array(problem.v_pages)
    for sequence, length in ((0, 5), (1, 3)):
        for token in range(length, 12):
            page = tables[sequence, token // 4]
            keys[page, token % 4] = np.nan
            values[page, token % 4] = np.inf
    tables[0, 2], tables[1, 1:] = 1_000_000, -7
    arrays = (mx.array(array) for array in (keys, values, tables))
    poisoned = DecodeProblem(problem.q, *arrays, problem.context_lens)
    assert mx.array_equal(attend(poisoned), attend(problem)).item()


def test_the_reference_is_the_textbook() -> None:
    # two tokens with scores ln 3 and 0: weights 3/4 and 1/4
    keys, values = np.log([[[3.0], [1.0]]]), np.array([[[8.0], [4.0]]])
    result = dense_reference(np.array([[[1.0]]]), keys, values, np.ones((1, 2), np.bool_), scale=1)
    assert result == pytest.approx(np.array([[[7.0]]]))


GOOD: dict[str, tuple[Any, ...]] = {
    "q": ((2, 4, 8),),
    **dict.fromkeys(("k_pages", "v_pages"), ((6, 4, 2, 8),)),
    "block_tables": ((2, 3), mx.int32),
    "context_lens": ((2,), mx.int32),
}


@pytest.mark.parametrize(
    ("name", "shape", "dtype", "sentence"),
    [
        ("q", (4, 8), mx.float32, "q must be [batch, q_heads, head_dim]"),
        ("q", (0, 4, 8), mx.float32, "none of them 0"),
        ("q", (2, 3, 8), mx.float32, "3 q heads cannot be shared"),
        ("q", (2, 4, 16), mx.float32, "k_pages must be [blocks, block_size, kv_heads, head_dim]"),
        ("q", (2, 4, 8), mx.float16, "must all be float16"),
        ("v_pages", (6, 4, 1, 8), mx.float32, "v_pages must be"),
        ("block_tables", (2, 3), mx.float32, "must be int32"),
        ("block_tables", (3, 3), mx.int32, "block_tables must be [batch, max_blocks]"),
        ("context_lens", (1,), mx.int32, "there must be 2 lengths or more"),
    ],
    ids=str,
)
def test_arrays_that_do_not_fit_are_one_sentence(
    name: str, shape: tuple[int, ...], dtype: mx.Dtype, sentence: str
) -> None:
    arrays = {argument: mx.zeros(*how) for argument, how in (GOOD | {name: (shape, dtype)}).items()}
    with pytest.raises(UsageError) as caught:
        paged_attention(**arrays, scale=1.0)
    assert sentence in caught.value.message


TABLES = mx.array([[5, 0, 3], [1, 4, 2]], mx.int32)


def test_each_sequence_gets_its_row_at_its_position() -> None:
    rows = mx.array(np.arange(1, 5, dtype=np.float32).reshape(2, 1, 2))
    pages = append(mx.zeros((6, 2, 1, 2)), rows, TABLES, mx.array([4, 1], mx.int32))
    page_values = np.array(pages)
    assert page_values[3, 0].tolist() == [[1, 2]]  # token 4 of sequence 0: its third page, row 0
    assert page_values[1, 1].tolist() == [[3, 4]]
    assert page_values.sum() == 10


def test_a_run_of_rows_goes_over_the_edges_of_pages() -> None:
    rows = mx.array(np.arange(1, 5, dtype=np.float32).reshape(4, 1, 1))
    pages = append_run(mx.zeros((6, 2, 1, 1)), rows, TABLES[0], 1)
    page_values = np.array(pages)[:, :, 0, 0]
    assert page_values[[5, 0, 3]].tolist() == [[0, 1], [2, 3], [4, 0]]


def test_nothing_is_copied_while_nobody_else_holds_the_pages() -> None:
    pages = mx.zeros((64, 16, 8, 64))
    mx.eval(pages)
    rows, positions = mx.ones((2, 8, 64)), mx.array([0, 1], mx.int32)
    mx.eval(rows)
    mx.reset_peak_memory()
    memory_before = mx.get_active_memory()
    pages = append(pages, rows, TABLES, positions)
    mx.eval(pages)
    assert mx.get_peak_memory() - memory_before < pages.nbytes / 2


def test_the_guides_bench_line() -> None:
    # 16 sequences of 1024 tokens, 8 kv heads of 128 halves: 2 * 1024 * 8 * 128 * 2 bytes each
    model = traffic([1024] * 16, q_heads=16, kv_heads=8, head_dim=128, block_size=32, itemsize=2)
    query = 65_536
    read = 67_108_864 + query + 16 * (32 * 4 + 4)  # keys and values, queries, tables and lengths
    assert model == CallTraffic(read, unique=read, written=query, flops=134_217_728)
    assert model.intensity == pytest.approx(2.0, rel=0.01)


def test_bytes_moved_by_a_decode_call() -> None:
    small = {"q_heads": 1, "kv_heads": 1, "head_dim": 1, "block_size": 4, "itemsize": 1}
    # rows of K and V, queries; entries of 2, 1 and no pages, and three lengths, 4 bytes each
    assert traffic([5, 4, 0], **small).unique == 2 * 9 + 3 + 4 * (2 + 1 + 0) + 4 * 3
    sizes = {"q_heads": 4, "kv_heads": 1, "head_dim": 64, "block_size": 4, "itemsize": 2}
    base_traffic = traffic([10, 0], **sizes)
    # rereads are accesses, but no new bytes
    fourfold = traffic([10, 0], rereads=4, **sizes)
    assert fourfold == replace(base_traffic, read=base_traffic.read + 3 * 10 * (2 * 1 * 64 * 2))
    # partitions write sums and two numbers, and read them again
    partials = 2 * 4 * 3 * (64 + 2) * 4
    assert traffic([10, 0], partitions=3, **sizes) == base_traffic.plus(partials, partials)


# Two sequences of 3 and 5 tokens; 4 q heads over 2 kv heads of 8 halves.
RAGGED = DenseShape((3, 5), 5, q_heads=4, kv_heads=2, head_dim=8, itemsize=2)
ROW = 2 * 2 * 8 * 2  # K and V of a token
OUT = 2 * 4 * 8 * 2


def test_padding_is_read_but_not_needed_and_whole_pages_are_gathered() -> None:
    dense = dense_traffic(RAGGED)
    assert dense == CallTraffic(2 * 5 * ROW + OUT, 8 * ROW + OUT, written=OUT, flops=4 * 4 * 8 * 8)
    again = replace(dense, read=dense.read + 2 * 2 * 5 * ROW + 7, unique=dense.unique + 7)
    assert dense_traffic(RAGGED, rereads=3, mask=7) == again
    copied = 2 * 2 * 4 * ROW  # 5 tokens are 2 pages of 4; both sequences get as many
    assert gathered_traffic(RAGGED, block_size=4) == CallTraffic(
        dense.read + copied + 4 * 4, dense.unique + copied + 4 * 4, OUT + copied, dense.flops
    )


@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.integers(1, 12), st.booleans())
def test_pairs_are_the_cells_of_the_masks(lens: list[int], queries: int, causal: bool) -> None:
    queries = min(queries, *lens)
    shape = replace(RAGGED, lens=lens, longest=max(lens), queries=queries, causal=causal)
    visible_cells = sum(
        key <= length - queries + query if causal else True
        for length in lens
        for query in range(queries)
        for key in range(length)
    )
    assert shape.pairs == visible_cells
