"""What can be wrong with a trace: each fault, small or large, and the same trace without it.

A fault carries the name of the rule that should find it. Its size is drawn so that some are too
small to matter; whether one matters is for `labels` to say, by what then happened in the model.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from labelled import chores, submission
from labelled.setup import MILLISECOND, Counters, Hold, Server, Setup
from labelled.submission import amount, step_work

Random = np.random.Generator
Put = Callable[[Setup, Random], Setup]
Heal = Callable[[Setup], Setup]


@dataclass(frozen=True)
class Fault:
    """A way to put a fault into a setup, and to take it out again for what it had cost.

    `heal` is None where the time that it cost is not the sum of anything that could be left out.
    """

    put: Put
    heal: Heal | None = None


def _pipeline_churn(setup: Setup, random: Random) -> Setup:
    count = int(random.integers(0, 6))
    steps = random.choice(np.arange(1, setup.steps - 1), count, replace=False)
    times = random.uniform(2, 120, count) * MILLISECOND
    made = zip(sorted(steps.tolist()), times.astype(int).tolist(), strict=True)
    return replace(setup, ahead=0, compiles=tuple(made))


def _shader_spills(setup: Setup, random: Random) -> Setup:
    return replace(setup, version="27.0", spilled=int(random.choice([0, 256, 4096])))


def _gpu_contended(setup: Setup, random: Random) -> Setup:
    time = int(random.uniform(0.2, 3) * MILLISECOND)
    share = float(np.exp(random.uniform(np.log(0.005), np.log(0.3))))
    return replace(setup, compositor=0, rival=Hold(round(time / share), time))


def _irregular_cadence(setup: Setup, random: Random) -> Setup:
    late = round(float(random.uniform(0.02, 0.8)) * step_work(setup))
    return replace(setup, ahead=0, late=late, late_every=2)


def _uneven_work(setup: Setup, random: Random) -> Setup:
    """Let steps differ; one that drifts as well is no label's, as growing-steps says it."""
    steady = replace(setup, drift=0.0)
    if random.random() < 0.5:
        return replace(steady, swing=float(random.uniform(0.01, 0.4)))
    return replace(steady, uneven=float(random.uniform(0.02, 0.6)))


def _step_spikes(setup: Setup, random: Random) -> Setup:
    count = int(random.integers(1, 1 + setup.steps // 12))
    steps = random.choice(np.arange(2, setup.steps - 2), count, replace=False)
    times = random.uniform(0.05, 4, count) * step_work(setup)
    made = zip(sorted(steps.tolist()), times.astype(int).tolist(), strict=True)
    return replace(setup, spikes=tuple(made))


def _performance_cliff(setup: Setup, random: Random) -> Setup:
    steps = max(setup.steps, 36)
    place = int(random.integers(12, steps - 11))
    rise = float(random.choice([0.05, 0.15, 0.35, 0.7]))
    return replace(setup, steps=steps, cliff=(place, rise), variants=(), uneven=0.01, drift=0.0)


def _growing_steps(setup: Setup, random: Random) -> Setup:
    drift = float(random.choice([0.02, 0.1, 0.5, 1.5]))
    return replace(setup, drift=drift, uneven=0.01, variants=())


def _gpu_downclocked(setup: Setup, random: Random) -> Setup:
    ratio = float(random.choice([0.45, 0.7]))
    setup = replace(setup, monitored=bool(random.random() < 0.6))
    return replace(setup, clock=(ratio, float(random.choice([0.03, 0.3, 0.6, 1.0]))))


def _thermal_pressure(setup: Setup, random: Random) -> Setup:
    return replace(setup, thermal=str(random.choice(["Fair", "Serious", "Critical"])))


def _memory_growth(setup: Setup, random: Random) -> Setup:
    leak = int(np.exp(random.uniform(np.log(1 << 12), np.log(1 << 24))))
    return replace(setup, leak=leak)


def _hot_allocations(setup: Setup, random: Random) -> Setup:
    number = int(random.integers(0, 24))
    wiring = amount(setup, random, 0.005, 0.15) if number and random.random() < 0.5 else 0
    wired = 64 << 20 if wiring else 0
    return replace(setup, ahead=0, allocations=number, wiring=wiring, wired=wired)


def _lost_residency(setup: Setup, random: Random) -> Setup:
    wired = int(random.choice([64, 512, 4096])) << 20
    return replace(setup, ahead=0, wiring=amount(setup, random, 0.002, 0.5), wired=wired)


def _command_buffer_errors(setup: Setup, random: Random) -> Setup:
    return replace(setup, errors=int(random.integers(0, 4)))


def _left_out_time(setup: Setup, random: Random) -> Setup:
    pause = int(random.uniform(0, 2e9)) if random.random() < 0.7 else 0
    return replace(setup, pause=pause, marks=False, variants=(), uneven=0.01)


def _with_counters(setup: Setup, random: Random, **shares: float | str) -> Setup:
    known = Counters(
        occupancy=float(random.uniform(0.42, 0.9)),
        alu=float(random.uniform(0.05, 0.42)),
        memory=float(random.uniform(0.1, 0.45)),
        other=float(random.uniform(0.05, 0.45)),
        bandwidth=float(random.uniform(0.1, 0.45)),
    )
    return replace(setup, counters=replace(known, **shares), rival=None)


def _low_occupancy(setup: Setup, random: Random) -> Setup:
    return _with_counters(setup, random, occupancy=float(random.uniform(0.05, 0.6)))


def _memory_bound(setup: Setup, random: Random) -> Setup:
    high = float(random.uniform(0.5, 0.98))
    stalled = float(random.uniform(0.6, 1.0))  # busy, but not all of it with bytes that arrive
    return _with_counters(setup, random, memory=high, bandwidth=high * stalled)


def _compute_bound(setup: Setup, random: Random) -> Setup:
    alu = float(random.uniform(0.4, 0.95))
    return _with_counters(setup, random, alu=alu)


def _other_limiter(setup: Setup, random: Random) -> Setup:
    share = float(random.uniform(0.4, 0.98))
    name = str(random.choice(["Buffer Write Limiter", "Texture Write Limiter"]))
    return _with_counters(setup, random, other=share, other_name=name)


def _moved(setup: Setup, share: float) -> Setup:
    moved = round(setup.machine.bandwidth * share * step_work(setup) / 1e9)
    return replace(setup, bytes_moved=moved, flops=moved * 2, marks=True)


def _roofline_distance(setup: Setup, random: Random) -> Setup:
    return _moved(setup, float(random.uniform(0.1, 0.9)))


def _at_the_roof(setup: Setup) -> Setup:
    """Make kernels that move their bytes at four fifths of the memory's bandwidth."""
    time = setup.bytes_moved / (0.8 * setup.machine.bandwidth) * 1e9
    faster = time / step_work(setup)
    kernels = tuple(replace(one, work=round(one.work * faster)) for one in setup.pieces)
    return replace(setup, pieces=kernels)


def _cache_resident(setup: Setup, random: Random) -> Setup:
    return _moved(setup, float(random.uniform(0.6, 2.5)))


def _serial_prefill(setup: Setup, random: Random) -> Setup:
    time = round(step_work(setup) * random.uniform(0.3, 12))
    every = int(random.integers(6, 20))
    return replace(
        setup, ahead=0, server=Server(every, time, random.random() < 0.7), uneven=0.01, marks=True
    )


def _capture_empty(setup: Setup, random: Random) -> Setup:
    return replace(setup, empty=random.random() < 0.8)


def _capture_truncated(setup: Setup, random: Random) -> Setup:
    if random.random() < 0.5:
        return replace(setup, cut=float(random.uniform(0.2, 0.95)))
    return replace(setup, stopped=float(random.uniform(0.3, 1.0)), steps=setup.steps * 2)


def _schema_drift(setup: Setup, random: Random) -> Setup:
    return replace(setup, drifted=str(random.choice(["start-latency", "cmdbuffer-id", "bytes"])))


def _impossible_rows(setup: Setup, random: Random) -> Setup:
    return replace(setup, overlong=int(random.integers(1, 4)))


def _trace_overhead(setup: Setup, random: Random) -> Setup:
    return replace(setup, overhead=float(random.uniform(0.005, 0.25)))


MADE_ELSEWHERE = frozenset(
    {
        *("blit-copies", "dominant-work", "rows-missing", "shared-queue", "unsound-dispatches"),
        *("starved-encoders", "saturated-encoders", "bandwidth-bound-encoders"),
        *("launch-bound-encoders", "read-bound-encoders", "uncached-encoders"),
        *("spilling-encoders", "divergent-encoders", "shared-replay"),
    }
)
"""Rules whose faults this model does not make: it has one channel, one thread that commits, and no
kernel that takes twenty times as long as the others; and it makes no GPU frame captures, and no
counters of a replay.

They are held against the small machines of `tests/harness/device_programs.py`, or against made
captures. Here they may find nothing.
"""

FAULTS: Mapping[str, Fault] = {
    "bubbles": Fault(submission.bubbles, submission.without_host),
    "late-start": Fault(submission.late_start, lambda setup: replace(setup, hold=None)),
    "shallow-queue": Fault(submission.shallow_queue, lambda setup: replace(setup, ahead=1)),
    "frequent-readback": Fault(
        submission.frequent_readback, lambda setup: replace(setup, readbacks=0)
    ),
    "pipeline-churn": Fault(_pipeline_churn, lambda setup: replace(setup, compiles=())),
    "shader-spills": Fault(_shader_spills),
    "gpu-contended": Fault(_gpu_contended, lambda setup: replace(setup, rival=None)),
    "tiny-encoders": Fault(submission.tiny_encoders, submission.fewer_encoders),
    "frequent-command-buffers": Fault(
        submission.frequent_command_buffers, submission.fewer_buffers
    ),
    "host-bound": Fault(submission.host_bound, submission.without_encoding),
    "irregular-cadence": Fault(_irregular_cadence),
    "uneven-work": Fault(_uneven_work),
    "growing-steps": Fault(_growing_steps),
    "step-spikes": Fault(_step_spikes, lambda setup: replace(setup, spikes=())),
    "performance-cliff": Fault(_performance_cliff, lambda setup: replace(setup, cliff=None)),
    "gpu-downclocked": Fault(_gpu_downclocked, lambda setup: replace(setup, clock=(1.0, 0.0))),
    "thermal-pressure": Fault(_thermal_pressure),
    "memory-growth": Fault(_memory_growth),
    "hot-allocations": Fault(
        _hot_allocations, lambda setup: replace(setup, allocations=0, wiring=0, wired=0)
    ),
    "lost-residency": Fault(_lost_residency, lambda setup: replace(setup, wiring=0, wired=0)),
    "command-buffer-errors": Fault(_command_buffer_errors),
    "left-out-time": Fault(_left_out_time),
    "unfused-attention": Fault(chores.unfused_attention),
    "avoidable-kernels": Fault(chores.avoidable_kernels, chores.without("Copy", "Sort")),
    "low-occupancy": Fault(_low_occupancy),
    "memory-bound": Fault(_memory_bound),
    "compute-bound": Fault(_compute_bound),
    "other-limiter": Fault(_other_limiter),
    "roofline-distance": Fault(_roofline_distance, _at_the_roof),
    "cache-resident": Fault(_cache_resident),
    "metadata-per-layer": Fault(chores.metadata_per_layer, chores.without("Arange", keep=1)),
    "scatter-encoder": Fault(chores.scatter_encoder, chores.without("Scatter")),
    "gather-share": Fault(chores.gather_share, chores.without("Gather")),
    "serial-prefill": Fault(_serial_prefill),
    "capture-empty": Fault(_capture_empty),
    "capture-truncated": Fault(_capture_truncated),
    "schema-drift": Fault(_schema_drift),
    "trace-overhead": Fault(_trace_overhead),
    "impossible-rows": Fault(_impossible_rows),
}
"""Every fault, by the name of the rule that should find it."""
