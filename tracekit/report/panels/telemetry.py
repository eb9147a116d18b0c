"""The machine beside the run: its clock, power and heat, where a monitor read them."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis import Result, Window, readings
from tracekit.base import quantity
from tracekit.report.panel import Context, Panel, Tables, marked_window, rows
from tracekit.report.timeline.still import ticks

WIDTH, HEIGHT = 1000, 60
_MOST_POINTS = 400
_DRAWN = ("gpu_", "thermal_")
_KINDS = {"Hz": "device", "W": "steps", "level": "idle"}


@dataclass(frozen=True)
class Level:
    """One thing that was read: in words, and drawn over the run from zero to its highest."""

    name: str
    kind: str
    path: str
    low: str
    median: str
    high: str
    count: int


def context(result: Result, tables: Tables) -> Context | None:  # noqa: ARG001  a panel's signature
    """Put what monitors read into words and lines; nothing where none was read."""
    found = rows(tables, "gauges").frame
    read = readings(found).dropna(subset=["source", "value"])
    if read.empty:
        return None
    steady = marked_window(tables)
    run = Window(int(read["time"].min()), int(read["time"].max()))
    levels = [_level(name, own, run, steady) for name, own in _by_name(read)]
    drawn = [level for level in levels if level.name.startswith(_DRAWN)]
    return {
        "sources": ", ".join(sorted({str(one) for one in read["source"]})),
        "steady": steady is not None,
        "levels": levels,
        "drawn": drawn or levels,
        "ticks": ticks(run.start, run.end),
        "width": WIDTH,
        "height": HEIGHT,
    }


def _by_name(read: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the readings of each name, the GPU's first, then by name."""
    names = sorted({str(one) for one in read["name"]}, key=lambda one: (one[:3] != "gpu", one))
    return [(name, read[read["name"] == name]) for name in names]


def _level(name: str, own: pd.DataFrame, run: Window, steady: Window | None) -> Level:
    unit = str(own["unit"].iloc[0])
    inside = own
    if steady is not None:
        inside = own[(own["time"] >= steady.start) & (own["time"] <= steady.end)]
    values = inside["value"].astype(float)
    return Level(
        name,
        _KINDS.get(unit, "others"),
        _line(own, run),
        low=quantity(values.min(), unit),
        median=quantity(values.median(), unit),
        high=quantity(values.max(), unit),
        count=len(inside),
    )


def _line(own: pd.DataFrame, run: Window) -> str:
    """Draw the readings as an area; of very many, every so manieth."""
    ordered = own.sort_values("time").iloc[:: max(1, len(own) // _MOST_POINTS)]
    times = ordered["time"].to_numpy(dtype=np.int64)
    levels = ordered["value"].to_numpy(dtype=np.float64)
    top = float(levels.max())
    heights = np.clip(levels / top, 0, 1) * HEIGHT if top > 0 else np.zeros(levels.size)
    places = (times - run.start) / max(1, run.length) * WIDTH
    points = "".join(
        f"L{x:.1f} {HEIGHT - y:.1f}" for x, y in zip(places.tolist(), heights.tolist(), strict=True)
    )
    return f"M{places[0]:.1f} {HEIGHT}{points}L{places[-1]:.1f} {HEIGHT}Z"


telemetry = Panel("telemetry", "Clock, power and heat", context, reads=("gauges", "phases"))
