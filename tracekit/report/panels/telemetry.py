"""The machine beside the run: its clock, power and heat, where a monitor read them."""

import numpy as np
import pandas as pd

from tracekit.analysis import Result, Window, readings
from tracekit.base import count, quantity
from tracekit.report.chart import Chart, make_integer_axis
from tracekit.report.panel import Context, Tables, marked_window, panel, phase_begins, rows
from tracekit.report.plots import course, sample_level
from tracekit.report.text import heading

_DRAWN = ("gpu_", "thermal_")
_COLORS = {"Hz": "device", "W": "steps", "level": "idle"}


@panel("Clock, power and heat", "gauges", "phases")
def telemetry(result: Result, tables: Tables) -> Context | None:  # noqa: ARG001  a panel's signature
    """Put what monitors read into words and lines; nothing where none was read."""
    gauge_frame = rows(tables, "gauges").frame
    read = readings(gauge_frame).dropna(subset=["source", "value"])
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


def _level(name: str, gauge_readings: pd.DataFrame, steady: Window | None) -> Context:
    steady_readings = (
        gauge_readings
        if steady is None
        else gauge_readings[gauge_readings["time"].between(steady.start, steady.end)]
    )
    values = steady_readings["value"].astype(float)
    unit = str(gauge_readings["unit"].iloc[0])
    numbers = (values.min(), values.median(), values.max())
    return {
        "name": name,
        "numbers": [quantity(number, unit) for number in numbers],
        "count": len(steady_readings),
    }


def _chart(name: str, gauge_readings: pd.DataFrame, run: Window, tables: Tables) -> Chart:
    unit, ordered = str(gauge_readings["unit"].iloc[0]), gauge_readings.sort_values("time")
    times, values = ordered["time"].to_numpy(np.int64), ordered["value"].to_numpy(np.float64)
    level = sample_level(name, times, values, run, _COLORS.get(unit, "others"))
    lowest, highest = (quantity(value, unit) for value in (values.min(), values.max()))
    summary = f"{lowest} throughout." if lowest == highest else f"Between {lowest} and {highest}."
    begins = phase_begins(tables)
    if unit == "level":
        return course(heading(name), summary, level, count, upward=make_integer_axis, begins=begins)
    return course(heading(name), summary, level, lambda value: quantity(value, unit), begins=begins)
