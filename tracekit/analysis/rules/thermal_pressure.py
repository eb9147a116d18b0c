"""`thermal-pressure`: the machine was hot while the workload ran."""

import numpy as np
import pandas as pd

from tracekit.analysis.inject import Remedy, Unavailable
from tracekit.analysis.intervals import Window, busy, clip, spans
from tracekit.analysis.iterations import Loop
from tracekit.analysis.machine import read_monitor
from tracekit.analysis.rule import (
    Evidence,
    Fact,
    Finding,
    Findings,
    Severity,
    finding,
    longest,
    moments,
)
from tracekit.machine import THERMAL_PRESSURES

STATES = ("Nominal", "Fair", "Serious", "Critical")
_HEAVY = THERMAL_PRESSURES.index("Heavy")


def thermal_pressure(
    loop: Loop,
    thermal_states: pd.DataFrame | None,
    gauges: pd.DataFrame | None,
    *,
    limit: float = 0.01,
) -> Findings:
    """The machine was hot while the workload ran.

    What it looks for:
        Thermal states Serious and Critical in the trace, or thermal pressures of Heavy and above by
        a monitor, in the steady window. It fires when they last for more than `limit` of it
        (default 1 %). Fair and Moderate, which a laptop often has all day, are a note if the
        machine reached them within the window: it warmed up during the measurement.

    Why it matters:
        A hot machine lowers the GPU's clock, and with it tokens per second, by as much as it has
        to. A measurement then shows the cooling. gpu-downclocked reports the cost.

    When it abstains:
        When there are neither thermal states nor a monitor's thermal pressure, or a state has a
        name that is not known.
    """
    if thermal_states is not None and not thermal_states.empty:
        yield from _by_states(thermal_states, loop, limit)
        return
    try:
        read = read_monitor(gauges, "thermal_pressure")
    except Unavailable as reason:
        raise Unavailable(
            f"no thermal states were recorded, and {reason}", Remedy.MONITOR
        ) from reason
    yield from _by_monitor(read, loop, limit)


def _by_states(states: pd.DataFrame, window: Window, limit: float) -> Findings:
    starts, ends = spans(states)
    window_states = states[(ends > window.start) & (starts < window.end)]
    names = window_states["state"].fillna("no name").astype(str).str.capitalize()
    strange = sorted(set(names) - set(STATES))
    if window_states.empty or strange:
        problem = "there is none"
        if strange:
            state_names = ", ".join(strange)
            problem = f"there are unknown ones: {state_names}"
        raise Unavailable(f"of the thermal states of {window.name}, {problem}.")
    hot = window_states[names.isin(STATES[2:])]
    covered = clip(*spans(hot), window.start, window.end)
    lasted = busy(*covered)
    if lasted > limit * window.length:
        worst = max(names, key=STATES.index)
        share = lasted / window.length
        facts = (
            Fact("share", share, "ratio"),
            Fact("window", window.name),
            Fact("lasted", lasted, "ns"),
            Fact("length", window.length, "ns"),
            Fact("worst", worst),
        )
        evidence = longest("thermal_states", *covered)
        yield finding(
            wording="thermal-pressure",
            facts=facts,
            lever="thermal",
            evidence=evidence,
        )
        return
    warm = window_states[(names == "Fair") & (window_states["start"] > window.start)]
    if not warm.empty and (names == "Nominal").any():
        warm_stretches = clip(*spans(warm), window.start, window.end)
        yield _note_warming(
            window, "thermal state", "Fair", longest("thermal_states", *warm_stretches)
        )


def _by_monitor(read: pd.DataFrame, window: Window, limit: float) -> Findings:
    window_readings = read[read["time"].between(window.start, window.end)].sort_values("time")
    if window_readings.empty:
        raise Unavailable(
            f"no reading of the thermal pressure lies in {window.name}.", Remedy.LONGER
        )
    levels = window_readings["value"].to_numpy(dtype=np.float64)
    hot = levels >= _HEAVY
    worst = THERMAL_PRESSURES[min(int(levels.max()), len(THERMAL_PRESSURES) - 1)]
    times = window_readings["time"].to_numpy(dtype=np.int64)
    if hot.mean() > limit:
        share = float(hot.mean())
        reading_count = len(window_readings)
        facts = (
            Fact("share", share, "ratio"),
            Fact("readings", reading_count),
            Fact("window", window.name),
            Fact("worst", worst),
        )
        hot_times = times[hot]
        evidence = moments("gauges", hot_times)
        yield finding(
            wording="thermal-pressure-readings",
            facts=facts,
            lever="thermal",
            evidence=evidence,
        )
    elif levels[0] == 0 and levels[-1] > 0:
        yield _note_warming(window, "thermal pressure", worst, moments("gauges", times[levels > 0]))


def _note_warming(
    window: Window, scale: str, last_state: str, evidence: tuple[Evidence, ...]
) -> Finding:
    facts = (
        Fact("window", window.name),
        Fact("scale", scale),
        Fact("first", "Nominal"),
        Fact("last", last_state),
    )
    return finding(
        wording="thermal-pressure-warming",
        facts=facts,
        lever="thermal",
        evidence=evidence,
        severity=Severity.NOTE,
    )
