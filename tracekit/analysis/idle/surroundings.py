"""What host, driver, compiler, clock and other processes did while the target had no work."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis.allocations import WIRE
from tracekit.analysis.idle.stretches import (
    FOREVER,
    Flags,
    Stretches,
    covered,
    nothing,
    stretches,
)
from tracekit.analysis.intervals import Times, spans
from tracekit.workload.workload import COMPILE, IDLE, READBACK, REFERENCE

NO_WORK = (IDLE, REFERENCE)
"""Names of spans in which there was no work of the target to do."""


@dataclass(frozen=True)
class Surroundings:
    """When each of those was at work.

    `prepared` is when the driver began and when it ended each command buffer, ordered by start;
    `told` is what the workload says it did, by name.
    """

    written: Stretches
    driver: Stretches
    prepared: tuple[Times, Times]
    compiler: Stretches
    others: Stretches
    awake: Stretches
    told: Mapping[str, Stretches]

    @property
    def bounds(self) -> Times:
        """All moments at which any of it begins or ends."""
        seen = (self.written, self.driver, self.compiler, self.others, self.awake)
        ends = self.prepared[1]
        return np.concatenate((ends, *(one.bounds for one in (*seen, *self.told.values()))))

    def driving(self, at: Times, submitted: Times) -> Flags:
        """Say when the driver was on the way to work that was handed over at the moments given.

        It takes command buffers in order, so that it is through with one at the end of the first
        that it begins afterwards; what it does then is for later ones.
        """
        starts, ends = self.prepared
        through = np.append(ends, FOREVER)[np.searchsorted(starts, submitted)]
        return self.driver.cover(at) & (at < through)

    def compiling(self, at: Times) -> Flags:
        """Say when a pipeline was made, by the compiler's rows or the workload's word."""
        return self.compiler.cover(at) | self._told(COMPILE, at)

    def reading_back(self, at: Times) -> Flags:
        """Say when the workload read results back, by its own word."""
        return self._told(READBACK, at)

    def asleep(self, at: Times, until: Times) -> Flags:
        """Say when the device was in no performance state, and came into one by `until`."""
        return ~self.awake.cover(at) & (self.awake.next_start(at) <= until)

    def _told(self, name: str, at: Times) -> Flags:
        return self.told.get(name, nothing()).cover(at)


def surroundings(  # noqa: PLR0917  one table for each of them
    written: Stretches,
    others: pd.DataFrame,
    driver_intervals: pd.DataFrame | None,
    compiler_activity: pd.DataFrame | None,
    gpu_performance_states: pd.DataFrame | None,
    told: pd.DataFrame | None,
    driver_events: pd.DataFrame | None,
) -> Surroundings:
    """Gather them from their tables; what has no table was nowhere seen."""
    return Surroundings(
        written=written,
        driver=_either(covered(driver_intervals), covered(_wiring(driver_events))),
        prepared=_prepared(driver_intervals),
        compiler=covered(compiler_activity),
        others=stretches(*spans(others)),
        awake=covered(gpu_performance_states),
        told=_by_name(told),
    )


def _wiring(driver_events: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return when the driver wired memory; whether its other events hold work up is not known."""
    if driver_events is None:
        return None
    return driver_events[driver_events["event"].fillna("") == WIRE]


def _either(one: Stretches, other: Stretches) -> Stretches:
    """Return what at least one of them covers."""
    starts = np.concatenate((one.starts, other.starts))
    return stretches(starts, np.concatenate((one.ends, other.ends)))


def _prepared(driver_intervals: pd.DataFrame | None) -> tuple[Times, Times]:
    """Return the outermost rows of the target: an encoder's row lies within its buffer's."""
    if driver_intervals is None:
        return nothing().starts, nothing().ends
    own = driver_intervals[driver_intervals["target"]].sort_values("start", kind="stable")
    return spans(own[own["depth"].fillna(0) == 0])


def without_load(told: pd.DataFrame | None) -> Stretches:
    """Return when the workload says that it had nothing to do, or reference work was timed."""
    return nothing() if told is None else covered(told[told["name"].isin(NO_WORK)])


def _by_name(told: pd.DataFrame | None) -> dict[str, Stretches]:
    if told is None:
        return {}
    worked = told[~told["name"].fillna(IDLE).isin(NO_WORK)]
    return {str(name): covered(own) for name, own in worked.groupby("name", sort=True)}
