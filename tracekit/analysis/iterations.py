"""The tables `iterations` and `pauses`, and the loop: the repetitions, and the time that is judged.

Iterations come from the first of these sources that has any: the steps of a workload of tracekit;
the target's own signposts of one name, of any subsystem; the structure of its command buffers.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis.allocations import find_allocating
from tracekit.analysis.inject import NotApplicable, Remedy, Unavailable
from tracekit.analysis.intervals import (
    FOREVER,
    IntervalSet,
    Times,
    Window,
    marked_window,
    spans,
    steady_window,
)
from tracekit.analysis.pace import Refreshes, count_presents, find_pace, find_refreshes
from tracekit.analysis.repetition import (
    Structure,
    add_time,
    add_work,
    find_structure,
    make_iterations,
)
from tracekit.analysis.scope import Device, Recorded, Targets, own_rows, steady_steps
from tracekit.analysis.structure import FEWEST, OF_WORK, begins_of, reported_ends
from tracekit.analysis.upkeep import of_the_service, wirings
from tracekit.base import units
from tracekit.tables import PHASES

QUIET = 250_000_000
"""No work was requested in a stretch without activity that is longer than this; ns."""
_MANY_STEPS = 10
_SURE = 0.9  # share of the groups in a loop that must match its iterations
_ACTIVE = 0.2  # share of a pause in which the host was observed at work
_FITS = 0.8  # share of a refresh; longer work of the device may itself miss it


def structure_of(
    gpu: Device | None,
    steps: pd.DataFrame | None,
    phases: pd.DataFrame | None,
    signpost_intervals: pd.DataFrame | None,
    timeline: pd.DataFrame | None,
    compiler_activity: pd.DataFrame | None,
    driver_events: pd.DataFrame | None,
    cpu_profile: pd.DataFrame | None,
    commits: pd.DataFrame | None,
    dispatches: pd.DataFrame | None,
    replay_counters: pd.DataFrame | None,
    targets: Targets,
) -> Structure:
    """Return the repetition: the iterations, and the composition of each.

    The program's own marks, its steps or its signposts, take precedence. If it marks its steady
    phase, nothing outside of that phase is examined.
    """
    if steps is not None and not steps.empty:
        return Structure(add_time(steady_steps(steps).assign(source="steps"), gpu))
    if timeline is None:
        reason = "the workload marks no steps, and its command buffers are not known."
        is_untimed = dispatches is not None or replay_counters is not None
        if gpu is None and (targets or is_untimed):
            raise NotApplicable(reason)
        raise Unavailable(reason, Remedy.TRACE)
    phase = marked_window(phases)
    if phase is not None:
        with_begins = timeline.assign(begins=begins_of(timeline))
        timeline = phase.rows(with_begins, "begins")
    if signpost_intervals is not None:
        signposts = _signposts(signpost_intervals, timeline)
        if signposts is not None:
            return Structure(add_work(make_iterations(*signposts, "signposts"), timeline))
    host_work = _find_host_work(compiler_activity, driver_events, cpu_profile)
    pauses = _find_pauses(timeline, host_work)
    return find_structure(timeline, pauses, commits)


def iterations_table(structure: Structure) -> pd.DataFrame:
    """Return the table `iterations`: one row for each repetition of the loop that is judged.

    Columns: `start`, `duration` (ns), `source` (steps, signposts, structure); `phase`, which is
    steady except for iterations that open a request; `request`, its number, from 0; `groups`, the
    number of groups of command buffers in an iteration; `share`, the part of all groups that belong
    to similar iterations; `work` and `ended`, the device time (ns) of the command buffers that
    began in it, or for a marked step the device time during it, and the end of the last of them,
    null if unknown; `pieces`, the number of their intervals; and for steps `variant` and `tokens`,
    null for iterations of any other source.

    An iteration ends at the start of the next one, or when all of its work is reported complete if
    the next was not requested. Without enough repetitions the table has no rows.
    """
    return Recorded.from_frame(structure.iterations)


def quiet_limit(starts: Times) -> float:
    """Return the pause between marked steps above which it is out of proportion to them; ns."""
    if starts.size < 2:  # noqa: PLR2004  one step has no period
        return QUIET
    usual_period = float(np.median(np.diff(starts)))
    return max(QUIET, _MANY_STEPS * usual_period)


def _find_host_work(
    activity: pd.DataFrame | None, events: pd.DataFrame | None, samples: pd.DataFrame | None
) -> IntervalSet:
    """Return when the host compiled, wired memory or ran sampled threads for the target.

    A row of the compiler under its own name does not state its client, which may be the target: it
    counts. A compilation for another process does not count.
    """
    parts: list[IntervalSet] = []
    if activity is not None:
        parts.append(IntervalSet.from_spans(*spans(own_rows(activity))))
        if "process" in activity:
            parts.append(IntervalSet.from_spans(*spans(of_the_service(activity))))
    if events is not None:
        parts.append(IntervalSet.from_spans(*spans(wirings(events))))
    if samples is not None:
        target_samples = own_rows(samples)
        times = target_samples["time"].to_numpy(dtype=np.int64)
        lengths = target_samples["weight"].fillna(0).to_numpy(dtype=np.int64)
        parts.append(IntervalSet.from_spans(times, times + lengths))
    return IntervalSet.union_of(parts)


def pauses_table(
    iterations: pd.DataFrame,
    phases: pd.DataFrame | None,
    timeline: pd.DataFrame | None,
    compiler_activity: pd.DataFrame | None,
    driver_events: pd.DataFrame | None,
    cpu_profile: pd.DataFrame | None,
    resource_allocations: pd.DataFrame | None,
) -> pd.DataFrame:
    """Return the table `pauses`: stretches of the loop in which no iteration was requested.

    In a pause, all work had been reported, the device got no work for a quarter of a second, and
    the host was not observed at work for the target, and did not allocate buffers for it all the
    while. Without samples a pause and other long work of the host look the same. A workload that
    marks its steps or its steady phase states itself when it had no load.
    """
    has_marks = marked_window(phases) is not None
    if not iterations.empty and (iterations["source"] == "steps").all():
        has_marks = True
    if has_marks or timeline is None:
        return pd.DataFrame({"start": np.empty(0, np.int64), "duration": np.empty(0, np.int64)})
    host_work = _find_host_work(compiler_activity, driver_events, cpu_profile)
    starts, ends = _find_pauses(timeline, host_work)
    if resource_allocations is not None:
        is_pause = ~find_allocating(resource_allocations, starts, ends)
        starts = starts[is_pause]
        ends = ends[is_pause]
    return pd.DataFrame({"start": starts, "duration": ends - starts})


def _find_pauses(timeline: pd.DataFrame, host_work: IntervalSet) -> tuple[Times, Times]:
    """Return when all work had been reported and none was submitted for a quarter of a second."""
    if timeline.empty:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    next_begins = begins_of(timeline)[1:]
    starts = timeline["started"].to_numpy(dtype=np.int64)
    next_starts = np.append(starts[1:], FOREVER)
    reported = reported_ends(timeline, starts, next_starts)[:-1]
    lengths = next_begins - reported
    host_times = host_work.measure_within(reported, np.maximum(next_begins, reported))
    is_pause = (lengths > QUIET) & (host_times < _ACTIVE * lengths)
    return reported[is_pause], next_begins[is_pause]


def steady_iterations(iterations: pd.DataFrame | None) -> pd.DataFrame:
    """Return the iterations; raise Unavailable if there are none."""
    if iterations is None or iterations.empty:
        raise Unavailable(
            "no repeating structure was found: the workload marks no steps, no signpost of the "
            "target repeats, and its command buffers do not come in groups alike."
        )
    return steady_steps(iterations)


def unit(iterations: pd.DataFrame) -> str:
    """Return the noun for an iteration: a step if a workload marks them."""
    if "source" not in iterations or (iterations["source"] == "steps").all():
        return "step"
    return "iteration"


@dataclass(frozen=True)
class Loop(Window):
    """The stretch of the recording that is judged; `paced` names its external pace, or is "".

    `refreshes` are those of a display that paces it unevenly; None if none does.
    """

    paced: str = ""
    refreshes: Refreshes | None = None


def _name_loop(iterations: pd.DataFrame) -> str:
    """Return the name of the loop, which states any doubt that it is one."""
    name = f"{len(iterations):,} iterations"
    if "share" in iterations and float(iterations["share"].iloc[0]) < _SURE:
        return f"a possible loop of {name}"
    return f"the loop of {name}"


def loop_of(
    device: Device,
    phases: pd.DataFrame | None,
    iterations: pd.DataFrame | None,
    timeline: pd.DataFrame | None,
    commits: pd.DataFrame | None,
    present_requests: pd.DataFrame | None,
    cpu_profile: pd.DataFrame | None,
) -> Loop:
    """Return the loop: the workload's own steady phase, or from the first iteration to the last.

    Without either it is the time from the target's first interval to its last. Raise Unavailable if
    marked phases lack a steady one, if command buffers are unknown, or if the loop has no length.
    """
    marked = marked_window(phases)
    if marked is None and phases is not None and not phases.empty:
        raise Unavailable("the workload did not come to its steady phase.")
    if marked is None and iterations is None:
        raise Unavailable("the loop is not known, because its command buffers are not known.")
    if marked is None and iterations is not None and not iterations.empty:
        host_work = _find_host_work(None, None, cpu_profile)
        loop = _loop_of_iterations(iterations, timeline, commits, present_requests, host_work)
    else:
        window = marked or steady_window(None, device.target_intervals)
        assert window is not None
        loop = Loop(window.start, window.end, window.name)
    if loop.length == 0:
        raise Unavailable(f"{loop.name} has no length.")
    return loop


def _loop_of_iterations(
    iterations: pd.DataFrame,
    timeline: pd.DataFrame | None,
    commits: pd.DataFrame | None,
    present_requests: pd.DataFrame | None,
    host_work: IntervalSet,
) -> Loop:
    """Return the loop from the first iteration to the last, with its pace.

    It shows frames if at least every second iteration presents one.
    """
    starts, ends = spans(iterations)
    start = int(starts.min())
    end = int(ends.max())
    if timeline is None:
        return Loop(start, end, _name_loop(iterations))
    present_count = count_presents(commits, present_requests, start, end)
    shows_frames = present_count >= len(starts) // 2
    pace = find_pace(starts, timeline, host_work, shows=shows_frames)
    refreshes = None
    if shows_frames:
        refreshes = _find_missed_refreshes(iterations)
    if refreshes is not None and not pace:
        period = units.duration(refreshes.period)
        pace = f"by a display, every {period} or a multiple of that"
    return Loop(start, end, _name_loop(iterations), pace, refreshes)


def _find_missed_refreshes(iterations: pd.DataFrame) -> Refreshes | None:
    """Return the refreshes that a program misses, though its device work fits into one of them."""
    refreshes = find_refreshes(spans(iterations)[0])
    if refreshes is None or iterations["work"].isna().any():
        return None
    if float(iterations["work"].median()) >= _FITS * refreshes.period:
        return None
    return refreshes


def _signposts(signposts: pd.DataFrame, timeline: pd.DataFrame) -> tuple[Times, Times] | None:
    """Return the intervals of the signpost name with the most device work.

    Its intervals must not overlap, and most of the target's device work must run among them.
    """
    is_own = (signposts["subsystem"] != PHASES[0]).fillna(value=True)
    is_interval = signposts["target"] & signposts["duration"].notna()
    candidates = signposts[is_interval & is_own]
    least_work_time = OF_WORK * int(timeline["busy"].sum())
    best: tuple[Times, Times] | None = None
    most_work_time = 0
    for _, rows in candidates.groupby(["subsystem", "category", "name"], dropna=False):
        starts, ends = spans(rows.sort_values("start", kind="stable"))
        if starts.size < FEWEST or (starts[1:] < ends[:-1]).any():
            continue
        # Queued work runs after its iteration, so the whole series is judged.
        in_series = (timeline["started"] >= starts[0]) & (timeline["started"] <= ends[-1])
        work_time = int(timeline["busy"][in_series].sum())
        if work_time >= least_work_time and work_time > most_work_time:
            best = (starts, ends)
            most_work_time = work_time
    return best
