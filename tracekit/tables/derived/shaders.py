"""Which shader ran when, where the recording had the shader timeline on."""

import numpy as np
import pandas as pd

from tracekit.tables.derived.joined import Joined
from tracekit.tables.derived.matching import Match, distinct, match

_KEY = ["name", "pipeline", "kind", "pid"]


def runs(shader_profiler_intervals: pd.DataFrame, shaders: pd.DataFrame) -> Joined:
    """Find for each stretch of a shader which of the listed shaders it is."""
    own = shader_profiler_intervals
    listed = distinct(shaders, _KEY, ["shader", "pc_start", "pc_end"])
    at = match([own[key] for key in _KEY], [listed[key] for key in _KEY])
    found = {name: at.take(listed[name]) for name in ("shader", "pc_start", "pc_end")}
    columns = {str(name): own[name] for name in own}
    return Joined(columns | found, at.said("stretches of shaders", "shaders"))


def pc_runs(shader_pc_intervals: pd.DataFrame, shaders: pd.DataFrame) -> Joined:
    """Find for each stretch at one instruction the one shader whose code it is in."""
    own, names = shader_pc_intervals, ["shader", "name", "label", "pipeline", "kind", "pid"]
    place = ["pc_start", "pc_end"]
    code = distinct(shaders, place, names).dropna(subset=place)
    code = code.sort_values("pc_start", kind="stable", ignore_index=True)
    at = _within(own["pc"], code["pc_start"], code["pc_end"])
    columns = {str(name): own[name] for name in own}
    found = {name: at.take(code[name]) for name in names}
    return Joined(columns | found, at.said("instructions", "shaders"))


def _within(points: pd.Series, begins: pd.Series, ends: pd.Series) -> Match:
    """Match points with the only range [begin, end) that holds them; begins are ordered."""
    known = points.notna().to_numpy()
    pcs, where = np.unique(points.to_numpy(dtype="uint64", na_value=0), return_inverse=True)
    starts, stops = begins.to_numpy(dtype="uint64"), ends.to_numpy(dtype="uint64")
    begun = np.searchsorted(starts, pcs, side="right")
    count = begun - np.searchsorted(np.sort(stops), pcs, side="right")
    places = np.full(len(pcs), -1, dtype=np.intp)
    for one in np.flatnonzero(count == 1):
        places[one] = np.flatnonzero(stops[: begun[one]] > pcs[one])[-1]
    return Match(
        places=np.where(known, places[where], -1),
        asked=int(known.sum()),
        ambiguous=int((count[where] > 1)[known].sum()),
        there=len(begins),
    )
