"""Engines on a simulated clock, whose ticks take as long as a test says."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from tracekit.ops.cache.caches import Blocks
from tracekit.ops.serving.engine import Chunk, Clock, Engine, Scheduler
from tracekit.ops.serving.engine import RunningSequence as Served
from tracekit.ops.serving.load import Job
from tracekit.workload.workload import Gauge, Request, Span, StepReport

MS = 1_000_000


@dataclass
class Simulated:
    """A clock that stands still unless someone waits or works."""

    time: int = 1_000 * MS

    def now(self) -> int:
        """Return the time."""
        return self.time

    def wait(self, nanoseconds: int) -> None:
        """Let time pass, and a little more, as an operating system does."""
        self.time += nanoseconds + 1_000


@dataclass
class Device:
    """Work that takes time, notes who owns which block, and checks what it is asked."""

    clock: Simulated
    prefill: int = 4 * MS
    decode: int = 2 * MS
    written: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    batches: list[list[int]] = field(default_factory=list[list[int]])

    def write_prompt(self, chunk: Chunk) -> None:
        """Note which tokens of a request are in the cache."""
        tokens = self.written.setdefault(chunk.sequence.job.number, [])
        tokens += range(chunk.first, chunk.first + chunk.count)

    def write_tokens(self, decoding: Sequence[Served]) -> None:
        """Note the newest token of each."""
        for one in decoding:
            self.written[one.job.number].append(one.context - 1)

    def attend_prompt(self, chunk: Chunk) -> int:
        """Take time once it is waited for."""
        assert self.written[chunk.sequence.job.number] == list(range(chunk.first + chunk.count))
        return self.prefill

    def attend_tokens(self, decoding: Sequence[Served]) -> int:
        """Expect every context to be whole."""
        for one in decoding:
            assert self.written[one.job.number] == list(range(one.context))
        self.batches.append([one.job.number for one in decoding])
        return self.decode

    def wait(self, handed_over: int) -> None:
        """Work."""
        self.clock.time += handed_over


@dataclass
class Rig:
    """An engine and all that it told."""

    engine: Engine
    scheduler: Scheduler
    device: Device
    clock: Simulated
    told: list[StepReport] = field(default_factory=list[StepReport])
    results: dict[str, Any] = field(default_factory=dict[str, Any])
    begun: int = 0

    def begin(self) -> "Rig":
        """Let the schedule start."""
        self.begun = self.clock.time
        self.engine.begin()
        return self

    def tick(self) -> StepReport:
        """Make one tick."""
        work = self.engine.submit()
        self.engine.wait(work)
        self.told.append(self.engine.tell())
        return self.told[-1]

    def run(self, until: int | None = None) -> "Rig":
        """Tick until everything is served, or until a time of the simulated clock."""
        self.begin()
        while not self.engine.exhausted() and (until is None or self.clock.time < until):
            self.tick()
            assert len(self.told) < 100_000, "the engine does not come to an end"
            active = self.scheduler.active
            owned = [block for request in active for block in request.blocks]
            assert len(set(owned)) == len(owned) == self.scheduler.blocks.used
            assert len({request.slot for request in active}) == len(active) <= self.scheduler.slots
        self.results = self.engine.finish()
        self.told.append(self.engine.leave())
        return self

    @property
    def requests(self) -> dict[int, Request]:
        """All requests that were told of, by number; none twice."""
        told = [request for one in self.told for request in one.requests]
        assert len({one.number for one in told}) == len(told)
        return {one.number: one for one in told}

    def gauges(self, name: str) -> list[Gauge]:
        """Return the readings of a level."""
        return [gauge for one in self.told for gauge in one.gauges if gauge.name == name]

    def spans(self, name: str) -> list[Span]:
        """Return the spans of a name."""
        return [span for one in self.told for span in one.spans if span.name == name]


MakeRig = Callable[..., Rig]


@pytest.fixture(scope="session")
def rig() -> MakeRig:
    """Make an engine for jobs, given as (at in ms, prompt, output)."""

    def make(
        jobs: Sequence[tuple[float, int, int]],
        *,
        slots: int = 4,
        blocks: int = 32,
        block_size: int = 4,
        chunk: int = 8,
        limits: dict[tuple[str, str], float] | None = None,
        **times: int,
    ) -> Rig:
        clock = Simulated()
        device = Device(clock, **times)
        scheduler = Scheduler(
            slots=slots, blocks=Blocks(blocks), block_size=block_size, prefill_chunk=chunk
        )
        schedule = [Job(i, round(at * MS), *sizes) for i, (at, *sizes) in enumerate(jobs)]
        engine = Engine(
            schedule, scheduler, device, Clock(clock.now, clock.wait), limits, rehearsal=iter(())
        )
        return Rig(engine, scheduler, device, clock)

    return make
