"""`left-out-time`: parts of the recording that lie outside the loop."""

import pandas as pd

from tracekit.analysis.allocations import ALLOCATION
from tracekit.analysis.intervals import Window, busy, clip, spans
from tracekit.analysis.iterations import Loop, steady_iterations
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.rule import Evidence, Fact, Findings, Severity, finding, longest
from tracekit.analysis.scope import Device
from tracekit.analysis.upkeep import wiring, wirings

_LONG = 0.1  # share of the loop's time above which the time before it is reported
_BRIEF = 1_000_000  # ns: so short a time before the loop belongs to its first iteration
_COMPILED = 100_000_000  # ns
_WIRED = 1 << 30  # bytes


def left_out_time(
    gpu: Device,
    loop: Loop,
    iterations: pd.DataFrame,
    pauses: pd.DataFrame,
    compiler_activity: pd.DataFrame | None,
    driver_events: pd.DataFrame | None,
    resource_allocations: pd.DataFrame | None,
) -> Findings:
    """Parts of the recording lie outside the loop and are not judged.

    What it looks for:
        In a program that marks no steps: work before the loop, with the pipelines that were
        compiled, the memory that was allocated and wired, and the device's work; pauses in the loop
        in which no iteration was requested; and a loop that something outside paces, such as a
        display or a timer. All of these are notes.

    Why it matters:
        Idle time, compilations and allocations there do not belong to the loop, and other rules
        leave them out. For a program that answers only once, a person waits for the load.

    What to do:
        Nothing, if you are interested in the loop.

    When it abstains:
        When no loop was found, when the target is not known, and when a CPU did the work.
    """
    if pauses.empty and (steady_iterations(iterations)["source"] == "steps").all():
        return
    if by := loop.paced:
        facts = (Fact("window", loop.name), Fact("pace", by))
        yield finding(
            wording="left-out-time-paced",
            facts=facts,
            lever="paced",
            severity=Severity.NOTE,
        )
    starts, ends = spans(pauses)
    if starts.size:
        paused_time = busy(starts, ends)
        pause_facts = (Fact("pauses", starts.size), Fact("paused", paused_time, "ns"))
        evidence = longest("gpu_intervals", starts, ends)
        yield finding(
            wording="left-out-time-paused",
            facts=pause_facts,
            lever="pause",
            evidence=evidence,
            severity=Severity.NOTE,
        )
    yield from _load(gpu, loop, compiler_activity, driver_events, resource_allocations)


def _load(
    gpu: Device,
    loop: Loop,
    compiler_activity: pd.DataFrame | None,
    driver_events: pd.DataFrame | None,
    resource_allocations: pd.DataFrame | None,
) -> Findings:
    """Yield the load before the loop, if it was long or large."""
    load_window = Window(0, loop.start)
    first_work = int(gpu.spans[0].min())
    begins = [loop.start, first_work]
    compiled = wired = allocated = 0
    if compiler_activity is not None:
        rows = compiler_activity[compiler_activity["target"]]
        compiled_spans = spans(rows)
        compile_spans = clip(*compiled_spans, load_window.start, load_window.end)
        compiled = busy(*compile_spans)
        begins += spans(rows)[0].tolist()
    if driver_events is not None:
        wired = busy(*wiring(driver_events, load_window))
        wiring_spans = spans(wirings(driver_events))
        wiring_starts = wiring_spans[0]
        begins += wiring_starts.tolist()
    if resource_allocations is not None:
        rows = resource_allocations[resource_allocations["target"]]
        is_allocation = rows["event"] == ALLOCATION
        allocation_rows = rows[is_allocation]
        rows = load_window.rows(allocation_rows, "time")
        allocated_sizes = rows["size"].fillna(0)
        allocated = int(allocated_sizes.sum())
        begins += rows["time"].tolist()
    begin = int(min(begins))
    lasted = loop.start - begin
    long = lasted > _LONG * loop.length
    if lasted < _BRIEF or not (long or compiled >= _COMPILED or allocated >= _WIRED):
        return
    load_length = loop.end - begin
    lasted_share = lasted / load_length
    ran_time = gpu.measure_work(load_window)
    facts = (
        Fact("window", loop.name),
        Fact("lasted", lasted, "ns"),
        Fact("lasted_share", lasted_share, "ratio"),
        Fact("compiled", compiled, "ns"),
        Fact("allocated", allocated, "bytes"),
        Fact("wired", wired, "ns"),
        Fact("ran", ran_time, "ns"),
    )
    lever = Mechanism.WORK_BEFORE
    if compiled or wired or allocated:
        lever = Mechanism.FIRST_RESULT
    evidence = (Evidence("gpu_intervals", begin, loop.start, "before the loop"),)
    yield finding(
        wording="left-out-time-load",
        facts=facts,
        lever=lever,
        evidence=evidence,
        severity=Severity.NOTE,
    )
