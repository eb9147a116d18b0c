"""Sums over the tables `gaps` and `loaded`."""

import pandas as pd

from tracekit.analysis.finding import Evidence
from tracekit.analysis.idle.cause import CAUSES, Cause, Drained
from tracekit.analysis.idle.pieces import DOING
from tracekit.base.units import percent

_SHOWN = 20
_NAMED = 0.2  # share of a gap from which a second cause is named


def idle_time(gaps: pd.DataFrame) -> int:
    """Return all idle time, in ns."""
    return int(gaps["duration"].sum())


def loaded_time(loaded: pd.DataFrame) -> int:
    """Return how long there was work to do in the steady window, in ns."""
    return int(loaded["duration"].sum())


def by_cause(gaps: pd.DataFrame) -> dict[Cause, int]:
    """Return the idle time of each cause, in ns, of those without any too; the sum is all of it."""
    sums = gaps.groupby("cause", observed=False)["duration"].sum()
    return {cause: int(sums.get(str(cause), 0)) for cause in Cause}


def drained_time(gaps: pd.DataFrame) -> int:
    """Return the time of the gaps before which the host had waited for all of its work, in ns."""
    return idle_time(gaps[gaps["drained"] == Drained.YES])


def most_told(gaps: pd.DataFrame) -> tuple[str, int]:
    """Return the name of the workload's spans that cover most idle time, and how much: "", 0."""
    sums = gaps.groupby("during", observed=True)["duration"].sum()
    told = sums.drop(["", *DOING], errors="ignore")
    return (str(told.idxmax()), int(told.max())) if len(told) else ("", 0)


def longest_gaps(gaps: pd.DataFrame) -> tuple[Evidence, ...]:
    """Return the longest gaps, longest first, at most twenty, each with its causes in words."""
    lengths = gaps.groupby("gap")["duration"].sum().sort_values(ascending=False, kind="stable")
    shown = lengths.index[:_SHOWN]
    rows = dict(list(gaps[gaps["gap"].isin(shown)].groupby("gap")))
    return tuple(_evidence(rows[one], int(lengths[one])) for one in shown)


def _evidence(pieces: pd.DataFrame, length: int) -> Evidence:
    start = int(pieces["start"].iloc[0])
    return Evidence("gpu_intervals", start, start + length, _words(by_cause(pieces), length))


def _words(shares: dict[Cause, int], length: int) -> str:
    """Name the cause of a gap, and the second one where it matters, with their shares."""
    ranked = sorted(shares, key=lambda one: -shares[one])
    first, second = ranked[:2]
    if shares[second] < _NAMED * length:
        return CAUSES[first]
    return ", ".join(f"{CAUSES[one]} {percent(shares[one] / length)}" for one in (first, second))
