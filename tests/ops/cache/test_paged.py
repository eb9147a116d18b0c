import mlx.core as mx
import numpy as np
import pytest

from tracekit.base.errors import UsageError
from tracekit.ops.cache.caches import PagedCache


def cache_of(max_tokens: int = 12) -> PagedCache:
    return PagedCache((2, 3, 4), mx.float32, block_size=4, max_tokens=max_tokens)


def rows(first: int, tokens: int) -> mx.array:
    """Rows that hold 100 times their context plus their token."""
    numbers = 100 * np.arange(2)[:, None] + np.arange(first, first + tokens)[None]
    whole = np.broadcast_to(numbers[:, None, :, None], (2, 3, tokens, 4))
    return mx.array(whole.astype(np.float32))


def told(cache: PagedCache, context: int) -> list[float]:
    """Read the tokens of a context out of its pages."""
    pages = np.array(cache.keys)[cache.block_tables.tolist()[context]]
    return pages.reshape(-1, 3, 4)[: cache.length, 1, 2].tolist()


@pytest.mark.parametrize("runs", [[1] * 9, [9], [3, 1, 1, 4], [4, 4, 1]])
def test_tokens_lie_in_the_pages_of_their_context(runs: list[int]) -> None:
    cache, first = cache_of(), 0
    for tokens in runs:
        cache.append(rows(first, tokens), -rows(first, tokens))
        first += tokens
    assert told(cache, 0) == list(range(9))
    assert told(cache, 1) == list(range(100, 109))
    assert np.array(cache.values).sum() == -np.array(cache.keys).sum()
    assert cache.pool.used == 2 * 3


def test_pages_are_taken_when_tokens_need_them() -> None:
    cache = cache_of()
    assert cache.lacks(1)
    cache.append(rows(0, 4), rows(0, 4))
    assert cache.lacks(1)
    cache.grow(1)
    assert not cache.lacks(4)
    assert cache.nbytes == 4 * 2 * 4 * 3 * 4 * 4  # pages, K and V, tokens, heads, elements, bytes
    assert sorted(np.array(cache.block_tables)[:, :2].reshape(-1)) == [0, 1, 2, 3]


def test_a_context_cannot_outgrow_its_table() -> None:
    cache = cache_of(max_tokens=5)
    cache.append(rows(0, 8), rows(0, 8))
    with pytest.raises(UsageError, match="9 tokens need 3 blocks"):
        cache.append(rows(8, 1), rows(8, 1))
    assert cache.length == 8
