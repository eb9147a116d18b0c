import random

import pytest

from tracekit.base.errors import InputError, UsageError
from tracekit.ops.cache.caches import Blocks, OutOfBlocks


def test_all_blocks_of_a_pool_can_be_had_once() -> None:
    pool = Blocks(4)
    assert sorted(pool.allocate(4)) == [0, 1, 2, 3]
    assert (pool.used, pool.free_count) == (4, 0)


def test_what_was_freed_last_is_given_out_first() -> None:
    pool = Blocks(8)
    first = pool.allocate(3)
    pool.allocate(2)
    pool.free(first)
    assert pool.allocate(3) == first


def test_too_many_blocks_are_refused_and_none_is_taken() -> None:
    pool = Blocks(4)
    pool.allocate(2)
    with pytest.raises(OutOfBlocks, match="3 blocks are needed; 2 of 4 are free"):
        pool.allocate(3)
    assert pool.used == 2
    assert pool.allocate(2)


def test_nothing_can_be_had_of_an_empty_pool_and_no_pool_is_empty_from_the_start() -> None:
    with pytest.raises(UsageError, match="at least 1 block"):
        Blocks(0)
    pool = Blocks(1)
    pool.allocate(1)
    assert pool.allocate(0) == []
    with pytest.raises(OutOfBlocks):
        pool.allocate(1)


def test_a_negative_number_of_blocks_is_no_number_of_blocks() -> None:
    with pytest.raises(UsageError, match="-1 blocks"):
        Blocks(2).allocate(-1)


@pytest.mark.parametrize("blocks", [[0, 0], [1, 0, 1]])
def test_a_block_named_twice_frees_nothing(blocks: list[int]) -> None:
    pool = Blocks(2)
    pool.allocate(2)
    with pytest.raises(InputError, match="freed twice"):
        pool.free(blocks)
    assert pool.used == 2


def test_a_block_that_is_free_cannot_be_freed_again() -> None:
    pool = Blocks(2)
    (block,) = pool.allocate(1)
    pool.free([block])
    with pytest.raises(InputError, match=f"Block {block} is freed twice"):
        pool.free([block])


@pytest.mark.parametrize("block", [-1, 2, 10**9])
def test_a_block_of_another_pool_is_refused(block: int) -> None:
    pool = Blocks(2)
    held = pool.allocate(1)
    with pytest.raises(InputError, match="not of this pool of 2 blocks"):
        pool.free([*held, block])
    assert pool.used == 1


@pytest.mark.parametrize("seed", range(20))
def test_no_block_has_two_owners_and_none_is_lost(seed: int) -> None:
    """Any sequence of requests: the owners' blocks and the free ones are the pool, each once."""
    chance = random.Random(seed)
    pool = Blocks(chance.randint(1, 40))
    owners: list[list[int]] = []
    for _ in range(300):
        if owners and chance.random() < 0.45:
            pool.free(owners.pop(chance.randrange(len(owners))))
            continue
        wanted, free = chance.randint(0, 8), pool.free_count
        try:
            owners.append(pool.allocate(wanted))
        except OutOfBlocks:
            assert wanted > free
        else:
            assert len(owners[-1]) == wanted
        held = [block for blocks in owners for block in blocks]
        assert len(held) == len(set(held)) == pool.used
        assert pool.used + pool.free_count == pool.count
    for blocks in owners:
        pool.free(blocks)
    assert sorted(pool.allocate(pool.count)) == list(range(pool.count))
