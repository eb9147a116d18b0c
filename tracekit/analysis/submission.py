"""How the target hands work to the device: waits of an iteration, command buffers in flight."""

from contextlib import suppress

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.idle.gaps import Gaps, gaps_of_waits
from tracekit.analysis.idle.levers import Habits
from tracekit.analysis.idle.pieces import Party
from tracekit.analysis.idle.samples import host_words, other_thread
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import NEVER, IntervalSet, Window, clip, spans
from tracekit.analysis.iterations import Loop, unit
from tracekit.analysis.memory import Room
from tracekit.analysis.residency import Wired
from tracekit.analysis.rule import Fact
from tracekit.analysis.savings.estimate import Savings
from tracekit.analysis.scope import steady_tokens
from tracekit.base import count
from tracekit.workload import READBACK

_NEAR = 5_000  # ns: what a program does between its last wait and its mark


def each(number: int, iterations: pd.DataFrame | None) -> str:
    """Say how many that are per step or iteration and per token; nothing where neither is known."""
    if iterations is None or iterations.empty:
        return ""
    said = f", {count(number / len(iterations))} per {unit(iterations)}"
    try:
        return f"{said} and {count(number / steady_tokens(iterations))} per token"
    except Unavailable:
        return said


def rate_facts(number: int, iterations: pd.DataFrame | None) -> tuple[Fact, ...]:
    """Return the facts how many that are per iteration, by what an iteration is called, and token.

    What is not known is None.
    """
    per_iteration = per_token = name = None
    if iterations is not None and len(iterations):
        name = unit(iterations)
        per_iteration = number / len(iterations)
        with suppress(Unavailable):
            per_token = number / steady_tokens(iterations)
    return (
        Fact("per_iteration", per_iteration, "count"),
        Fact("iteration", name),
        Fact("per_token", per_token, "count"),
    )


def between_iterations(held: Gaps, iterations: pd.DataFrame) -> NDArray[np.bool_]:
    """Tell which waits lie between two iterations: those that a loop needs which reads each one.

    An iteration starts between the wait and the next commit, or the last one ends there.
    """
    begins, stops = spans(iterations)
    marks = np.sort(np.append(begins, stops.max()))
    before = np.searchsorted(marks, held.starts, side="left")
    return np.searchsorted(marks, held.ends + _NEAR, side="right") > before


def per_iteration(held: Gaps, iterations: pd.DataFrame) -> float:
    """Return how many waits an iteration has on average; of several variants the most."""
    ordered = iterations.sort_values("start", kind="stable")
    variants = pd.Series("", ordered.index)
    if "variant" in ordered:
        variants = ordered["variant"].fillna("").astype(str)
    codes, names = pd.factorize(variants)
    places = np.searchsorted(spans(ordered)[0], held.starts, side="right") - 1
    counts = np.bincount(places[places >= 0], minlength=len(ordered))
    totals = np.bincount(codes, weights=counts, minlength=len(names))
    return float((totals / np.bincount(codes)).max())


def habits_of(
    loop: Loop,
    loaded: pd.DataFrame,
    gaps: pd.DataFrame,
    parties: dict[Party, int],
    timeline: pd.DataFrame,
    iterations: pd.DataFrame | None,
    residency: Wired | None,
    room: Room | None,
    submissions: pd.DataFrame | None,
    cpu_profile: pd.DataFrame | None,
    meanwhile: pd.DataFrame | None,
    savings: Savings | None,
) -> Habits:
    """Return what advice on idle time depends on."""
    held = gaps_of_waits(gaps, "yes", "unknown")
    buffers = loop.rows(timeline, "started")
    ways = parties[Party.WAY_THERE] + parties[Party.WAY_BACK]
    waits = None if held.count else 0.0
    if iterations is not None and not iterations.empty:
        waits = per_iteration(held, iterations)
    return Habits(
        waits=waits,
        buffers=len(buffers) / held.count if held.count else None,
        host_longer=host_time(held, timeline, loaded) > int(buffers["busy"].sum()),
        small_work=ways > parties[Party.WORKS] if savings is None else savings.is_by_round_trips,
        lost=None if residency is None else residency.lost,
        outgrown=None if room is None else room.outgrown,
        other_stream=other_thread(gaps, cpu_profile, submissions),
        meanwhile=host_words(meanwhile),
    )


def host_time(held: Gaps, timeline: pd.DataFrame, loaded: pd.DataFrame) -> int:
    """Return how long the host prepared work while there was load, at least; ns.

    That is, in each of the gaps after a wait, from the report of all earlier work to the commit of
    the next; outside of them, from the beginning of each command buffer's encoding to its commit.
    """
    begun, committed, completed = (
        timeline[name].to_numpy(dtype=np.int64, na_value=NEVER)
        for name in ("begun", "committed", "completed")
    )
    started = timeline["started"].to_numpy(dtype=np.int64)
    reported = np.maximum.accumulate(completed)
    after = np.minimum(np.searchsorted(started, held.ends, side="left"), started.size - 1)
    prepared = reported[np.maximum(after - 1, 0)], committed[after]
    starts = np.concatenate((np.where(begun == NEVER, committed, begun), prepared[0]))
    ends = np.concatenate((committed, prepared[1]))
    prepared = clip(starts, ends, int(started[0]), int(ends.max()))
    return int(IntervalSet.of(*prepared).within(*spans(loaded)).sum())


def annotated_readbacks(annotations: pd.DataFrame | None, window: Window) -> Gaps | None:
    """Return the readbacks in the window that the workload annotates; None where it has none.

    A span begins when the program begins to wait, long before the device is through. What the
    device then lacks is work at the span's end, so that a wait is taken to be there.
    """
    if annotations is None:
        return None
    rows = annotations[annotations["name"] == READBACK].sort_values("start", kind="stable")
    ends = spans(rows)[1]
    if ends.size == 0:
        return None
    ends = ends[(ends > window.start) & (ends <= window.end)]
    return Gaps(ends - 1, ends, np.ones(ends.size, np.int64))


def in_flight(timeline: pd.DataFrame, window: Window) -> float:
    """Return how many command buffers are committed and not complete: the mean over the time."""
    committed, completed = (
        timeline[name].to_numpy(dtype=np.int64, na_value=NEVER)
        for name in ("committed", "completed")
    )
    known = (committed != NEVER) & (completed >= committed)
    require_lives(timeline)
    starts, ends = clip(committed[known], completed[known], window.start, window.end)
    return float((ends - starts).sum() / window.length)


def require_lives(timeline: pd.DataFrame) -> None:
    """Raise Unavailable where no command buffer has both a commit and a completion."""
    if not (timeline["completed"] >= timeline["committed"]).fillna(value=False).any():
        raise Unavailable("no command buffer of the target has both a commit and a completion.")


def require_commits(timeline: pd.DataFrame) -> None:
    """Raise Unavailable where nothing tells when the target's work was committed."""
    if timeline["committed"].isna().all():
        raise Unavailable(
            "when work was committed is not known: no interval of the target has a start latency, "
            "and neither commits nor submissions of command buffers were recorded."
        )


def require_buffers(timeline: pd.DataFrame) -> None:
    """Raise Unavailable where the trace does not tell command buffers apart."""
    if not timeline["known"].any():
        raise Unavailable("the trace does not say to which command buffers the work belongs.")
