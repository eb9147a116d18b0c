"""Serve an open loop: a tick admits, prefills, decodes and retires; arrivals never wait for it."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Sequence as Several
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from tracekit.base import UsageError
from tracekit.ops.cache.caches import BlockPool
from tracekit.ops.serving.load import ScheduledRequest
from tracekit.workload import IDLE, Gauge, Measured, Request, Span, StepReport


@dataclass(frozen=True)
class WorkloadClock:
    """The system-wide monotonic clock for all times of a workload, in nanoseconds."""

    now: Callable[[], int] = time.monotonic_ns
    wait: Callable[[int], None] = lambda nanoseconds: time.sleep(nanoseconds / 1e9)


@dataclass(eq=False)
class RunningSequence:
    """A request in the queue or the batch.

    Times are in ns of the engine's clock: its scheduled arrival, when it was `admitted` and got its
    blocks, and when each of its `tokens` was complete. `slot` is its row of the batch, -1 before
    admission; `prefilled` is the number of tokens of its prompt in the cache.
    """

    job: ScheduledRequest
    scheduled: int
    slot: int = -1
    blocks: list[int] = field(default_factory=list[int])
    admitted: int | None = None
    prefilled: int = 0
    tokens: list[int] = field(default_factory=list[int])

    @property
    def is_prefilled(self) -> bool:
        """Whether the whole prompt is in the cache."""
        return self.prefilled == self.job.prompt_tokens

    @property
    def is_finished(self) -> bool:
        """Whether it has all tokens of its output."""
        return len(self.tokens) == self.job.output_tokens

    @property
    def context(self) -> int:
        """Tokens that its next decode step attends to, the newest one included."""
        return self.job.prompt_tokens + len(self.tokens)


@dataclass(frozen=True)
class Chunk:
    """A piece of a prompt: `count` tokens from `first_token` on."""

    sequence: RunningSequence
    first_token: int
    count: int

    @property
    def is_last(self) -> bool:
        """Whether the prompt ends with it."""
        done_tokens = self.first_token + self.count
        return done_tokens == self.sequence.job.prompt_tokens


@dataclass(frozen=True)
class TickPlan:
    """The work of one tick: a piece of at most one prompt, and a token for each that decodes."""

    chunk: Chunk | None = None
    decoding: Several[RunningSequence] = ()

    @property
    def tokens(self) -> int:
        """Tokens that it produces: the end of a prompt gives the first one."""
        tokens = len(self.decoding)
        if self.chunk is not None and self.chunk.is_last:
            tokens += 1
        return tokens


Order = Literal["fifo", "shortest"]
Batching = Literal["continuous", "static"]


class Scheduler:
    """The queue, the batch and the blocks.

    A request waits until there is a slot, and blocks for its prompt and its whole output, so
    that no request is ever put off again. `slots` is the number of sequences served at a time,
    `prefill_chunk` the limit of prompt tokens that one tick takes.

    In the order "fifo", first come, first served, a request that waits for blocks holds up those
    behind it, however small. "shortest" takes the request with the fewest tokens of prompt and
    output, which a real server can only estimate; none is interrupted, and long ones may starve.
    "continuous" batching fills a slot as soon as it is free. "static" batching admits requests only
    once all sequences of the batch before are finished.
    """

    def __init__(
        self,
        *,
        slots: int,
        blocks: BlockPool,
        block_size: int,
        prefill_chunk: int,
        order: Order = "fifo",
        batching: Batching = "continuous",
    ) -> None:
        for name, value in (("--max-seqs", slots), ("--prefill-chunk", prefill_chunk)):
            if value < 1:
                raise UsageError(f"{name} must be at least 1; it is {value}.")
        self.slots = slots
        self.blocks = blocks
        self.waiting: deque[RunningSequence] = deque()
        self.active: list[RunningSequence] = []
        self._free_slots = list(range(slots - 1, -1, -1))
        self._block_size = block_size
        self._chunk = prefill_chunk
        self._order = order
        self._batching = batching

    @property
    def empty(self) -> bool:
        """Whether there is no request to serve."""
        return not self.waiting and not self.active

    def refusal(self, job: ScheduledRequest) -> str:
        """Return why a request can never be served, or ""."""
        needed = job.blocks(self._block_size)
        if needed <= self.blocks.count:
            return ""
        return (
            f"{job.prompt_tokens} + {job.output_tokens} tokens need {needed} blocks of "
            f"{self._block_size}; the pool has {self.blocks.count}"
        )

    def admit(self, moment: int) -> list[RunningSequence]:
        """Give slots and blocks to as many requests as possible, from the head of the queue on."""
        admitted: list[RunningSequence] = []
        if self._batching == "static" and self.active:
            return admitted
        if self._order == "shortest":
            self.waiting = deque(sorted(self.waiting, key=_count_tokens))
        while self.waiting and self._free_slots:
            needed = self.waiting[0].job.blocks(self._block_size)
            if needed > self.blocks.free_count:
                break
            sequence = self.waiting.popleft()
            sequence.blocks = self.blocks.allocate(needed)
            sequence.slot = self._free_slots.pop()
            sequence.admitted = moment
            admitted.append(sequence)
        self.active += admitted
        return admitted

    def plan(self) -> TickPlan:
        """Return the work of the next tick; prompts are taken in the order of admission."""
        decoding: list[RunningSequence] = []
        prefilling: list[RunningSequence] = []
        for sequence in self.active:
            if sequence.is_prefilled:
                decoding.append(sequence)
            else:
                prefilling.append(sequence)
        if not prefilling:
            return TickPlan(None, decoding)
        sequence = prefilling[0]
        remaining_tokens = sequence.job.prompt_tokens - sequence.prefilled
        count = min(remaining_tokens, self._chunk)
        return TickPlan(Chunk(sequence, sequence.prefilled, count), decoding)

    def complete(self, plan: TickPlan, moment: int) -> list[RunningSequence]:
        """Note that a plan is done; retire the sequences that have all tokens, and return them."""
        producing = list(plan.decoding)
        if plan.chunk is not None:
            plan.chunk.sequence.prefilled += plan.chunk.count
            if plan.chunk.is_last:
                producing.append(plan.chunk.sequence)
        for sequence in producing:
            sequence.tokens.append(moment)
        retired = [request for request in producing if request.is_finished]
        for sequence in retired:
            self.blocks.release(sequence.blocks)
            self._free_slots.append(sequence.slot)
            self.active.remove(sequence)
        return retired


def _percentile(times: Several[int], percent: int, absence: str) -> Measured:
    if not times:
        return Measured(None, "ns", "lower", absence)
    return Measured(float(np.percentile(times, percent)), "ns", "lower", "")


def _count_tokens(sequence: RunningSequence) -> int:
    return sequence.job.prompt_tokens + sequence.job.output_tokens


LONGEST_IDLE = 50_000_000
"""Nanoseconds that a tick waits for load at most, so that a stop is heard."""


class Attention(Protocol):
    """The calls of a tick to a device; `tracekit.ops.serving.server.PagedModel` documents them."""

    def write_prompt(self, chunk: Chunk) -> None: ...  # noqa: D102

    def write_tokens(self, decoding: Several[RunningSequence]) -> None: ...  # noqa: D102

    def attend_prompt(self, chunk: Chunk) -> Any: ...  # noqa: D102

    def attend_tokens(self, decoding: Several[RunningSequence]) -> Any: ...  # noqa: D102

    def wait(self, handed_over: Any) -> None: ...  # noqa: D102


HandedOver = tuple[TickPlan, list[tuple[str, Any]]]
"""A tick's plan, and its submitted values: each with the name of the span that waits for it."""


@dataclass
class TickReport:
    """The report of one tick."""

    variant: str = ""
    tokens: int = 0
    spans: list[Span] = field(default_factory=list[Span])
    gauges: list[Gauge] = field(default_factory=list[Gauge])
    requests: list[Request] = field(default_factory=list[Request])

    def span(self, name: str, start: int, end: int) -> None:
        """Add a span; one that continues the last one extends it."""
        if self.spans and self.spans[-1].name == name and self.spans[-1].end == start:
            start = self.spans.pop().start
        self.spans.append(Span(name, start, end))


class Engine:
    """Serves a schedule, ordered by arrival, on an open loop.

    Latencies count from the scheduled arrival: a request that the loop sees late has waited
    since then, so that a slow server cannot hide behind a late question. `limits` are levels to
    compare others with, by the name of their gauge and its unit; `rehearsal` is repeated until the
    schedule begins.
    """

    def __init__(
        self,
        jobs: Several[ScheduledRequest],
        scheduler: Scheduler,
        model: Attention,
        clock: WorkloadClock,
        limits: Mapping[tuple[str, str], float] | None = None,
        *,
        rehearsal: Iterator[TickPlan],
    ) -> None:
        self._coming = deque(jobs)
        self._scheduler = scheduler
        self._model = model
        self._clock = clock
        self._rehearsal = rehearsal
        self._has_begun = False
        self._origin = 0  # when the schedule began
        self._closed = False
        self._tick = TickReport()
        self._levels: dict[str, float] = {}
        self._limits = dict(limits or {})
        self._lateness: list[int] = []
        self._queue_waits: list[int] = []  # ns from a scheduled arrival to its admission
        self._unseen: list[RunningSequence] = []

    def begin(self) -> None:
        """Let the schedule start now."""
        self._has_begun = True
        self._origin = self._clock.now()

    def is_exhausted(self) -> bool:
        """Whether all requests have come and gone, or the run is over."""
        return self._closed or (not self._coming and self._scheduler.empty)

    def submit(self) -> HandedOver:
        """Take arrivals, admit, and hand over the work of this tick; wait if there is none.

        Before the schedule begins, a rehearsal is handed over, which serves no request.
        """
        clock = self._clock
        tick = TickReport()
        self._tick = tick
        start = clock.now()
        if not self._has_begun:
            rehearsed = next(self._rehearsal)
            return TickPlan(), self._handed_over(rehearsed, start)
        if self._idle(start):
            return TickPlan(), []
        came = self._arrivals(start)
        admitted = self._scheduler.admit(start)
        self._queue_waits += [start - sequence.scheduled for sequence in admitted]
        self._read_levels(start)
        moment = start
        if came or admitted:
            moment = clock.now()
            tick.span("admit", start, moment)
        plan = self._scheduler.plan()
        tick.tokens = plan.tokens
        return plan, self._handed_over(plan, moment)

    def wait(self, work: HandedOver) -> None:
        """Wait for the work on the device, note the tokens, and retire complete sequences."""
        plan, parts = work
        spans = self._tick.spans
        moment = spans[-1].end if spans else self._clock.now()
        for name, part in parts:
            self._model.wait(part)
            moment = self._add_span(name, moment)
        retired = self._scheduler.complete(plan, moment)
        requests = [_describe_request(sequence, "completed") for sequence in retired]
        self._tick.requests += requests
        if retired:
            self._add_span("retire", moment)

    def tell(self) -> StepReport:
        """Return the report of the last tick; that of a rehearsal is empty."""
        if not self._has_begun:
            return StepReport(tokens=0)
        return StepReport(**vars(self._tick))

    def finish(self) -> dict[str, float | Measured]:
        """End the run; return waits, and how many arrivals were still to come.

        Those are how late arrivals were seen, and how long requests were in the queue. Requests
        that are `waiting_at_the_end` count with their wait so far, the least that it can be.
        Requests that were due but not seen are taken now, and reported as unfinished.
        """
        moment = self._clock.now()
        self._closed = True
        self._unseen = self._take_due(moment)
        late = [moment - sequence.scheduled for sequence in self._unseen]
        self._lateness += late
        waiting_requests = (*self._scheduler.waiting, *self._unseen)
        waits = [
            moment - sequence.scheduled
            for sequence in waiting_requests
            if not self._scheduler.refusal(sequence.job)
        ]
        queue_waits = self._queue_waits + waits
        results: dict[str, float | Measured] = {
            "arrivals_after_the_end": Measured(float(len(self._coming)), "count", "neither"),
            "waiting_at_the_end": Measured(float(len(waits)), "count", "lower"),
        }
        for name, percent in (("p50", 50), ("p99", 99), ("max", 100)):
            lateness = _percentile(self._lateness, percent, "no request arrived")
            results[f"arrival_lateness_{name}"] = lateness
        for name, percent in (("p50", 50), ("p99", 99)):
            wait = _percentile(queue_waits, percent, "no request arrived")
            results[f"queue_wait_{name}"] = wait
        return results

    def leave(self) -> StepReport:
        """Report the requests that have arrived, or were due, and are not complete."""
        self._tick = TickReport()
        open_ones = (*self._scheduler.active, *self._scheduler.waiting, *self._unseen)
        requests = [_describe_request(sequence, "unfinished") for sequence in open_ones]
        self._tick.requests += requests
        self._read_levels(self._clock.now())
        return self.tell()

    def _idle(self, moment: int) -> bool:
        """Wait for the next arrival if there is no request to serve; return whether it waited."""
        if not self._scheduler.empty or not self._coming:
            return False
        next_arrival = self._origin + self._coming[0].arrival
        delay = next_arrival - moment
        if delay <= 0:
            return False
        self._read_levels(moment)
        self._clock.wait(min(delay, LONGEST_IDLE))
        self._tick.variant = IDLE
        self._tick.span(IDLE, moment, self._clock.now())
        return True

    def _arrivals(self, moment: int) -> bool:
        """Queue due requests, or refuse those that can never be served; return whether any came."""
        due_sequences = self._take_due(moment)
        for sequence in due_sequences:
            reason = self._scheduler.refusal(sequence.job)
            if reason:
                self._tick.requests.append(_describe_request(sequence, "rejected", reason))
            else:
                self._scheduler.waiting.append(sequence)
        late = [moment - request.scheduled for request in due_sequences]
        self._lateness += late
        if late:
            gauge = Gauge("arrival_lateness", float(max(late)), moment, "ns")
            self._tick.gauges.append(gauge)
        return bool(due_sequences)

    def _take_due(self, moment: int) -> list[RunningSequence]:
        due_sequences: list[RunningSequence] = []
        while self._coming and self._origin + self._coming[0].arrival <= moment:
            job = self._coming.popleft()
            arrival = self._origin + job.arrival
            due_sequences.append(RunningSequence(job, arrival))
        return due_sequences

    def _handed_over(self, plan: TickPlan, moment: int) -> list[tuple[str, Any]]:
        """Write, then attend: all is written before it is read, so that MLX copies nothing."""
        model = self._model
        parts: list[tuple[str, Any]] = []
        if plan.chunk is not None:
            model.write_prompt(plan.chunk)
            moment = self._add_span("prefill", moment)
        if plan.decoding:
            model.write_tokens(plan.decoding)
            moment = self._add_span("decode", moment)
        if plan.chunk is not None:
            parts.append(("prefill", model.attend_prompt(plan.chunk)))
            moment = self._add_span("prefill", moment)
        if plan.decoding:
            parts.append(("decode", model.attend_tokens(plan.decoding)))
            self._add_span("decode", moment)
        return parts

    def _add_span(self, name: str, since: int) -> int:
        moment = self._clock.now()
        self._tick.span(name, since, moment)
        return moment

    def _read_levels(self, moment: int) -> None:
        """Report the levels that have changed since the last report."""
        scheduler = self._scheduler
        blocks = scheduler.blocks
        levels: dict[tuple[str, str], float] = {
            ("active_sequences", "count"): len(scheduler.active),
            ("queued_requests", "count"): len(scheduler.waiting),
            ("used_blocks", "count"): blocks.used_count,
            ("free_blocks", "count"): blocks.free_count,
        }
        levels.update(self._limits)
        for (name, unit), value in levels.items():
            if self._levels.get(name) != value:
                self._levels[name] = value
                gauge = Gauge(name, float(value), moment, unit)
                self._tick.gauges.append(gauge)


def _describe_request(sequence: RunningSequence, state: Any, reason: str = "") -> Request:
    return Request(
        number=sequence.job.number,
        scheduled=sequence.scheduled,
        prompt_tokens=sequence.job.prompt_tokens,
        output_tokens=sequence.job.output_tokens,
        admitted=sequence.admitted,
        tokens=tuple(sequence.tokens),
        state=state,
        reason=reason,
    )
