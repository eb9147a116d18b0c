"""`gpu-contended`: other processes used the GPU meanwhile."""

from collections.abc import Iterator

import pandas as pd

from tracekit.analysis.idle.gaps import by_cause, why_unknown
from tracekit.analysis.idle.pieces import Cause
from tracekit.analysis.intervals import (
    Window,
    busy,
    clip,
    overlap,
    spans,
    union,
)
from tracekit.analysis.rule import Finding, finding, longest
from tracekit.analysis.scope import of_target, on_gpu, window_of_target
from tracekit.base import duration, percent

_ADVICE = (
    "Close what else draws or computes (browsers, video calls, a second model), let the display "
    "sleep for a nightly run, and record again: device-wide counters and idle times are shared "
    "with these processes, and so are the clock and the heat."
)


def gpu_contended(
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    loop: pd.DataFrame,
    gaps: pd.DataFrame | None,
    causes: pd.DataFrame | None,
    *,
    limit: float = 0.05,
) -> Iterator[Finding]:
    """Other processes used the GPU while the target ran.

    What it looks for:
        Intervals of other processes in the steady window. It fires when they cover more than
        `limit` of that window (default 5 %). What it could save is the time in which they ran
        while queued work of the target waited.

    Why it matters:
        The table holds every process, the window server too. Their work delays the target's,
        and counters cannot tell one process from another.

    What to do:
        Close what else uses the GPU and record again; in a nightly run let the display sleep.

    When it abstains:
        When the target is not known or has no rows, and where a CPU did the work.
    """
    own = of_target(on_gpu(gpu_intervals), targets)
    window = window_of_target(gpu_intervals, targets, loop)
    others = gpu_intervals[~gpu_intervals["target"]]
    starts, ends = clip(*spans(others), window.start, window.end)
    taken = busy(starts, ends)
    if taken <= limit * window.length:
        return
    shared = overlap(*clip(*spans(own), window.start, window.end), starts, ends)
    yield finding(
        message=(
            f"Beside the target, other processes used the GPU for "
            f"{percent(taken / window.length)} of {window.name} "
            f"({duration(taken)} of {duration(window.length)}), "
            f"{duration(shared) if shared else 'none'} of it while the target's work ran: "
            f"{_who(others, window)}."
        ),
        advice=_ADVICE,
        evidence=longest("gpu_intervals", *union(starts, ends)),
        saving=_waited(gaps, causes),
    )


def _waited(gaps: pd.DataFrame | None, causes: pd.DataFrame | None) -> int | None:
    """Return how long queued work waited for them; None where that is not known."""
    if gaps is None or causes is None or why_unknown(causes, Cause.OTHER_PROCESS):
        return None
    return by_cause(gaps)[Cause.OTHER_PROCESS]


def _who(others: pd.DataFrame, window: Window) -> str:
    shares: dict[str, int] = {}
    names = others["process"].fillna("unknown process").astype(str)
    pids = others["pid"].astype("string").fillna("no pid")
    for who, rows in others.groupby(names + " (" + pids + ")"):
        covered = busy(*clip(*spans(rows), window.start, window.end))
        if covered:
            shares[str(who)] = covered
    ranked = sorted(shares.items(), key=lambda item: (-item[1], item[0]))
    words = [f"{who} {duration(covered)}" for who, covered in ranked[:4]]
    rest = len(ranked) - len(words)
    return ", ".join(words) + (f" and {rest} more" if rest else "")
