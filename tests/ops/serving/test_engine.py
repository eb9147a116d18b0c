"""The open loop on a simulated clock: who is served next, and what a tick tells."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit.base.errors import UsageError
from tracekit.ops.cache.caches import BlockPool
from tracekit.ops.serving.engine import (
    LONGEST_IDLE,
    Chunk,
    Engine,
    RunningSequence,
    Scheduler,
    WorkloadClock,
)
from tracekit.ops.serving.load import ScheduledRequest
from tracekit.workload.workload import IDLE, Gauge, Request, Span, StepReport

MS = 1_000_000


def scheduler_of(
    *, slots: int = 2, blocks: int = 8, block_size: int = 4, chunk: int = 4, **choices: Any
) -> Scheduler:
    pool = BlockPool(blocks)
    return Scheduler(
        slots=slots, blocks=pool, block_size=block_size, prefill_chunk=chunk, **choices
    )


@dataclass
class Device:
    """Work that takes time once it is waited for, on a clock that stands still otherwise.

    It notes which tokens of each request are in the cache, and checks what it is asked.
    """

    prefill: int = 4 * MS
    decode: int = 2 * MS
    time: int = 1_000 * MS
    written_tokens: dict[int, list[int]] = field(default_factory=dict[int, list[int]])

    def pause(self, nanoseconds: int) -> None:
        """Let time pass, and a little more, as an operating system does."""
        self.time += nanoseconds + 1_000

    def write_prompt(self, chunk: Chunk) -> None:
        tokens = self.written_tokens.setdefault(chunk.sequence.job.number, [])
        tokens += range(chunk.first_token, chunk.first_token + chunk.count)

    def write_tokens(self, decoding: Sequence[RunningSequence]) -> None:
        for sequence in decoding:
            self.written_tokens[sequence.job.number].append(sequence.context - 1)

    def attend_prompt(self, chunk: Chunk) -> int:
        assert self.written_tokens[chunk.sequence.job.number] == list(
            range(chunk.first_token + chunk.count)
        )
        return self.prefill

    def attend_tokens(self, decoding: Sequence[RunningSequence]) -> int:
        for sequence in decoding:
            assert self.written_tokens[sequence.job.number] == list(range(sequence.context))
        return self.decode

    def wait(self, handed_over: int) -> None:
        self.time += handed_over


class Rig:
    """An engine for jobs, given as (at in ms, prompt, output), and all that it told."""

    def __init__(
        self,
        *jobs: tuple[float, int, int],
        limits: dict[tuple[str, str], float] | None = None,
        prefill: int = 4 * MS,
        **sizes: Any,
    ) -> None:
        self.device = Device(prefill)
        self.scheduler = scheduler_of(**{"slots": 4, "blocks": 32, "chunk": 8, **sizes})
        coming = [
            ScheduledRequest(i, round(arrival * MS), *tokens)
            for i, (arrival, *tokens) in enumerate(jobs)
        ]
        clock, nobody = WorkloadClock(lambda: self.device.time, self.device.pause), iter(())
        engine_parts = (coming, self.scheduler, self.device, clock, limits)
        self.engine = Engine(*engine_parts, rehearsal=nobody)
        self.told: list[StepReport] = []
        self.results: dict[str, Any] = {}
        self.begun = self.device.time
        self.engine.begin()

    def tick(self) -> StepReport:
        self.engine.wait(self.engine.submit())
        self.told.append(self.engine.tell())
        return self.told[-1]

    def run(self, until: int = 1 << 62) -> "Rig":
        """Tick until everything is served, or until a time of the simulated clock."""
        while not self.engine.is_exhausted() and self.device.time < until:
            self.tick()
            assert len(self.told) < 100_000, "the engine does not come to an end"
            active = self.scheduler.active
            owned = [block for request in active for block in request.blocks]
            assert len(set(owned)) == len(owned) == self.scheduler.blocks.used_count
            assert len({request.slot for request in active}) == len(active) <= self.scheduler.slots
        self.results = self.engine.finish()
        self.told.append(self.engine.leave())
        return self

    @property
    def requests(self) -> dict[int, Request]:
        """All requests that were told of, by number; none twice."""
        request_reports = [request for tick in self.told for request in tick.requests]
        assert len({request.number for request in request_reports}) == len(request_reports)
        return {request.number: request for request in request_reports}

    def gauges(self, name: str) -> list[float]:
        return [gauge.value for tick in self.told for gauge in tick.gauges if gauge.name == name]


def test_latency_counts_from_the_schedule_however_late_the_loop_sees_it() -> None:
    rig = Rig((0, 8, 2), (1, 8, 1), prefill=100 * MS).run()
    late = rig.requests[1]
    assert (late.scheduled, late.admitted) == (rig.begun + 1 * MS, rig.begun + 100 * MS)
    assert rig.gauges("arrival_lateness") == [0, 99 * MS]
    assert late.tokens[0] - late.scheduled > 199 * MS
    assert rig.results["arrival_lateness_max"].value == 99 * MS
    assert rig.results["arrival_lateness_p50"].value == 49.5 * MS
    assert rig.results["queue_wait_p50"].value == 49.5 * MS


def test_a_tick_without_anybody_waits_for_the_next_arrival_and_says_so() -> None:
    rig = Rig((30, 4, 1))
    report = rig.tick()
    assert (report.variant, report.tokens) == (IDLE, 0)
    assert report.spans == [Span(IDLE, rig.begun, rig.begun + 30 * MS + 1_000)]
    assert rig.tick().tokens == 1
    assert rig.requests[0].state == "completed"


def test_no_wait_is_so_long_that_a_stop_would_not_be_heard() -> None:
    rig = Rig((170, 4, 1))
    waits = [rig.tick() for _ in range(4)]
    assert {report.variant for report in waits} == {IDLE}
    lengths = [span.end - span.start for report in waits for span in report.spans]
    assert max(lengths) <= LONGEST_IDLE + 1_000
    assert rig.tick().variant == ""


def test_incomplete_requests_are_reported_as_unfinished() -> None:
    rig = Rig((0, 4, 50), (1, 4, 50), (2, 4, 50), (9_000, 4, 1), slots=1)
    rig.run(until=rig.begun + 30 * MS)
    states = {number: request.state for number, request in rig.requests.items()}
    assert states == dict.fromkeys((0, 1, 2), "unfinished")
    assert len(rig.requests[0].tokens) > 0
    assert rig.requests[1].admitted is None
    assert rig.results["arrivals_after_the_end"].value == 1
    assert rig.engine.is_exhausted()


def test_requests_that_still_wait_count_with_their_wait_so_far() -> None:
    rig = Rig((0, 4, 50), (1, 4, 50), (2, 4, 50), slots=1)
    rig.run(until=rig.begun + 30 * MS)
    end = rig.device.time - rig.begun
    assert rig.results["waiting_at_the_end"].value == 2
    assert rig.results["queue_wait_p50"].value == end - 2 * MS


def test_an_arrival_that_was_due_but_not_seen_counts_as_unfinished() -> None:
    rig = Rig((0, 4, 9), (5, 4, 9), (900, 4, 9), prefill=20 * MS)
    rig.tick()
    results = rig.engine.finish()
    assert results["arrivals_after_the_end"].value == 1
    assert results["arrival_lateness_max"].value == 15 * MS
    rig.device.time += 1_000 * MS
    assert sorted(request.number for request in rig.engine.leave().requests) == [0, 1]


def test_levels_are_reported_on_change_and_limits_once() -> None:
    rig = Rig((0, 8, 20), limits={("limit_blocks", "count"): 32.0, ("limit_ttft", "ns"): 5e6}).run()
    assert rig.gauges("used_blocks") == [7, 0]
    assert rig.gauges("free_blocks") == [25, 32]
    assert rig.gauges("active_sequences") == [1, 0]
    assert Gauge("limit_ttft", 5e6, rig.begun, "ns") in rig.told[0].gauges
    assert rig.gauges("limit_ttft") == [5e6]


JOBS = st.tuples(st.integers(0, 400), st.integers(1, 60), st.integers(1, 12))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(JOBS, min_size=1, max_size=25).map(sorted),
    st.fixed_dictionaries({"slots": st.integers(1, 5), "chunk": st.integers(1, 16)}),
    st.integers(4, 24),
    st.sampled_from(["fifo", "shortest"]),
    st.sampled_from(["continuous", "static"]),
)
def test_whatever_comes_is_accounted_for(
    jobs: list[tuple[int, int, int]], sizes: dict[str, int], blocks: int, order: str, batching: str
) -> None:
    rig = Rig(*jobs, **sizes, blocks=blocks, order=order, batching=batching).run()
    requests = rig.requests
    assert sorted(requests) == list(range(len(jobs)))
    admitted = [requests[number].admitted for number in sorted(requests)]
    if order == "fifo":
        assert sorted(filter(None, admitted)) == list(filter(None, admitted))
    for number, (arrival, prompt, output) in enumerate(jobs):
        request = requests[number]
        fits = -(-(prompt + output) // 4) <= blocks
        assert request.state == ("completed" if fits else "rejected"), number
        assert len(request.tokens) == (output if fits else 0), number
        assert request.scheduled == rig.begun + arrival * MS, number
        if fits:
            assert request.scheduled <= request.admitted < request.tokens[0], number
            assert list(request.tokens) == sorted(set(request.tokens)), number
            assert rig.device.written_tokens[number] == list(range(prompt + output - 1)), number
    produced = sum(tick.tokens or 0 for tick in rig.told)
    assert produced == sum(len(request.tokens) for request in requests.values())
    assert rig.scheduler.blocks.used_count == 0


def make_sequence(number: int, prompt: int, output: int) -> RunningSequence:
    return RunningSequence(ScheduledRequest(number, 0, prompt, output), scheduled=0)


def numbers(sequences: list[RunningSequence]) -> list[int]:
    return [sequence.job.number for sequence in sequences]


def test_who_waits_for_blocks_holds_up_those_behind() -> None:
    scheduler = scheduler_of(slots=3, blocks=4)
    scheduler.waiting.extend(
        make_sequence(number, prompt, 1) for number, prompt in enumerate((15, 7, 1))
    )
    assert numbers(scheduler.admit(0)) == [0], "it takes all blocks there are"
    retired = [numbers(scheduler.complete(scheduler.plan(), time)) for time in range(4)]
    assert retired == [[], [], [], [0]]
    assert numbers(scheduler.admit(1)) == [1, 2]


def test_a_request_larger_than_the_pool_is_refused_with_a_reason() -> None:
    refused = [scheduler_of().refusal(ScheduledRequest(0, 0, tokens - 2, 2)) for tokens in (32, 33)]
    assert refused == ["", "31 + 2 tokens need 9 blocks of 4; the pool has 8"]


def test_a_prompt_is_taken_in_pieces_and_its_end_is_the_first_token() -> None:
    scheduler, request = scheduler_of(), make_sequence(0, prompt=9, output=2)
    scheduler.waiting.append(request)
    scheduler.admit(0)
    pieces, tokens = [], []
    while not request.is_finished:
        plan = scheduler.plan()
        pieces.append((plan.chunk.first_token, plan.chunk.count) if plan.chunk else None)
        tokens.append(plan.tokens)
        scheduler.complete(plan, moment=10 * len(pieces))
    assert pieces == [(0, 4), (4, 4), (8, 1), None]
    assert tokens == [0, 0, 1, 1]
    assert request.tokens == [30, 40]


def test_a_static_batch_waits_until_the_one_before_is_over() -> None:
    jobs = ((0, 8, 9), (0, 8, 2), (1, 8, 2))
    continuous = Rig(*jobs, slots=2).run()
    static = Rig(*jobs, slots=2, batching="static").run()
    # the third request takes the slot of the second, or waits for the first as well
    assert continuous.requests[2].admitted == max(continuous.requests[1].tokens)
    assert static.requests[2].admitted == max(static.requests[0].tokens)


def make_poisson_jobs(share: float, prompts: Sequence[int]) -> list[tuple[float, int, int]]:
    """Draw arrivals for a server of one slot; each takes half a millisecond for a prompt token.

    `share` is the utilization of that server, `prompts` are lengths of equal probability.
    """
    generator = np.random.default_rng(7)
    service = 0.5 * float(np.mean(prompts))
    moments = np.cumsum(generator.exponential(service / share, 5_000))
    lengths = generator.choice(prompts, moments.size)
    pairs = zip(moments.tolist(), lengths.tolist(), strict=True)
    return [(moment, length, 1) for moment, length in pairs]


def mean_wait(rig: Rig, prompt: int, jobs: Sequence[tuple[float, int, int]]) -> float:
    """Return the mean ms from arrival to admission of the requests with such a prompt."""
    waits: list[int] = []
    for number, request in rig.requests.items():
        if jobs[number][1] == prompt:
            assert request.admitted is not None
            waits.append(request.admitted - request.scheduled)
    return float(np.mean(waits)) / MS


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_the_mean_wait_is_that_of_pollaczek_and_khinchine(share: float) -> None:
    # M/D/1: W = share / (2 (1 - share)) of a service time
    jobs = make_poisson_jobs(share, [8])
    rig = Rig(*jobs, slots=1).run()
    expected = share / (2 * (1 - share)) * 4.0
    assert mean_wait(rig, 8, jobs) == pytest.approx(expected, rel=0.05)


def test_the_mean_waits_of_shortest_first_are_those_of_cobham() -> None:
    # M/G/1 without preemption: W = W0 / (1 - s), for the second class / ((1 - s) (1 - s - l)),
    # where s and l are the shares of the classes and W0 is half the rate times the mean square
    share = 0.5
    jobs = make_poisson_jobs(share, [8, 40])
    residual = share / (0.5 * 24) * (0.5 * (4.0**2 + 20.0**2)) / 2
    shorts = share * 8 / 48
    rig = Rig(*jobs, slots=1, order="shortest").run()
    assert mean_wait(rig, 8, jobs) == pytest.approx(residual / (1 - shorts), rel=0.1)
    expected = residual / ((1 - shorts) * (1 - share))
    assert mean_wait(rig, 40, jobs) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("sizes", [{"slots": 0}, {"chunk": 0}], ids=str)
def test_a_server_without_room_is_refused(sizes: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="must be at least 1"):
        scheduler_of(**sizes)
