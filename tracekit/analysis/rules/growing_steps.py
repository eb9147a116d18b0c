"""`growing-steps`: each iteration takes longer than the one before it."""

import numpy as np
import pandas as pd

from tracekit.analysis.growth import LIMIT, Growth, Rise
from tracekit.analysis.idle.cause import Party
from tracekit.analysis.iterations import Loop, unit
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.machine import Machine
from tracekit.analysis.rule import Evidence, Fact, Finding, Findings, Severity, finding
from tracekit.analysis.trends import Numbers, TrendLine
from tracekit.analysis.work_names import NamedWork

_PARTS = 8
_NEAR = 2  # factor of iterations up to which a slope is extrapolated


def growing_steps(
    growth: Growth,
    loop: Loop,
    iterations: pd.DataFrame,
    work: NamedWork | None,
    parties: dict[Party, int] | None,
    machine: Machine,
    *,
    limit: float = LIMIT,
) -> Findings:
    """Each iteration takes longer than the one before it.

    What it looks for:
        The device's time for an iteration, and the rest of the iteration, in which the device is
        idle. It fires when either rises over the loop by more than `limit` (25 %) of the first
        iterations' time, and the lower end of the slope's 95 % interval gives as much: attention
        over a context that grows by a few hundred tokens adds a few percent, which is to be
        expected. The slope is the median of the slopes of all pairs (Theil and Sen). A rise at one
        iteration belongs to performance-cliff. It is silent when the clock fell or other processes
        used the GPU more towards the end. Memory and allocations that rise at the same time are
        named, and then memory-growth and hot-allocations are silent. If memory is known not to
        rise, the finding is a note, because only the work grows; so is a rise that levels off or
        begins late.

    Why it matters:
        Work that grows with each step limits the length of a sequence or a run. If each step copies
        everything that was there before, a run twice as long takes four times the time.

    What to do:
        Preallocate data that grows and write into it in place; set a limit to it.

    When it abstains:
        When no loop is found or it has fewer than 16 iterations, for a server, whose steps differ
        with the requests, for several variants, when the target is not known, and when a CPU did
        the work.
    """
    called = unit(iterations)
    if growth.device_rises(limit) and growth.device is not None:
        named_work = _grown(work, growth)
        yield _by_device(growth, growth.device, loop, called, named_work, machine)
    if growth.idle_rises(limit) and growth.idle is not None and not loop.paced:
        parties_of_work = parties or {}
        yield _by_host(growth, growth.idle, called, parties_of_work)


def _by_device(
    growth: Growth, rise: Rise, loop: Loop, called: str, grown: tuple[str, float], machine: Machine
) -> Finding:
    memory = None
    if growth.memory_rises:
        memory = growth.memory
    lever = Mechanism.GROWING_WORK
    if memory is None:
        lever = Mechanism.GROWING_INPUT
    memory_known = growth.memory is not None
    full = None
    total = machine.get("memory")
    if memory is not None and total is not None and memory.slope > 0:
        free_memory = total - memory.last_value
        full = max(0, round(free_memory / memory.slope))
    first_memory = None
    last_memory = None
    memory_slope = None
    memory_lower = None
    memory_upper = None
    future_memory = None
    if memory is not None:
        first_memory = round(memory.first_value)
        last_memory = round(memory.last_value)
        memory_slope = memory.slope
        memory_lower = memory.lower
        memory_upper = memory.upper
        future_memory = _then(memory, growth)
    allocations = round(growth.allocations)
    piece_count = round(growth.pieces[-1])
    grown_name = grown[0]
    grown_share = grown[1]
    facts = (
        Fact("unit", called),
        *_of_rise(growth, rise),
        Fact("memory_first", first_memory, "bytes"),
        Fact("memory_last", last_memory, "bytes"),
        Fact("memory_slope", memory_slope, "bytes"),
        Fact("memory_lower", memory_lower, "bytes"),
        Fact("memory_upper", memory_upper, "bytes"),
        Fact("memory_then", future_memory, "bytes"),
        Fact("memory_known", memory_known),
        Fact("full_after", full),
        Fact("allocations", allocations),
        Fact("larger", growth.larger),
        Fact("same_pieces", growth.has_same_pieces),
        Fact("pieces", piece_count),
        Fact("clock_known", growth.clock_known),
        Fact("grown", grown_name),
        Fact("grown_share", grown_share, "ratio"),
    )
    severity = _severity(rise, memory_rises=growth.memory_rises, memory_known=memory_known)
    evidence = (Evidence("gpu_intervals", loop.start, loop.end),)
    saving = None
    if memory is not None:
        extra_work = growth.worked - rise.first_value
        saving = round(np.nansum(extra_work))
    return finding(
        wording="growing-steps",
        facts=facts,
        lever=lever,
        severity=severity,
        evidence=evidence,
        saving=saving,
    )


def _severity(rise: Rise, *, memory_rises: bool, memory_known: bool) -> Severity:
    """Return the severity: a note if only work grows, and for an uneven rise."""
    if memory_rises or (rise.is_even and not memory_known):
        return Severity.WARNING
    return Severity.NOTE


def _by_host(growth: Growth, rise: Rise, called: str, parties: dict[Party, int]) -> Finding:
    window = growth.window
    idle_times = [lasted for party, lasted in parties.items() if party is not Party.WORKS]
    idle = sum(idle_times)
    share = 0.0
    if idle:
        host_time = parties.get(Party.HOST, 0)
        share = host_time / idle
    facts = (
        Fact("unit", called),
        *_of_rise(growth, rise),
        Fact("host_share", share, "ratio"),
    )
    severity = Severity.NOTE
    if rise.is_even:
        severity = Severity.WARNING
    evidence = (Evidence("gpu_intervals", window.start, window.end),)
    return finding(
        wording="growing-steps-host",
        facts=facts,
        lever=Mechanism.GROWING_HOST,
        severity=severity,
        evidence=evidence,
    )


def _of_rise(growth: Growth, rise: Rise) -> tuple[Fact, ...]:
    line = rise.line
    predicted_time = _then(line, growth)
    return (
        Fact("iterations", growth.number),
        Fact("first", rise.first_value, "ns"),
        Fact("last", rise.last_value, "ns"),
        Fact("even", rise.is_even),
        Fact("slope", line.slope, "ns"),
        Fact("lower", line.lower, "ns"),
        Fact("upper", line.upper, "ns"),
        Fact("then", predicted_time, "ns"),
    )


def _then(line: TrendLine, growth: Growth) -> float:
    """Return the value of a line after as many iterations again."""
    last_iteration = _NEAR * growth.number - 1
    return line.predict(last_iteration)


def _grown(work: NamedWork | None, growth: Growth) -> tuple[str, float]:
    """Return the name of the work with the largest part of the rise, and its share of it."""
    if work is None:
        return "", 0.0
    window = growth.window
    part = window.length // _PARTS
    durations = work.ends - work.starts
    took = durations.astype(np.float64)
    late_start = window.end - part
    late = (work.starts >= late_start) & (work.starts < window.end)
    early_end = window.start + part
    early = (work.starts >= window.start) & (work.starts < early_end)
    number = len(work.names)
    means: list[Numbers] = []
    for side in (early, late):
        weighted_times = took * side
        sums = np.bincount(work.codes, weights=weighted_times, minlength=number)
        weights = side.astype(np.float64)
        counts = np.bincount(work.codes, weights=weights, minlength=number)
        mean_counts = np.maximum(counts, 1)
        means.append(sums / mean_counts)
    piece_counts = np.bincount(work.codes, minlength=number)
    frequencies = piece_counts / growth.number
    mean_rises = means[1] - means[0]
    rises = mean_rises * frequencies
    top_code = int(np.argmax(rises))
    positive_rises = rises[rises > 0]
    total_rise = float(positive_rises.sum())
    if total_rise > 0:
        top_share = float(rises[top_code] / total_rise)
        return (work.names[top_code], top_share)
    return ("", 0.0)
