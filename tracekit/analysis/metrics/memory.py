"""What memory MLX took, as the worker noted it between the phases."""

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.metric import metric
from tracekit.analysis.metrics.steps import steady_steps
from tracekit.analysis.result import Better

_STEADY = "steady"


@metric("bytes", Better.LOWER)
def mlx_memory_peak(memory_profile: pd.DataFrame) -> int:
    """Most memory that MLX's arrays took at any moment of the steady phase."""
    return _level(memory_profile, "mlx_peak", _place(memory_profile, "mlx_peak"))


@metric("bytes/step", Better.LOWER)
def memory_growth(memory_profile: pd.DataFrame, steps: pd.DataFrame) -> float:
    """Memory of MLX's arrays that each steady step left behind, from the first to the last."""
    place = _place(memory_profile, "mlx_active")
    if place == 0:
        raise Unavailable("there is no note of memory from before the steady phase.")
    before, after = (_level(memory_profile, "mlx_active", at) for at in (place - 1, place))
    return (after - before) / len(steady_steps(steps))


def _place(profile: pd.DataFrame, what: str) -> int:
    """Return where, among the notes of one sort, that of the steady phase is."""
    phases = _notes(profile, what)["phase"].tolist()
    if _STEADY not in phases:
        raise Unavailable("the workload's memory was not noted at the end of a steady phase.")
    return phases.index(_STEADY)


def _level(profile: pd.DataFrame, what: str, place: int) -> int:
    note = _notes(profile, what).iloc[place]
    if pd.isna(note["bytes"]):
        raise Unavailable(f"{note['reason'] or 'no reason was noted'}.")
    return int(note["bytes"])


def _notes(profile: pd.DataFrame, what: str) -> pd.DataFrame:
    return profile[profile["what"] == what].sort_values("time", kind="stable")
