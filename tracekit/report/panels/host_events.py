"""What else the host recorded of the target: its launch, hangs, signposts by name."""

from collections.abc import Hashable
from typing import Any

import pandas as pd

from tracekit.analysis import Result
from tracekit.report.panel import Context, Tables, of_target, panel

MOST_ROWS = 25


@panel("Launch, hangs, signposts", "life_cycles", "hangs", "signpost_intervals")
def host_events(result: Result, tables: Tables) -> Context | None:  # noqa: ARG001  a panel's signature
    """List phases of the launch, hangs of the main thread, and signposts by their names."""
    launch, hangs, signposts = (
        of_target(tables, name).frame for name in ("life_cycles", "hangs", "signpost_intervals")
    )
    if launch.empty and hangs.empty and signposts.empty:
        return None
    named = _by_name(signposts)
    return {
        "launch": _listed(launch, "period"),
        "hangs": _listed(hangs.sort_values("duration", ascending=False), "kind"),
        "more_hangs": max(0, len(hangs) - MOST_ROWS),
        "signposts": named[:MOST_ROWS],
        "more_signposts": max(0, len(named) - MOST_ROWS),
    }


def _listed(frame: pd.DataFrame, name: str) -> list[Context]:
    return [
        {
            "name": "not named" if pd.isna(row[name]) else str(row[name]),
            "start": int(row["start"]),
            "duration": None if pd.isna(row["duration"]) else int(row["duration"]),
        }
        for row in frame.head(MOST_ROWS).to_dict("records")
    ]


def _by_name(signposts: pd.DataFrame) -> list[dict[Hashable, Any]]:
    """Return the signposts that have an end, by subsystem and name; the longest in sum first."""
    ended = signposts.dropna(subset=["duration"])
    names = ended[["subsystem", "name"]].astype("string").fillna("")
    times = ended["duration"].astype("float64")
    groups = times.groupby([names["subsystem"], names["name"]]).agg(
        ["size", "sum", lambda own: own.quantile(0.5), lambda own: own.quantile(0.99)]
    )
    groups.columns = ["count", "total", "p50", "p99"]
    ordered = groups.sort_values("total", ascending=False, kind="stable")
    return ordered.reset_index().to_dict("records")
