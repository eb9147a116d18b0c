"""Faults of submission: what keeps the GPU waiting between steps, and how work is cut up."""

from dataclasses import replace

import numpy as np

from labelled.setup import MICROSECOND, Hold, Piece, Setup

Random = np.random.Generator


def step_work(setup: Setup) -> int:
    """Return what a step's kernels take, ns."""
    return sum(one.work for one in setup.pieces)


def amount(setup: Setup, random: Random, least: float = 0.004, most: float = 0.3) -> int:
    """Draw a share of a step's work, small ones as often as large ones, in ns."""
    return round(step_work(setup) * float(np.exp(random.uniform(np.log(least), np.log(most)))))


def _host_late(setup: Setup, random: Random) -> Setup:
    every = int(random.choice([1, 1, 7, 12]))
    return replace(setup, ahead=0, late=amount(setup, random) * every, late_every=every)


def _held(setup: Setup, random: Random) -> Setup:
    return replace(setup, hold=Hold(1, amount(setup, random)))


def _driver_slow(setup: Setup, random: Random) -> Setup:
    return replace(setup, ahead=0, driver=amount(setup, random))


def _completion_slow(setup: Setup, random: Random) -> Setup:
    return replace(setup, ahead=0, completion=amount(setup, random))


def bubbles(setup: Setup, random: Random) -> Setup:
    """Let the GPU wait for one of several reasons."""
    kinds = (_host_late, _driver_slow, _completion_slow, _slow_to_wake, _held)
    return kinds[int(random.integers(len(kinds)))](setup, random)


def without_host(setup: Setup) -> Setup:
    """Let host, driver and starts take no time; what is compiled is still waited for."""
    made = replace(setup, late=0, build=0, readback=0, wake=0, completion=0, hiccups=0, hold=None)
    made = replace(
        made, switch=900, launch=min(setup.launch, 9_000), wiring=0, latency=0, driver=0, handover=0
    )
    made = replace(made, allocations=0)
    return replace(made, pieces=tuple(replace(one, encode=0) for one in setup.pieces))


def _slow_to_wake(setup: Setup, random: Random) -> Setup:
    return replace(setup, ahead=0, latency=amount(setup, random))


def late_start(setup: Setup, random: Random) -> Setup:
    """Let something unknown hold up the second of two command buffers of a step."""
    half = max(1, len(setup.pieces) // 2)
    held = replace(setup, per_buffer=half, buffer_work=0, merged=0.0, ahead=1)
    return _held(held, random)


def host_bound(setup: Setup, random: Random) -> Setup:
    """Let the host take about as long to encode a step as the GPU takes to run it."""
    share = float(random.uniform(0.6, 1.5))
    slow = tuple(replace(one, encode=round(one.work * share)) for one in setup.pieces)
    return replace(setup, pieces=slow, ahead=1)


def without_encoding(setup: Setup) -> Setup:
    """Let the host encode in no time."""
    return replace(setup, pieces=tuple(replace(one, encode=0) for one in setup.pieces))


def shallow_queue(setup: Setup, random: Random) -> Setup:
    """Let host and GPU take turns, with one command buffer in each step."""
    wake = amount(setup, random, 0.001, 0.1)
    build = amount(setup, random, 0.001, 0.15)
    return replace(setup, ahead=0, per_buffer=len(setup.pieces), wake=wake, build=build)


def frequent_readback(setup: Setup, random: Random) -> Setup:
    """Let the host wait for results several times in a step."""
    return replace(setup, readbacks=int(random.integers(1, 6)), per_buffer=3)


def tiny_encoders(setup: Setup, random: Random) -> Setup:
    """Cut the step into many short pieces of work."""
    each = int(random.uniform(8, 30) * MICROSECOND)
    count = min(400, step_work(setup) // each)
    labels = [one.label for one in setup.pieces]
    made = tuple(Piece(labels[k % len(labels)], each, 2_000) for k in range(count))
    launch = int(each * random.uniform(0.02, 0.35))
    steps = min(setup.steps, 4_000 // count + 17)
    return replace(setup, pieces=made, launch=launch, per_buffer=40, merged=0.0, steps=steps)


def fewer_encoders(setup: Setup) -> Setup:
    """Let the work of a command buffer be in one encoder."""
    return replace(setup, launch=0)


def frequent_command_buffers(setup: Setup, random: Random) -> Setup:
    """Hand each short kernel over in a command buffer of its own."""
    each = int(random.uniform(60, 260) * MICROSECOND)
    count = min(120, step_work(setup) // each)
    labels = [one.label for one in setup.pieces]
    made = tuple(Piece(labels[k % len(labels)], each, 4_000) for k in range(count))
    between = int(random.uniform(2, 60) * MICROSECOND)
    steps = min(setup.steps, 4_000 // count + 17)
    return replace(setup, pieces=made, per_buffer=1, merged=0.0, steps=steps, switch=between)


def fewer_buffers(setup: Setup) -> Setup:
    """Let boundaries between command buffers cost nothing."""
    return replace(setup, switch=0)
