"""Why the device had nothing to do: idle time by cause, and what the host did meanwhile."""

from collections.abc import Iterator

import pandas as pd

from tracekit import analysis
from tracekit.analysis import Result
from tracekit.base import percent
from tracekit.report.panel import Context, Tables, of_table, panel, rows, steady_or_busy_window

_MOST_NAMED = 2
_LEAST_NAMED = 0.05
_UNTOLD = "not known"


@panel("Idle time, by cause", "gpu_intervals", "phases")
def bubbles(result: Result, tables: Tables) -> Context:  # noqa: ARG001  a panel's signature
    """Sum the idle time up by cause: the shares come to all of it, what has no cause included."""
    loaded, gap_rows, cause_rows = (rows(tables, name) for name in ("loaded", "gaps", "causes"))
    window, gaps = steady_or_busy_window(tables), gap_rows.frame
    idle = 0 if gap_rows.absence else analysis.idle_time(gaps)
    parties: list[tuple[str, float]] = []
    if idle:
        sums = gaps.groupby("party", observed=True)["duration"].sum()
        total = int(sums.sum())
        names = analysis.PARTIES.items()
        shares = {words: sums.get(str(party), 0) / total for party, words in names}
        parties = [(words, float(share)) for words, share in shares.items() if share]
    return {
        "absence": loaded.absence or ("" if gap_rows.is_known else gap_rows.absence),
        "idle": idle,
        "loaded": 0 if loaded.absence else analysis.loaded_time(loaded.frame),
        "gaps": gaps["gap"].nunique() if idle else 0,
        "causes": list(_causes(gaps, idle)) if idle else [],
        "unsure": analysis.unsure(cause_rows.frame) if idle and not cause_rows.absence else "",
        "parties": parties,
        "window": window.name if window else "the steady window",
        "source": of_table(tables, "gpu_intervals"),
    }


def _causes(gaps: pd.DataFrame, idle: int) -> Iterator[Context]:
    """Yield the causes that there were, the longest first, and always what is unattributed.

    The longest piece of each lies between `start` and `end`; times are in ns.
    """
    sums = analysis.by_cause(gaps)
    for cause in sorted(sums, key=lambda kind: (kind is analysis.Cause.UNATTRIBUTED, -sums[kind])):
        pieces = gaps[(gaps["cause"] == str(cause)).to_numpy()]
        pieces = pieces.sort_values("duration", ascending=False, kind="stable")
        if not sums[cause] and cause is not analysis.Cause.UNATTRIBUTED:
            continue
        start, length = (int(pieces[column].head(1).sum()) for column in ("start", "duration"))
        yield {
            "cause": analysis.CAUSES[cause],
            "count": len(pieces),
            "total": sums[cause],
            "share": sums[cause] / idle,
            "during": _during(pieces, sums[cause]),
            "start": start,
            "end": start + length,
        }


def _during(pieces: pd.DataFrame, total: int) -> str:
    sums = pieces.groupby("during", observed=True)["duration"].sum()
    ranked = sums.sort_values(ascending=False, kind="stable").head(_MOST_NAMED)
    shares = {str(name) or _UNTOLD: int(time) / total for name, time in ranked.items()}
    return ", ".join(
        f"{name} {percent(share)}" for name, share in shares.items() if share >= _LEAST_NAMED
    )
