"""The machine beside the run: its clock, power and heat, where a monitor read them."""

import numpy as np
import pandas as pd

from tracekit.analysis import Result, Window, readings
from tracekit.base import quantity
from tracekit.report.panel import Context, Tables, marked_window, panel, rows
from tracekit.report.timeline.still import ticks

WIDTH, HEIGHT = 1000, 60
_MOST_POINTS = 400
_DRAWN = ("gpu_", "thermal_")
_KINDS = {"Hz": "device", "W": "steps", "level": "idle"}


@panel("Clock, power and heat", "gauges", "phases")
def telemetry(result: Result, tables: Tables) -> Context | None:  # noqa: ARG001  a panel's signature
    """Put what monitors read into words and lines; nothing where none was read."""
    found = rows(tables, "gauges").frame
    read = readings(found).dropna(subset=["source", "value"])
    if read.empty:
        return None
    steady = marked_window(tables)
    run = Window(int(read["time"].min()), int(read["time"].max()))
    names = sorted(read["name"].astype(str).unique(), key=lambda name: (name[:3] != "gpu", name))
    levels = [_level(name, read[read["name"] == name], run, steady) for name in names]
    drawn = [level for level in levels if level["name"].startswith(_DRAWN)]
    return {
        "sources": ", ".join(sorted(read["source"].astype(str).unique())),
        "steady": steady is not None,
        "levels": levels,
        "drawn": drawn or levels,
        "ticks": ticks(run.start, run.end),
        "width": WIDTH,
        "height": HEIGHT,
    }


def _level(name: str, own: pd.DataFrame, run: Window, steady: Window | None) -> Context:
    """Put one thing that was read into words, and draw it from zero to its highest."""
    unit = str(own["unit"].iloc[0])
    inside = own
    if steady is not None:
        inside = own[(own["time"] >= steady.start) & (own["time"] <= steady.end)]
    values = inside["value"].astype(float)
    return {
        "name": name,
        "kind": _KINDS.get(unit, "others"),
        "path": _line(own, run),
        "numbers": [quantity(one, unit) for one in (values.min(), values.median(), values.max())],
        "count": len(inside),
    }


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
