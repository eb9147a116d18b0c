"""`growing-steps`: each iteration takes longer than the one before it."""

import numpy as np
import pandas as pd

from tracekit.analysis.growth import LIMIT, Growth, Rise
from tracekit.analysis.idle.pieces import Party
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
        yield _by_device(growth, growth.device, loop, called, _grown(work, growth), machine)
    if growth.idle_rises(limit) and growth.idle is not None and not loop.paced:
        yield _by_host(growth, growth.idle, called, parties or {})


def _by_device(
    growth: Growth, rise: Rise, loop: Loop, called: str, grown: tuple[str, float], machine: Machine
) -> Finding:
    memory = growth.memory if growth.memory_rises else None
    lever = Mechanism.GROWING_INPUT if memory is None else Mechanism.GROWING_WORK
    memory_known = growth.memory is not None
    full = None
    total = machine.get("memory")
    if memory is not None and total is not None and memory.slope > 0:
        full = max(0, round((total - memory.last_value) / memory.slope))
    return finding(
        wording="growing-steps",
        facts=(
            Fact("unit", called),
            *_of_rise(growth, rise),
            Fact("memory_first", None if memory is None else round(memory.first_value), "bytes"),
            Fact("memory_last", None if memory is None else round(memory.last_value), "bytes"),
            Fact("memory_slope", None if memory is None else memory.slope, "bytes"),
            Fact("memory_lower", None if memory is None else memory.lower, "bytes"),
            Fact("memory_upper", None if memory is None else memory.upper, "bytes"),
            Fact("memory_then", None if memory is None else _then(memory, growth), "bytes"),
            Fact("memory_known", memory_known),
            Fact("full_after", full),
            Fact("allocations", round(growth.allocations)),
            Fact("larger", growth.larger),
            Fact("same_pieces", growth.has_same_pieces),
            Fact("pieces", round(growth.pieces[-1])),
            Fact("clock_known", growth.clock_known),
            Fact("grown", grown[0]),
            Fact("grown_share", grown[1], "ratio"),
        ),
        lever=lever,
        severity=_severity(rise, memory_rises=growth.memory_rises, memory_known=memory_known),
        evidence=(Evidence("gpu_intervals", loop.start, loop.end),),
        saving=None if memory is None else round(np.nansum(growth.worked - rise.first_value)),
    )


def _severity(rise: Rise, *, memory_rises: bool, memory_known: bool) -> Severity:
    """Return the severity: a note if only work grows, and for an uneven rise."""
    if memory_rises or (rise.is_even and not memory_known):
        return Severity.WARNING
    return Severity.NOTE


def _by_host(growth: Growth, rise: Rise, called: str, parties: dict[Party, int]) -> Finding:
    window = growth.window
    idle = sum(lasted for party, lasted in parties.items() if party is not Party.WORKS)
    share = parties.get(Party.HOST, 0) / idle if idle else 0.0
    return finding(
        wording="growing-steps-host",
        facts=(
            Fact("unit", called),
            *_of_rise(growth, rise),
            Fact("host_share", share, "ratio"),
        ),
        lever=Mechanism.GROWING_HOST,
        severity=Severity.WARNING if rise.is_even else Severity.NOTE,
        evidence=(Evidence("gpu_intervals", window.start, window.end),),
    )


def _of_rise(growth: Growth, rise: Rise) -> tuple[Fact, ...]:
    line = rise.line
    return (
        Fact("iterations", growth.number),
        Fact("first", rise.first_value, "ns"),
        Fact("last", rise.last_value, "ns"),
        Fact("even", rise.is_even),
        Fact("slope", line.slope, "ns"),
        Fact("lower", line.lower, "ns"),
        Fact("upper", line.upper, "ns"),
        Fact("then", _then(line, growth), "ns"),
    )


def _then(line: TrendLine, growth: Growth) -> float:
    """Return the value of a line after as many iterations again."""
    return line.predict(_NEAR * growth.number - 1)


def _grown(work: NamedWork | None, growth: Growth) -> tuple[str, float]:
    """Return the name of the work with the largest part of the rise, and its share of it."""
    if work is None:
        return "", 0.0
    window = growth.window
    part = window.length // _PARTS
    took = (work.ends - work.starts).astype(np.float64)
    late = (work.starts >= window.end - part) & (work.starts < window.end)
    early = (work.starts >= window.start) & (work.starts < window.start + part)
    number = len(work.names)
    means: list[Numbers] = []
    for side in (early, late):
        sums = np.bincount(work.codes, weights=took * side, minlength=number)
        counts = np.bincount(work.codes, weights=side.astype(np.float64), minlength=number)
        means.append(sums / np.maximum(counts, 1))
    frequencies = np.bincount(work.codes, minlength=number) / growth.number
    rises = (means[1] - means[0]) * frequencies
    top_code = int(np.argmax(rises))
    total_rise = float(rises[rises > 0].sum())
    return (
        (work.names[top_code], float(rises[top_code] / total_rise)) if total_rise > 0 else ("", 0.0)
    )
