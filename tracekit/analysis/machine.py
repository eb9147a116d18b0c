"""The machine of a recording: its chip, its clock, and the readings of monitors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.inject import Remedy, Unavailable
from tracekit.analysis.intervals import Times, Window, busy, choose_rows, clip, spans
from tracekit.machine import chips
from tracekit.workload import REFERENCE

Machine = Mapping[str, Any]
"""Facts about the machine, and its state during the recording.

`system`, `chip`, `gpu_cores`, `memory` (bytes); `wired_limit`, `swap`, `compressed` (bytes),
`paged_out` (bytes, meanwhile), `low_power`, `mains` (1 or 0).
"""


def chip_of(machine: Machine) -> chips.Chip:
    """Return the chip of the machine; raise Unavailable if it has none or it is not named."""
    if machine.get("virtual"):
        raise Unavailable("it was made on a virtual machine, whose GPU has no chip's figures.")
    if not machine.get("chip"):
        raise Unavailable("the recording does not say which chip it was made on.")
    return chips.chip(str(machine["chip"]), machine.get("gpu_cores"))


_HELP = {
    "gpu_clock": "macmon and powermetrics tell the GPU's clock",
    "gpu_power": "macmon and powermetrics tell the GPU's power",
    "thermal_pressure": "powermetrics tells the thermal pressure",
}


def readings(gauges: pd.DataFrame) -> pd.DataFrame:
    """Return the readings of monitors, without the workload's own gauges and reference work."""
    is_of_workload = (gauges["source"] == "workload").to_numpy(np.bool_, na_value=False)
    is_reference = (gauges["name"] == REFERENCE).to_numpy(np.bool_, na_value=False)
    return choose_rows(gauges, ~(is_of_workload | is_reference))


def read_monitor(gauges: pd.DataFrame | None, name: str) -> pd.DataFrame:
    """Return a monitor's readings of one name, without the workload's own gauges."""
    who = "no monitor was read"
    if gauges is not None:
        read = readings(gauges)
        named_readings = read[read["name"] == name]
        if not named_readings.empty:
            return named_readings
        source_names = {str(source) for source in read["source"].dropna()}
        sources = ", ".join(sorted(source_names))
        who = f"{sources}, which was read, does not tell {name}" if sources else who
    raise Unavailable(f"{who}; {_HELP[name]}: see `tracekit capture --telemetry`.", Remedy.MONITOR)


_RANKS = {"minimum": 0, "low": 0, "medium": 1, "maximum": 2, "high": 2}
_BEST = max(_RANKS.values())
_LEAST_SAMPLES = 4


@dataclass(frozen=True, eq=False)
class Below:
    """The time below the best state in a window, and the time in which the GPU was awake (ns).

    `states` holds the time in each lower state, `best` the first and the last start of the best
    one; None if it never occurred. The column `induced` is ignored because it is always set.
    """

    awake: int
    starts: Times
    ends: Times
    states: dict[str, int]
    best: tuple[int, int] | None

    @property
    def share(self) -> float:
        """Time below the best state / time awake."""
        return busy(self.starts, self.ends) / self.awake


def below_best(states: pd.DataFrame | None, window: Window) -> Below:
    """Return when the GPU was below its best state; a trace has rows while the GPU is awake."""
    if states is None:
        raise Unavailable("no performance states were recorded.")
    starts, ends = spans(states)
    overlaps = (ends > window.start) & (starts < window.end)
    is_in_window = overlaps & (ends > starts)
    window_states = choose_rows(states, is_in_window)
    if window_states.empty:
        raise Unavailable(f"no performance state of the GPU is noted in {window.name}.")
    codes, states_there = pd.factorize(window_states["state"].fillna("no name"))
    names = [str(state) for state in states_there]
    unranked_names = [name for name in names if name.lower() not in _RANKS]
    if unranked_names:
        strange = ", ".join(sorted(unranked_names))
        known_ranks = ", ".join(_RANKS)
        raise Unavailable(
            f"the GPU was in performance states whose rank is not known: {strange} "
            f"(known are {known_ranks})."
        )
    starts = starts[is_in_window]
    ends = ends[is_in_window]
    lower_names = [name for name in names if _RANKS[name.lower()] < _BEST]
    is_lower = np.isin(codes, [names.index(name) for name in lower_names])
    lasted: dict[str, int] = {}
    for name in sorted(lower_names):
        is_named = codes == names.index(name)
        named_spans = clip(starts[is_named], ends[is_named], window.start, window.end)
        lasted[name] = busy(*named_spans)
    awake = busy(*clip(starts, ends, window.start, window.end))
    best = None
    if not is_lower.all():
        best_starts = starts[~is_lower]
        best = (int(best_starts.min()), int(best_starts.max()))
    clipped = clip(starts[is_lower], ends[is_lower], window.start, window.end)
    return Below(awake, *clipped, lasted, best)


_HELD = "induced gpu performance state"
_FREE = ("default", "none", "off")


def held_state(settings: pd.DataFrame | None, switches: pd.DataFrame | None) -> bool:
    """Return whether a tool held the GPU at one state, by the recording's settings."""
    if switches is not None and switches["enabled"].fillna(value=False).any():
        return True
    if settings is None or settings.empty:
        return False
    lowered = settings["setting"].fillna("").str.lower()
    parts = lowered.str.partition(":")
    is_held = parts[0].str.strip() == _HELD
    chosen = parts.loc[is_held, 2].str.strip()
    is_free = chosen.isin([*_FREE, ""])
    return bool((~is_free).any())


@dataclass(frozen=True, eq=False)
class Clock:
    """The GPU's clock in a window (Hz), read while it was busy, and the run's highest one."""

    times: Times
    hertz: NDArray[np.float64]
    best: float

    @property
    def ratio(self) -> float:
        """Mean clock / highest clock."""
        return float(self.hertz.mean()) / self.best

    def share_below(self, near: float) -> float:
        """Return the share of readings below `near` of the highest clock."""
        return self.count_below(near) / self.hertz.size

    def count_below(self, near: float) -> int:
        """Return the number of readings below `near` of the highest clock."""
        return int((self.hertz < near * self.best).sum())

    @property
    def ends(self) -> tuple[float, float]:
        """Median clock of the first quarter of the readings, and of the last."""
        part = max(1, self.hertz.size // 4)
        first_median = float(np.median(self.hertz[:part]))
        last_median = float(np.median(self.hertz[-part:]))
        return first_median, last_median


def clock(gauges: pd.DataFrame | None, window: Window, active: float) -> Clock:
    """Return the clock in the window, from readings with an activity of `active` or more.

    If a monitor does not report the GPU's activity, all of its readings count.
    """
    read = read_monitor(gauges, "gpu_clock")
    assert gauges is not None
    active_at = gauges[gauges["name"] == "gpu_active"]
    busy_at = read.merge(
        active_at[["time", "source", "value"]],
        on=["time", "source"],
        how="left",
        suffixes=("", "_on"),
    )
    activities = busy_at["value_on"].fillna(1.0).astype(float)
    awake = busy_at[activities >= active]
    has_clock = awake["value"].astype(float) > 0
    awake = awake[has_clock].sort_values("time", kind="stable")
    is_within = awake["time"].between(window.start, window.end)
    window_readings = awake[is_within]
    if len(window_readings) < _LEAST_SAMPLES:
        raise Unavailable(
            f"{len(window_readings)} readings of the GPU's clock at work lie in {window.name}; "
            f"it takes {_LEAST_SAMPLES}."
        )
    hertz = window_readings["value"].to_numpy(dtype=np.float64)
    times = window_readings["time"].to_numpy(dtype=np.int64)
    highest = float(awake["value"].astype(float).max())
    return Clock(times, hertz, highest)


MORE_DISTURBED = 0.05
"""The share of the time by which disturbance has to grow, to explain that work takes longer."""


def share_below_best(states: pd.DataFrame | None, window: Window) -> float | None:
    """Return the share of a window at a clock below the best; None if it is unknown."""
    try:
        return below_best(states, window).share
    except Unavailable:
        return None


def disturbed_share(other_work: pd.DataFrame, states: pd.DataFrame | None, window: Window) -> float:
    """Return the share of a window at a lower clock, or with others on the GPU: the greater."""
    clipped = clip(*spans(other_work), window.start, window.end)
    other_time = busy(*clipped)
    shared = other_time / max(1, window.length)
    return max(shared, share_below_best(states, window) or 0.0)
