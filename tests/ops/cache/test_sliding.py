import mlx.core as mx
import numpy as np
import pytest

from tracekit.ops.cache.caches import SlidingCache


def rows(first: int, tokens: int) -> mx.array:
    """Rows that hold the numbers of their tokens."""
    return mx.arange(first, first + tokens).astype(mx.float32).reshape(1, 1, tokens, 1)


def kept(cache: SlidingCache) -> tuple[list[float], list[float]]:
    keys, values = cache.held()
    return keys[0, 0, :, 0].tolist(), values[0, 0, :, 0].tolist()


def test_the_last_tokens_are_kept_each_in_its_row() -> None:
    cache = SlidingCache((1, 1, 1), mx.float32, window=4)
    for token in range(7):
        cache.append(rows(token, 1), -rows(token, 1))
    assert kept(cache) == ([4, 5, 6, 3], [-4, -5, -6, -3])
    assert (cache.length, cache.kept) == (7, 4)


@pytest.mark.parametrize("runs", [[3], [4], [5], [9, 1], [2, 2, 2], [3, 6, 1, 4, 4], [4, 4, 1]])
def test_runs_of_any_length_keep_the_same_as_one_token_at_a_time(runs: list[int]) -> None:
    at_once, singly = (SlidingCache((1, 1, 1), mx.float32, window=4) for _ in range(2))
    first = 0
    for tokens in runs:
        at_once.append(rows(first, tokens), rows(first, tokens))
        first += tokens
    for token in range(first):
        singly.append(rows(token, 1), rows(token, 1))
    assert kept(at_once) == kept(singly)
    assert sorted(kept(at_once)[0]) == list(range(max(0, first - 4), first))


def test_it_never_grows() -> None:
    cache = SlidingCache((2, 3, 8), mx.float16, window=5)
    size = cache.nbytes
    assert size == 2 * 2 * 3 * 5 * 8 * 2
    new = mx.ones((2, 3, 1, 8), mx.float16)
    for _ in range(12):
        cache.append(new, new)
    assert cache.nbytes == size


def test_attention_over_the_ring_is_attention_over_the_last_tokens() -> None:
    """A dense cache of all tokens, of which the last are attended to, must give the same."""
    random = np.random.default_rng(0)
    keys, values = (mx.array(random.normal(size=(2, 3, 23, 8)), mx.float32) for _ in range(2))
    query = mx.array(random.normal(size=(2, 3, 1, 8)), mx.float32)
    cache = SlidingCache((2, 3, 8), mx.float32, window=10)
    held = cache.append(keys[:, :, :15], values[:, :, :15])
    for token in range(15, 23):
        held = cache.append(keys[:, :, token : token + 1], values[:, :, token : token + 1])
    ring = mx.fast.scaled_dot_product_attention(query, *held, scale=0.3)
    last = (keys[:, :, 13:], values[:, :, 13:])
    dense = mx.fast.scaled_dot_product_attention(query, *last, scale=0.3)
    assert mx.allclose(ring, dense, atol=1e-6)
    older = (keys[:, :, 12:22], values[:, :, 12:22])
    assert not mx.allclose(
        ring, mx.fast.scaled_dot_product_attention(query, *older, scale=0.3), atol=1e-3
    )
