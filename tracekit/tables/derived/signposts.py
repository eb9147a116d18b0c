"""Signposts as intervals, and the intervals that a program calls its phases."""

import numpy as np
import pandas as pd

from tracekit.tables.derived.joined import Joined

PHASES = ("tracekit", "phases")
_KEY = ["pid", "subsystem", "category", "name", "identifier"]


def paired_signposts(signposts: pd.DataFrame) -> Joined:
    """Make an interval of each begin and the end that comes next under the same key.

    A begin that another begin follows, and an end without a begin, make none and are counted:
    which of them belong together cannot be known.
    """
    marks = signposts[signposts["event"].isin(["Begin", "End"])]
    key = marks.groupby(_KEY, sort=False, dropna=False).ngroup().to_numpy()
    order = np.lexsort((marks["time"].to_numpy(), key))
    key, marks = key[order], marks.iloc[order]
    begins = (marks["event"] == "Begin").to_numpy(dtype=bool)
    follows = np.zeros(len(marks), dtype=bool)
    follows[:-1] = begins[:-1] & ~begins[1:] & (key[:-1] == key[1:])
    first = np.flatnonzero(follows)
    first = first[np.argsort(marks["time"].to_numpy()[first], kind="stable")]
    begin = marks.iloc[first].reset_index(drop=True)
    end = marks.iloc[first + 1].reset_index(drop=True)
    kept = {name: begin[name] for name in (*_KEY, "process", "target", "tid", "clock")}
    times = {"start": begin["time"], "duration": end["time"] - begin["time"]}
    messages = {"begin_message": begin["message"], "end_message": end["message"]}
    single = len(marks) - 2 * len(first)
    warnings = (f"{single:,} signposts have no counterpart and are left out",) if single else ()
    return Joined({**times, **kept, **messages}, warnings)


def phases_of_signposts(signpost_intervals: pd.DataFrame) -> Joined:
    """Take the target's signposts of the subsystem and category that are agreed for phases."""
    subsystem, category = PHASES
    own = signpost_intervals[
        signpost_intervals["target"]
        & (signpost_intervals["subsystem"] == subsystem).fillna(value=False)
        & (signpost_intervals["category"] == category).fillna(value=False)
        & signpost_intervals["duration"].notna()
    ].reset_index(drop=True)
    return Joined({name: own[name] for name in ("start", "duration", "name", "clock")})
