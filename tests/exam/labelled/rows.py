"""The rows of a Metal System Trace, made of what happened in the model."""

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from labelled.cells import ACCELERATOR, NOBODY, Rows, label, main_thread, owner
from labelled.counted import infos, samples
from labelled.states import allocated, allocations, device_performance, performance, thermal
from labelled.world import TARGET, Buffer, Interval, World
from labelled.writer import Compound

_JOINED = 5_000
_OVERLONG = 150_000_000


def _numbered(world: World) -> Iterator[tuple[int, Interval]]:
    everything = sorted([*world.intervals, *world.others])
    return enumerate(everything, 4_050_234_859)


def intervals(world: World) -> Rows:
    """Yield the work on the GPU, of all processes."""
    device = world.setup.machine.device
    overlong = _overlong(world)
    for number, one in _numbered(world):
        length = one.end - one.start + _OVERLONG * (number in overlong)
        if world.setup.empty and one.owner == TARGET:
            continue
        words = f"{one.label}      ( {one.owner.name} ({one.owner.pid}) )  {one.encoder:#x}"
        shown = Compound(
            words,
            (("string", one.label), ("process", owner(one.owner)), ("uint64", one.encoder)),
        )
        yield (
            *(one.start, length, one.channel, number % 997, one.start - one.committed),
            *(0, shown, "Active", number, 0, owner(one.owner), device, "", label(""), 0),
            *(one.buffer, one.encoder, number),
        )


def _overlong(world: World) -> frozenset[int]:
    """Return the numbers of the target's intervals whose end is given too late."""
    if not world.setup.overlong:
        return frozenset()
    begin, end = world.steady
    own = [
        number
        for number, one in _numbered(world)
        if one.owner == TARGET and begin <= one.start < end
    ]
    random = np.random.default_rng([world.setup.seed, 8])
    return frozenset(random.choice(own, world.setup.overlong, replace=False).tolist())


def states(world: World) -> Rows:
    """Yield when the GPU was active and idle, whoever used it."""
    device = world.setup.machine.device
    stretches: list[tuple[int, int, int]] = []
    for _, one in _numbered(world):
        if stretches and one.start <= stretches[-1][1] + _JOINED:
            start, end, events = stretches[-1]
            stretches[-1] = start, max(end, one.end), events + 1
        else:
            stretches.append((one.start, one.end, 1))
    for (start, end, events), (after, _, _) in pairwise([*stretches, (world.end, 0, 0)]):
        active = (start, end - start, "Active", label("1  channels active"), 3, events, device)
        yield active
        if after > end:
            yield end, after - end, "Idle", label("Idle"), 1000, 0, device


def submissions(world: World) -> Rows:
    """Yield each command buffer from its creation to its commit."""
    device = world.setup.machine.device
    for one in world.buffers:
        yield (
            *(one.created, one.committed - one.created, "CommandBufferSubmission", device),
            *("Command Buffer", one.encoders, one.encoder_time, owner(one.owner)),
            *(main_thread(one.owner), None, None, None, 0, 0, one.number),
        )


def encoders(world: World) -> Rows:
    """Yield each encoder, from its first to its last call."""
    device, who = world.setup.machine.device, owner(TARGET)
    for place, one in enumerate(world.encoders):
        name = one.label.rpartition(":")[2]
        yield (
            *(one.start, one.end - one.start, main_thread(TARGET), who, device, place % 997),
            *("Command Buffer 0", "[0] Command Buffer 0", name, f"[0] {name}"),
            *("Encoding", one.buffer, one.number),
        )


def application(world: World) -> Rows:
    """Yield the writing of command buffers, and of the encoders in them."""
    device, who = world.setup.machine.device, owner(TARGET)
    found = [
        (one.created, one.committed - one.created, 0, "Command Buffer 0", one.number, NOBODY)
        for one in world.buffers
    ]
    found += [
        (one.start, one.end - one.start, 1, one.label, one.buffer, one.number)
        for one in world.encoders
    ]
    for start, duration, depth, words, buffer, encoder in sorted(found):
        yield (
            *(start, duration, who, device, depth, label(words), 0, -1, 0, main_thread(TARGET)),
            *("Encoding", buffer, encoder),
        )


def completions(world: World) -> Rows:
    """Yield when each command buffer was complete."""
    for one in sorted(world.buffers, key=lambda buffer: buffer.completed):
        yield one.completed, one.number, 0


def commits(world: World) -> Rows:
    """Yield when each command buffer was committed."""
    for place, one in enumerate(world.buffers):
        at = one.committed
        yield (
            *(at, one.number, at, place, 0, 0, place, 0, 0, "Compute", None, NOBODY, 0),
            *(TARGET.pid, owner(TARGET)),
        )


def gpu_submissions(world: World) -> Rows:
    """Yield which command buffer each submission to the GPU is of."""
    for number, one in _numbered(world):
        yield (
            *(one.start, one.buffer, number, 0, 0, one.encoder, ACCELERATOR, 2, 0, 0, 0),
            *(one.owner.pid, owner(one.owner), 0, 0, one.merged),
        )


def driver(world: World) -> Rows:
    """Yield the driver's processing of command buffers and their encoders."""
    found: list[tuple[int, int, int, str, Buffer]] = []
    for one in world.buffers:
        length = one.driver_end - one.driver_start
        found.append((one.driver_start, length, 0, "Command Buffer", one))
        each = length // (one.encoders + 1)
        found += [
            (one.driver_start + each * (k + 1) - each // 2, each, 1, "Command Encoder", one)
            for k in range(one.encoders)
        ]
    device = world.setup.machine.device
    for start, duration, depth, event, one in sorted(found):
        yield (
            *(start, duration, "Driver Processing", event, depth, label(" "), 0, -1, 0),
            *(owner(one.owner), main_thread(one.owner), device, NOBODY, label(" ")),
        )


def wiring(world: World) -> Rows:
    """Yield when the driver wired memory."""
    device = world.setup.machine.device
    for one in world.host:
        if one.kind == "wire":
            yield (
                *(one.start, one.end - one.start, "Driver Processing", "Wire Memory", 0),
                *(label(_wired(world)), 0, -1, 0, owner(TARGET), main_thread(TARGET), device),
                *(NOBODY, False),
            )


def _wired(world: World) -> str:
    return f"Wire  {world.setup.wired / (1 << 20):.2f} MiB   System Memory  ( Success )"


def errors(world: World) -> Rows:
    """Yield the last command buffers, if they ended with a timeout."""
    for one in world.buffers[len(world.buffers) - world.setup.errors :]:
        yield one.completed, one.number, 2


def compiler(world: World) -> Rows:
    """Yield what the shader compiler did."""
    for one in world.compiles:
        kind = label("Compute")
        yield (
            *(one.start, one.end - one.start, 0, "Metal Shader Compiler", kind),
            *(owner(one.owner), 0, 0),
        )


def shaders(world: World) -> Rows:
    """Yield each shader when it was first seen."""
    device = world.setup.machine.device
    for number, one in enumerate(world.compiles):
        first = 0x10000 * (number + 1)
        yield (
            *(one.end, one.name.rpartition(":")[2], "", one.name, number, first, first + 0x800),
            *("Compute", owner(one.owner), device),
        )


def spills(world: World) -> Rows:
    """Yield each encoder whose shader spilled registers."""
    for one in world.encoders if world.setup.spilled else ():
        if one.label == world.setup.pieces[0].label:
            yield one.end, one.buffer, one.number, world.setup.spilled, owner(TARGET)


ROWS: dict[str, Callable[[World], Rows]] = {
    "metal-gpu-intervals": intervals,
    "metal-gpu-state-intervals": states,
    "metal-application-command-buffer-submissions": submissions,
    "metal-application-encoders-list": encoders,
    "metal-application-intervals": application,
    "metal-command-buffer-completed": completions,
    "metal-command-buffer-frame-assignment": commits,
    "metal-gpu-submission-to-command-buffer-id": gpu_submissions,
    "metal-driver-intervals": driver,
    "metal-driver-event-intervals": wiring,
    "graphics-compiler-activity-intervals": compiler,
    "metal-shader-profiler-shader-list": shaders,
    "metal-command-buffer-error": errors,
    "graphics-compiler-spill-events": spills,
    "gpu-performance-state-intervals": performance,
    "gpu-performance-device-state-intervals": device_performance,
    "device-thermal-state-intervals": thermal,
    "metal-current-allocated-size": allocated,
    "metal-resource-allocations": allocations,
    "gpu-counter-value": samples,
    "gpu-counter-info": infos,
}
"""What makes the rows of each schema."""
