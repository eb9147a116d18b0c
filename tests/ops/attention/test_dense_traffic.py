"""What dense attention moves, counted by hand."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as some

from tracekit.ops.attention.dense import DenseShape, dense_traffic, gathered_traffic
from tracekit.ops.attention.paged import traffic
from tracekit.ops.kernels import Traffic

# Two sequences of 3 and 5 tokens; 4 q heads over 2 kv heads of 8 halves.
RAGGED = DenseShape((3, 5), 5, q_heads=4, kv_heads=2, head_dim=8, itemsize=2)
ROW = 2 * 2 * 8 * 2  # K and V of a token
OUT = 2 * 4 * 8 * 2


def test_padding_is_read_but_not_needed() -> None:
    assert dense_traffic(RAGGED) == Traffic(
        read=2 * 5 * ROW + OUT, unique=8 * ROW + OUT, written=OUT, flops=4 * 4 * 8 * 8
    )


def test_rows_are_read_again_and_masks_are_read() -> None:
    again = dense_traffic(RAGGED, rereads=2, mask=10)
    assert again.read == 2 * 2 * 5 * ROW + OUT + 10
    assert again.unique == 8 * ROW + OUT + 10


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


@given(
    some.lists(some.integers(1, 40), min_size=1, max_size=5), some.integers(1, 12), some.booleans()
)
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
