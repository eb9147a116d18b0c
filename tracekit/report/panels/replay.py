"""Counters that Xcode exported, by encoder: what a serialized replay at a fixed clock shows."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tracekit.analysis import Result, average_by_cost, encoders, is_timed
from tracekit.base import percent, size
from tracekit.report.panel import REPLAY, Context, Tables, panel, rows

MOST_ROWS = 30


@panel("Xcode's counters, by encoder", REPLAY)
def replay(result: Result, tables: Tables) -> Context | None:  # noqa: ARG001  a panel's signature
    """List encoders with what held them back; None where no counters were imported."""
    counter_rows = rows(tables, REPLAY)
    if counter_rows.absence:
        return None
    table = encoders(counter_rows.frame)
    suspect = counter_rows.frame.dropna(subset=["suspect"])
    # For which share of the execution cost each limiter is the highest.
    costs = table.dropna(subset=["cost", "limiter"]).groupby("limiter")["cost"].sum()
    limiters = costs.sort_values(ascending=False, kind="stable")
    sums = {name: average_by_cost(table, name) for name in ("occupancy", "limited")}
    return {
        "ranked": bool(table["cost"].notna().any()),
        "timed": is_timed(counter_rows.frame),
        "encoders": [_describe_encoder(row) for row in table.head(MOST_ROWS).to_dict("records")],
        "more": max(0, len(table) - MOST_ROWS),
        "occupancy": None if sums["occupancy"] is None else percent(sums["occupancy"]),
        "limiters": [(str(unit), percent(float(cost))) for unit, cost in limiters.items()],
        "suspect": [
            (str(counter), str(reason), len(suspect_rows))
            for (counter, reason), suspect_rows in suspect.groupby(
                ["counter", "suspect"], sort=True
            )
        ],
    }


def _describe_encoder(row: Mapping[Any, Any]) -> Context:
    def cells(in_words: Any, *names: str) -> Context:
        cell_words = {name: in_words(row[name]) for name in names if not pd.isna(row[name])}
        return dict.fromkeys(names, "not available") | cell_words

    return {
        "place": int(row["place"]),
        "encoder": str(row["encoder"]),
        "command_buffer": "" if pd.isna(row["command_buffer"]) else str(row["command_buffer"]),
        "share": None if pd.isna(row["cost"]) else float(row["cost"]),
        **cells(str, "limiter"),
        **cells(percent, "cost", "occupancy", "limited", "used", "stack"),
        **cells(size, "read", "written"),
        **cells("{:,.2f}".format, "bandwidth"),
    }
