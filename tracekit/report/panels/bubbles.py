"""Why the device had nothing to do: idle time by cause, and what the host did meanwhile."""

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from tracekit.analysis import (
    CAUSES,
    SHORTEST,
    Cause,
    Drained,
    Result,
    by_cause,
    idle_time,
    loaded_time,
    unsure,
)
from tracekit.base import percent
from tracekit.report.panel import Context, Panel, Tables, of_table, rows, steady_or_busy_window

_MOST_NAMED = 2
_LEAST_NAMED = 0.05
_UNTOLD = "not known"


@dataclass(frozen=True)
class CauseRow:
    """The idle time of one cause; times in ns, `share` of all idle time.

    `during` says what the host did meanwhile, the longest first; the longest piece lies between
    `start` and `end`.
    """

    cause: str
    count: int
    total: int
    share: float
    during: str
    start: int
    end: int


def context(result: Result, tables: Tables) -> Context:  # noqa: ARG001  a panel's signature
    """Sum the idle time up by cause: the shares come to all of it, what has no cause included."""
    loaded, found = rows(tables, "loaded"), rows(tables, "gaps")
    gaps = found.frame
    idle = idle_time(gaps) if not found.absence else 0
    return {
        "absence": loaded.absence,
        "idle": idle,
        "loaded": 0 if loaded.absence else loaded_time(loaded.frame),
        "gaps": gaps["gap"].nunique() if idle else 0,
        "causes": list(_causes(gaps, idle)) if idle else [],
        "unsure": _unsure(tables) if idle else "",
        "drained": _drained(gaps, idle) if idle else [],
        "shortest": SHORTEST,
        "window": _window(tables),
        "source": of_table(tables, "gpu_intervals"),
    }


def _window(tables: Tables) -> str:
    """Return what the time is called in which idle time was looked for."""
    window = steady_or_busy_window(tables)
    return window.name if window else "the steady window"


def _unsure(tables: Tables) -> str:
    known = rows(tables, "causes")
    return "" if known.absence else unsure(known.frame)


def _causes(gaps: pd.DataFrame, idle: int) -> Iterator[CauseRow]:
    """Yield the causes that there were, the longest first, and always what is unattributed."""
    sums = by_cause(gaps)
    for cause in sorted(sums, key=lambda one: (one is Cause.UNATTRIBUTED, -sums[one])):
        if sums[cause] or cause is Cause.UNATTRIBUTED:
            yield _row(cause, gaps[(gaps["cause"] == str(cause)).to_numpy()], sums[cause], idle)


def _row(cause: Cause, pieces: pd.DataFrame, total: int, idle: int) -> CauseRow:
    name, share = CAUSES[cause], total / idle
    if pieces.empty:
        return CauseRow(name, 0, total, share, "", 0, 0)
    longest = pieces.iloc[int(pieces["duration"].to_numpy().argmax())]
    start = int(longest["start"])
    end = start + int(longest["duration"])
    return CauseRow(name, len(pieces), total, share, _during(pieces, total), start, end)


def _during(pieces: pd.DataFrame, total: int) -> str:
    sums = pieces.groupby("during", observed=True)["duration"].sum()
    ranked = sums.sort_values(ascending=False, kind="stable").head(_MOST_NAMED)
    shares = {str(name) or _UNTOLD: int(time) / total for name, time in ranked.items()}
    return ", ".join(f"{name} {percent(of)}" for name, of in shares.items() if of >= _LEAST_NAMED)


def _drained(gaps: pd.DataFrame, idle: int) -> list[tuple[str, float]]:
    """Return how much of the idle time followed a wait for all work, and how much did not."""
    sums = gaps.groupby("drained", observed=True)["duration"].sum()
    shares = [(one, int(sums.get(str(one), 0)) / idle) for one in Drained]
    return [(_DRAINED[one], share) for one, share in shares if share]


_DRAINED = {
    Drained.YES: "followed a wait of the host for all of its work",
    Drained.NO: "came while work was still queued, or without such a wait",
    Drained.UNKNOWN: "is not known to have followed a wait or not",
}

bubbles = Panel("bubbles", "Idle time, by cause", context, reads=("gpu_intervals", "phases"))
