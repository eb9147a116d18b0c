"""The open loop on a simulated clock: who is served next, and what a tick tells."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit.base.errors import UsageError
from tracekit.ops.cache.caches import Blocks
from tracekit.ops.serving.engine import LONGEST_IDLE, RunningSequence, Scheduler
from tracekit.ops.serving.load import Job
from tracekit.workload.workload import IDLE

MS = 1_000_000
Make = Callable[..., Any]


def test_latency_counts_from_the_schedule_however_late_the_loop_sees_it(rig: Make) -> None:
    one = rig([(0, 8, 2), (1, 8, 1)], prefill=100 * MS).run()
    late = one.requests[1]
    assert late.scheduled == one.begun + 1 * MS
    assert late.admitted == one.begun + 100 * MS
    assert [gauge.value for gauge in one.gauges("arrival_lateness")] == [0, 99 * MS]
    assert late.tokens[0] - late.scheduled > 199 * MS
    assert one.results["arrival_lateness_max"].value == 99 * MS
    assert one.results["arrival_lateness_p50"].value == 49.5 * MS


def test_a_tick_without_anybody_waits_for_the_next_arrival_and_says_so(rig: Make) -> None:
    one = rig([(30, 4, 1)]).begin()
    told = one.tick()
    assert (told.variant, told.tokens) == (IDLE, 0)
    [span] = told.spans
    assert (span.name, span.start) == (IDLE, one.begun)
    assert span.end == one.begun + 30 * MS + 1_000
    assert one.tick().tokens == 1
    assert one.requests[0].state == "completed"


def test_no_wait_is_so_long_that_a_stop_would_not_be_heard(rig: Make) -> None:
    one = rig([(170, 4, 1)]).begin()
    waits = [one.tick() for _ in range(4)]
    assert {told.variant for told in waits} == {IDLE}
    assert all(
        span.end - span.start <= LONGEST_IDLE + 1_000 for told in waits for span in told.spans
    )
    assert one.tick().variant == ""


def test_what_is_not_complete_at_the_end_is_told_as_unfinished(rig: Make) -> None:
    one = rig([(0, 4, 50), (1, 4, 50), (2, 4, 50), (9_000, 4, 1)], slots=1)
    one.run(until=one.clock.time + 30 * MS)
    states = {number: request.state for number, request in one.requests.items()}
    assert states == {0: "unfinished", 1: "unfinished", 2: "unfinished"}
    assert len(one.requests[0].tokens) > 0
    assert one.requests[1].admitted is None
    assert one.results["arrivals_after_the_end"].value == 1
    assert one.engine.exhausted()


def test_an_arrival_that_was_due_but_not_seen_counts_as_unfinished(rig: Make) -> None:
    one = rig([(0, 4, 9), (5, 4, 9), (900, 4, 9)], prefill=20 * MS).begin()
    one.tick()
    results = one.engine.finish()
    assert results["arrivals_after_the_end"].value == 1
    assert results["arrival_lateness_max"].value == 15 * MS
    one.clock.time += 1_000 * MS
    assert sorted(request.number for request in one.engine.leave().requests) == [0, 1]


def test_levels_are_told_when_they_change_and_limits_once(rig: Make) -> None:
    limits = {("limit_blocks", "count"): 32.0, ("limit_ttft", "ns"): 5e6}
    one = rig([(0, 8, 20)], limits=limits).run()
    assert [gauge.value for gauge in one.gauges("used_blocks")] == [7, 0]
    assert [gauge.value for gauge in one.gauges("free_blocks")] == [25, 32]
    assert [gauge.value for gauge in one.gauges("active_sequences")] == [1, 0]
    assert [(gauge.value, gauge.unit) for gauge in one.gauges("limit_ttft")] == [(5e6, "ns")]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 400), st.integers(1, 60), st.integers(1, 12)),
        min_size=1,
        max_size=25,
    ),
    st.integers(1, 5),
    st.integers(4, 24),
    st.integers(1, 16),
)
def test_whatever_comes_is_accounted_for(
    rig: Make, jobs: list[tuple[int, int, int]], slots: int, blocks: int, chunk: int
) -> None:
    one = rig(sorted(jobs), slots=slots, blocks=blocks, chunk=chunk).run()
    told = one.requests
    assert sorted(told) == list(range(len(jobs)))
    admitted = [request for _, request in sorted(told.items()) if request.admitted is not None]
    assert [request.admitted for request in admitted] == sorted(one.admitted for one in admitted)
    for number, (at, prompt, output) in enumerate(sorted(jobs)):
        request = told[number]
        fits = -(-(prompt + output) // 4) <= blocks
        assert request.state == ("completed" if fits else "rejected")
        assert len(request.tokens) == (output if fits else 0)
        assert request.scheduled == one.begun + at * MS
        if fits:
            assert request.scheduled <= request.admitted < request.tokens[0]
            assert list(request.tokens) == sorted(set(request.tokens))
            assert one.device.written[number] == list(range(prompt + output - 1))
    produced = sum(one_tick.tokens or 0 for one_tick in one.told)
    assert produced == sum(len(request.tokens) for request in told.values())
    assert one.scheduler.blocks.used == 0


Scheduling = Callable[..., Scheduler]


@pytest.fixture
def scheduler() -> Scheduling:
    def make(*, slots: int = 2, blocks: int = 8, block_size: int = 4, chunk: int = 4) -> Scheduler:
        return Scheduler(
            slots=slots, blocks=Blocks(blocks), block_size=block_size, prefill_chunk=chunk
        )

    return make


def asked(number: int, prompt: int, output: int) -> RunningSequence:
    return RunningSequence(Job(number, 0, prompt, output), scheduled=0)


def numbers(several: list[RunningSequence]) -> list[int]:
    return [one.job.number for one in several]


def test_who_waits_for_blocks_holds_up_those_behind(scheduler: Scheduling) -> None:
    one = scheduler(slots=3, blocks=4)
    for number, prompt in enumerate((15, 7, 1)):
        one.waiting.append(asked(number, prompt, 1))
    assert numbers(one.admit(0)) == [0], "it takes all blocks there are"
    retired = [numbers(one.complete(one.plan(), at)) for at in range(4)]
    assert retired == [[], [], [], [0]]
    assert numbers(one.admit(1)) == [1, 2]


@pytest.mark.parametrize(("tokens", "served"), [(32, True), (33, False)])
def test_what_the_whole_pool_cannot_hold_is_refused_with_a_reason(
    tokens: int, served: bool, scheduler: Scheduling
) -> None:
    reason = scheduler().refusal(Job(0, 0, tokens - 2, 2))
    assert (reason == "") == served
    if not served:
        assert reason == "31 + 2 tokens need 9 blocks of 4; the pool has 8"


def test_a_prompt_is_taken_in_pieces_and_its_end_is_the_first_token(
    scheduler: Scheduling,
) -> None:
    one = scheduler()
    request = asked(0, prompt=9, output=2)
    one.waiting.append(request)
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
def test_a_server_without_room_is_refused(slots: int, chunk: int, scheduler: Scheduling) -> None:
    with pytest.raises(UsageError, match="must be at least 1"):
        scheduler(slots=slots, chunk=chunk)
