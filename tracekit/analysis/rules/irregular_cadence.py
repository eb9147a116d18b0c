"""`irregular-cadence`: the steps have no even rhythm."""

import numpy as np
import pandas as pd

from tracekit.analysis.iterations import steady_iterations
from tracekit.analysis.rhythm import Beats, Modes, beats, explain, modes
from tracekit.analysis.rule import Finding, Findings, finding, longest
from tracekit.base import duration, percent

_ADVICE = (
    "In a steady decode loop each step does the same work and should take the same time. Look at "
    "a slow and a fast step side by side in the timeline: work that is done only every few steps "
    "(growing a cache, copying, logging), a host that is late, a clock that swings or other "
    "programs. Spread such work over all steps, or move it out of the loop."
)


def irregular_cadence(
    iterations: pd.DataFrame,
    requests: pd.DataFrame | None,
    happenings: pd.DataFrame,
    spans: pd.DataFrame | None,
    *,
    limit: float = 0.20,
    least_excess: float = 0.20,
    least_share: float = 0.15,
    least_separation: float = 4.0,
    least_changes: int = 6,
) -> Findings:
    """The steps' rhythm is irregular.

    What it looks for:
        The time from the start of a steady step to the start of the next. It fires when steps
        swing between two speeds: the slow ones take at least `least_excess` (20 %) longer, both
        kinds make up at least `least_share` (15 %) of the steps, are `least_separation` (4)
        robust standard deviations apart and take turns at least `least_changes` (6) times. Else
        it fires when a step differs from the next by more than `limit` (20 %, a robust
        coefficient of variation, less what so few steps leave open). Neither single outliers,
        which step-spikes judges, nor a slow drift make a rhythm irregular. Each of several
        variants that are compared is judged by itself.

    Why it matters:
        Dispatches of a steady loop come at regular intervals. Where they do not, something other
        than the kernels decides how fast it goes, and a mean says little.

    When it abstains:
        When the workload marks no steady steps or fewer than 16 of a kind, and for a server,
        whose steps differ with the requests.
    """
    for row in beats(steady_iterations(iterations), requests, spans):
        two = modes(row.times)
        swings = (
            two.excess >= least_excess
            and two.minority >= least_share
            and two.separation >= least_separation
            and two.changes >= least_changes
        )
        if swings:
            yield _swinging(row, two, happenings)
        elif row.variation * _certain(row) > limit:
            yield _uneven(row)


def _certain(row: Beats) -> float:
    """Return what is left of a variation by so many steps, less one standard error.

    A median of absolute differences has a relative standard error of about 1.17 / √n.
    """
    return 1 - 1.17 / np.sqrt(row.starts.size)


def _swinging(row: Beats, two: Modes, happenings: pd.DataFrame) -> Finding:
    excess = (row.times - two.fast_time).astype(np.float64)
    why = explain(row, two.slow, excess, happenings)
    lost = (two.slow_time - two.fast_time) * int(two.slow.sum())
    return finding(
        message=(
            f"The steady steps{row.of_variant} swing between two speeds: "
            f"{duration(two.fast_time)} and {duration(two.slow_time)}; "
            f"{percent(two.slow.mean())} are slow, and it changed {two.changes:,} times in "
            f"{two.slow.size:,} steps. {why.sentence}"
        ),
        advice=_ADVICE,
        evidence=longest("steps", row.starts[two.slow], row.ends[two.slow]),
        saving=round(max(0.0, lost - float(why.compiled.sum()))),
        within=why.within,
    )


def _uneven(row: Beats) -> Finding:
    low, middle, high = np.percentile(row.times, (5, 50, 95))
    return finding(
        message=(
            f"The steady steps{row.of_variant} come unevenly: one differs from the next by "
            f"{percent(row.variation)} (robust coefficient of variation), 5 % of them take less "
            f"than {duration(low)}, half less than {duration(middle)}, and 5 % more than "
            f"{duration(high)}."
        ),
        advice=_ADVICE,
        evidence=longest("steps", row.starts, row.ends),
    )
