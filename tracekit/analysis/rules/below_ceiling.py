"""`below-ceiling`: tokens per second stay far below what the kernels alone would give."""

from collections.abc import Iterator

import pandas as pd

from tracekit.analysis.intervals import gaps, intersection, spans
from tracekit.analysis.metrics.idle import tokens_and_time
from tracekit.analysis.rule import Finding, Severity, finding, longest
from tracekit.analysis.scope import of_target
from tracekit.base import percent, quantity

_ADVICE = (
    "The kernels are fast enough for more; what is between them is not. Prepare pipelines, "
    "arguments and buffers before the loop, submit ahead, in fewer and larger pieces. Faster "
    "kernels alone win little here; the findings on idle time say where it goes."
)


def below_ceiling(
    steps: pd.DataFrame,
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    loaded: pd.DataFrame,
    *,
    limit: float = 0.80,
) -> Iterator[Finding]:
    """Tokens per second are far below the ceiling that the kernels set.

    What it looks for:
        Tokens of the steady steps per second, against the same tokens over the time in which the
        device ran for the target. Time in which a server says by spans `idle` that it had no
        request is left out. It fires below `limit` of that ceiling (default 80 %). It names no
        saving: bubbles and the rules on its causes count the same idle time.

    Why it matters:
        It is the distance between a benchmark of one kernel and the same kernel in a loop: what
        submission, launches and waiting cost, however small each of them is.

    What to do:
        Cache pipelines, build arguments and resources once, submit ahead, in fewer pieces.

    When it abstains:
        When the workload makes no tokens or no steady steps, steps are of several variants, or
        the target has no device intervals in more than 5 % of them.
    """
    tokens, ran = tokens_and_time(steps, loaded, gpu_intervals, targets)
    starts, ends = spans(loaded)
    whole = int((ends - starts).sum())
    if ran >= limit * whole:
        return
    own = of_target(gpu_intervals, targets)
    idle = gaps(*spans(own), int(starts.min()), int(ends.max()))
    device = "CPU backend" if (own["clock"] == "host").any() else "GPU"
    reached, ceiling = (quantity(tokens * 1e9 / time, "tokens/s") for time in (whole, ran))
    yield finding(
        severity=Severity.NOTE,
        message=(
            f"{reached}, which is {percent(ran / whole)} of the {ceiling} that the {device} makes "
            f"while it runs."
        ),
        advice=_ADVICE,
        evidence=longest("gpu_intervals", *intersection(*idle, starts, ends)),
    )
