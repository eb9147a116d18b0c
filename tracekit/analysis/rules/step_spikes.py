"""`step-spikes`: a few steps take far longer than their neighbours."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.iterations import steady_iterations
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.rhythm import LEAST_EXCESS, LEAST_Z, Beats, beats, explain, period, spikes
from tracekit.analysis.rule import Finding, Findings, finding, longest
from tracekit.base import duration, percent

_ADVICE = (
    "Look at the spikes in the timeline: compile all pipelines before the steady steps begin, "
    "allocate and wire memory up front, keep garbage collection, logging and reading files out "
    "of the loop, and close other programs. Spikes that nothing recorded explains are often the "
    "operating system's: run again and see whether they recur at the same steps."
)


def step_spikes(
    iterations: pd.DataFrame,
    requests: pd.DataFrame | None,
    happenings: pd.DataFrame,
    spans: pd.DataFrame | None,
    *,
    least_z: float = LEAST_Z,
    least_excess: float = LEAST_EXCESS,
    most: float = 0.15,
    fewest: int = 3,
    limit: float = 0.01,
) -> Findings:
    """A few steps take far longer than the others.

    What it looks for:
        Steady steps, from the start of one to the start of the next, that are `least_z` (8)
        robust standard deviations and `least_excess` (50 %) of the median beyond the steps
        around them. It fires when what they take beyond that median is more than `limit` (1 %)
        of all steady steps' time. Each is explained by what happened in it beyond its share in
        the other steps: compiles, other processes, memory, states of the machine, spans that
        the workload reports, an idle device. Spikes that come every so many steps are said to.
        In a loop without marks it takes `fewest` of them (3), as one may be a stop of the program.
        Where more than `most` (15 %) of the steps stand out they are no spikes: irregular-cadence
        judges them. Each of several variants that are compared is judged by itself. Time in
        compiles is left to pipeline-churn to save; where a spike is idle time of the device,
        bubbles counts that too.

    Why it matters:
        A spike is a token that a person waits for, and means hide it.

    When it abstains:
        When the workload marks no steady steps or fewer than 16 of a kind, and for a server,
        whose steps differ with the requests.
    """
    steady = steady_iterations(iterations)
    marked = "source" not in steady or (steady["source"] == "steps").all()
    for row in beats(steady, requests, spans):
        chosen, excess = spikes(row, least_z, least_excess)
        few = (1 if marked else fewest) <= chosen.sum() and chosen.mean() <= most
        if few and excess[chosen].sum() > limit * row.times.sum():
            yield _finding(row, chosen, excess, happenings)


def _finding(
    row: Beats, chosen: NDArray[np.bool_], excess: NDArray[np.float64], happenings: pd.DataFrame
) -> Finding:
    why = explain(row, chosen, excess, happenings)
    lost, number = float(excess[chosen].sum()), int(chosen.sum())
    steps = f"{number:,} of {chosen.size:,} steady steps{row.of_variant}"
    took = "takes far longer than its" if number == 1 else "take far longer than their"
    every = period(chosen)
    again = f" They come every {every} steps." if every else ""
    return finding(
        message=(
            f"{steps} {took} neighbours: up to "
            f"{duration(int(row.times[chosen].max()))} where {duration(np.median(row.times))} is "
            f"usual, {duration(lost)} too much in all "
            f"({percent(lost / row.times.sum())} of their time).{again} {why.sentence}"
        ),
        lever=Mechanism.PERIODIC_WAIT if every and why.waited else Mechanism.SPIKES_UNEXPLAINED,
        evidence=longest("steps", row.starts[chosen], row.ends[chosen], why.causes),
        saving=round(lost - float(why.compiled.sum())),
        within=why.within,
    )
