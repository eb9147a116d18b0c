"""Counters that Xcode exported, by encoder: the values of a serialized replay at a fixed clock."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from tracekit import analysis
from tracekit.analysis import Result
from tracekit.base import units
from tracekit.pages.panel import REPLAY, Context, Tables, panel, rows

FIRST_ROWS = 8
"""The encoders that are read at once; those behind them are folded."""
MOST_ROWS = 30
_CELLS: dict[str, Callable[[Any], str]] = {
    "limiter": str,
    "cost": units.percent,
    "occupancy": units.percent,
    "limited": units.percent,
    "used": units.percent,
    "stack": units.percent,
    "read": units.size,
    "written": units.size,
    "bandwidth": "{:,.2f}".format,
}


@panel("Xcode's counters, by encoder", REPLAY)
def replay(result: Result, tables: Tables) -> Context | None:  # noqa: ARG001  a panel's signature
    """List encoders with their limiters; None if no counters were imported."""
    counter_rows = rows(tables, REPLAY)
    if counter_rows.absence:
        return None
    table = analysis.replay.encoders(counter_rows.frame)
    occupancy = analysis.replay.average_by_cost(table, "occupancy")
    ranked = bool(table["cost"].notna().any())
    more = max(0, len(table) - MOST_ROWS)
    described_encoders = [
        _describe_encoder(row) for row in table.head(MOST_ROWS).to_dict("records")
    ]
    occupancy_words = None if occupancy is None else units.percent(occupancy)
    return {
        "ranked": ranked,
        "timed": analysis.replay.is_timed(counter_rows.frame),
        "encoders": described_encoders,
        "more": more,
        "first_rows": FIRST_ROWS,
        "occupancy": occupancy_words,
        "limiters": _share_by_limiter(table),
        "suspect": _count_suspects(counter_rows.frame),
    }


def _share_by_limiter(table: pd.DataFrame) -> list[tuple[str, str]]:
    """Return for each limiter the share of the execution cost for which it is the highest."""
    known_costs = table.dropna(subset=["cost", "limiter"])
    costs = known_costs.groupby("limiter")["cost"].sum()
    ordered = costs.sort_values(ascending=False, kind="stable")
    return [(str(unit), units.percent(float(cost))) for unit, cost in ordered.items()]


def _count_suspects(counters: pd.DataFrame) -> list[tuple[str, str, int]]:
    """Return the counters with suspect values, each with the reason and the number of values."""
    suspects = counters.dropna(subset=["suspect"])
    groups = suspects.groupby(["counter", "suspect"], sort=True)
    return [(str(counter), str(reason), len(part)) for (counter, reason), part in groups]


def _describe_encoder(row: Mapping[Any, Any]) -> Context:
    command_buffer = ""
    if not pd.isna(row["command_buffer"]):
        command_buffer = str(row["command_buffer"])
    share = None
    if not pd.isna(row["cost"]):
        share = float(row["cost"])
    cells: dict[str, str] = {}
    for name, in_words in _CELLS.items():
        cells[name] = "not available"
        if not pd.isna(row[name]):
            cells[name] = in_words(row[name])
    place = int(row["place"])
    encoder = str(row["encoder"])
    return {
        "place": place,
        "encoder": encoder,
        "command_buffer": command_buffer,
        "share": share,
        **cells,
    }
