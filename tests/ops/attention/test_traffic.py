import pytest

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
