"""`left-out-time`: parts of the recording that lie outside the loop."""

import pandas as pd

from tracekit.analysis.intervals import Window, busy, clip, spans
from tracekit.analysis.iterations import Loop, steady_iterations
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.rule import Evidence, Fact, Findings, Severity, finding, longest
from tracekit.analysis.scope import Device
from tracekit.analysis.upkeep import ALLOCATION, wiring, wirings

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
        yield finding(
            wording="left-out-time-paced",
            facts=(Fact("window", loop.name), Fact("pace", by)),
            lever="paced",
            severity=Severity.NOTE,
        )
    starts, ends = spans(pauses)
    if starts.size:
        yield finding(
            wording="left-out-time-paused",
            facts=(Fact("pauses", starts.size), Fact("paused", busy(starts, ends), "ns")),
            lever="pause",
            evidence=longest("gpu_intervals", starts, ends),
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
    begins = [loop.start, int(gpu.spans[0].min())]
    compiled = wired = allocated = 0
    if compiler_activity is not None:
        rows = compiler_activity[compiler_activity["target"]]
        compiled = busy(*clip(*spans(rows), load_window.start, load_window.end))
        begins += spans(rows)[0].tolist()
    if driver_events is not None:
        wired = busy(*wiring(driver_events, load_window))
        begins += spans(wirings(driver_events))[0].tolist()
    if resource_allocations is not None:
        rows = resource_allocations[resource_allocations["target"]]
        rows = load_window.rows(rows[rows["event"] == ALLOCATION], "time")
        allocated = int(rows["size"].fillna(0).sum())
        begins += rows["time"].tolist()
    begin = int(min(begins))
    lasted = loop.start - begin
    long = lasted > _LONG * loop.length
    if lasted < _BRIEF or not (long or compiled >= _COMPILED or allocated >= _WIRED):
        return
    yield finding(
        wording="left-out-time-load",
        facts=(
            Fact("window", loop.name),
            Fact("lasted", lasted, "ns"),
            Fact("lasted_share", lasted / (loop.end - begin), "ratio"),
            Fact("compiled", compiled, "ns"),
            Fact("allocated", allocated, "bytes"),
            Fact("wired", wired, "ns"),
            Fact("ran", gpu.measure_work(load_window), "ns"),
        ),
        lever=Mechanism.FIRST_RESULT if compiled or wired or allocated else Mechanism.WORK_BEFORE,
        evidence=(Evidence("gpu_intervals", begin, loop.start, "before the loop"),),
        severity=Severity.NOTE,
    )
