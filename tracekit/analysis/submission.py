"""How the target hands work to the device: command buffers in flight, waits, launches."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.idle.gaps import SHORTEST
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import (
    IntervalSet,
    Times,
    Window,
    busy,
    clip,
    gaps,
    idle_before,
    spans,
)
from tracekit.analysis.intervals import spans as bounds
from tracekit.analysis.scope import of_target, steady_steps, steady_tokens
from tracekit.base import count
from tracekit.workload import READBACK


def each(number: int, steps: pd.DataFrame | None) -> str:
    """Say how many that are per steady step and per token; nothing where neither is known."""
    if steps is None:
        return ""
    try:
        per_step = number / len(steady_steps(steps))
    except Unavailable:
        return ""
    said = f", {count(per_step)} per step"
    try:
        return f"{said} and {count(number / steady_tokens(steps))} per token"
    except Unavailable:
        return said


LONGEST = 50_000
"""The longest gap that is taken for the launch of the work behind it; ns."""


@dataclass(frozen=True, eq=False)
class Launches:
    """Pieces of work in order of their starts; ns.

    `idle` is the time right before each in which the target had nothing running. `opens` says
    which are the first of their command buffer, as far as the trace tells; `buffers` counts those
    command buffers, 0 where it does not.
    """

    starts: Times
    ends: Times
    idle: Times
    opens: NDArray[np.bool_]
    buffers: int

    @property
    def busy(self) -> int:
        """How long the target had work running."""
        return busy(self.starts, self.ends)

    def gaps(self, chosen: NDArray[np.bool_]) -> tuple[Times, Times]:
        """Return the gaps before the chosen pieces."""
        starts, idle = self.starts[chosen], self.idle[chosen]
        return starts - idle, starts

    def counted(self, chosen: NDArray[np.bool_]) -> str:
        """Name the rule that counts most of the gaps before the chosen pieces too, or none."""
        idle = self.idle[chosen]
        return "bubbles" if idle[idle >= SHORTEST].sum() > idle.sum() / 2 else ""


def launches(own: pd.DataFrame, window: Window) -> Launches:
    """Return the target's work that starts in the window.

    Raises:
        Unavailable: There is none.
    """
    own = window.rows(own[["start", "duration", "command_buffer"]])
    if own.empty:
        raise Unavailable(f"no work of the target starts in {window.name}.")
    own = own.sort_values("start", kind="stable")
    starts, ends = spans(own)
    codes, names = pd.factorize(own["command_buffer"])
    opens = np.zeros(len(own), bool)
    opens[_firsts(codes)] = True
    return Launches(starts, ends, idle_before(starts, ends), opens, len(names))


def _firsts(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each known code stands first; rows without one have -1."""
    values, places = np.unique(codes, return_index=True)
    return places[values >= 0]


def spared(pieces: int, work: int, enough: int) -> float:
    """Return the share of launches that larger pieces would spare.

    Args:
        pieces: How many there are.
        work: What they take together, in ns.
        enough: What one piece should take at least, in ns.
    """
    return max(0.0, 1 - work / enough / pieces)


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


def annotated_readbacks(spans: pd.DataFrame | None, window: Window) -> Waits | None:
    """Return the readbacks in the window that the workload annotates; None where it has none.

    A span begins when the program begins to wait, long before the device is through. What the
    device then lacks is work at the span's end, so that a wait is taken to be there.
    """
    if spans is None:
        return None
    starts, ends = bounds(spans[spans["name"] == READBACK].sort_values("start", kind="stable"))
    if starts.size == 0:
        return None
    return Waits(ends - 1, ends).only((starts >= window.start) & (starts < window.end))


def per_step(waits: Waits, steps: pd.DataFrame) -> float:
    """Return how many waits a step has on average; of several variants the one with most."""
    if "variant" not in steps:
        return waits.starts.size / len(steps)
    ordered = steps.sort_values("start", kind="stable")
    codes, names = pd.factorize(ordered["variant"].fillna("").astype(str))
    places = in_steps(waits, ordered)
    counts = np.bincount(places[places >= 0], minlength=len(ordered))
    totals = np.bincount(codes, weights=counts, minlength=len(names))
    return float((totals / np.bincount(codes)).max())


LATE = 100_000
"""A start is late if submitted work waited longer than this while the device was idle; ns.

Rules that look at other waits leave longer ones to late-start, so that no time counts twice.
"""


@dataclass(frozen=True, eq=False)
class IdleGaps:
    """The gaps between the target's device intervals in a window; ns.

    `ready` is when the work that ends a gap had been submitted: the gap's end where that is not
    known or nothing follows. `others` is how long others used the device from then on.
    """

    starts: Times
    ends: Times
    ready: Times
    others: Times

    @classmethod
    def of(cls, gpu_intervals: pd.DataFrame, window: Window) -> Self:
        """Find the gaps of the target, lead-in and tail included."""
        target = gpu_intervals["target"]
        own = gpu_intervals[target].sort_values("start", kind="stable")
        starts, ends = gaps(*spans(own), window.start, window.end)
        ready = _ready(own, starts, ends)
        others = IntervalSet.of(*spans(gpu_intervals[~target])).within(ready, ends)
        return cls(starts, ends, ready, others)

    @property
    def lengths(self) -> Times:
        """How long each gap is."""
        return self.ends - self.starts

    @property
    def waited(self) -> Times:
        """How long submitted work waited in each gap for a device that nobody used."""
        return self.ends - self.ready - self.others

    @property
    def before(self) -> Times:
        """How long each gap is without a late start and others' work.

        late-start counts the one, gpu-contended the other.
        """
        return self.lengths - self.others - np.where(self.waited > LATE, self.waited, 0)

    def holding(self, waits: Waits) -> NDArray[np.int64]:
        """Return which gaps hold one of the waits; each once."""
        if self.starts.size == 0:
            return np.empty(0, np.int64)
        at = np.searchsorted(self.starts, waits.starts, side="right") - 1
        inside = (at >= 0) & (self.ends[at] > waits.starts)
        return np.unique(at[inside])


def _ready(own: pd.DataFrame, gap_starts: Times, gap_ends: Times) -> Times:
    """Return when what runs first after each gap had been submitted, the gap's start at least."""
    starts = own["start"].to_numpy(dtype=np.int64)
    latencies = own["start_latency"].fillna(0).to_numpy(dtype=np.int64)
    if starts.size == 0 or gap_starts.size == 0:
        return gap_ends
    at = np.minimum(np.searchsorted(starts, gap_ends, side="left"), starts.size - 1)
    follows = starts[at] == gap_ends
    return np.where(follows, np.maximum(gap_starts, gap_ends - latencies[at]), gap_ends)
