"""The program of the model: a host thread that builds steps, submits, waits and reads."""

from statistics import NormalDist
from typing import NamedTuple

from labelled.draws import Draws
from labelled.gpu import Gpu
from labelled.load import clock, groups, merges, pieces, prefills, prompt, weight
from labelled.setup import MICROSECOND, MILLISECOND, Piece, Setup
from labelled.world import (
    OTHER_COMPILER,
    TARGET,
    Allocation,
    Buffer,
    Busy,
    Compile,
    Encoder,
    Interval,
    Level,
    Prefill,
    Step,
    World,
)

_FIRST_BUFFER = 4_000_000_000
_PREPARED = 120 * MILLISECOND
_JOLT = 25 * MICROSECOND  # by which a kernel takes longer now and then, however short it is
_EVERY = 800 * MICROSECOND  # of work: in recordings one kernel in 100 that take 8 µs


def _smooth(work: int) -> float:
    """Return how likely a kernel is not held up while it works."""
    return 1 - min(0.5, max(1e-6, work / _EVERY))


class _Way(NamedTuple):
    """How a command buffer came to the GPU: its place in the program, and when it was how far."""

    step: int
    place: int
    ratio: float
    committed: int
    processed: int
    ready: int


def simulate(setup: Setup) -> World:
    """Let the program run to its end; return everything that happened."""
    return _Program(setup).run()


class _Program:
    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.steps = setup.warm_up + setup.steps
        self.draws = Draws(setup.seed, self.steps)
        self.world = World(setup)
        self.gpu = Gpu(self.world, self.draws)
        self.now = _PREPARED
        self.driver_free = 0
        self.identity = _FIRST_BUFFER
        self.allocated = 900 << 20
        self.done: list[int] = []  # when each step's last command buffer was complete
        self.pending = 0  # when the last command buffer committed so far is complete

    def run(self) -> World:
        world = self.world
        world.memory.append((60 * MILLISECOND, self.allocated))
        self._prepare()
        for step in range(self.steps):
            self._step(step)
        self.now = max(self.now, self.pending)
        world.end = self.now + 90 * MILLISECOND
        world.levels[-1] = world.levels[-1]._replace(end=self.now)
        self.gpu.finish(world.end)
        self._compile_elsewhere()
        return world

    def _prepare(self) -> None:
        """Make the pipelines that every step uses, before the first of them."""
        at = 40 * MILLISECOND
        for number, label in enumerate(dict.fromkeys(one.label for one in self.setup.pieces)):
            took = self.draws.about("compile", 2 * MILLISECOND, 0.3, 0, number)
            self.world.compiles.append(Compile(at, at + took, TARGET, label))
            at += took + 50 * MICROSECOND
        self.now = max(self.now, at + 10 * MILLISECOND)

    def _step(self, step: int) -> None:
        setup, begin = self.setup, self.now
        steady = step - setup.warm_up
        ratio = clock(setup, steady)
        self._level(begin, ratio)
        self._build(step, steady)
        if setup.server and setup.server.alone and prefills(setup, steady):
            self._prefill(step, ratio)
        buffers = groups(setup, pieces(setup, steady))
        # Reads are spread over the step; the last one, after it, is not among them.
        stops = {
            len(buffers) * (k + 1) // (setup.readbacks + 1) - 1 for k in range(setup.readbacks)
        }
        place = 0
        for number, group in enumerate(buffers):
            self._buffer(step, place, group, ratio)
            place += len(group)
            if number in stops and number + 1 < len(buffers):
                self._wait(step, self.pending, place)
                self._spend("read", self.draws.about("read", setup.readback, 0.3, step, place))
        submitted = self.now - begin
        self.done.append(self.pending)
        last = setup.drains and step in {setup.warm_up - 1, self.steps - 1}
        awaited = step if last else step - setup.ahead
        if awaited >= 0:
            self._wait(step, self.done[awaited], 0)
        self._spend("read", self.draws.about("read", setup.readback, 0.3, step))
        if setup.server and not setup.server.alone and prefills(setup, steady):
            self.world.prefills.append(Prefill(begin, self.now, alone=False))
        phase = "steady" if steady >= 0 else "warm-up"
        self.world.steps.append(Step(begin, submitted, self.now, phase))
        if steady >= 0 and (setup.leak or setup.swing_of_memory):
            self.allocated += setup.leak
            above = setup.swing_of_memory * (steady % 5) // 4
            self.world.memory.append((self.now, self.allocated + above))
        self._spend("build", self.draws.about("loop", 3_000, 0.2, step))

    def _prefill(self, step: int, ratio: float) -> None:
        begin = self.now
        for number, group in enumerate(groups(self.setup, prompt(self.setup))):
            self._buffer(step, 200 + number * self.setup.per_buffer, group, ratio)
        self._wait(step, self.pending, 200)
        self.world.prefills.append(Prefill(begin, self.now, alone=True))

    def _build(self, step: int, steady: int) -> None:
        setup, draws = self.setup, self.draws
        self._spend("build", draws.rough("build", setup.build, 0.25, step))
        if steady < 0:
            return
        if NormalDist().cdf(draws.normal("hiccup", step)) < setup.hiccups:
            self._spend("build", draws.about("pause", MILLISECOND, 0.5, step))
        if setup.late and steady % setup.late_every == 0:
            self._spend("build", draws.about("late", setup.late, 0.15, step))
        for made, (at, time) in enumerate(setup.compiles):
            if at == steady:
                begin = self.now
                self._spend("compile", draws.about("churn", time, 0.1, step))
                name = f"{setup.pieces[0].label}_n{made + 3}"
                self.world.compiles.append(Compile(begin, self.now, TARGET, name))
        if setup.pause and steady == setup.steps // 2:
            self._wait(step, self.pending, 0)
            self._spend("build", setup.pause)
        if setup.wiring:
            self._spend("wire", draws.about("wire", setup.wiring, 0.2, step))
        for one in range(setup.allocations):
            size = (setup.wired // setup.allocations) or 1 << (14 + one % 4)
            self.world.allocations.append(Allocation(self.now, size, f"Buffer {one}"))
            self._spend("build", draws.about("allocate", 4_000, 0.2, step, one))

    def _buffer(self, step: int, place: int, group: list[Piece], ratio: float) -> None:
        setup, draws = self.setup, self.draws
        number = self._identity()
        created, spent = self.now, 0
        encoders: list[Encoder] = []
        for offset, piece in enumerate(group):
            took = draws.rough("encode", piece.encode, 0.15, step, place + offset)
            begin, spent = self.now, spent + took
            self._spend("encode", took)
            encoders.append(Encoder(begin, self.now, piece.label, number, self._identity()))
            self.now += 300
        self._spend("encode", 1_500)
        committed = self.now
        handed = draws.rough("handover", setup.handover, 0.15, step, place)
        start = max(committed + handed, self.driver_free)
        took = draws.rough("driver", setup.driver + 700 * len(group), 0.2, step, place)
        processed = self.driver_free = start + took
        idle = self.gpu.free < processed
        wake = draws.rough("latency", setup.latency, 0.15, step, place)
        queued = max(processed + 1_000, self.gpu.free + setup.switch)
        way = _Way(step, place, ratio, committed, processed, processed + wake if idle else queued)
        first, last = self._run(way, group, encoders)
        done = last + draws.rough("completion", setup.completion, 0.2, step, place)
        self.pending = max(done, self.pending)
        self.world.encoders += encoders
        life = (start, processed, first, last, self.pending)
        self.world.buffers.append(
            Buffer(number, created, committed, spent, len(group), *life, TARGET)
        )

    def _run(self, way: _Way, group: list[Piece], encoders: list[Encoder]) -> tuple[int, int]:
        setup, draws, step = self.setup, self.draws, way.step
        merging = merges(setup, draws, step, way.place)
        load = weight(setup, draws, step) / way.ratio
        made: list[Interval] = []
        for place, (piece, encoder) in enumerate(zip(group, encoders, strict=True), way.place):
            work = draws.about("gpu", piece.work * load, setup.noise, step, place)
            jolted = draws.normal("jolt", step, place) > NormalDist().inv_cdf(_smooth(piece.work))
            work += _JOLT * jolted
            if made and merging and (place - way.place) % 2:
                before = made.pop()
                self.gpu.free += work
                made.append(before._replace(end=self.gpu.free, merged=before.merged + 1))
                continue
            gap = draws.about("gap", setup.launch, 0.2, step, place)
            ready = max(way.ready, self.gpu.free + gap) if made else way.ready
            held = self._held(step, place)
            start, end = self.gpu.run(work, ready, held)
            facts = (TARGET, encoder.buffer, encoder.number, way.committed, way.processed)
            made.append(Interval(start, end, "Compute", piece.label, *facts, ready, held))
        self.world.intervals += made
        return made[0].start, made[-1].end

    def _held(self, step: int, place: int) -> int:
        hold, steady = self.setup.hold, step - self.setup.warm_up
        if (
            hold is None
            or steady < 0
            or steady % hold.every
            or place != len(self.setup.pieces) // 2
        ):
            return 0
        return self.draws.about("hold", hold.time, 0.1, step)

    def _wait(self, step: int, until: int, place: int) -> None:
        if until <= self.now:
            self._spend("wait", 1_000)
            return
        awake = until + self.draws.rough("wake", self.setup.wake, 0.3, step, place)
        self._spend("wait", awake - self.now)

    def _spend(self, kind: str, time: int) -> None:
        if time > 0:
            self.world.host.append(Busy(self.now, self.now + time, kind))
            self.now += time

    def _identity(self) -> int:
        self.identity += 1
        return self.identity

    def _level(self, at: int, ratio: float) -> None:
        levels = self.world.levels
        if levels and levels[-1].ratio == ratio:
            return
        if levels:
            levels[-1] = levels[-1]._replace(end=at)
        levels.append(Level(at, 0, ratio))

    def _compile_elsewhere(self) -> None:
        begin, end = self.world.steady
        random = self.draws.random("elsewhere")
        for number in range(self.setup.foreign_compiles):
            at = int(random.integers(begin, end))
            took = int(random.integers(1, 8) * MILLISECOND)
            self.world.compiles.append(Compile(at, at + took, OTHER_COMPILER, f"draw_{number}"))
        self.world.compiles.sort()
