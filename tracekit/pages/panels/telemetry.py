"""The machine next to the run: its clock, power and heat, if a monitor read them."""

import numpy as np
import pandas as pd

from tracekit.analysis import Result, intervals, machine
from tracekit.base import units
from tracekit.pages.chart import Chart, make_integer_axis
from tracekit.pages.panel import Context, Tables, marked_window, panel, phase_begins, rows
from tracekit.pages.plots import course, sample_level
from tracekit.pages.text import heading

_DRAWN = ("gpu_", "thermal_")
_COLORS = {"Hz": "device", "W": "steps", "level": "idle"}


@panel("Clock, power and heat", "gauges", "phases")
def telemetry(result: Result, tables: Tables) -> Context | None:  # noqa: ARG001  a panel's signature
    """Put the readings of monitors into words and lines; None if there are none."""
    gauge_frame = rows(tables, "gauges").frame
    read = machine.readings(gauge_frame).dropna(subset=["source", "value"])
    if read.empty:
        return None
    steady = marked_window(tables)
    begin = int(read["time"].min())
    end = int(read["time"].max())
    run = intervals.Window(begin, end)
    distinct_names = read["name"].astype(str).unique()
    names = sorted(distinct_names, key=lambda name: (name[:3] != "gpu", name))
    readings_by_name = {name: read[read["name"] == name] for name in names}
    drawn_names = [name for name in names if name.startswith(_DRAWN)] or names
    charts = [_chart(name, readings_by_name[name], run, tables) for name in drawn_names]
    source_names = sorted(read["source"].astype(str).unique())
    levels = [_level(name, part, steady) for name, part in readings_by_name.items()]
    return {
        "sources": ", ".join(source_names),
        "steady": steady is not None,
        "levels": levels,
        "charts": charts,
    }


def _level(name: str, gauge_readings: pd.DataFrame, steady: intervals.Window | None) -> Context:
    """Return the lowest, median and highest reading, of the steady window if one is marked."""
    unit = str(gauge_readings["unit"].iloc[0])
    if steady is not None:
        is_steady = gauge_readings["time"].between(steady.start, steady.end)
        gauge_readings = gauge_readings[is_steady]
    values = gauge_readings["value"].astype(float)
    numbers = (values.min(), values.median(), values.max())
    return {
        "name": name,
        "numbers": [units.quantity(number, unit) for number in numbers],
        "count": len(gauge_readings),
    }


def _chart(name: str, gauge_readings: pd.DataFrame, run: intervals.Window, tables: Tables) -> Chart:
    unit = str(gauge_readings["unit"].iloc[0])
    ordered = gauge_readings.sort_values("time")
    times = ordered["time"].to_numpy(np.int64)
    values = ordered["value"].to_numpy(np.float64)
    color = _COLORS.get(unit, "others")
    level = sample_level(name, times, values, run, color)
    lowest = units.quantity(values.min(), unit)
    highest = units.quantity(values.max(), unit)
    summary = f"Between {lowest} and {highest}."
    if lowest == highest:
        summary = f"{lowest} throughout."
    begins = phase_begins(tables)
    if unit == "level":
        title = heading(name)
        return course(title, summary, level, units.count, upward=make_integer_axis, begins=begins)
    return course(
        heading(name), summary, level, lambda value: units.quantity(value, unit), begins=begins
    )
