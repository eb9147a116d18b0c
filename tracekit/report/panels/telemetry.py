"""The machine beside the run: its clock, power and heat, where a monitor read them."""

import numpy as np
import pandas as pd

from tracekit.analysis import Result, Window, readings
from tracekit.base import quantity
from tracekit.report.panel import Context, Tables, marked_window, panel, rows
from tracekit.report.timeline.still import level_path, ticks

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
    }


def _level(name: str, own: pd.DataFrame, run: Window, steady: Window | None) -> Context:
    """Put one thing that was read into words, and draw it from zero to its highest."""
    unit = str(own["unit"].iloc[0])
    inside = own
    if steady is not None:
        inside = own[(own["time"] >= steady.start) & (own["time"] <= steady.end)]
    values = inside["value"].astype(float)
    ordered = own.sort_values("time")
    times, levels = ordered["time"].to_numpy(np.int64), ordered["value"].to_numpy(np.float64)
    return {
        "name": name,
        "kind": _KINDS.get(unit, "others"),
        "path": level_path(times, levels, run, float(levels.max())),
        "numbers": [
            quantity(number, unit) for number in (values.min(), values.median(), values.max())
        ],
        "count": len(inside),
    }
