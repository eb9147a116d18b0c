"""Who is served next: in the order of arrival, with blocks for all that a request needs."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit.base.errors import UsageError
from tracekit.ops.cache.caches import Blocks
from tracekit.ops.serving.engine import RunningSequence, Scheduler
from tracekit.ops.serving.load import Job

Make = Callable[..., Scheduler]


@pytest.fixture
def scheduler() -> Make:
    def make(*, slots: int = 2, blocks: int = 8, block_size: int = 4, chunk: int = 4) -> Scheduler:
        return Scheduler(
            slots=slots, blocks=Blocks(blocks), block_size=block_size, prefill_chunk=chunk
        )

    return make


def asked(number: int, prompt: int, output: int) -> RunningSequence:
    return RunningSequence(Job(number, 0, prompt, output), scheduled=0)


def numbers(several: list[RunningSequence]) -> list[int]:
    return [one.job.number for one in several]


def serve(one: Scheduler, at: int = 1) -> list[int]:
    """Make a tick; return who is retired."""
    return numbers(one.complete(one.plan(), at))


def test_who_waits_for_blocks_holds_up_those_behind(scheduler: Make) -> None:
    one = scheduler(slots=3, blocks=4)
    for number, prompt in enumerate((11, 7, 1)):
        one.arrive(asked(number, prompt, 1))
    assert numbers(one.admit(0)) == [0]
    assert (one.blocks.free_count, numbers(list(one.waiting))) == (1, [1, 2])
    assert [serve(one), serve(one), serve(one)] == [[], [], [0]]
    assert numbers(one.admit(1)) == [1, 2]


@pytest.mark.parametrize(("tokens", "served"), [(32, True), (33, False)])
def test_what_the_whole_pool_cannot_hold_is_refused_with_a_reason(
    tokens: int, served: bool, scheduler: Make
) -> None:
    reason = scheduler().refusal(Job(0, 0, tokens - 2, 2))
    assert (reason == "") == served
    if not served:
        assert reason == "31 + 2 tokens need 9 blocks of 4; the pool has 8"


def test_a_prompt_is_taken_in_pieces_and_its_end_is_the_first_token(scheduler: Make) -> None:
    one = scheduler()
    request = asked(0, prompt=9, output=2)
    one.arrive(request)
    one.admit(0)
    pieces, tokens = [], []
    while not request.finished:
        plan = one.plan()
        pieces.append((plan.chunk.first, plan.chunk.count) if plan.chunk else None)
        tokens.append(plan.tokens)
        one.complete(plan, at=10 * len(pieces))
    assert pieces == [(0, 4), (4, 4), (8, 1), None]
    assert tokens == [0, 0, 1, 1]
    assert request.tokens == [30, 40]


@pytest.mark.parametrize(("slots", "chunk"), [(0, 1), (1, 0)])
def test_a_server_without_room_is_refused(slots: int, chunk: int, scheduler: Make) -> None:
    with pytest.raises(UsageError, match="must be at least 1"):
        scheduler(slots=slots, chunk=chunk)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(1, 12)), min_size=1, max_size=25),
    st.integers(1, 5),
    st.integers(13, 40),
    st.integers(1, 9),
)
def test_every_request_gets_all_its_tokens_and_no_block_is_owned_twice(
    sizes: list[tuple[int, int]], slots: int, blocks: int, chunk: int
) -> None:
    one = Scheduler(slots=slots, blocks=Blocks(blocks), block_size=4, prefill_chunk=chunk)
    requests = [asked(number, *size) for number, size in enumerate(sizes)]
    for request in requests:
        assert not one.refusal(request.job)
        one.arrive(request)
    admitted: list[int] = []
    for tick in range(sum(-(-prompt // chunk) + output for prompt, output in sizes)):
        admitted += numbers(one.admit(tick))
        owned = [block for request in one.active for block in request.blocks]
        assert len(owned) == len(set(owned)) == one.blocks.used
        assert len({request.slot for request in one.active}) == len(one.active) <= slots
        for request in one.active:
            assert len(request.blocks) * 4 >= request.job.blocks(1)
        one.complete(one.plan(), tick)
        if one.empty:
            break
    assert one.empty
    assert one.blocks.used == 0
    assert admitted == list(range(len(sizes)))
    assert [len(request.tokens) for request in requests] == [output for _, output in sizes]
    assert all(request.tokens == sorted(set(request.tokens)) for request in requests)
