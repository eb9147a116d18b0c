"""The numbers of blocks, given out and taken back."""

import random

from tracekit.ops.cache.caches import Blocks


def test_all_blocks_of_a_pool_can_be_had_once() -> None:
    pool = Blocks(4)
    assert sorted(pool.allocate(4)) == [0, 1, 2, 3]
    assert (pool.used, pool.free_count) == (4, 0)
    assert pool.allocate(0) == []


def test_what_was_freed_last_is_given_out_first() -> None:
    pool = Blocks(8)
    first = pool.allocate(3)
    pool.allocate(2)
    pool.free(first)
    assert pool.allocate(3) == first


def test_no_block_is_ever_held_twice() -> None:
    rng, pool, held = random.Random(7), Blocks(64), list[list[int]]()
    for _ in range(2000):
        if held and rng.random() < 0.5:
            pool.free(held.pop(rng.randrange(len(held))))
        else:
            held.append(pool.allocate(rng.randint(0, pool.free_count)))
        used = [block for blocks in held for block in blocks]
        assert len(set(used)) == len(used) == pool.used
        assert pool.used + pool.free_count == 64
