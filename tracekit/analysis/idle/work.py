"""The life of the target's work: written, handed over, begun, ended, seen complete."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis.idle.buffers import first_of, last_of, moments
from tracekit.analysis.idle.stretches import NEVER, Stretches, stretches
from tracekit.analysis.intervals import Times, spans


@dataclass(frozen=True)
class Work:
    """One entry for each device interval of the target, ordered by start; NEVER: not known.

    Attributes:
        begun: When the host began to write it.
        submitted: When it was handed over.
        start: When the device began it.
        end: When the device had done it.
        completed: When that was reported to the host.
        opened: When the device began the command buffer that it belongs to.
    """

    begun: Times
    submitted: Times
    start: Times
    end: Times
    completed: Times
    opened: Times

    @property
    def queued(self) -> Stretches:
        """When something was handed over and had not begun."""
        known = self.submitted != NEVER
        return stretches(self.submitted[known], self.start[known])

    @property
    def unreported(self) -> Stretches:
        """When something had been done and the host could not know."""
        known = self.completed != NEVER
        return stretches(self.end[known], self.completed[known])


def work_of(
    own: pd.DataFrame,
    commits: pd.DataFrame | None,
    submissions: pd.DataFrame | None,
    encoders: pd.DataFrame | None,
    completions: pd.DataFrame | None,
) -> Work:
    """Join the target's device intervals with what the other tables say of them."""
    own = own.sort_values("start", kind="stable")
    start, end = spans(own)
    if (own["clock"] == "host").any():
        return Work(_host_begun(start, submissions), start, start, end, end, start)
    submitted = _submitted(own, start, commits, submissions)
    begun = _first_written(own, encoders, submissions)
    completed = np.full(start.size, NEVER)
    if completions is not None:
        completed = last_of(own, completions, moments(completions["time"]))
    opened = _filled(first_of(own, own, start), start)
    return Work(begun, submitted, start, end, completed, opened)


def written(encoders: pd.DataFrame | None, submissions: pd.DataFrame | None) -> Stretches:
    """Return when the target wrote work: its encoders, else its command buffers."""
    for frame in (encoders, submissions):
        if frame is not None and frame["target"].any():
            return stretches(*spans(frame[frame["target"]]))
    return stretches(np.empty(0, np.int64), np.empty(0, np.int64))


def _submitted(
    own: pd.DataFrame,
    start: Times,
    commits: pd.DataFrame | None,
    submissions: pd.DataFrame | None,
) -> Times:
    """Return when each was handed over: by its own latency, else by its command buffer."""
    latency = moments(own["start_latency"])
    found = np.where(latency == NEVER, NEVER, start - latency)
    if commits is not None:
        found = _filled(found, last_of(own, commits, moments(commits["committed"])))
    if submissions is not None:
        found = _filled(found, last_of(own, submissions, spans(submissions)[1]))
    return np.minimum(found, start)


def _filled(found: Times, other: Times) -> Times:
    return np.where(found == NEVER, other, found)


def _first_written(
    own: pd.DataFrame, encoders: pd.DataFrame | None, submissions: pd.DataFrame | None
) -> Times:
    begun = np.full(len(own), NEVER)
    for frame in (encoders, submissions):
        if frame is not None:
            begun = _filled(begun, first_of(own, frame, spans(frame)[0]))
    return begun


def _host_begun(start: Times, submissions: pd.DataFrame | None) -> Times:
    """Return when the call began that handed each over: the last one before it."""
    if submissions is None or submissions.empty:
        return np.full(start.size, NEVER)
    calls = np.sort(spans(submissions)[0])
    before = np.concatenate((np.array([NEVER]), calls))
    return before[np.searchsorted(calls, start, side="right")]
