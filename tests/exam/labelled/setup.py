"""What a trace is made of: the machine, the program, its noise, and what is wrong with it."""

from dataclasses import dataclass

MICROSECOND = 1_000
MILLISECOND = 1_000_000
SECOND = 1_000_000_000


@dataclass(frozen=True)
class Machine:
    """A Mac: what the trace says of it, and what it can do.

    `bandwidth` is in bytes per second, as Apple announces it.
    """

    chip: str
    cores: int
    bandwidth: float

    @property
    def device(self) -> str:
        """The chip's name as tables have it."""
        return self.chip.removeprefix("Apple ")

    @property
    def first_generation(self) -> bool:
        """Whether it has the counters of M1 and M2."""
        return self.device.startswith(("M1", "M2"))


MACHINES = (
    Machine("Apple M1", 8, 68.25e9),
    Machine("Apple M1 Max", 32, 400e9),
    Machine("Apple M2", 10, 100e9),
    Machine("Apple M3", 10, 100e9),
    Machine("Apple M4", 10, 120e9),
)


@dataclass(frozen=True)
class Piece:
    """One kernel of a step: its label, what it takes at full clock and the host to encode, ns."""

    label: str
    work: int
    encode: int = 6_400


@dataclass(frozen=True)
class Counters:
    """What counters show on average while the target's work runs; shares of 1."""

    occupancy: float = 0.62
    alu: float = 0.34
    memory: float = 0.42
    other: float = 0.18
    other_name: str = "Texture Write Limiter"
    bandwidth: float = 0.4
    only_ray_tracing: bool = False


@dataclass(frozen=True)
class Hold:
    """Something that keeps the GPU from what was submitted, again and again.

    `every` is how often: in steps for a hold, in ns for another process's work.
    """

    every: int
    time: int


@dataclass(frozen=True)
class Server:
    """A server that decodes, and prefills a prompt in one go every so many steps."""

    prefill_every: int
    prefill_time: int
    alone: bool


@dataclass(frozen=True)
class Setup:
    """One trace to be made. Times are ns, sizes bytes, shares of 1.

    Attributes:
        version: Of Instruments, such as "26.0".
        warm_up: Steps before the steady phase.
        ahead: How many steps are handed over before the first is waited for.
        drains: Whether a phase ends only when all of its steps are complete.
        per_buffer: Encoders in one command buffer.
        launch: Between two pieces of work of one command buffer.
        buffer_work: Work after which a command buffer is full, in the place of `per_buffer`.
        switch: Between two command buffers that wait in the queue.
        merged: Share of encoders that the driver merges with the one before.
        build: What the host takes to build a step before it encodes anything.
        late: What it takes as well, with its spread: the fault of a late host.
        latency: From the driver's end to the start on a GPU that slept.
        handover: From the commit until the driver begins with it.
        completion: From the GPU's end until the command buffer is complete.
        wake: From there until the host goes on.
        readback: What the host takes to read a result before its next step.
        readbacks: Further times in a step that the host waits for all it handed over.
        hold: What keeps the GPU from what was submitted, which no table explains.
        compiles: Steady steps, counted from 0, that make a new pipeline, and how long it takes.
        uneven: How far the steps' work spreads around its mean: a standard deviation of its log.
        swing: By how much steps alternate between slow and fast.
        cliff: The steady step from which the work is larger, and by what share.
        spikes: Steady steps that take longer on the GPU, and by how much.
        compositor: What the window server draws for, 60 times a second; 0 for a sleeping display.
        rival: What another process computes each time, and how far apart.
        clock: Share of the full clock, for a share of the steady phase.
        thermal: The thermal state in the steady phase.
        foreign_compiles: How many pipelines another program makes meanwhile.
        leak: Bytes that each steady step leaves allocated.
        allocations: Buffers that each steady step allocates.
        wiring: What wiring memory takes in each steady step.
        wired: Bytes that are wired then.
        errors: How many command buffers end with an error.
        pause: For how long nobody asks for a step, in the middle of the steady phase.
        spilled: Bytes that shaders spilled in each encoder of a step; 0 for none.
        bytes_moved: Bytes that the step's model says memory moves; 0 for no model.
        overhead: What recording cost, as a ratio; None where nobody measured.
        marks: Whether the program marks phases and steps.
        mark_error: By how much the marks lie beside the trace's time.
        missing: Schemas that the trace lacks.
        empty: Whether the trace holds no work of the target.
        cut: Which share of the GPU's intervals is there before the export breaks off.
        drift: By how much steps get longer over the steady phase, as they do with their context.
        hiccups: Share of steps in which the system takes the host's thread off its processor.
        ramp: Steps of the warm-up in which the GPU still runs at its lowest clock.
        browser: What another program draws 30 times a second.
        visitor: What another program computes 15 times a second.
        shuffled: Whether rows of the tables are out of order.
        variants: Work of the variants that take turns, in units of a step's; none without any.
        stopped: At which share of the steady phase the recorder stopped.
        swing_of_memory: Bytes that go up and down with every few steps.
        tells: Whether the program tells its waits for results, by spans `readback`.
        monitored: Whether a monitor read the GPU's clock beside the run.
        drifted: A column of theirs that bears a name nobody knows.
        overlong: Intervals of the target whose end the trace gives 150 ms too late.
    """

    seed: int
    machine: Machine
    version: str
    steps: int
    warm_up: int
    pieces: tuple[Piece, ...]
    ahead: int = 1
    drains: bool = False
    per_buffer: int = 8
    buffer_work: int = 0
    merged: float = 0.0
    build: int = 40 * MICROSECOND
    late: int = 0
    late_every: int = 1
    latency: int = 60 * MICROSECOND
    handover: int = 12 * MICROSECOND
    driver: int = 13 * MICROSECOND
    completion: int = 65 * MICROSECOND
    wake: int = 20 * MICROSECOND
    readback: int = 15 * MICROSECOND
    readbacks: int = 0
    hold: Hold | None = None
    compiles: tuple[tuple[int, int], ...] = ()
    foreign_compiles: int = 0
    uneven: float = 0.01
    swing: float = 0.0
    cliff: tuple[int, float] | None = None
    spikes: tuple[tuple[int, int], ...] = ()
    compositor: int = 200 * MICROSECOND
    rival: Hold | None = None
    clock: tuple[float, float] = (1.0, 0.0)
    thermal: str = "Nominal"
    leak: int = 0
    allocations: int = 0
    wiring: int = 0
    wired: int = 0
    errors: int = 0
    pause: int = 0
    spilled: int = 0
    tokens: int = 1
    bytes_moved: int = 0
    flops: int = 0
    counters: Counters | None = None
    server: Server | None = None
    overhead: float | None = None
    marks: bool = True
    mark_error: int = 0
    noise: float = 0.03
    launch: int = 900
    switch: int = 1_500
    missing: frozenset[str] = frozenset()
    empty: bool = False
    cut: float | None = None
    stopped: float | None = None
    drift: float = 0.0
    hiccups: float = 0.0
    ramp: int = 0
    browser: int = 0
    visitor: int = 0
    shuffled: bool = False
    variants: tuple[float, ...] = ()
    drifted: str = ""
    overlong: int = 0
    swing_of_memory: int = 0
    tells: bool = False
    monitored: bool = False

    @property
    def broken(self) -> bool:
        """Whether a part of the recording is not there."""
        return self.cut is not None or self.stopped is not None
