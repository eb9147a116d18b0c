"""Work on the GPU, with who asked for it and when."""

from dataclasses import dataclass

import pandas as pd

from tracekit.tables.derived.joined import Joined
from tracekit.tables.derived.matching import Match, distinct, match

_ROWS = "GPU intervals"


@dataclass(frozen=True, eq=False)
class _Found:
    """Columns that were found in other tables, and what did not match."""

    columns: dict[str, pd.Series]
    warnings: tuple[str, ...] = ()

    def __or__(self, other: "_Found") -> "_Found":
        return _Found(self.columns | other.columns, self.warnings + other.warnings)


def jobs(
    *,
    gpu_intervals: pd.DataFrame,
    encoders: pd.DataFrame | None,
    object_labels: pd.DataFrame | None,
    commits: pd.DataFrame | None,
    submissions: pd.DataFrame | None,
    completions: pd.DataFrame | None,
) -> Joined:
    """Find for each piece of work its encoder, its command buffer, and their times."""
    own = gpu_intervals
    found = _moments(own["command_buffer"], commits, submissions, completions)
    found |= _labels(own, encoders, object_labels)
    committed, completed = found.columns.get("committed"), found.columns.get("completed")
    columns = {str(name): own[name] for name in own} | found.columns
    if committed is not None and completed is not None:
        columns["commit_to_complete"] = completed - committed
    columns["latency"], said = _latency(own, found)
    return Joined(columns, found.warnings + said)


def _moments(
    buffers: pd.Series,
    commits: pd.DataFrame | None,
    submissions: pd.DataFrame | None,
    completions: pd.DataFrame | None,
) -> _Found:
    found = _Found({})
    for table, name, theirs, ours in (
        (commits, "commits", "committed", "committed"),
        (submissions, "submissions", "start", "submitted"),
        (completions, "completions", "time", "completed"),
    ):
        if table is not None:
            moments = distinct(table, ["command_buffer"], [theirs])
            at = match([buffers], [moments["command_buffer"]])
            found |= _Found({ours: at.take(moments[theirs])}, at.said(_ROWS, name))
    return found


def _labels(
    own: pd.DataFrame, encoders: pd.DataFrame | None, object_labels: pd.DataFrame | None
) -> _Found:
    found = _Found({})
    if encoders is not None:
        keys = ["command_buffer", "encoder"]
        theirs = distinct(encoders, keys, ["label", "command_buffer_label", "event"])
        at = match([own[key] for key in keys], [theirs[key] for key in keys])
        words = {
            "encoder_label": at.take(theirs["label"]),
            "command_buffer_label": at.take(theirs["command_buffer_label"]),
            "encoder_kind": at.take(theirs["event"]),
        }
        found = _Found(words, at.said(_ROWS, "encoders"))
    if object_labels is None:
        return found
    labels = distinct(object_labels, ["object"], ["label"])
    for key in ("encoder", "command_buffer"):
        at = match([own[key]], [labels["object"]])
        found |= _filled(found, f"{key}_label", at, labels["label"])
    return found


def _filled(found: _Found, name: str, at: Match, labels: pd.Series) -> _Found:
    known, others = found.columns.get(name), at.take(labels)
    if known is not None:
        others = known.where(known.notna(), others)
    return _Found({name: others}, at.doubts(_ROWS, "object_labels"))


def _latency(own: pd.DataFrame, found: _Found) -> tuple[pd.Series, tuple[str, ...]]:
    """Take what the trace states; else count from the commit, else from the submission."""
    latency, said = own["start_latency"].astype("Int64"), list[str]()
    for name, words in (("committed", "commit"), ("submitted", "start of the submission")):
        if name in found.columns:
            counted = own["start"] - found.columns[name]
            filled = int((latency.isna() & counted.notna()).sum())
            latency = latency.where(latency.notna(), counted)
            if filled:
                said.append(f"the latency of {filled:,} {_ROWS} is counted from the {words}")
    return latency, tuple(said)
