"""A workload's marks, as far as they lie in the trace.

A worker that was attached to has prepared and warmed up before time 0 of the trace. Its tables
keep those marks with their true, negative times; drawn, they would only stretch the axis.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis.intervals import spans

_BEGUN = "begun before the trace"


@dataclass(frozen=True)
class Marks:
    """Rows with `start` and `duration`, their labels, and what was left out, in words."""

    frame: pd.DataFrame
    labels: pd.Series
    note: str = ""


def in_trace(frame: pd.DataFrame, labels: pd.Series) -> Marks:
    """Leave out what ended before time 0, and draw from there what went on through it."""
    starts, ends = spans(frame)
    outside = (starts < 0) & (ends <= 0)
    through = (starts < 0) & (ends > 0)
    if not (outside | through).any():
        return Marks(frame, labels)
    shown = frame.assign(start=np.maximum(starts, 0), duration=ends - np.maximum(starts, 0))
    texts = labels.astype(object).mask(through, labels.astype(str) + f", {_BEGUN}")
    count = int(outside.sum())
    note = f"{count:,} from before the trace left out" if count else ""
    return Marks(shown[~outside], texts[~outside], note)
