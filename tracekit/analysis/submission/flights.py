"""Command buffers in flight: committed and not yet complete."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Times, Window, clip, spans
from tracekit.analysis.target import of_target

_COMMIT = "CommandBufferSubmission"
_NEAR = 5_000  # ns: what a program does between its last wait and its mark


@dataclass(frozen=True, eq=False)
class Depths:
    """Stretches of a window with a constant number of command buffers in flight."""

    starts: Times
    ends: Times
    depths: Times

    @property
    def mean(self) -> float:
        """The mean number in flight over the window's time."""
        return float(np.average(self.depths, weights=self.ends - self.starts))

    def share(self, least: int, most: int) -> float:
        """Return the share of the window's time with at least and at most so many in flight."""
        fits = (self.depths >= least) & (self.depths <= most)
        lengths = self.ends - self.starts
        return float(lengths[fits].sum() / lengths.sum())

    def at(self, depth: int) -> tuple[Times, Times]:
        """Return the stretches with just so many in flight."""
        return self.starts[self.depths == depth], self.ends[self.depths == depth]


@dataclass(frozen=True, eq=False)
class Flights:
    """The target's command buffers that completed, in order of their commits; ns of the trace.

    `begun` is when the program began to encode each.
    """

    begun: Times
    committed: Times
    completed: Times

    def depths(self, window: Window) -> Depths:
        """Return how many were in flight over the window."""
        starts, ends = clip(self.committed, self.completed, window.start, window.end)
        bounds = np.array([window.start, window.end])
        moments = np.unique(np.concatenate((starts, ends, bounds)))
        flying = np.searchsorted(np.sort(starts), moments[:-1], side="right")
        landed = np.searchsorted(np.sort(ends), moments[:-1], side="right")
        return Depths(moments[:-1], moments[1:], flying - landed)

    def waits(self, window: Window) -> "Waits":
        """Return when the queue ran empty since the program waited for all it had committed.

        That is: each command buffer was complete before the program began to encode the next.
        """
        landed = np.maximum.accumulate(self.completed)[:-1]
        begun, committed = self.begun[1:], self.committed[1:]
        empty = (begun >= landed) & (landed >= window.start) & (committed < window.end)
        return Waits(landed[empty], committed[empty])


@dataclass(frozen=True, eq=False)
class Waits:
    """When the queue was empty because the program had waited: from completion to next commit."""

    starts: Times
    ends: Times

    def only(self, chosen: NDArray[np.bool_]) -> "Waits":
        """Return the chosen ones."""
        return Waits(self.starts[chosen], self.ends[chosen])


def flights(
    submissions: pd.DataFrame,
    completions: pd.DataFrame,
    encoders: pd.DataFrame | None,
    targets: pd.DataFrame,
) -> Flights:
    """Join the target's command buffers with their completions.

    A submission is taken to last until its commit. A program began with a command buffer when it
    began its first encoder; where encoders are not in the trace, when the time that it spent
    encoding must have begun at the latest: a command buffer may be made long before it is used.

    Raises:
        Unavailable: The target is not known, the events of its submissions have unknown names
            only, or none of its command buffers has a completion.
    """
    own = _committed(of_target(submissions, targets))
    own = own[own["command_buffer"].notna() & own["duration"].notna()]
    own = own.drop_duplicates("command_buffer", keep=False).set_index("command_buffer")
    commits = own["start"] + own["duration"].astype("int64")
    done = completions.dropna(subset=["command_buffer"])
    done = done.drop_duplicates("command_buffer").set_index("command_buffer")["time"]
    joined = pd.DataFrame({"committed": commits}).join(done, how="inner")
    joined = joined[joined["time"] >= joined["committed"]]
    if joined.empty:
        raise Unavailable("no command buffer of the target has both a submission and a completion.")
    begun = commits - own["encoder_time"].fillna(0).astype("int64")
    joined = joined.join(_encoded(encoders).combine_first(begun).rename("begun"))
    ordered = joined.sort_values("committed", kind="stable").astype("int64")
    return Flights(*(ordered[name].to_numpy() for name in ("begun", "committed", "time")))


def _committed(own: pd.DataFrame) -> pd.DataFrame:
    known = own["event"].fillna("no name") == _COMMIT
    if not known.any():
        words = ", ".join(sorted(set(own["event"].fillna("no name").astype(str))))
        raise Unavailable(f"which events of submissions are commits is not known: {words}.")
    return own[known]


def _encoded(encoders: pd.DataFrame | None) -> "pd.Series[int]":
    """Return when the first encoder of each of the target's command buffers was begun."""
    if encoders is None:
        return pd.Series(dtype="int64")
    return encoders[encoders["target"]].groupby("command_buffer")["start"].min()


def encoding(submissions: pd.DataFrame, encoders: pd.DataFrame | None) -> tuple[Times, Times]:
    """Return when the target was encoding, as far as the trace tells."""
    if encoders is not None and encoders["target"].any():
        return spans(encoders[encoders["target"]])
    own = submissions[submissions["target"] & (submissions["event"] == _COMMIT)]
    ends = spans(own)[1]
    return ends - own["encoder_time"].fillna(0).to_numpy(dtype=np.int64), ends


def in_steps(waits: Waits, steps: pd.DataFrame) -> NDArray[np.int64]:
    """Return in which step each wait begins: its place in the order of starts, -1 before all."""
    begins = np.sort(spans(steps)[0])
    return np.searchsorted(begins, waits.starts, side="right") - 1


def between_steps(waits: Waits, steps: pd.DataFrame) -> NDArray[np.bool_]:
    """Tell which waits lie between two steps: those that a loop needs which reads each step.

    A step starts between the completion and the next commit, or the last one ends there.
    """
    begins, stops = spans(steps)
    marks = np.sort(np.append(begins, stops.max()))
    before = np.searchsorted(marks, waits.starts, side="left")
    return np.searchsorted(marks, waits.ends + _NEAR, side="right") > before
