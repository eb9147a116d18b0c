"""Which barriers of a kernel can go: run it without each of them, in all orders of threads."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tracekit.base import KernelError
from tracekit.lab.msl.barriers import Barrier, find_barriers, removing
from tracekit.lab.msl.edits import KernelText
from tracekit.lab.msl.program import Array, ThreadOrder

TrialState = Literal["needed", "not needed"]
Run = Callable[[ThreadOrder], Sequence[Array]]
"""Runs a case in an order of threads, and returns its answers."""


@dataclass(frozen=True)
class BarrierTrial:
    """One case run without one barrier, in all orders.

    It is "needed" if an answer changed, or the kernel was stopped; `detail` says which. It is "not
    needed" on this case if all bits stayed the same in all orders.
    """

    file: str
    line: int
    barrier: str
    state: TrialState
    detail: str


@dataclass(frozen=True)
class JudgedBarrier:
    """One barrier over all cases: needed in one of them, or in none."""

    file: str
    line: int
    barrier: str
    state: TrialState
    detail: str
    cases: int

    @property
    def words(self) -> str:
        """The judgement in a line."""
        place = f"{self.file}:{self.line}: {self.barrier}"
        if self.state == "needed":
            return f"{place} is needed: {self.detail}"
        count = f"{self.cases} case" if self.cases == 1 else f"{self.cases} cases"
        return f"{place} is not needed in {count}: {self.detail}"


def try_barriers(
    run: Run, kernels: Sequence[KernelText], orders: Sequence[ThreadOrder]
) -> Iterator[BarrierTrial]:
    """Run a case without each barrier of its kernels, one at a time, and compare all bits.

    The case must be without a defect: its right answers are those of the first order.
    """
    expected_arrays = run(orders[0])
    texts = {kernel.text: kernel for kernel in kernels}
    for kernel in texts.values():
        for barrier in find_barriers(kernel):
            yield _try_one(run, barrier, expected_arrays, orders)


def _try_one(
    run: Run,
    barrier: Barrier,
    expected_arrays: Sequence[Array],
    orders: Sequence[ThreadOrder],
) -> BarrierTrial:
    for order in orders:
        detail = ""
        try:
            with removing(barrier):
                answers = run(order)
        except KernelError as error:
            detail = error.message.splitlines()[0].rstrip(":.")
        else:
            detail = _describe_change(answers, expected_arrays)
        if detail:
            words = f"{detail} (order {order})"
            return BarrierTrial(barrier.file, barrier.line, barrier.name, "needed", words)
    names = ", ".join(orders)
    words = f"the same bits in the orders {names}"
    return BarrierTrial(barrier.file, barrier.line, barrier.name, "not needed", words)


def _describe_change(answers: Sequence[Array], expected_arrays: Sequence[Array]) -> str:
    """Return how many elements differ, or nothing if no bit does."""
    changed_count = 0
    count = 0
    for answer, expected in zip(answers, expected_arrays, strict=True):
        are_both_nan = np.isnan(answer) & np.isnan(expected)
        changed_count += int(np.count_nonzero((answer != expected) & ~are_both_nan))
        count += answer.size
    if not changed_count:
        return ""
    return f"{changed_count:,} of {count:,} elements change"


def judge_barriers(trials: Sequence[BarrierTrial]) -> list[JudgedBarrier]:
    """Return a judgement on each barrier of all cases, by its place."""
    trials_by_place: dict[tuple[str, int, str], list[BarrierTrial]] = {}
    for trial in trials:
        place = (trial.file, trial.line, trial.barrier)
        trials_by_place.setdefault(place, []).append(trial)
    return [_judge_place(place_trials) for place_trials in trials_by_place.values()]


def _judge_place(trials: Sequence[BarrierTrial]) -> JudgedBarrier:
    decisive = trials[0]
    for trial in trials:
        if trial.state == "needed":
            decisive = trial
            break
    return JudgedBarrier(
        decisive.file,
        decisive.line,
        decisive.barrier,
        decisive.state,
        decisive.detail,
        len(trials),
    )


BARRIER_LIMITS = (
    "Each barrier was left out alone, on these cases: try shapes of your own, several simdgroups "
    "in a threadgroup, and a Mac, before you remove one."
)
