import mlx.core as mx
import pytest

from tracekit.ops.cache.caches import GrowingCache

SHAPE = (2, 3, 4)


def rows(tokens: int, value: float) -> mx.array:
    return mx.full((2, 3, tokens, 4), value)


def test_what_is_appended_is_held_in_order() -> None:
    cache = GrowingCache(SHAPE, mx.float32, step=4)
    cache.append(rows(3, 1), rows(3, -1))
    keys, values = cache.append(rows(2, 2), rows(2, -2))
    assert keys.shape == values.shape == (2, 3, 5, 4)
    assert keys[1, 2, :, 3].tolist() == [1, 1, 1, 2, 2]
    assert values[1, 2, :, 3].tolist() == [-1, -1, -1, -2, -2]


def test_it_grows_in_steps_and_copies_what_it_held() -> None:
    cache = GrowingCache(SHAPE, mx.float16, step=4)
    capacities = []
    for _ in range(9):
        cache.append(rows(1, 1), rows(1, 1))
        capacities.append(cache.capacity)
    assert capacities == [4] * 4 + [8] * 4 + [12]
    row = 2 * 2 * 3 * 4 * 2  # K and V, contexts, heads, elements, bytes
    assert cache.copied == (4 + 8) * row
    assert cache.nbytes == 12 * row


def test_room_can_be_made_ahead() -> None:
    cache = GrowingCache(SHAPE, mx.float32, step=4)
    cache.append(rows(4, 7), rows(4, 7))
    cache.grow(1)
    copied = cache.copied
    keys, _ = cache.append(rows(1, 8), rows(1, 8))
    assert (cache.capacity, cache.copied) == (8, copied)
    assert keys[0, 0, :, 0].tolist() == [7, 7, 7, 7, 8]


@pytest.mark.parametrize("held", [False, True])
def test_an_append_copies_the_cache_only_if_somebody_holds_a_view(held: bool) -> None:
    cache = GrowingCache((4, 8, 64), mx.float32, step=512)
    big = mx.ones((4, 8, 500, 64))
    mx.eval(*cache.append(big, big), cache.keys, cache.values)
    new = mx.ones((4, 8, 1, 64))
    view = cache.keys[:, :, :1] if held else None
    mx.eval(new, *([] if view is None else [view]))
    mx.reset_peak_memory()
    before = mx.get_active_memory()
    cache.append(new, new)
    mx.eval(cache.keys, cache.values)
    extra = mx.get_peak_memory() - before
    assert (extra >= cache.keys.nbytes) == held
    assert extra < cache.nbytes
