"""Counters that Xcode exported, by encoder: the values of a serialized replay at a fixed clock."""

from collections.abc import Callable, Mapping
from operator import attrgetter
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
    "launch": units.percent,
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
    replayed: analysis.replay.CaptureReplay = tables["replay"]
    launches = {encoder.place: encoder.kernels for encoder in replayed.encoders}
    occupancy = analysis.replay.average_by_cost(table, "occupancy")
    ranked = bool(table["cost"].notna().any())
    more = max(0, len(table) - MOST_ROWS)
    described_encoders = [
        _describe_encoder(row, launches) for row in table.head(MOST_ROWS).to_dict("records")
    ]
    occupancy_words = None if occupancy is None else units.percent(occupancy)
    return {
        "ranked": ranked,
        "timed": analysis.replay.is_timed(counter_rows.frame),
        "encoders": described_encoders,
        "more": more,
        "first_rows": FIRST_ROWS,
        "occupancy": occupancy_words,
        "costliest": _describe_costs(replayed),
        "unjoined": replayed.unjoined,
        "is_joined": replayed.is_joined,
        "limiters": _share_by_limiter(table),
        "suspect": _count_suspects(counter_rows.frame),
    }


_MUCH = 0.5
"""A limiter is named if its unit was busy or stalled for this share of the time."""
_MOST_NAMED = 3
_ABOVE_OTHERS = 1.5  # times the median cost
_BELOW_OTHERS = 3.0  # part of it


def _describe_costs(replayed: analysis.replay.CaptureReplay) -> str:
    """Return the encoders that cost much more than the others, and the range of these."""
    if not replayed.cost or len(replayed.encoders) == 1:
        return ""
    ordered = sorted(replayed.encoders, key=lambda encoder: -encoder.weight)
    middle = ordered[len(ordered) // 2].weight
    above = [item for item in ordered if item.weight > _ABOVE_OTHERS * middle][:_MOST_NAMED]
    below = [item for item in ordered if item.weight < middle / _BELOW_OTHERS]
    rest = ordered[len(above) : len(ordered) - len(below)]
    spread = f"{units.percent(rest[-1].weight)} to {units.percent(rest[0].weight)}"
    sentence = f"No encoder stands out: {len(rest):,} have {spread} of the {replayed.cost} each"
    if above:
        names = [f"{item.place} ({units.percent(item.weight)})" for item in above]
        sentence = f"Costliest: encoder {', '.join(names)}; {len(rest):,} have {spread} each"
    if below:
        together = units.percent(sum(map(attrgetter("weight"), below)))
        sentence = f"{sentence}, and {len(below):,} have {together} together"
    return f"{sentence}."


def _share_by_limiter(table: pd.DataFrame) -> list[tuple[str, str]]:
    """Return for each limiter the share of the cost of encoders in which it is high."""
    known_costs = table.dropna(subset=["cost", "limiter"])
    known_costs = known_costs[known_costs["limited"] >= _MUCH]
    costs = known_costs.groupby("limiter")["cost"].sum()
    ordered = costs.sort_values(ascending=False, kind="stable")
    return [(str(unit), units.percent(float(cost))) for unit, cost in ordered.items()]


def _count_suspects(counters: pd.DataFrame) -> list[tuple[str, str, int]]:
    """Return the counters of each doubt, with the reason and the number of encoders."""
    suspects = counters.dropna(subset=["suspect"])
    listed: list[tuple[str, str, int]] = []
    for reason, part in suspects.groupby("suspect", sort=True):
        names = ", ".join(sorted(set(map(str, part["counter"]))))
        listed.append((names, str(reason), int(part["place"].nunique())))
    return sorted(listed)


def _describe_encoder(row: Mapping[Any, Any], launches: Mapping[int, str]) -> Context:
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
        "kernels": launches.get(place, ""),
        **cells,
    }
