"""The machine of a recording: its chip, its clock, and the readings of monitors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Times, Window, busy, clip, spans
from tracekit.machine import Chip, chip
from tracekit.workload import REFERENCE

Machine = Mapping[str, Any]
"""Facts about the machine, and its state during the recording.

`system`, `chip`, `gpu_cores`, `memory` (bytes); `wired_limit`, `swap`, `compressed` (bytes),
`paged_out` (bytes, meanwhile), `low_power`, `mains` (1 or 0).
"""


def chip_of(machine: Machine) -> Chip:
    """Return the chip of the machine; raise Unavailable if it has none or it is not named."""
    if machine.get("virtual"):
        raise Unavailable("it was made on a virtual machine, whose GPU has no chip's figures.")
    if not machine.get("chip"):
        raise Unavailable("the recording does not say which chip it was made on.")
    return chip(str(machine["chip"]), machine.get("gpu_cores"))


_HELP = {
    "gpu_clock": "macmon and powermetrics tell the GPU's clock",
    "gpu_power": "macmon and powermetrics tell the GPU's power",
    "thermal_pressure": "powermetrics tells the thermal pressure",
}


def readings(gauges: pd.DataFrame) -> pd.DataFrame:
    """Return the readings of monitors, without the workload's own gauges and reference work."""
    of_the_run = gauges["source"].eq("workload") | gauges["name"].eq(REFERENCE)
    return gauges[~of_the_run.fillna(value=False).astype(bool)]


def read_monitor(gauges: pd.DataFrame | None, name: str) -> pd.DataFrame:
    """Return a monitor's readings of one name, without the workload's own gauges."""
    who = "no monitor was read"
    if gauges is not None:
        read = readings(gauges)
        named_readings = read[read["name"] == name]
        if not named_readings.empty:
            return named_readings
        sources = ", ".join(sorted({str(source) for source in read["source"].dropna()}))
        who = f"{sources}, which was read, does not tell {name}" if sources else who
    raise Unavailable(f"{who}; {_HELP[name]}: see `tracekit capture --telemetry`.")


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
    window_states = states[(ends > window.start) & (starts < window.end) & (ends > starts)]
    if window_states.empty:
        raise Unavailable(f"no performance state of the GPU is noted in {window.name}.")
    names = window_states["state"].fillna("no name").astype(str)
    ranks = names.str.lower().map(_RANKS)
    if ranks.isna().any():
        strange = ", ".join(sorted(set(names[ranks.isna()])))
        known_ranks = ", ".join(_RANKS)
        raise Unavailable(
            f"the GPU was in performance states whose rank is not known: {strange} "
            f"(known are {known_ranks})."
        )
    lower_states = window_states[ranks < _BEST]
    lasted = {
        str(name): busy(*clip(*spans(rows), window.start, window.end))
        for name, rows in lower_states.groupby(names[ranks < _BEST])
    }
    awake = busy(*clip(*spans(window_states), window.start, window.end))
    best_starts = window_states[ranks == _BEST]["start"].to_numpy(dtype=np.int64)
    best = (int(best_starts.min()), int(best_starts.max())) if best_starts.size else None
    return Below(awake, *clip(*spans(lower_states), window.start, window.end), lasted, best)


_HELD = "induced gpu performance state"
_FREE = ("default", "none", "off")


def held_state(settings: pd.DataFrame | None, switches: pd.DataFrame | None) -> bool:
    """Return whether a tool held the GPU at one state, by the recording's settings."""
    if switches is not None and switches["enabled"].fillna(value=False).any():
        return True
    if settings is None or settings.empty:
        return False
    parts = settings["setting"].fillna("").str.lower().str.partition(":")
    chosen = parts.loc[parts[0].str.strip() == _HELD, 2].str.strip()
    return bool((~chosen.isin([*_FREE, ""])).any())


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
        return float(np.median(self.hertz[:part])), float(np.median(self.hertz[-part:]))


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
    awake = busy_at[busy_at["value_on"].fillna(1.0).astype(float) >= active]
    awake = awake[awake["value"].astype(float) > 0].sort_values("time", kind="stable")
    window_readings = awake[awake["time"].between(window.start, window.end)]
    if len(window_readings) < _LEAST_SAMPLES:
        raise Unavailable(
            f"{len(window_readings)} readings of the GPU's clock at work lie in {window.name}; "
            f"it takes {_LEAST_SAMPLES}."
        )
    hertz = window_readings["value"].to_numpy(dtype=np.float64)
    times = window_readings["time"].to_numpy(dtype=np.int64)
    return Clock(times, hertz, float(awake["value"].astype(float).max()))


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
    shared = busy(*clip(*spans(other_work), window.start, window.end)) / max(1, window.length)
    return max(shared, share_below_best(states, window) or 0.0)
