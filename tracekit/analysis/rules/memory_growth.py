"""`memory-growth`: the target keeps more memory with each step."""

from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pandas as pd

from tracekit.analysis.allocations import UnlikeSizes, allocations, growing_sizes, unlike_sizes
from tracekit.analysis.growth import LIMIT, Growth
from tracekit.analysis.inject import Remedy, Unavailable
from tracekit.analysis.intervals import Window
from tracekit.analysis.iterations import Loop
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.machine import Machine
from tracekit.analysis.memory import RequestRises
from tracekit.analysis.memory_levels import Trend, levels, rises_throughout, trend
from tracekit.analysis.rule import Evidence, Fact, Finding, Findings, finding
from tracekit.analysis.scope import Targets, steady_steps, steady_tokens
from tracekit.base import units

_SHOWN = 20
_HELD = "bytes_held"  # a gauge of workloads that keep a cache: its size in bytes
_MEANT = 1.25  # ratio to the bytes that the workload reports as kept
_UNEVEN = 0.4  # of the median, the range from the 10th to the 90th percentile of unlike iterations
_TIMES = 2  # ratio of a growth that ends a run
_SHORTEST = 5_000_000_000  # ns of a whole life; below it, growth is that of a start
_LEAVING = 0.03  # share of a life at its end, in which a program may free all that it has
_MUCH = 1 << 30  # bytes of a growth that ends a run


def memory_growth(
    loop: Loop | Unavailable,
    targets: Targets,
    phases: pd.DataFrame | None,
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
        target has allocated, or of its resident memory if allocated memory was not recorded. It
        fires when they rise from part to part up to the end, by more than `share` of the first
        (default 5 %) and more than `least` bytes (32 MiB). Memory that rises and falls, or that is
        allocated once, does not count. If the device's time for a step rises as well, growing-steps
        reports both. If pauses separate three requests or more, the memory that each of them leaves
        behind counts: the rule fires when late requests leave as much as early ones, and is silent
        when the last ones leave nothing. A program without device work must be sampled for 5 s, and
        its memory rise in all parts of the recording, and within the last one. If new buffers have
        similar sizes but hardly ever the same one, the finding reports it: a pool that looks for
        the exact size reuses none of them. It is silent if the workload itself reports, by a gauge
        `bytes_held`, that it keeps as much.

    Why it matters:
        Memory that grows with each token limits the length of a sequence or the life of a server.
        Near the end macOS compresses and swaps, and the last tokens are the slowest.

    What to do:
        Preallocate or limit memory that is meant to grow, and free the memory of finished requests.

    When it abstains:
        When there are neither allocated sizes nor samples of the process, or too few for the
        window.
    """
    window = _choose_window(loop, process_samples, phases)
    kept_bytes = _measure_kept_bytes(gauges, window)
    if request_rises is not None and _matters(
        request_rises, max(least, _MEANT * kept_bytes), share
    ):
        yield _by_request(request_rises, machine)
        return
    if request_rises is not None and request_rises.levels_off:
        return
    target_levels = levels(allocated_sizes, process_samples, targets)
    memory_trend = trend(target_levels, window)
    first_floor = memory_trend.floors[0]
    least_growth = max(least, share * first_floor)
    enough = memory_trend.grown > least_growth
    rises = memory_trend.rising
    if not isinstance(loop, Loop):
        rises = rises_throughout(target_levels, memory_trend)
    if not rises or not enough or memory_trend.grown <= _MEANT * kept_bytes:
        return
    if growth is not None and growth.is_joint(LIMIT):
        return  # growing-steps reports it, with its cost in time
    variation = 0.0
    if growth is not None:
        variation = _variation(growth)
    memory = machine.get("memory")
    level = int(memory_trend.floors[-1])
    full_after = None
    unlike = _find_unlike_sizes(resource_allocations, window)
    if memory is not None and memory_trend.rate > 0:
        free_memory = max(0, memory - level)
        full_after = free_memory / memory_trend.rate
    first_size = int(memory_trend.floors[0])
    per_second = memory_trend.rate * 1e9
    is_urgent = _is_urgent(first_size, level)
    facts = (
        Fact("what", memory_trend.description),
        Fact("first", first_size, "bytes"),
        Fact("last", level, "bytes"),
        Fact("window", window.name),
        Fact("per_second", per_second, "bytes"),
        *_rates(memory_trend, steps),
        Fact("kept", kept_bytes, "bytes"),
        *_describe_memory(memory, level),
        Fact("full_after", full_after, "ns"),
        Fact("variation", variation, "ratio"),
        Fact("urgent", is_urgent),
        *_describe_sizes(unlike),
    )
    lever = _lever(resource_allocations, window, variation, unlike)
    evidence = _evidence(memory_trend)
    yield finding(
        wording="memory-growth",
        facts=facts,
        lever=lever,
        evidence=evidence,
    )


def _choose_window(
    loop: Loop | Unavailable, process_samples: pd.DataFrame | None, phases: pd.DataFrame | None
) -> Window:
    """Return the loop, or the time for which a program without device work was sampled.

    Raise the reason why there is no loop otherwise.
    """
    if isinstance(loop, Loop):
        return loop
    is_marked = phases is not None and not phases.empty
    if process_samples is None or process_samples.empty or is_marked:
        raise loop
    start = int(process_samples["time"].min())
    end = int(process_samples["time"].max())
    if end - start < _SHORTEST:
        raise Unavailable(
            f"the program was sampled for {units.duration(end - start)}, and a trend of the memory "
            f"of its whole life takes {units.duration(_SHORTEST)}.",
            Remedy.LONGER,
        )
    return Window(start, end - round(_LEAVING * (end - start)), "the recording")


def _describe_memory(memory: float | None, level: int) -> tuple[Fact, ...]:
    """Return the machine's memory, and the share of it that is in use."""
    machine_memory = None
    memory_share = None
    if memory:
        machine_memory = int(memory)
        memory_share = level / memory
    return (
        Fact("memory", machine_memory, "bytes"),
        Fact("memory_share", memory_share, "ratio"),
    )


def _describe_sizes(unlike: UnlikeSizes | None) -> tuple[Fact, ...]:
    """Return the sizes of the new buffers, if they are hardly ever the same."""
    allocated_count = None
    size_count = None
    smallest = None
    largest = None
    if unlike:
        allocated_count = unlike.number
        size_count = unlike.distinct
        smallest = unlike.smallest
        largest = unlike.largest
    return (
        Fact("allocated", allocated_count),
        Fact("sizes", size_count),
        Fact("smallest", smallest, "bytes"),
        Fact("largest", largest, "bytes"),
    )


def _variation(growth: Growth) -> float:
    """Return the variation of the iterations' device time: from the 10th to the 90th percentile.

    It is a share of the median; 0 if they are alike, or if it rises all the time.
    """
    lower_quantile, middle, upper_quantile = np.nanquantile(growth.worked, (0.1, 0.5, 0.9)).tolist()
    if not middle > 0 or growth.device_rises(LIMIT):
        return 0.0
    spread = (upper_quantile - lower_quantile) / middle
    if spread > _UNEVEN:
        return spread
    return 0.0


def _is_urgent(first_level: int, last_level: int) -> bool:
    """Return whether memory doubles and grows by a GiB or more, which ends the run."""
    return last_level > _TIMES * first_level and last_level - first_level > _MUCH


def _find_unlike_sizes(
    resource_allocations: pd.DataFrame | None, loop: Window
) -> UnlikeSizes | None:
    """Return the spread of the sizes of new buffers; None if they are alike or unknown."""
    if resource_allocations is None:
        return None
    with suppress(Unavailable):
        resources = allocations(resource_allocations, loop).dropna(subset=["size"])
        return unlike_sizes(resources["size"].to_numpy(dtype=np.int64))
    return None


def _lever(
    resource_allocations: pd.DataFrame | None,
    loop: Window,
    variation: float,
    unlike: UnlikeSizes | None,
) -> Mechanism:
    """Return the lever: buffers that grow all the time are copied in order to grow.

    If iterations differ in size, buffers are kept for each size, and likewise if buffers for the
    same purpose differ in size.
    """
    if variation:
        return Mechanism.MEMORY_BY_SHAPE
    if resource_allocations is not None:
        with suppress(Unavailable):
            if growing_sizes(allocations(resource_allocations, loop), loop) is not None:
                return Mechanism.GROWING_WORK
    if unlike:
        return Mechanism.MEMORY_BY_SIZE
    return Mechanism.MEMORY_GROWTH


def _matters(rises: RequestRises, least_growth: float, share: float) -> bool:
    return rises.rising and rises.grown > max(least_growth, share * rises.floors[1])


def _by_request(rises: RequestRises, machine: Machine) -> Finding:
    memory = machine.get("memory")
    first_size = int(rises.floors[1])
    last_size = int(rises.floors[-1])
    is_fall = rises.rises < 0
    fall_count = int(is_fall.sum())
    machine_size = None
    if memory is not None:
        machine_size = int(memory)
    is_urgent = _is_urgent(first_size, last_size)
    facts = (
        Fact("what", rises.level_name),
        Fact("rise", rises.typical, "bytes"),
        Fact("requests", rises.starts.size, "count"),
        Fact("first", first_size, "bytes"),
        Fact("last", last_size, "bytes"),
        Fact("at_once", rises.at_once),
        Fact("falls", fall_count, "count"),
        Fact("machine", machine_size, "bytes"),
        Fact("urgent", is_urgent),
    )
    later_floors = rises.floors[1:].tolist()
    behind = zip(rises.starts.tolist(), rises.ends.tolist(), later_floors, strict=True)
    all_evidence = tuple(
        Evidence(rises.table, start, end, f"{units.size(floor)} afterwards")
        for start, end, floor in behind
    )
    evidence = all_evidence[:_SHOWN]
    return finding(
        wording="memory-by-request",
        facts=facts,
        lever=Mechanism.MEMORY_BY_REQUEST,
        evidence=evidence,
    )


def _measure_kept_bytes(gauges: pd.DataFrame | None, window: Window) -> int:
    """Return the growth in the window of the bytes that the workload reports as kept."""
    if gauges is None:
        return 0
    held_readings = gauges[(gauges["name"] == _HELD) & (gauges["source"] == "workload")]
    window_readings = held_readings[
        held_readings["time"].between(window.start, window.end)
    ].sort_values("time")
    values = window_readings["value"].dropna()
    if not len(values):
        return 0
    value_change = values.iloc[-1] - values.iloc[0]
    return int(value_change)


def _rates(memory_trend: Trend, steps: pd.DataFrame | None) -> Iterator[Fact]:
    """Yield the bytes that a step and a token keep; None if neither is marked."""
    per_step = per_token = None
    if steps is not None:
        with suppress(Unavailable):
            per_step = memory_trend.grown / len(steady_steps(steps))
            per_token = memory_trend.grown / steady_tokens(steps)
    yield Fact("per_step", per_step, "bytes")
    yield Fact("per_token", per_token, "bytes")


def _evidence(memory_trend: Trend) -> tuple[Evidence, ...]:
    parts = zip(memory_trend.bounds[:-1], memory_trend.bounds[1:], memory_trend.floors, strict=True)
    return tuple(
        Evidence(memory_trend.table, int(start), int(end), f"at least {units.size(int(floor))}")
        for start, end, floor in parts
    )
