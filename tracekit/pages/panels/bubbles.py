"""The reasons for idle time of the device, by cause, and the host's work meanwhile."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from tracekit import analysis
from tracekit.analysis import Result
from tracekit.base import units
from tracekit.pages.panel import Context, Tables, of_table, panel, rows, steady_or_busy_window

_MOST_NAMED = 2
_LEAST_NAMED = 0.05
_UNTOLD = "not known"


@panel("Idle time, by cause", "gpu_intervals", "phases")
def bubbles(result: Result, tables: Tables) -> Context:  # noqa: ARG001  a panel's signature
    """Sum the idle time up by cause: the shares come to all of it, unattributed time included."""
    loaded_rows = rows(tables, "loaded")
    gap_rows = rows(tables, "gaps")
    cause_rows = rows(tables, "causes")
    window = steady_or_busy_window(tables)
    context: dict[str, Any] = {
        "absent": loaded_rows.absence,
        "gist": "",
        "idle": 0,
        "loaded": 0,
        "gaps": 0,
        "causes": [],
        "unsure": "",
        "parties": [],
        "window": window.name if window else "the steady window",
        "source": of_table(tables, "gpu_intervals"),
    }
    if not gap_rows.is_known:
        context["absent"] = loaded_rows.absence or gap_rows.absence
    if not loaded_rows.absence:
        context["loaded"] = analysis.sums.loaded_time(loaded_rows.frame)
    if gap_rows.absence:
        return context
    gaps = gap_rows.frame
    idle = analysis.sums.idle_time(gaps)
    if idle:
        context["idle"] = idle
        context["gaps"] = gaps["gap"].nunique()
        context["causes"] = list(_causes(gaps, idle))
        context["parties"] = _share_by_party(gaps)
        context["gist"] = f"idle for {units.percent(idle / context['loaded'])}"
        if not cause_rows.absence:
            context["unsure"] = analysis.unsure(cause_rows.frame)
    return context


def _share_by_party(gaps: pd.DataFrame) -> list[tuple[str, float]]:
    """Return each party with its share of the idle time, but for those without any."""
    sums = gaps.groupby("party", observed=True)["duration"].sum()
    total = int(sums.sum())
    shares: list[tuple[str, float]] = []
    for party, words in analysis.cause.PARTIES.items():
        share = sums.get(str(party), 0) / total
        if share:
            shares.append((words, float(share)))
    return shares


def _causes(gaps: pd.DataFrame, idle: int) -> Iterator[Context]:
    """Yield the causes that there were, the longest first, and always the unattributed time.

    The longest piece of each lies between `start` and `end`; times are in ns.
    """
    sums = analysis.sums.by_cause(gaps)
    for cause in sorted(
        sums, key=lambda kind: (kind is analysis.cause.Cause.UNATTRIBUTED, -sums[kind])
    ):
        if not sums[cause] and cause is not analysis.cause.Cause.UNATTRIBUTED:
            continue
        is_of_cause = (gaps["cause"] == str(cause)).to_numpy()
        pieces = gaps[is_of_cause]
        pieces = pieces.sort_values("duration", ascending=False, kind="stable")
        longest = pieces.head(1)  # empty if there is none, so that the sums are 0
        start = int(longest["start"].sum())
        length = int(longest["duration"].sum())
        share = sums[cause] / idle
        during = _during(pieces, sums[cause])
        yield {
            "cause": analysis.cause.CAUSES[cause],
            "count": len(pieces),
            "total": sums[cause],
            "share": share,
            "during": during,
            "start": start,
            "end": start + length,
        }


def _during(pieces: pd.DataFrame, total: int) -> str:
    """Return the host's main activities during the pieces, each with its share."""
    sums = pieces.groupby("during", observed=True)["duration"].sum()
    ranked = sums.sort_values(ascending=False, kind="stable").head(_MOST_NAMED)
    words: list[str] = []
    for name, time in ranked.items():
        share = int(time) / total
        if share >= _LEAST_NAMED:
            party = str(name) or _UNTOLD
            words.append(f"{party} {units.percent(share)}")
    return ", ".join(words)
