from typing import Any

import mlx.core as mx
import pytest

from tracekit.base.errors import ToolError
from tracekit.ops.attention.dense import sdpa
from tracekit.ops.cache.caches import GrowingCache, Sizes, SlidingCache, draw_rows
from tracekit.ops.cache.decoding import Decoding

SIZES = Sizes(2, 4, 2, 16, mx.float32)


def decoding(cache: Any, **changes: Any) -> Decoding:
    def attend(query: mx.array) -> mx.array:
        return sdpa(query[:, :, None], *cache.held(), scale=0.25)[:, :, 0]

    return Decoding(SIZES, draw_rows(SIZES), cache, attend, **changes)


def growing(step: int = 8) -> GrowingCache:
    return GrowingCache(SIZES.cache_shape, SIZES.dtype, step=step)


def step(one: Decoding) -> None:
    one.wait(one.submit())


@pytest.mark.parametrize("prompt", [1, 7, 30])
@pytest.mark.parametrize("window", [None, 10])
def test_every_step_agrees_with_float64(prompt: int, window: int | None) -> None:
    cache = (
        growing() if window is None else SlidingCache(SIZES.cache_shape, SIZES.dtype, window=window)
    )
    one = decoding(cache)
    assert one.prefill(prompt) > 0
    for _ in range(14):
        step(one)
        assert one.error() < 1e-6


def test_a_cache_that_mixes_tokens_up_is_found_out() -> None:
    one = decoding(SlidingCache(SIZES.cache_shape, SIZES.dtype, window=10))
    one.prefill(12)
    one.cache.length += 1  # the next token takes the place of the wrong one
    step(one)
    with pytest.raises(ToolError, match="Attention after 14 tokens is off"):
        one.error()


def test_growth_is_a_span_and_what_it_copied_a_gauge() -> None:
    one = decoding(growing())
    one.prefill(7)
    told = []
    for _ in range(3):
        step(one)
        told.append(one.tell())
    assert [[span.name for span in each.spans] for each in told] == [[], ["grow"], []]
    levels = [{gauge.name: gauge.value for gauge in each.gauges} for each in told]
    token = SIZES.token_bytes
    assert [each["tokens_held"] for each in levels] == [2 * 8, 2 * 9, 2 * 10]
    assert [each["bytes_held"] for each in levels] == [8 * token, 16 * token, 16 * token]
    assert [each["bytes_copied"] for each in levels] == [0, 8 * token, 8 * token]


def test_what_was_read_is_counted_from_the_beginning_of_the_steady_phase() -> None:
    one = decoding(growing())
    one.prefill(3)
    step(one)
    one.begin()
    step(one), step(one)
    assert (one.spent.steps, one.spent.read) == (2, (5 + 6) * SIZES.token_bytes)
    assert one.spent.time > 0


@pytest.mark.parametrize("held", [False, True])
def test_holding_a_view_makes_mlx_copy_the_cache_for_one_token(held: bool) -> None:
    sizes = Sizes(2, 4, 2, 64, mx.float32)
    cache = SlidingCache(sizes.cache_shape, sizes.dtype, window=2048)
    one = Decoding(sizes, draw_rows(sizes), cache, lambda query: query * 1, hold_a_view=held)
    one.prefill(100)
    step(one)
    extra = one.extra_memory()
    assert (extra >= cache.nbytes) == held
    assert extra < 1.5 * cache.nbytes
