"""The machine beside the run: its clock, power and heat, where a monitor read them."""

import numpy as np
import pandas as pd

from tracekit.analysis import Result, Window, readings
from tracekit.base import count, quantity
from tracekit.report.chart import Chart, whole
from tracekit.report.panel import Context, Tables, marked_window, panel, phase_begins, rows
from tracekit.report.plots import course, sampled
from tracekit.report.text import heading

_DRAWN = ("gpu_", "thermal_")
_COLORS = {"Hz": "device", "W": "steps", "level": "idle"}


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
    drawn = [name for name in names if name.startswith(_DRAWN)] or names
    return {
        "sources": ", ".join(sorted(read["source"].astype(str).unique())),
        "steady": steady is not None,
        "levels": [_level(name, read[read["name"] == name], steady) for name in names],
        "charts": [_chart(name, read[read["name"] == name], run, tables) for name in drawn],
    }


def _level(name: str, own: pd.DataFrame, steady: Window | None) -> Context:
    inside = own if steady is None else own[own["time"].between(steady.start, steady.end)]
    values = inside["value"].astype(float)
    unit = str(own["unit"].iloc[0])
    numbers = (values.min(), values.median(), values.max())
    return {
        "name": name,
        "numbers": [quantity(number, unit) for number in numbers],
        "count": len(inside),
    }


def _chart(name: str, own: pd.DataFrame, run: Window, tables: Tables) -> Chart:
    unit, ordered = str(own["unit"].iloc[0]), own.sort_values("time")
    times, values = ordered["time"].to_numpy(np.int64), ordered["value"].to_numpy(np.float64)
    level = sampled(name, times, values, run, _COLORS.get(unit, "others"))
    least, most = (quantity(value, unit) for value in (values.min(), values.max()))
    summary = f"{least} throughout." if least == most else f"Between {least} and {most}."
    begins = phase_begins(tables)
    if unit == "level":
        return course(heading(name), summary, level, count, upward=whole, begins=begins)
    return course(heading(name), summary, level, lambda value: quantity(value, unit), begins=begins)
