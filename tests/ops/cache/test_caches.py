"""Caches of three kinds, the numbers of their blocks, and decoding over them."""

import random
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from tracekit.base.errors import ToolError, UsageError
from tracekit.ops.attention.dense import sdpa
from tracekit.ops.cache.caches import (
    BlockPool,
    DrawnTokens,
    GrowingCache,
    PagedCache,
    Sizes,
    SlidingCache,
    compute_expected,
    draw_rows,
)
from tracekit.ops.cache.decoding import Decoding


def rows(first_token: int, tokens: int) -> mx.array:
    return mx.arange(first_token, first_token + tokens).astype(mx.float32).reshape(1, 1, tokens, 1)


def read_held_rows(cache: SlidingCache) -> tuple[list[float], list[float]]:
    keys, values = cache.view_kept()
    return keys[0, 0, :, 0].tolist(), values[0, 0, :, 0].tolist()


def test_the_last_tokens_are_kept_each_in_its_row() -> None:
    cache = SlidingCache(Sizes(1, 1, 1, 1, mx.float32), window=4)
    for token in range(7):
        cache.append(rows(token, 1), -rows(token, 1))
    assert read_held_rows(cache) == ([4, 5, 6, 3], [-4, -5, -6, -3])
    assert (cache.length, cache.kept_tokens) == (7, 4)


@pytest.mark.parametrize("runs", [[3], [4], [5], [9, 1], [2, 2, 2], [3, 6, 1, 4, 4], [4, 4, 1]])
def test_runs_of_any_length_keep_the_same_as_one_token_at_a_time(runs: list[int]) -> None:
    at_once, singly = (SlidingCache(Sizes(1, 1, 1, 1, mx.float32), window=4) for _ in range(2))
    token_count = 0
    for tokens in runs:
        at_once.append(rows(token_count, tokens), rows(token_count, tokens))
        token_count += tokens
    for token in range(token_count):
        singly.append(rows(token, 1), rows(token, 1))
    assert read_held_rows(at_once) == read_held_rows(singly)
    assert sorted(read_held_rows(at_once)[0]) == list(range(max(0, token_count - 4), token_count))


def full_of(tokens: int, value: float) -> mx.array:
    return mx.full((2, 3, tokens, 4), value)


def test_a_cache_grows_in_steps_and_copies_its_contents() -> None:
    cache, capacities = GrowingCache(Sizes(2, 3, 3, 4, mx.float16), step=4), []
    for _ in range(9):
        cache.append(full_of(1, 1), full_of(1, 1))
        capacities.append(cache.capacity)
    assert capacities == [4] * 4 + [8] * 4 + [12]
    row = 2 * 2 * 3 * 4 * 2  # K and V, contexts, heads, elements, bytes
    assert (cache.copied, cache.nbytes) == ((4 + 8) * row, 12 * row)


def test_room_can_be_made_ahead() -> None:
    cache = GrowingCache(Sizes(2, 3, 3, 4, mx.float32), step=4)
    cache.append(full_of(4, 7), full_of(4, 7))
    cache.grow(1)
    copied = cache.copied
    keys, _ = cache.append(full_of(1, 8), full_of(1, 8))
    assert (cache.capacity, cache.copied) == (8, copied)
    assert keys[0, 0, :, 0].tolist() == [7, 7, 7, 7, 8]


def cache_of(max_tokens: int = 12) -> PagedCache:
    return PagedCache(Sizes(2, 3, 3, 4, mx.float32), block_size=4, max_tokens=max_tokens)


def make_numbered_rows(first_token: int, tokens: int) -> mx.array:
    """Rows that hold 100 times their context plus their token."""
    numbers = 100 * np.arange(2)[:, None] + np.arange(first_token, first_token + tokens)[None]
    whole_array = np.broadcast_to(numbers[:, None, :, None], (2, 3, tokens, 4))
    return mx.array(whole_array.astype(np.float32))


def read_context_rows(cache: PagedCache, context: int) -> list[float]:
    pages = np.array(cache.keys)[cache.block_tables.tolist()[context]]
    return pages.reshape(-1, 3, 4)[: cache.length, 1, 2].tolist()


@pytest.mark.parametrize("runs", [[1] * 9, [9], [3, 1, 1, 4], [4, 4, 1]])
def test_tokens_lie_in_the_pages_of_their_context(runs: list[int]) -> None:
    cache, token_count = cache_of(), 0
    for tokens in runs:
        cache.append(
            make_numbered_rows(token_count, tokens), -make_numbered_rows(token_count, tokens)
        )
        token_count += tokens
    assert read_context_rows(cache, 0) == list(range(9))
    assert read_context_rows(cache, 1) == list(range(100, 109))
    assert np.array(cache.values).sum() == -np.array(cache.keys).sum()
    assert cache.pool.used_count == 2 * 3


def test_pages_are_taken_when_tokens_need_them() -> None:
    cache = cache_of()
    cache.append(make_numbered_rows(0, 4), make_numbered_rows(0, 4))
    assert [cache.grow(tokens) for tokens in (0, 1, 4)] == [False, True, False]
    assert cache.nbytes == 4 * 2 * 4 * 3 * 4 * 4  # pages, K and V, tokens, heads, elements, bytes
    assert sorted(np.array(cache.block_tables)[:, :2].reshape(-1)) == [0, 1, 2, 3]


def test_a_context_cannot_outgrow_its_table() -> None:
    cache = cache_of(max_tokens=5)
    cache.append(make_numbered_rows(0, 8), make_numbered_rows(0, 8))
    with pytest.raises(UsageError, match="9 tokens need 3 blocks"):
        cache.append(make_numbered_rows(8, 1), make_numbered_rows(8, 1))
    assert cache.length == 8


def test_a_run_of_rows_is_the_rows_one_by_one_round_and_round() -> None:
    rows = draw_rows(Sizes(2, 4, 2, 8, mx.float16), seed=1)
    keys, values = rows.run(59, 5)
    assert keys.shape == values.shape == (2, 2, 5, 8)
    for place, token in enumerate((59, 60, 0, 1, 2)):
        assert mx.array_equal(keys[:, :, place], rows.keys[token]), place
        assert mx.array_equal(values[:, :, place], rows.values[token]), place
    assert mx.array_equal(rows.query(61), rows.queries[0])


def test_the_expected_result_is_the_definition() -> None:
    """Two tokens, one head of one element: weights of e^(s q k)."""
    numbers = np.zeros((61, 1, 1, 1), np.float32)
    queries, keys, values = numbers.copy(), numbers.copy(), numbers.copy()
    queries[2], keys[1], keys[2], values[1], values[2] = 2.0, 1.0, 3.0, 10.0, 20.0
    rows = DrawnTokens(mx.array(queries), mx.array(keys), mx.array(values))
    result = compute_expected(rows, 0, length=3, kept_tokens=2, scale=0.5)
    weights = np.exp([1.0, 3.0])
    assert result[0, 0] == pytest.approx((10 * weights[0] + 20 * weights[1]) / weights.sum())
    assert compute_expected(rows, 0, length=3, kept_tokens=1, scale=0.5)[0, 0] == 20


def test_no_block_is_used_twice_and_the_last_freed_is_used_first() -> None:
    rng, pool, held_blocks = random.Random(7), BlockPool(64), [[]]
    first_blocks = pool.allocate(3)
    pool.release(first_blocks)
    assert pool.allocate(3) == first_blocks
    pool.release(first_blocks)
    for _ in range(2000):
        if held_blocks and rng.random() < 0.5:
            pool.release(held_blocks.pop(rng.randrange(len(held_blocks))))
        else:
            held_blocks.append(pool.allocate(rng.randint(0, pool.free_count)))
        used_blocks = [block for blocks in held_blocks for block in blocks]
        assert len(set(used_blocks)) == len(used_blocks) == pool.used_count
        assert pool.used_count + pool.free_count == 64


SMALL = Sizes(2, 4, 2, 16, mx.float32)


def decoding(cache: Any) -> Decoding:
    def attend(query: mx.array) -> mx.array:
        return sdpa(query[:, :, None], *cache.view_kept(), scale=0.25)[:, :, 0]

    return Decoding(SMALL, draw_rows(SMALL), cache, attend)


def step(decoding: Decoding) -> None:
    decoding.wait(decoding.submit())


@pytest.mark.parametrize("prompt", [1, 7, 30])
def test_every_step_agrees_with_float64(prompt: int) -> None:
    for cache in (GrowingCache(SMALL, step=8), SlidingCache(SMALL, window=10)):
        decode = decoding(cache)
        assert decode.prefill(prompt) > 0, cache
        for _ in range(14):
            step(decode)
            assert decode.error() < 1e-6, cache


def test_a_cache_that_mixes_tokens_up_is_found_out() -> None:
    mixed = decoding(SlidingCache(SMALL, window=10))
    mixed.prefill(12)
    mixed.cache.values[-1, :, 3] = mixed.cache.values[-1, :, 4]  # of the last sequence alone
    step(mixed)
    with pytest.raises(ToolError, match="Attention after 13 tokens is off"):
        mixed.error()


def test_growth_is_a_span_and_copied_bytes_are_a_gauge() -> None:
    growing, reports = decoding(GrowingCache(SMALL, step=8)), []
    growing.prefill(7)
    for _ in range(3):
        step(growing)
        report = growing.tell()
        levels = {gauge.name: gauge.value for gauge in report.gauges}
        names = ("tokens_held", "bytes_held", "bytes_copied")
        reports.append(([span.name for span in report.spans], *(levels[name] for name in names)))
    token = SMALL.token_bytes
    assert reports == [
        ([], 2 * 8, 8 * token, 0),
        (["grow"], 2 * 9, 16 * token, 8 * token),
        ([], 2 * 10, 16 * token, 8 * token),
    ]
