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

TrialState = Literal["needed", "not needed", "never reached"]
_NEVER_REACHED = "no thread of a launched kernel came to it"


@dataclass(frozen=True)
class BarrierRun:
    """The answers of a case, and how often threads met at each kind of barrier.

    The meetings of "simdgroup_barrier" include those of all operations of a simdgroup.
    """

    answers: Sequence[Array]
    meetings: Mapping[str, int]


Run = Callable[[ThreadOrder], BarrierRun]
"""Runs a case in an order of threads, with watched accesses."""


@dataclass(frozen=True)
class BarrierTrial:
    """One case run without one barrier, in all orders.

    The call is at `column` of `line`; both count from 1. It is "needed" if an answer changed, or
    the kernel was stopped; `detail` says which. It is "not needed" on this case if all bits stayed
    the same in all orders, and "never reached" if threads did not meet less often without it.
    """

    file: str
    line: int
    column: int
    barrier: str
    state: TrialState
    detail: str


@dataclass(frozen=True)
class JudgedBarrier:
    """One barrier over all cases: needed in one, else reached in some of them, or in none.

    `trial` is one that decides it. `cases` counts those of its state.
    """

    trial: BarrierTrial
    cases: int

    @property
    def words(self) -> str:
        """The judgement in a line."""
        trial = self.trial
        place = f"{trial.file}:{trial.line}:{trial.column}: {trial.barrier}"
        if trial.state == "needed":
            return f"{place} is needed: {trial.detail}"
        count = f"{self.cases} case" if self.cases == 1 else f"{self.cases} cases"
        return f"{place} is {trial.state} in {count}: {trial.detail}"


def try_barriers(
    run: Run, kernels: Sequence[KernelText], orders: Sequence[ThreadOrder]
) -> Iterator[BarrierTrial]:
    """Run a case without each barrier of its kernels, one at a time, and compare all bits.

    The case must be without a defect: its answers in each order are the right ones. `run` must
    watch the accesses: without a barrier, a kernel may use an index before it is written.
    """
    expected_runs = {order: run(order) for order in orders}
    texts = {kernel.text: kernel for kernel in kernels}
    for kernel in texts.values():
        for barrier in find_barriers(kernel):
            yield _try_one(run, barrier, expected_runs)


def _try_one(
    run: Run, barrier: Barrier, expected_runs: Mapping[ThreadOrder, BarrierRun]
) -> BarrierTrial:
    is_reached = False
    for order, expected in expected_runs.items():
        detail = ""
        try:
            with removing(barrier):
                watched = run(order)
        except KernelError as error:
            detail = error.message.splitlines()[0].rstrip(":.")
        else:
            detail = _describe_change(watched.answers, expected.answers)
            meetings = watched.meetings[barrier.name]
            is_reached = is_reached or meetings != expected.meetings[barrier.name]
        if detail:
            words = f"{detail} (order {order})"
            return _report_trial(barrier, "needed", words)
    if not is_reached:
        return _report_trial(barrier, "never reached", _NEVER_REACHED)
    names = ", ".join(expected_runs)
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
    case_counts: Counter[tuple[str, int, int, TrialState]] = Counter()
    for trials in cases:
        places: set[tuple[str, int, int, TrialState]] = set()
        for trial in trials:
            place = (trial.file, trial.line, trial.column)
            places.add((*place, trial.state))
            trials_by_place[place].append(trial)
        case_counts.update(places)
    judged: list[JudgedBarrier] = []
    for place, trials in trials_by_place.items():
        decisive = min(trials, key=lambda trial: _DECISIVE.index(trial.state))
        case_count = case_counts[*place, decisive.state]
        judged.append(JudgedBarrier(decisive, case_count))
    return judged


_DECISIVE: tuple[TrialState, ...] = ("needed", "not needed", "never reached")
BARRIER_LIMITS = (
    "Each barrier was left out alone, on these cases: try shapes of your own, several simdgroups "
    "in a threadgroup, and a Mac, before you remove one."
)
