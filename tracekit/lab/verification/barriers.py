"""Which barriers of a kernel can go: run it without each of them, in all orders of threads."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tracekit.base import KernelError
from tracekit.lab.msl.barriers import Barrier, find_barriers, removing
from tracekit.lab.msl.edits import KernelText
from tracekit.lab.msl.program import Array, ThreadOrder

TrialState = Literal["needed", "not needed"]
Run = Callable[[ThreadOrder], Sequence[Array]]
"""Runs a case in an order of threads, with watched accesses, and returns its answers."""


@dataclass(frozen=True)
class BarrierTrial:
    """One case run without one barrier, in all orders.

    The call is at `column` of `line`; both count from 1. It is "needed" if an answer changed, or
    the kernel was stopped; `detail` says which. It is "not needed" on this case if all bits stayed
    the same in all orders.
    """

    file: str
    line: int
    column: int
    barrier: str
    state: TrialState
    detail: str


@dataclass(frozen=True)
class JudgedBarrier:
    """One barrier over all cases: needed in one of them, or in none."""

    file: str
    line: int
    column: int
    barrier: str
    state: TrialState
    detail: str
    cases: int

    @property
    def words(self) -> str:
        """The judgement in a line."""
        place = f"{self.file}:{self.line}:{self.column}: {self.barrier}"
        if self.state == "needed":
            return f"{place} is needed: {self.detail}"
        count = f"{self.cases} case" if self.cases == 1 else f"{self.cases} cases"
        return f"{place} is not needed in {count}: {self.detail}"


def try_barriers(
    run: Run, kernels: Sequence[KernelText], orders: Sequence[ThreadOrder]
) -> Iterator[BarrierTrial]:
    """Run a case without each barrier of its kernels, one at a time, and compare all bits.

    The case must be without a defect: its answers in each order are the right ones. `run` must
    watch the accesses: without a barrier, a kernel may use an index before it is written.
    """
    expected_arrays = {order: run(order) for order in orders}
    texts = {kernel.text: kernel for kernel in kernels}
    for kernel in texts.values():
        for barrier in find_barriers(kernel):
            yield _try_one(run, barrier, expected_arrays)


def _try_one(
    run: Run, barrier: Barrier, expected_arrays: Mapping[ThreadOrder, Sequence[Array]]
) -> BarrierTrial:
    for order, expected in expected_arrays.items():
        detail = ""
        try:
            with removing(barrier):
                answers = run(order)
        except KernelError as error:
            detail = error.message.splitlines()[0].rstrip(":.")
        else:
            detail = _describe_change(answers, expected)
        if detail:
            words = f"{detail} (order {order})"
            return _report_trial(barrier, "needed", words)
    names = ", ".join(expected_arrays)
    words = f"the same bits in the orders {names}"
    return _report_trial(barrier, "not needed", words)


def _report_trial(barrier: Barrier, state: TrialState, detail: str) -> BarrierTrial:
    return BarrierTrial(barrier.file, barrier.line, barrier.column, barrier.name, state, detail)


def _describe_change(answers: Sequence[Array], expected_arrays: Sequence[Array]) -> str:
    """Return how many elements differ, or nothing if no bit does."""
    changed_count = 0
    count = 0
    for answer, expected in zip(answers, expected_arrays, strict=True):
        changes = _list_elements(answer) != _list_elements(expected)
        changed_count += int(np.count_nonzero(changes.any(axis=1)))
        count += answer.size
    if not changed_count:
        return ""
    return f"{changed_count:,} of {count:,} elements change"


def _list_elements(array: Array) -> NDArray[np.uint8]:
    """Return the bytes of an array, a row for each element."""
    octets = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return octets.reshape(array.size, array.itemsize)


def judge_barriers(cases: Iterable[Sequence[BarrierTrial]]) -> list[JudgedBarrier]:
    """Return a judgement on each barrier over the trials of all cases, by its place.

    A case has several trials of one place if it launches several kernels made of one source.
    """
    trials_by_place: defaultdict[tuple[str, int, int], list[BarrierTrial]] = defaultdict(list)
    case_counts: Counter[tuple[str, int, int]] = Counter()
    for trials in cases:
        places: set[tuple[str, int, int]] = set()
        for trial in trials:
            place = (trial.file, trial.line, trial.column)
            places.add(place)
            trials_by_place[place].append(trial)
        case_counts.update(places)
    judged: list[JudgedBarrier] = []
    for place, trials in trials_by_place.items():
        judged.append(_judge_place(trials, case_counts[place]))
    return judged


def _judge_place(trials: Sequence[BarrierTrial], case_count: int) -> JudgedBarrier:
    decisive = trials[0]
    for trial in trials:
        if trial.state == "needed":
            decisive = trial
            break
    return JudgedBarrier(
        decisive.file,
        decisive.line,
        decisive.column,
        decisive.barrier,
        decisive.state,
        decisive.detail,
        case_count,
    )


BARRIER_LIMITS = (
    "Each barrier was left out alone, on these cases: try shapes of your own, several simdgroups "
    "in a threadgroup, and a Mac, before you remove one."
)
