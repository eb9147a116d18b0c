"""How near to their limit the parts of the GPU are, as far as counters tell."""

from collections.abc import Collection
from dataclasses import dataclass

import pandas as pd

from tracekit.analysis.counters.meaning import Group, Kind
from tracekit.analysis.counters.samples import HOW_TO_GET
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.machine import chip_of
from tracekit.base.units import percent

_LOADS = (Kind.LIMITER, Kind.UTILIZATION)
_MEMORY = (Group.MEMORY, Group.CACHE)
_OWN = (Group.ARITHMETIC, *_MEMORY, Group.THREADS)
OTHERS = tuple(group for group in Group if group not in _OWN)
"""Groups whose limiters are neither arithmetic nor memory."""


@dataclass(frozen=True)
class Load:
    """A counter and its mean, as a share of what its unit could do."""

    counter: str
    share: float
    group: Group

    @property
    def words(self) -> str:
        """The load in a sentence: "ALU Limiter was 81.0 %"."""
        return f"{self.counter} was {percent(self.share)}"


@dataclass(frozen=True)
class Pressure:
    """The highest load of arithmetic, of memory with its caches, and of all other units.

    None where no such counter was recorded. `recorded` names what was.
    """

    arithmetic: Load | None
    memory: Load | None
    other: Load | None
    recorded: tuple[str, ...]

    def both(self) -> tuple[Load, Load]:
        """Return the loads of arithmetic and of memory; raise Unavailable without one of them."""
        if self.arithmetic is None or self.memory is None:
            lacking = "arithmetic" if self.arithmetic is None else "memory"
            raise Unavailable(_lacks(f"limiter or utilization of {lacking}", self.recorded))
        return self.arithmetic, self.memory

    def dominated(self, margin: float) -> bool:
        """Tell whether another unit than arithmetic and memory stands out by the margin."""
        rivals = [one.share for one in (self.arithmetic, self.memory) if one is not None]
        return self.other is not None and self.other.share >= max(rivals, default=0.0) + margin


def pressure(counter_means: pd.DataFrame, machine: pd.DataFrame) -> Pressure:
    """Return how loaded the parts of the GPU are, from the means of counters."""
    loads = [highest(counter_means, _LOADS, _MEMORY), bandwidth(counter_means, machine)]
    return Pressure(
        arithmetic=highest(counter_means, _LOADS, (Group.ARITHMETIC,)),
        memory=max((one for one in loads if one), key=lambda one: one.share, default=None),
        other=highest(counter_means, (Kind.LIMITER,), OTHERS),
        recorded=tuple(counter_means["counter"]),
    )


def highest(
    counter_means: pd.DataFrame, kinds: Collection[Kind], groups: Collection[Group]
) -> Load | None:
    """Return the counter with the highest share of these kinds and groups; None without any."""
    asked = counter_means["kind"].isin(list(kinds)) & counter_means["group"].isin(list(groups))
    found = counter_means[asked & counter_means["share"].notna()]
    if found.empty:
        return None
    row = found.iloc[int(found["share"].to_numpy().argmax())]
    return Load(str(row["counter"]), float(row["share"]), Group(row["group"]))


def bandwidth(counter_means: pd.DataFrame, machine: pd.DataFrame) -> Load | None:
    """Return what was read and written as a share of what the chip's memory delivers.

    M1 counts percent. M3 and later count GB/s (one source says GiB/s, 7 % more), which needs the
    chip's bandwidth. None where either is not known.
    """
    own = counter_means[counter_means["kind"] == Kind.BANDWIDTH]
    both = own[own["unit"] == "both"]
    rows = both if not both.empty else own
    if rows.empty:
        return None
    name = " + ".join(rows["counter"])
    if rows["share"].notna().all():
        return Load(name, min(float(rows["share"].sum()), 1.0), Group.MEMORY)
    try:
        most = chip_of(machine).bandwidth.value
    except Unavailable:
        return None
    share = None if most is None else float(rows["mean"].sum()) * 1e9 / most
    return None if share is None else Load(name, min(share, 1.0), Group.MEMORY)


def mean_of(counter_means: pd.DataFrame, kind: Kind, unit: str) -> "pd.Series":
    """Return the row of one unit's counter; raise Unavailable where it was not recorded."""
    found = counter_means[(counter_means["kind"] == kind) & (counter_means["unit"] == unit)]
    if found.empty:
        what = f"{kind} of {unit}" + (" in a stated unit" if kind is Kind.BANDWIDTH else "")
        raise Unavailable(_lacks(what, tuple(counter_means["counter"])))
    return found.iloc[0]


def _lacks(what: str, recorded: tuple[str, ...]) -> str:
    there = ", ".join(recorded[:5])
    return f"no {what} was recorded, only: {there}. {HOW_TO_GET}"
