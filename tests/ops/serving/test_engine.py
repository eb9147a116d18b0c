"""The open loop on a simulated clock: what a tick does, and what it tells."""

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit.ops.serving.engine import LONGEST_IDLE
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
