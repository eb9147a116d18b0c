"""What can be wrong with a trace: each fault, small or large, and the same trace without it.

A fault carries the name of the rule that should find it. Its size is drawn so that some are too
small to matter; whether one matters is for `labels` to say, by what then happened in the model.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from labelled.setup import MICROSECOND, MILLISECOND, Counters, Hold, Piece, Server, Setup

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


def _step(setup: Setup) -> int:
    return sum(one.work for one in setup.pieces)


def _amount(setup: Setup, random: Random, least: float = 0.004, most: float = 0.3) -> int:
    """Draw a share of a step's work, small ones as often as large ones, in ns."""
    return round(_step(setup) * float(np.exp(random.uniform(np.log(least), np.log(most)))))


def _host_late(setup: Setup, random: Random) -> Setup:
    every = int(random.choice([1, 1, 7, 12]))
    return replace(setup, ahead=0, late=_amount(setup, random) * every, late_every=every)


def _held(setup: Setup, random: Random) -> Setup:
    return replace(setup, hold=Hold(1, _amount(setup, random)))


def _driver_slow(setup: Setup, random: Random) -> Setup:
    return replace(setup, ahead=0, driver=_amount(setup, random))


def _completion_slow(setup: Setup, random: Random) -> Setup:
    return replace(setup, ahead=0, completion=_amount(setup, random))


def _bubbles(setup: Setup, random: Random) -> Setup:
    kinds = (_host_late, _driver_slow, _completion_slow, _late_start, _held)
    return kinds[int(random.integers(len(kinds)))](setup, random)


def _late_start(setup: Setup, random: Random) -> Setup:
    return replace(setup, ahead=0, latency=_amount(setup, random))


def _shallow_queue(setup: Setup, random: Random) -> Setup:
    wake = _amount(setup, random, 0.001, 0.1)
    build = _amount(setup, random, 0.001, 0.15)
    return replace(setup, ahead=0, per_buffer=len(setup.pieces), wake=wake, build=build)


def _frequent_readback(setup: Setup, random: Random) -> Setup:
    return replace(setup, readbacks=int(random.integers(1, 6)), per_buffer=3)


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


def _tiny_encoders(setup: Setup, random: Random) -> Setup:
    each = int(random.uniform(8, 30) * MICROSECOND)
    count = min(400, _step(setup) // each)
    labels = [one.label for one in setup.pieces]
    made = tuple(Piece(labels[k % len(labels)], each, 2_000) for k in range(count))
    launch = int(each * random.uniform(0.02, 0.35))
    steps = min(setup.steps, 4_000 // count + 17)
    return replace(setup, pieces=made, launch=launch, per_buffer=40, merged=0.0, steps=steps)


def _fewer_encoders(setup: Setup) -> Setup:
    one = setup.pieces[0]
    joined = max(1, round(50 * MICROSECOND / one.work))
    made = tuple(
        Piece(setup.pieces[k].label, sum(part.work for part in setup.pieces[k : k + joined]))
        for k in range(0, len(setup.pieces), joined)
    )
    return replace(setup, pieces=made, per_buffer=max(1, setup.per_buffer // joined))


def _frequent_command_buffers(setup: Setup, random: Random) -> Setup:
    each = int(random.uniform(60, 260) * MICROSECOND)
    count = min(120, _step(setup) // each)
    labels = [one.label for one in setup.pieces]
    made = tuple(Piece(labels[k % len(labels)], each, 4_000) for k in range(count))
    between = int(random.uniform(2, 60) * MICROSECOND)
    steps = min(setup.steps, 4_000 // count + 17)
    return replace(setup, pieces=made, per_buffer=1, merged=0.0, steps=steps, switch=between)


def _fewer_buffers(setup: Setup) -> Setup:
    joined = max(1, round(200 * MICROSECOND / setup.pieces[0].work))
    return replace(setup, per_buffer=joined)


def _irregular_cadence(setup: Setup, random: Random) -> Setup:
    if random.random() < 0.5:
        return replace(setup, swing=float(random.uniform(0.01, 0.4)))
    return replace(setup, uneven=float(random.uniform(0.02, 0.6)))


def _step_spikes(setup: Setup, random: Random) -> Setup:
    count = int(random.integers(1, 1 + setup.steps // 12))
    steps = random.choice(np.arange(2, setup.steps - 2), count, replace=False)
    times = random.uniform(0.05, 4, count) * _step(setup)
    made = zip(sorted(steps.tolist()), times.astype(int).tolist(), strict=True)
    return replace(setup, spikes=tuple(made))


def _gpu_downclocked(setup: Setup, random: Random) -> Setup:
    ratio = float(random.choice([0.45, 0.7]))
    return replace(setup, clock=(ratio, float(random.choice([0.03, 0.3, 0.6, 1.0]))))


def _thermal_pressure(setup: Setup, random: Random) -> Setup:
    return replace(setup, thermal=str(random.choice(["Fair", "Serious", "Critical"])))


def _memory_growth(setup: Setup, random: Random) -> Setup:
    leak = int(np.exp(random.uniform(np.log(1 << 12), np.log(1 << 24))))
    return replace(setup, leak=leak)


def _hot_allocations(setup: Setup, random: Random) -> Setup:
    wiring = _amount(setup, random, 0.005, 0.15) if random.random() < 0.5 else 0
    return replace(setup, ahead=0, allocations=int(random.integers(0, 24)), wiring=wiring)


def _with_counters(setup: Setup, random: Random, **shares: float | str) -> Setup:
    known = Counters(
        occupancy=float(random.uniform(0.42, 0.9)), bandwidth=float(random.uniform(0.3, 0.5))
    )
    return replace(setup, counters=replace(known, **shares), rival=None)


def _low_occupancy(setup: Setup, random: Random) -> Setup:
    return _with_counters(setup, random, occupancy=float(random.uniform(0.05, 0.6)))


def _memory_bound(setup: Setup, random: Random) -> Setup:
    high = float(random.uniform(0.5, 0.98))
    return _with_counters(setup, random, memory=high, bandwidth=high, alu=0.25)


def _compute_bound(setup: Setup, random: Random) -> Setup:
    alu = float(random.uniform(0.4, 0.95))
    return _with_counters(setup, random, alu=alu, memory=0.25, bandwidth=0.25)


def _other_limiter(setup: Setup, random: Random) -> Setup:
    share = float(random.uniform(0.4, 0.98))
    name = str(random.choice(["Buffer Write Limiter", "Texture Write Limiter"]))
    return _with_counters(setup, random, alu=0.25, memory=0.3, other=share, other_name=name)


def _moved(setup: Setup, share: float) -> Setup:
    moved = round(setup.machine.bandwidth * share * _step(setup) / 1e9)
    return replace(setup, bytes_moved=moved, flops=moved * 2, marks=True)


def _roofline_distance(setup: Setup, random: Random) -> Setup:
    return _moved(setup, float(random.uniform(0.1, 0.9)))


def _cache_resident(setup: Setup, random: Random) -> Setup:
    return _moved(setup, float(random.uniform(0.6, 2.5)))


def _below_ceiling(setup: Setup, random: Random) -> Setup:
    late = _amount(setup, random, 0.02, 1.2)
    return replace(setup, ahead=0, late=late, late_every=1, marks=True)


def _named(setup: Setup) -> tuple[Piece, ...]:
    kernels = ("QuantizedMatmul", "paged_attention", "RMSNorm")
    return tuple(
        replace(one, label=f"Command Buffer 0:{kernels[k % len(kernels)]}")
        for k, one in enumerate(setup.pieces)
    )


def _beside(setup: Setup, label: str, each: int, every: int = 2) -> Setup:
    """Put a piece of work before every so many kernels."""
    extra = Piece(f"Command Buffer 0:{label}", each, 3_000)
    made: list[Piece] = []
    for number, one in enumerate(_named(setup)):
        made += [extra, one] if number % every == 0 else [one]
    return replace(setup, pieces=tuple(made), merged=0.0, marks=True)


def _less(*labels: str, keep: int = 0) -> Heal:
    """Return what takes out work of these labels, but for the first `keep` of each."""

    def heal(setup: Setup) -> Setup:
        left = dict.fromkeys(labels, keep)
        made: list[Piece] = []
        for one in setup.pieces:
            name = one.label.rpartition(":")[2]
            if name in left:
                left[name] -= 1
                if left[name] < 0:
                    continue
            made.append(one)
        return replace(setup, pieces=tuple(made))

    return heal


def _metadata_per_layer(setup: Setup, random: Random) -> Setup:
    short = replace(setup, pieces=tuple(replace(p, work=p.work // 8) for p in setup.pieces))
    return _beside(short, "Arange", int(random.uniform(1, 9) * MICROSECOND))


def _scatter_encoder(setup: Setup, random: Random) -> Setup:
    each = _amount(setup, random, 0.004, 0.2) * 2 // len(setup.pieces)
    return _beside(setup, "Scatter", max(2_000, each))


def _gather_share(setup: Setup, random: Random) -> Setup:
    each = _amount(setup, random, 0.02, 0.5) * 2 // len(setup.pieces)
    return _beside(setup, "Gather", max(2_000, each))


def _serial_prefill(setup: Setup, random: Random) -> Setup:
    time = round(_step(setup) * random.uniform(0.3, 12))
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


def _trace_overhead(setup: Setup, random: Random) -> Setup:
    return replace(setup, overhead=float(random.uniform(0.005, 0.25)))


FAULTS: Mapping[str, Fault] = {
    "bubbles": Fault(_bubbles),
    "late-start": Fault(_late_start, lambda setup: replace(setup, latency=60 * MICROSECOND)),
    "shallow-queue": Fault(_shallow_queue, lambda setup: replace(setup, ahead=1)),
    "frequent-readback": Fault(_frequent_readback, lambda setup: replace(setup, readbacks=0)),
    "pipeline-churn": Fault(_pipeline_churn, lambda setup: replace(setup, compiles=())),
    "shader-spills": Fault(_shader_spills),
    "gpu-contended": Fault(_gpu_contended, lambda setup: replace(setup, rival=None)),
    "tiny-encoders": Fault(_tiny_encoders, _fewer_encoders),
    "frequent-command-buffers": Fault(_frequent_command_buffers, _fewer_buffers),
    "irregular-cadence": Fault(_irregular_cadence),
    "step-spikes": Fault(_step_spikes, lambda setup: replace(setup, spikes=())),
    "gpu-downclocked": Fault(_gpu_downclocked),
    "thermal-pressure": Fault(_thermal_pressure),
    "memory-growth": Fault(_memory_growth),
    "hot-allocations": Fault(
        _hot_allocations, lambda setup: replace(setup, allocations=0, wiring=0)
    ),
    "low-occupancy": Fault(_low_occupancy),
    "memory-bound": Fault(_memory_bound),
    "compute-bound": Fault(_compute_bound),
    "other-limiter": Fault(_other_limiter),
    "roofline-distance": Fault(_roofline_distance),
    "cache-resident": Fault(_cache_resident),
    "below-ceiling": Fault(_below_ceiling),
    "metadata-per-layer": Fault(_metadata_per_layer, _less("Arange", keep=1)),
    "scatter-encoder": Fault(_scatter_encoder, _less("Scatter")),
    "gather-share": Fault(_gather_share, _less("Gather")),
    "serial-prefill": Fault(_serial_prefill),
    "capture-empty": Fault(_capture_empty),
    "capture-truncated": Fault(_capture_truncated),
    "schema-drift": Fault(_schema_drift),
    "trace-overhead": Fault(_trace_overhead),
}
"""Every fault, by the name of the rule that should find it."""
