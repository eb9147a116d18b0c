"""`left-out-time`: parts of the recording that are no part of the loop."""

import pandas as pd

from tracekit.analysis.intervals import Window, busy, clip, spans
from tracekit.analysis.iterations import Loop, steady_iterations
from tracekit.analysis.rule import Evidence, Finding, Findings, Severity, finding, longest
from tracekit.analysis.scope import Device
from tracekit.analysis.upkeep import ALLOCATION, wiring, wirings
from tracekit.base import duration, size

_PACED = (
    "There is nothing to win while it waits. Make an iteration cheaper only if it misses its time "
    "or takes too much power; to measure how fast it could go, run it without what paces it."
)
_PAUSED = (
    "Nothing ran, and nothing was asked for. To judge the program's speed, keep it busy while you "
    "record. If the first iteration after a pause is slow, keep residency sets alive over it."
)
_LOAD = (
    "This is the program's load. If the first result matters: compile before it is asked for, by "
    "running each shape once at the start (warm-up) or from prebuilt pipelines (a metallib, a "
    "binary archive), keep the model loaded, and keep its memory wired."
)
_LONG = 0.1  # of the loop's time, from which what lies before it is spoken of
_BRIEF = 1_000_000  # ns: what comes so shortly before the loop belongs to its first iteration
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
    """Parts of the recording are no part of the loop, and are not judged.

    What it looks for:
        In a program that marks no steps: work before the loop, with the pipelines that were
        compiled, the memory that was allocated and wired, and the device's work; pauses in the loop
        in which nobody asked for an iteration; and a loop that something outside paces, such as a
        display or a timer. All of these are notes.

    Why it matters:
        Idle time, compilations and allocations there are not those of the loop, and other rules
        leave them out. For a program that is to answer once, the load is what a person waits for.

    What to do:
        Nothing, if the loop is what you want to know about.

    When it abstains:
        When no loop was found, when the target is not known, and where a CPU did the work.
    """
    if pauses.empty and (steady_iterations(iterations)["source"] == "steps").all():
        return
    if by := loop.paced:
        yield _note(
            f"Something outside paces {loop.name}: {by}. That the device waits for it is not "
            "counted against the program.",
            _PACED,
        )
    starts, ends = spans(pauses)
    if starts.size:
        many = "a pause" if starts.size == 1 else f"{starts.size:,} pauses"
        yield _note(
            f"In {many} of {duration(busy(starts, ends))} the device was not asked for work; "
            "this time is left out.",
            _PAUSED,
            longest("gpu_intervals", starts, ends),
        )
    yield from _load(gpu, loop, compiler_activity, driver_events, resource_allocations)


def _load(
    gpu: Device,
    loop: Loop,
    compiler_activity: pd.DataFrame | None,
    driver_events: pd.DataFrame | None,
    resource_allocations: pd.DataFrame | None,
) -> Findings:
    """Say what was done before the loop, where it took long or was much."""
    before = Window(0, loop.start)
    begins = [loop.start, *gpu.spans[0].tolist()]
    compiled = wired = allocated = 0
    if compiler_activity is not None:
        rows = compiler_activity[compiler_activity["target"]]
        compiled = busy(*clip(*spans(rows), before.start, before.end))
        begins += spans(rows)[0].tolist()
    if driver_events is not None:
        wired = busy(*wiring(driver_events, before))
        begins += spans(wirings(driver_events))[0].tolist()
    if resource_allocations is not None:
        rows = resource_allocations[resource_allocations["target"]]
        rows = before.rows(rows[rows["event"] == ALLOCATION], "time")
        allocated = int(rows["size"].fillna(0).sum())
        begins += rows["time"].tolist()
    begin = int(min(begins))
    lasted = loop.start - begin
    long = lasted > _LONG * loop.length
    if lasted < _BRIEF or not (long or compiled >= _COMPILED or allocated >= _WIRED):
        return
    ran = gpu.ran(before)
    said = [
        f"pipelines were compiled for {duration(compiled)}" if compiled else "",
        f"{size(allocated)} were allocated" if allocated else "",
        f"memory was wired for {duration(wired)}" if wired else "",
        f"the device worked for {duration(ran)}" if ran else "",
    ]
    parts = [part for part in said if part] or ["nothing was seen"]
    listed = " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
    yield _note(
        f"Before {loop.name}, within {duration(lasted)}, {listed}. That is not judged.",
        _LOAD,
        (Evidence("gpu_intervals", begin, loop.start, "before the loop"),),
    )


def _note(message: str, advice: str, evidence: tuple[Evidence, ...] = ()) -> Finding:
    return finding(message, advice, evidence, severity=Severity.NOTE)
