"""The timeline: everything on one axis."""

from dataclasses import replace

import numpy as np

from tracekit.analysis import Result
from tracekit.base import units
from tracekit.pages.panel import Context, Tables, is_without_gpu_work, panel
from tracekit.pages.timeline.still import SHADES, WIDTH, strips
from tracekit.pages.timeline.track import Timeline
from tracekit.pages.timeline.tracks import timeline as laid


@panel(
    "Timeline",
    *("phases", "steps", "spans", "specializations", "process_samples", "gauges"),
    *("submissions", "command_buffers", "gpu_intervals", "gpu_counters", "gpu_states"),
    *("gpu_performance_states", "gpu_device_performance_states", "thermal_states"),
    *("compiler_activity", "driver_intervals", "allocated_sizes"),
)
def timeline(result: Result, tables: Tables) -> Context:
    """Lay the run on one axis, for the script and for readers without it."""
    line = laid(result, tables)
    if is_without_gpu_work(tables):
        line = replace(line, absences=())
    return drawn(line)


_TICKS = 5
_MARGIN = 0.02  # of the steady window, as in `controls.js`


def open_on_work(line: Timeline) -> Timeline:
    """Return the part of a timeline that is shown at first: the steady window, with a margin."""
    if line.steady is None:
        return line
    margin = round(line.steady.length * _MARGIN)
    begin = max(line.begin, line.steady.start - margin)
    end = min(line.end, line.steady.end + margin)
    if end <= begin:
        return line
    return replace(line, begin=begin, end=end)


def drawn(line: Timeline) -> Context:
    """Return the context of the template for a timeline."""
    opened = open_on_work(line)
    tick_times = np.linspace(opened.begin, opened.end, _TICKS)
    ticks = [units.duration(tick_time) for tick_time in tick_times]
    return {
        "line": line,
        "opened": opened,
        "strips": strips(opened),
        "ticks": ticks,
        "width": WIDTH,
        "shades": SHADES,
    }
