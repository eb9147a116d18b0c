"""The states of the machine: whether the GPU was awake, how fast its clock ran, how hot it was."""

from collections.abc import Iterator

import pandas as pd

from tracekit.report.panel import Tables
from tracekit.report.rows import rows
from tracekit.report.timeline.arrange import Heading, track
from tracekit.report.timeline.track import Kind, Track

_IDLE = "Idle"
_UNKNOWN = "state not stated"


def states(tables: Tables) -> Iterator[Track]:
    """Make a track of each sort of state that the trace has; most traces lack some."""
    awake = rows(tables, "gpu_states").frame
    labels = awake["state"].fillna(_UNKNOWN)
    awake, labels = awake[labels != _IDLE], labels[labels != _IDLE]
    if len(awake):
        heading = Heading("GPU states", Kind.STATES, f"all processes; {_IDLE} is left out")
        yield track(heading, awake, labels)
    clock = _clock(tables)
    if len(clock):
        heading = Heading("GPU performance", Kind.STATES, "while the GPU is awake")
        yield track(heading, clock, clock["state"].fillna(_UNKNOWN))
    heat = rows(tables, "thermal_states").frame
    if len(heat):
        heading = Heading("Thermal state", Kind.STATES, "of the machine")
        yield track(heading, heat, heat["state"].fillna(_UNKNOWN))


def _clock(tables: Tables) -> pd.DataFrame:
    """Return the states of the GPU's clock, by name if the trace names them."""
    named = rows(tables, "gpu_performance_states")
    if not named.absence:
        return named.frame
    numbered = rows(tables, "gpu_device_performance_states").frame
    return numbered.assign(state="state " + numbered["state"].astype("string"))
