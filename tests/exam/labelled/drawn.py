"""Setups of clean traces: machines, programs and noise of all sorts, and nothing wrong."""

from dataclasses import replace

import numpy as np

from labelled.setup import MACHINES, MICROSECOND, MILLISECOND, SECOND, Counters, Piece, Setup

VERSIONS = ("26.0", "26.3", "27.0")
_KERNELS = ("RMSNorm", "QuantizedMatmul", "RoPE", "paged_attention", "Multiply", "Softmax")
_SHARES = (0.7, 2.2, 0.6, 1.6, 0.8, 0.9)
# What a trace may lack: tables that templates leave out, or that no row was written for.
_OPTIONAL = (
    "metal-gpu-state-intervals",
    "metal-application-intervals",
    "metal-gpu-submission-to-command-buffer-id",
    "metal-shader-profiler-shader-list",
    "gpu-performance-device-state-intervals",
    "gpu-performance-state-intervals",
    "device-thermal-state-intervals",
    "metal-application-encoders-list",
    "metal-application-command-buffer-submissions",
    "metal-command-buffer-frame-assignment",
    "metal-command-buffer-completed",
    "metal-driver-intervals",
    "metal-driver-event-intervals",
    "graphics-compiler-activity-intervals",
    "metal-current-allocated-size",
    "metal-resource-allocations",
)


def clean(seed: int) -> Setup:
    """Return a setup with nothing wrong, another for each seed."""
    random = np.random.default_rng([seed, 1])
    machine = MACHINES[int(random.integers(len(MACHINES)))]
    ahead = int(random.random() < 0.75)
    whole = int(random.uniform(5, 16) * MILLISECOND) * (1 if ahead else 2)
    pieces = program(random, whole, named=random.random() < 0.5)
    known = random.random() < 0.8
    moved = round(machine.bandwidth * random.uniform(0.62, 0.85) * whole / SECOND) * known
    setup = Setup(
        seed=seed,
        machine=machine,
        version=VERSIONS[int(random.integers(len(VERSIONS)))],
        steps=_length(random),
        warm_up=int(random.integers(4, 12)),
        pieces=pieces,
        ahead=ahead,
        drains=random.random() < 0.3,
        per_buffer=max(4, len(pieces) // int(random.integers(2, 5))),
        merged=float(random.choice([0, 0, 0.1, 0.6])),
        bytes_moved=moved,
        flops=moved * 2,
        counters=counted(random) if random.random() < 0.6 else None,
    )
    made = _told(_disturbed(setup, random), random)
    # Without marks the warm-up is a part of what is judged, and its low clock would be a fault.
    return made if made.marks else replace(made, ramp=0)


def _disturbed(setup: Setup, random: np.random.Generator) -> Setup:
    """Return the setup with what is never quite the same, and with others on the machine."""
    varied = random.random() < 0.1
    return replace(
        setup,
        uneven=float(random.uniform(0, 0.03)),
        noise=float(random.choice([0.005, 0.02, 0.06])),
        drift=float(random.choice([0, 0, 0.05, 0.25])),
        hiccups=float(random.choice([0, 0.02, 0.05])),
        ramp=int(random.integers(0, 4)),
        variants=(1.0, float(random.uniform(1.1, 2.5))) if varied else (),
        compositor=int(random.choice([0, 100, 200, 300])) * MICROSECOND,
        browser=int(random.choice([0, 0, 100])) * MICROSECOND,
        visitor=int(random.choice([0, 0, 41])) * MICROSECOND,
        foreign_compiles=int(random.choice([0, 0, 0, 0, 0, 2])),
        thermal=str(random.choice(["Nominal", "Nominal", "Fair"])),
        swing_of_memory=int(random.choice([0, 0, 1 << 20, 96 << 20])),
    )


def _length(random: np.random.Generator) -> int:
    """Draw a number of steady steps: few in some traces, hundreds in others."""
    least, most = ((18, 40), (40, 110), (40, 110), (40, 110), (200, 300))[int(random.integers(5))]
    return int(random.integers(least, most))


def _told(setup: Setup, random: np.random.Generator) -> Setup:
    """Return the setup with what its program tells, and with what the trace lacks."""
    return replace(
        setup,
        overhead=float(random.uniform(0, 0.03)) if random.random() < 0.6 else None,
        marks=random.random() < 0.9,
        tells=random.random() < 0.2,
        monitored=random.random() < 0.3,
        mark_error=int(random.normal(0, random.choice([1, 20, 400]) * MICROSECOND)),
        shuffled=random.random() < 0.25,
        missing=frozenset(name for name in _OPTIONAL if random.random() < 0.08),
    )


def program(random: np.random.Generator, whole: int, *, named: bool) -> tuple[Piece, ...]:
    """Return the kernels of a step that takes about `whole` ns of the GPU."""
    layers = int(random.integers(3, 9))
    kinds = int(random.integers(2, len(_KERNELS) + 1))
    unit = whole / layers / sum(_SHARES[:kinds])
    found = [
        Piece(_label(kernel, layer * kinds + place, named), round(unit * _SHARES[place]))
        for layer in range(layers)
        for place, kernel in enumerate(_KERNELS[:kinds])
    ]
    return tuple(found)


def counted(random: np.random.Generator) -> Counters:
    """Return counters of a kernel that is well balanced, or those of a template without any."""
    if random.random() < 0.2:
        return Counters(only_ray_tracing=True)
    return Counters(
        occupancy=float(random.uniform(0.45, 0.9)),
        alu=float(random.uniform(0.2, 0.42)),
        memory=float(random.uniform(0.3, 0.55)),
        other=float(random.uniform(0.05, 0.4)),
        bandwidth=float(random.uniform(0.3, 0.55)),
    )


def _label(kernel: str, place: int, named: bool) -> str:
    # A program that names its kernels forgets some.
    words = kernel if named and place % 7 else f"Compute Command {place}"
    return f"Command Buffer 0:{words}"
