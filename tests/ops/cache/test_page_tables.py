import random

import numpy as np
import pytest

from tracekit.base.errors import UsageError
from tracekit.ops.cache.paged import Blocks, OutOfBlocks, PageTables


def tables(blocks: int = 8, sequences: int = 2, max_blocks: int = 4) -> PageTables:
    return PageTables(Blocks(blocks), sequences, block_size=4, max_blocks=max_blocks)


def test_a_block_is_taken_when_a_token_needs_it() -> None:
    pages = tables()
    assert [pages.extend(0, 1) for _ in range(9)] == [1, 0, 0, 0, 1, 0, 0, 0, 1]
    assert pages.lengths.tolist() == [9, 0]
    assert pages.tables[0, :3].tolist() == list(pages.blocks_of(0))
    assert pages.pool.used == 3


def test_a_run_takes_all_its_blocks_at_once() -> None:
    pages = tables()
    assert pages.extend(1, 10) == 3
    assert pages.extend(1, 2) == 0


def test_blocks_can_be_taken_ahead() -> None:
    pages = tables()
    assert pages.reserve(0, 9) == 3
    assert pages.lengths[0] == 0
    assert pages.extend(0, 9) == pages.reserve(0, 3) == 0
    assert pages.extend(0, 4) == 1


def test_what_a_table_cannot_hold_is_refused_and_changes_nothing() -> None:
    pages = tables()
    pages.extend(0, 15)
    with pytest.raises(UsageError, match="17 tokens need 5 blocks of 4; a table has 4 entries"):
        pages.extend(0, 2)
    assert pages.lengths[0] == 15
    assert pages.extend(0, 1) == 0


def test_what_the_pool_cannot_give_is_refused_and_changes_nothing() -> None:
    pages = tables(blocks=3)
    pages.extend(0, 8)
    with pytest.raises(OutOfBlocks):
        pages.extend(1, 5)
    assert pages.lengths[1] == 0
    assert pages.blocks_of(1) == ()
    assert pages.extend(1, 4) == 1


def test_a_released_sequence_gives_all_its_blocks_back() -> None:
    pages = tables(blocks=4)
    pages.extend(0, 16)
    pages.release(0)
    assert (pages.pool.used, pages.lengths[0], pages.blocks_of(0)) == (0, 0, ())
    assert not pages.tables[0].any()
    assert pages.extend(1, 16) == 4


@pytest.mark.parametrize("sizes", [(0, 4, 4), (2, 0, 4), (2, 4, 0)])
def test_sizes_of_nought_are_refused(sizes: tuple[int, int, int]) -> None:
    sequences, block_size, max_blocks = sizes
    with pytest.raises(UsageError, match="at least 1"):
        PageTables(Blocks(1), sequences, block_size=block_size, max_blocks=max_blocks)


@pytest.mark.parametrize("seed", range(10))
def test_no_two_sequences_share_a_block(seed: int) -> None:
    chance = random.Random(seed)
    pages = PageTables(Blocks(30), 6, block_size=3, max_blocks=12)
    for _ in range(200):
        sequence = chance.randrange(6)
        if chance.random() < 0.2:
            pages.release(sequence)
            continue
        try:
            pages.extend(sequence, chance.randint(0, 5))
        except (OutOfBlocks, UsageError):
            pages.release(chance.randrange(6))
        held = [block for one in range(6) for block in pages.blocks_of(one)]
        assert len(held) == len(set(held)) == pages.pool.used
        assert [len(pages.blocks_of(one)) for one in range(6)] == np.ceil(
            pages.lengths / 3
        ).tolist()
