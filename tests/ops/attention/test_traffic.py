from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.ops.attention.dense import DenseShape, dense_traffic, gathered_traffic
from tracekit.ops.attention.paged import traffic
from tracekit.ops.kernels import Traffic


def test_the_guides_bench_line() -> None:
    # 16 sequences of 1024 tokens, 8 kv heads of 128 halves: 2 * 1024 * 8 * 128 * 2 bytes each
    model = traffic([1024] * 16, q_heads=16, kv_heads=8, head_dim=128, block_size=32, itemsize=2)
    keys_and_values, query, tables = 67_108_864, 65_536, 16 * (32 * 4 + 4)
    assert model == Traffic(
        read=keys_and_values + query + tables,
        unique=keys_and_values + query + tables,
        written=query,
        flops=134_217_728,
    )
    assert model.intensity == pytest.approx(2.0, rel=0.01)


def test_a_page_begun_has_an_entry_and_every_sequence_a_length() -> None:
    sizes = {"q_heads": 1, "kv_heads": 1, "head_dim": 1, "block_size": 4, "itemsize": 1}
    # rows of K and V, queries; entries of 2, 1 and no pages, and three lengths, 4 bytes each
    assert traffic([5, 4, 0], **sizes).unique == 2 * 9 + 3 + 4 * (2 + 1 + 0) + 4 * 3


def test_rereads_are_accesses_but_no_new_bytes() -> None:
    sizes = {"q_heads": 4, "kv_heads": 1, "head_dim": 2, "block_size": 4, "itemsize": 4}
    once, fourfold = traffic([10], **sizes), traffic([10], rereads=4, **sizes)
    assert fourfold.unique == once.unique
    assert fourfold.read - once.read == 3 * 10 * (2 * 1 * 2 * 4)


def test_partitions_write_sums_and_two_numbers_and_read_them_again() -> None:
    sizes = {"q_heads": 4, "kv_heads": 1, "head_dim": 64, "block_size": 4, "itemsize": 2}
    whole, parts = traffic([10, 0], **sizes), traffic([10, 0], partitions=3, **sizes)
    partials = 2 * 4 * 3 * (64 + 2) * 4
    assert parts.written - whole.written == partials
    assert parts.read - whole.read == parts.unique - whole.unique == partials
    assert parts.flops == whole.flops


# Two sequences of 3 and 5 tokens; 4 q heads over 2 kv heads of 8 halves.
RAGGED = DenseShape((3, 5), 5, q_heads=4, kv_heads=2, head_dim=8, itemsize=2)
ROW = 2 * 2 * 8 * 2  # K and V of a token
OUT = 2 * 4 * 8 * 2


def test_padding_is_read_but_not_needed() -> None:
    assert dense_traffic(RAGGED) == Traffic(
        read=2 * 5 * ROW + OUT, unique=8 * ROW + OUT, written=OUT, flops=4 * 4 * 8 * 8
    )


def test_without_padding_it_is_paged_attention_without_tables() -> None:
    even = replace(RAGGED, lens=(5, 5))
    sizes = {"q_heads": 4, "kv_heads": 2, "head_dim": 8, "itemsize": 2}
    paged = traffic([5, 5], block_size=4, **sizes)
    dense = dense_traffic(even)
    assert paged.unique - dense.unique == 2 * (2 * 4 + 4)  # two pages and a length each
    assert (paged.flops, paged.written) == (dense.flops, dense.written)


def test_gathering_reads_writes_and_reads_whole_pages() -> None:
    # 5 tokens are 2 pages of 4; both sequences get as many
    moved = gathered_traffic(RAGGED, block_size=4)
    dense = dense_traffic(RAGGED)
    copied = 2 * 2 * 4 * ROW
    assert moved.read - dense.read == copied + 4 * 4
    assert moved.unique - dense.unique == copied + 4 * 4
    assert moved.written - dense.written == copied
    assert moved.flops == dense.flops


@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.integers(1, 12), st.booleans())
def test_pairs_are_the_cells_of_the_masks(lens: list[int], queries: int, causal: bool) -> None:
    queries = min(queries, *lens)
    shape = replace(RAGGED, lens=lens, longest=max(lens), queries=queries, causal=causal)
    seen = sum(
        key <= length - queries + query if causal else True
        for length in lens
        for query in range(queries)
        for key in range(length)
    )
    assert shape.pairs == seen
