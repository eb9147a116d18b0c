"""`tiny-encoders`: much time passes between many short pieces of work."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.rule import Finding, finding, longest
from tracekit.analysis.scope import of_target, on_gpu, window_of_target
from tracekit.analysis.submission import LONGEST, Launches, each, launches, spared
from tracekit.base import duration, percent

_ADVICE = (
    "Give each encoder more work: one encoder for many dispatches, a fused kernel instead of "
    "several element-wise ones (mx.compile in MLX), larger batches, one call for all layers or "
    "heads instead of a loop over them. What kernels are short by nature cannot win more than "
    "the time between them."
)


def tiny_encoders(
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    phases: pd.DataFrame | None,
    steps: pd.DataFrame | None,
    *,
    short: int = 50_000,
    most: float = 0.5,
    limit: float = 0.05,
) -> Iterator[Finding]:
    """Work is cut into many short encoders.

    What it looks for:
        Device intervals of the target in the steady window that take less than `short` (50 µs).
        It fires when they are more than `most` (50 %) of all and the gaps right before them take
        more than `limit` (5 %) of the window. Only gaps of at most 50 µs within a command buffer
        count: longer ones are no launches, and those before the first work of a command buffer
        are for frequent-command-buffers. What could be saved are the gaps that pieces of `short`
        would not need.

    Why it matters:
        Each encoder costs its launch, whatever it does. With little in it the device spends its
        time between pieces of work instead of in them.

    What to do:
        Put more dispatches into an encoder, fuse kernels, make batches larger.

    When it abstains:
        When the target is not known or has no work in the window, and where a CPU did the work.
    """
    own = of_target(on_gpu(gpu_intervals), targets)
    window = window_of_target(gpu_intervals, targets, phases)
    work = launches(own, window)
    tiny = work.ends - work.starts < short
    chosen = tiny & ~work.opens & (work.idle > 0) & (work.idle <= LONGEST)
    between = int(work.idle[chosen].sum())
    if tiny.mean() <= most or between <= limit * window.length:
        return
    taken = int((work.ends - work.starts)[tiny].sum())
    yield finding(
        message=(
            f"{percent(tiny.mean())} of the target's {tiny.size:,} device intervals in "
            f"{window.name} are shorter than {duration(short)}{each(int(tiny.sum()), steps)}. "
            f"They take {duration(taken)}, and the gaps before them {duration(between)} more, "
            f"{percent(between / window.length)} of the window, "
            f"{duration(_typical(work, chosen))} each."
        ),
        advice=_ADVICE,
        evidence=longest("gpu_intervals", *work.gaps(chosen)),
        saving=round(between * spared(int(tiny.sum()), taken, short)),
        within=work.counted(chosen),
    )


def _typical(work: Launches, chosen: NDArray[np.bool_]) -> float:
    return float(np.median(work.idle[chosen]))
