"""`gpu-contended`: other processes used the GPU meanwhile."""

import pandas as pd

from tracekit.analysis.idle.gaps import doubt, gaps_of, loaded_time, why_unknown
from tracekit.analysis.idle.pieces import Cause
from tracekit.analysis.intervals import Window, busy, clip, overlap, spans, union
from tracekit.analysis.iterations import Loop
from tracekit.analysis.rule import Findings, finding, longest
from tracekit.analysis.scope import Device, owners
from tracekit.base import duration, percent

_ADVICE = (
    "Close what else draws or computes (browsers, video calls, a second model), let the display "
    "sleep for a nightly run, and record again: device-wide counters and idle times are shared "
    "with these processes, and so are the clock and the heat."
)


def gpu_contended(
    gpu: Device,
    loop: Loop,
    loaded: pd.DataFrame,
    gaps: pd.DataFrame,
    shares: dict[Cause, int],
    causes: pd.DataFrame,
    *,
    limit: float = 0.05,
) -> Findings:
    """Other processes used the GPU while the target had work for it.

    What it looks for:
        Delay: queued work of the target waited while another process ran on its channel. Sharing:
        another process ran, on any channel, while work of the target did. It fires when both
        together are more than `limit` of the window (default 5 %). What it could save is the delay.
        What others do while the target has nothing to do does not count.

    Why it matters:
        The table holds every process, the window server too. Their work delays the target's or
        takes a part of the same cores and memory, and counters cannot tell processes apart.

    When it abstains:
        When the target is not known or has no rows, and where a CPU did the work.
    """
    starts, ends = clip(*spans(gpu.others), loop.start, loop.end)
    shared = overlap(*gpu.within(loop), starts, ends)
    delay, load = shares[Cause.OTHER_PROCESS], loaded_time(loaded)
    if delay + shared <= limit * load:
        return
    waited = gaps_of(gaps, Cause.OTHER_PROCESS)
    yield finding(
        message=(
            f"Other processes held up queued work of the target for {duration(delay)} of "
            f"{loop.name} and ran beside it for {duration(shared)}, "
            f"{percent((delay + shared) / load)} in all: {_who(gpu.others, loop)}."
            f"{doubt(causes, Cause.OTHER_PROCESS)}"
        ),
        advice=_ADVICE,
        evidence=longest(
            "gpu_intervals", *((waited.starts, waited.ends) if delay else union(starts, ends))
        ),
        saving=None if why_unknown(causes, Cause.OTHER_PROCESS) else delay,
    )


def _who(others: pd.DataFrame, window: Window) -> str:
    shares: dict[str, int] = {}
    for who, rows in others.groupby(owners(others)):
        covered = busy(*clip(*spans(rows), window.start, window.end))
        if covered:
            shares[str(who)] = covered
    ranked = sorted(shares.items(), key=lambda item: (-item[1], item[0]))
    words = [f"{who} {duration(covered)}" for who, covered in ranked[:4]]
    rest = len(ranked) - len(words)
    return ", ".join(words) + (f" and {rest} more" if rest else "")
