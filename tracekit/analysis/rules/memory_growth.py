"""`memory-growth`: the target keeps more memory with each step."""

from collections.abc import Iterator
from contextlib import suppress

import pandas as pd

from tracekit.analysis.growth import LIMIT, Growth
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window
from tracekit.analysis.iterations import Loop
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.machine import Machine
from tracekit.analysis.memory import RequestRises
from tracekit.analysis.rule import Evidence, Fact, Finding, Findings, finding
from tracekit.analysis.scope import Targets, steady_steps, steady_tokens
from tracekit.analysis.upkeep import Trend, allocations, growing_sizes, levels, trend
from tracekit.base import duration, percent, size

_SHOWN = 20
_HELD = "bytes_held"  # a gauge of workloads that keep a cache: bytes that it has
_MEANT = 1.25  # times what the workload says that it keeps


def memory_growth(
    loop: Loop,
    targets: Targets,
    allocated_sizes: pd.DataFrame | None,
    process_samples: pd.DataFrame | None,
    steps: pd.DataFrame | None,
    gauges: pd.DataFrame | None,
    request_rises: RequestRises | None,
    resource_allocations: pd.DataFrame | None,
    growth: Growth | None,
    machine: Machine,
    *,
    share: float = 0.05,
    least: int = 32 << 20,
) -> Findings:
    """The target keeps more and more memory.

    What it looks for:
        The lowest levels of eight equal parts of the steady window, of the GPU memory that the
        target has allocated, or of its resident memory where that was not recorded. It fires
        when they rise from part to part up to the end, by more than `share` of the first (default
        5 %) and more than `least` bytes (32 MiB); what goes up and down, and what is allocated
        once, does not count. Where the device's time for a step rises with it, growing-steps says
        both. Where pauses part three requests or more, it is what each of them
        leaves behind that counts: it fires when late ones leave as much as early ones, and is
        silent when the last ones leave nothing. It is silent where the workload itself reports, by
        a gauge `bytes_held`, that it keeps as much.

    Why it matters:
        What grows with each token sets how long a sequence or a server can run. Near the end
        macOS compresses and swaps, and the last tokens are the slowest.

    What to do:
        Preallocate or bound what is meant to grow, and give back what a request leaves.

    When it abstains:
        When neither allocated sizes nor samples of the process are there, or there are too few
        for the window.
    """
    kept = _kept(gauges, loop)
    if request_rises is not None and _matters(request_rises, max(least, _MEANT * kept), share):
        yield _by_request(request_rises, machine)
        return
    if request_rises is not None and request_rises.levels_off:
        return
    found = trend(levels(allocated_sizes, process_samples, targets), loop)
    enough = found.grown > max(least, share * found.floors[0])
    if not found.rising or not enough or found.grown <= _MEANT * kept:
        return
    if growth is not None and growth.is_joint(LIMIT):
        return  # growing-steps says it, together with the time that it costs
    meant = f" Of that the workload itself says that it keeps {size(kept)}; the rest is beside it."
    yield finding(
        message=(
            f"The target's {found.what} grew from {size(int(found.floors[0]))} to "
            f"{size(int(found.floors[-1]))} in {loop.name}, by "
            f"{', '.join(_rates(found, steps))}.{meant if kept > 0 else ''}"
            f"{_until_full(found, machine)}"
        ),
        lever=_lever(resource_allocations, loop),
        evidence=_evidence(found),
    )


def _lever(resource_allocations: pd.DataFrame | None, loop: Loop) -> Mechanism:
    """Return the lever: buffers that grow all the time are copied in order to grow."""
    if resource_allocations is not None:
        with suppress(Unavailable):
            if growing_sizes(allocations(resource_allocations, loop), loop) is not None:
                return Mechanism.GROWING_WORK
    return Mechanism.MEMORY_GROWTH


def _matters(rises: RequestRises, least: float, share: float) -> bool:
    return rises.rising and rises.grown > max(least, share * rises.floors[1])


def _by_request(rises: RequestRises, machine: Machine) -> Finding:
    memory = machine.get("memory")
    facts = (
        Fact("what", rises.what),
        Fact("rise", rises.typical, "bytes"),
        Fact("requests", rises.starts.size, "count"),
        Fact("first", int(rises.floors[1]), "bytes"),
        Fact("last", int(rises.floors[-1]), "bytes"),
        Fact("at_once", rises.at_once),
        Fact("falls", int((rises.rises < 0).sum()), "count"),
        Fact("machine", None if memory is None else int(memory), "bytes"),
    )
    behind = zip(rises.starts.tolist(), rises.ends.tolist(), rises.floors[1:].tolist(), strict=True)
    return finding(
        wording="memory-by-request",
        facts=facts,
        lever=Mechanism.MEMORY_BY_REQUEST,
        evidence=tuple(
            Evidence(rises.table, start, end, f"{size(floor)} afterwards")
            for start, end, floor in behind
        )[:_SHOWN],
    )


def _kept(gauges: pd.DataFrame | None, window: Window) -> int:
    """Return by how much the workload says that what it keeps grew in the window."""
    if gauges is None:
        return 0
    held = gauges[(gauges["name"] == _HELD) & (gauges["source"] == "workload")]
    inside = held[held["time"].between(window.start, window.end)].sort_values("time")
    values = inside["value"].dropna()
    return int(values.iloc[-1] - values.iloc[0]) if len(values) else 0


def _rates(found: Trend, steps: pd.DataFrame | None) -> Iterator[str]:
    yield f"{size(found.rate * 1e9)} a second"
    if steps is not None:
        with suppress(Unavailable):
            yield f"{size(found.grown / len(steady_steps(steps)))} a step"
            yield f"{size(found.grown / steady_tokens(steps))} a token"


def _until_full(found: Trend, machine: Machine) -> str:
    memory, level = machine.get("memory"), int(found.floors[-1])
    if memory is None or found.rate <= 0:
        return ""
    left = max(0, memory - level) / found.rate
    return (
        f" That is {percent(level / memory)} of the machine's {size(memory)}; at this "
        f"rate it would be full after another {duration(left)}."
    )


def _evidence(found: Trend) -> tuple[Evidence, ...]:
    parts = zip(found.bounds[:-1], found.bounds[1:], found.floors, strict=True)
    return tuple(
        Evidence(found.table, int(start), int(end), f"at least {size(int(floor))}")
        for start, end, floor in parts
    )
