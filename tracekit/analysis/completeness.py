"""The recorded share of a workload's GPU work: jobs in its trace against those that it made.

A recorder that loses rows, or that never saw the target, ends with success. What remains looks like
less work and more idle time. A workload of ours marks its steps by its own clock, so its trace can
be held against them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis.inject import NotApplicable, Unavailable
from tracekit.analysis.intervals import Times, spans
from tracekit.analysis.scope import own_rows, steady_steps

ENOUGH = 0.95
"""The share of the jobs below which rows are missing, if each step must have one job."""
ENOUGH_OF_SEVERAL = 0.7
"""The same, if a step has several jobs.

The driver coalesces encoders, more of them in one step than in the next. In the labelled
recordings, which are complete, steps have 75 % and more of the jobs that every tenth step has.
"""
_BLOCK = 20  # steps; clocks that are off by a little move jobs into a neighbouring step
_BLOCKS = 50
_PARTS = 4  # of a step
_USUAL = 0.9  # quantile of the jobs in a step


@dataclass(frozen=True)
class Completeness:
    """The GPU jobs of the steady steps: those in the trace, and those that the workload made.

    `jobs_per_step` is the number of jobs that a step must have.
    """

    recorded: int
    expected: int
    jobs_per_step: int = 1

    @property
    def share(self) -> float:
        """The recorded share of the jobs."""
        return self.recorded / self.expected

    @property
    def is_enough(self) -> bool:
        """Whether rates and idle time can follow from the rows."""
        if self.jobs_per_step == 1:
            return self.share >= ENOUGH
        return self.share >= ENOUGH_OF_SEVERAL


def describe_missing_work(completeness: Completeness | None) -> str:
    """Return why nothing can be derived from the GPU's rows; empty if enough of them are there."""
    if completeness is None or completeness.is_enough:
        return ""
    return (
        f"the trace has {completeness.recorded:,} of the {completeness.expected:,} GPU jobs that "
        "the workload made: see rows-missing."
    )


def require_rows(completeness: Completeness | None) -> None:
    """Raise Unavailable if the trace lacks GPU work, so that no rate is to be given."""
    reason = describe_missing_work(completeness)
    if reason:
        raise Unavailable(reason)


def count_jobs(
    starts: Times, ends: Times, jobs: Times, dispatches: int, margin: int = 0
) -> Completeness:
    """Count the jobs that began in steady steps; all times are in ns of one clock.

    `starts` and `ends` are those of the steps, in order; `jobs` the starts of the target's GPU
    intervals; `dispatches` those of a step by the workload's own count; `margin` what the clocks
    may be off. Dispatches may share an encoder, so a step must have only as many jobs as every
    tenth step has, up to its dispatches. Jobs beyond those that a stretch of steps must have do not
    make up for those that another one lacks.
    """
    bounds = np.append(starts, max(int(ends[-1]), int(starts[-1]) + 1) + margin)
    bounds[0] -= margin
    per_step, _ = np.histogram(jobs, bounds)
    jobs_per_step = max(1, min(dispatches, _find_usual_jobs(starts, jobs)))
    size = max(_BLOCK, len(starts) // _BLOCKS)
    places = np.arange(0, len(starts), size)
    per_block = np.add.reduceat(per_step, places)
    steps_per_block = np.diff(np.append(places, len(starts)))
    recorded = np.minimum(per_block, jobs_per_step * steps_per_block).sum()
    return Completeness(int(recorded), jobs_per_step * len(starts), jobs_per_step)


def _find_usual_jobs(starts: Times, jobs: Times) -> int:
    """Return how many jobs a step has, at least every tenth one.

    Jobs near the boundary of two steps would seem to be in either, so steps are taken to begin at
    that part of a step at which their numbers of jobs differ least.
    """
    if len(starts) < _BLOCK:
        return 1
    length = int(np.median(np.diff(starts)))
    counts = [np.histogram(jobs, starts + length * part // _PARTS)[0] for part in range(_PARTS)]
    steadiest = min(counts, key=np.var)
    return int(np.quantile(steadiest, _USUAL))


def measure_completeness(
    find_table: Callable[[str], pd.DataFrame | None], margin: int
) -> Completeness:
    """Return the completeness of a recording; `find_table` returns a table, or None without one.

    Raise Unavailable, with the reason, if there is nothing to count, or nothing to count it by.
    """
    intervals = find_table("gpu_intervals")
    if intervals is None:
        raise Unavailable("the recording has no table gpu_intervals.")
    if (intervals["clock"] == "host").any():
        raise NotApplicable("the work ran on the CPU, so no rows of a GPU are expected.")
    models = find_table("step_models")
    if models is None or models.empty:
        raise NotApplicable("the program does not say how much work a step has.")
    if not (models["backend"] == "metal").all():
        raise NotApplicable("the workload did not run on Metal.")
    steps = find_table("steps")
    if steps is None:
        raise NotApplicable("the program marks no steps.")
    starts, ends = spans(steady_steps(steps).sort_values("start"))
    jobs, _ = spans(own_rows(intervals[["start", "duration", "target"]]))
    dispatches = models["dispatches"].fillna(1).min()
    return count_jobs(starts, ends, jobs, int(dispatches), margin)
