"""When the device had nothing of the target to do, and why."""

import numpy as np
import pandas as pd

from tracekit.analysis.idle.gaps import SHORTEST
from tracekit.analysis.idle.pieces import CAUSES
from tracekit.analysis.intervals import Window, gaps, spans
from tracekit.base.units import duration
from tracekit.report.panel import Tables
from tracekit.report.rows import of_target, rows
from tracekit.report.timeline.arrange import Heading, track, windows, words
from tracekit.report.timeline.track import Kind, Track

_DRAINED = {"yes": "ran empty by a wait", "no": "did not wait", "unknown": "not known"}


def idle(tables: Tables, steady: Window | None) -> Track | str:
    """Make the track of idle gaps, each piece with its cause where the analysis knows causes."""
    found = rows(tables, "gaps")
    if found.absence:
        return _without_causes(tables, steady)
    causes = {str(cause): text for cause, text in CAUSES.items()}
    labels = found.frame["cause"].map(causes).fillna(found.frame["cause"])
    details = (
        words("the queue", found.frame["drained"].map(_DRAINED)),
        words("meanwhile", found.frame["during"].replace("", pd.NA)),
    )
    note = f"of {duration(SHORTEST)} and more, by cause; nothing of the target runs"
    return track(Heading("Idle gaps", Kind.IDLE, note), found.frame, labels, details)


def _without_causes(tables: Tables, steady: Window | None) -> Track | str:
    found = of_target(tables, "gpu_intervals")
    if found.absence or steady is None:
        return ""
    starts, ends = gaps(*spans(found.frame), steady.start, steady.end)
    long = ends - starts >= SHORTEST
    starts, ends = starts[long], ends[long]
    if not starts.size:
        return (
            f"No idle gaps: the target's work covers all of {steady.name}, "
            f"but for gaps shorter than {duration(SHORTEST)}."
        )
    note = f"of {duration(SHORTEST)} and more: nothing of the target runs; within {steady.name}"
    texts = ("idle",) * int(np.count_nonzero(long))
    return windows(Heading("Idle gaps", Kind.IDLE, note), starts, ends, texts)
