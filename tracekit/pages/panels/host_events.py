"""Other events of the target that the host recorded: its launch, hangs, signposts by name."""

from collections.abc import Hashable
from typing import Any

import pandas as pd

from tracekit.analysis import Result
from tracekit.pages.panel import Context, Tables, of_target, panel

MOST_ROWS = 25


@panel("Launch, hangs, signposts", "life_cycles", "hangs", "signpost_intervals")
def host_events(result: Result, tables: Tables) -> Context | None:  # noqa: ARG001  a panel's signature
    """List phases of the launch, hangs of the main thread, and signposts by their names."""
    launch = of_target(tables, "life_cycles").frame
    hangs = of_target(tables, "hangs").frame
    signposts = of_target(tables, "signpost_intervals").frame
    if launch.empty and hangs.empty and signposts.empty:
        return None
    named_signposts = _by_name(signposts)
    longest_first = hangs.sort_values("duration", ascending=False)
    more_hangs = max(0, len(hangs) - MOST_ROWS)
    more_signposts = max(0, len(named_signposts) - MOST_ROWS)
    return {
        "launch": _list_rows(launch, "period"),
        "more_launch": max(0, len(launch) - MOST_ROWS),
        "hangs": _list_rows(longest_first, "kind"),
        "more_hangs": more_hangs,
        "signposts": named_signposts[:MOST_ROWS],
        "more_signposts": more_signposts,
    }


def _list_rows(frame: pd.DataFrame, name: str) -> list[Context]:
    listed_rows: list[Context] = []
    for row in frame.head(MOST_ROWS).to_dict("records"):
        words = "not named"
        if not pd.isna(row[name]):
            words = str(row[name])
        duration = None
        if not pd.isna(row["duration"]):
            duration = int(row["duration"])
        listed_row = {"name": words, "start": int(row["start"]), "duration": duration}
        listed_rows.append(listed_row)
    return listed_rows


def _by_name(signposts: pd.DataFrame) -> list[dict[Hashable, Any]]:
    """Return the signposts that have an end, by subsystem and name; the longest in sum first."""
    finished_signposts = signposts.dropna(subset=["duration"])
    names = finished_signposts[["subsystem", "name"]].astype("string").fillna("")
    times = finished_signposts["duration"].astype("float64")
    name_columns = [names["subsystem"], names["name"]]
    groups = times.groupby(name_columns).agg(
        [
            "size",
            "sum",
            lambda durations: durations.quantile(0.5),
            lambda durations: durations.quantile(0.99),
        ]
    )
    groups.columns = ["count", "total", "p50", "p99"]
    ordered = groups.sort_values("total", ascending=False, kind="stable")
    return ordered.reset_index().to_dict("records")
