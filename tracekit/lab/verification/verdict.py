"""What is said of a kernel: answers compared, one verdict for each question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tracekit.base import InputError


class Outcome(StrEnum):
    """How a question was answered."""

    PASSED = "passed"
    DEFECT = "defect"
    NOT_CHECKED = "not checked"


class Question(StrEnum):
    """What is asked of every kernel, in this order."""

    COMPILES = "compiles"
    ADDRESS_SPACES = "address spaces"
    SYNCHRONISATION = "barriers and simd operations"
    BOUNDS = "accesses in bounds"
    ENDS = "runs to its end"
    ORDERS = "same answer in all orders"
    WRITTEN = "no NaN of unwritten memory"
    ERROR = "error within its bound"
    TRAFFIC = "bytes loaded"


@dataclass(frozen=True)
class Verdict:
    """The answer to one question.

    Attributes:
        question: What was asked.
        outcome: Passed, a defect, or not checked.
        detail: The finding in words, or why nothing could be found.
        excerpt: Lines that show the place.
    """

    question: Question
    outcome: Outcome
    detail: str
    excerpt: tuple[str, ...] = ()


@dataclass(frozen=True)
class Moved:
    """Bytes that a launch moved of one buffer.

    `loaded` and `stored` count every access of every thread; `touched` counts each byte once.
    """

    kernel: str
    buffer: str
    loaded: int
    stored: int
    touched: int


@dataclass(frozen=True)
class Verification:
    """All that was found of one kernel in one case.

    Attributes:
        name: The check, or the kernel's function.
        parameters: The case: the check's parameters as they were chosen.
        kernels: The functions that were launched, in running order.
        verdicts: An answer to every question.
        traffic: Bytes moved, launch by launch; empty where that was not counted.
    """

    name: str
    parameters: Mapping[str, Any]
    kernels: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    traffic: tuple[Moved, ...] = field(default=())

    @property
    def defects(self) -> tuple[Verdict, ...]:
        """The verdicts that found something."""
        return tuple(verdict for verdict in self.verdicts if verdict.outcome is Outcome.DEFECT)


def passed(question: Question, detail: str = "") -> Verdict:
    """Return the answer that nothing is wrong."""
    return Verdict(question, Outcome.PASSED, detail)


def defect(question: Question, detail: str, excerpt: Sequence[str] = ()) -> Verdict:
    """Return the answer that something is."""
    return Verdict(question, Outcome.DEFECT, detail, tuple(excerpt))


def unknown(question: Question, why: str) -> Verdict:
    """Return the answer that it could not be checked."""
    return Verdict(question, Outcome.NOT_CHECKED, why)


Array = NDArray[Any]
Answers = Mapping[str, Sequence[Array]]  # the arrays that came out, by the order of threads


def arrays(found: Any) -> tuple[Array, ...]:
    """Return what a function gave as numpy's arrays: float64 for floats, else as they are."""
    several = found if isinstance(found, list | tuple) else (found,)
    return tuple(_plain(one) for one in several)


def _plain(array: Any) -> Array:
    if isinstance(array, mx.array):
        exact = array.astype(mx.float32) if array.dtype in {mx.bfloat16, mx.float16} else array
        array = np.array(exact)
    plain = np.asarray(array)
    return plain.astype(np.float64) if plain.dtype.kind == "f" else plain


def require_shapes(got: Sequence[Array], expected: Sequence[Array]) -> None:
    """Raise InputError if something else came out than is expected."""
    ours, theirs = ([list(one.shape) for one in several] for several in (got, expected))
    if ours != theirs:
        raise InputError(
            f"The check runs to arrays of the shapes {ours}, and expects {theirs}.",
            hint="`run` and `expected` must have as many arrays, of the same shapes.",
        )


def orders_agree(answers: Answers) -> Verdict:
    """Say whether the same bits came out, whatever the order in which threads ran."""
    question = Question.ORDERS
    (first, reference), *others = answers.items()
    if not others:
        return unknown(question, f"only the order {first} was run")
    for order, got in others:
        for number, (one, other) in enumerate(zip(reference, got, strict=True)):
            same = (one == other) | ((one != one) & (other != other))  # noqa: PLR0124  NaN
            if not same.all():
                place = _place(np.argwhere(~same)[0], number, len(got))
                return defect(
                    question,
                    f"{np.count_nonzero(~same)} of {same.size} elements differ between {first} "
                    f"and {order}, the first at {place}: a barrier is missing, or threads race.",
                )
    return passed(question, ", ".join(answers))


def all_written(answers: Answers, expected: Sequence[Array] = ()) -> Verdict:
    """Say whether NaN came out where none is expected; memory is full of NaN before a launch."""
    question = Question.WRITTEN
    for order, got in answers.items():
        for number, one in enumerate(got):
            there = np.isnan(expected[number]) if expected else np.zeros(one.shape, bool)
            strange = np.isnan(one) & ~there if one.dtype.kind == "f" else np.zeros((), bool)
            if strange.any():
                place = _place(np.argwhere(strange)[0], number, len(got))
                return defect(
                    question,
                    f"{np.count_nonzero(strange)} of {one.size} elements are NaN in the order "
                    f"{order}, the first at {place}: never written, or computed of memory that "
                    "was never written.",
                )
    kinds = {one.dtype.kind for got in answers.values() for one in got}
    if "f" not in kinds:
        return unknown(question, "the outputs are no floating-point numbers: none can be NaN")
    return passed(question)


def within_bound(answers: Answers, expected: Sequence[Array], bound: float) -> Verdict:
    """Say whether every answer is as near to what is expected as the check demands."""
    question = Question.ERROR
    worst, where = 0.0, ""
    for order, got in answers.items():
        require_shapes(got, expected)
        for number, (one, wanted) in enumerate(zip(got, expected, strict=True)):
            error, place = error_and_place(one, wanted)
            if error > worst:
                worst, where = error, f"at {_place(place, number, len(got))}, order {order}"
    measured = f"{worst:.2g} of {bound:g} allowed"
    return (
        passed(question, measured) if worst <= bound else defect(question, f"{measured}, {where}")
    )


def error_and_place(got: Array, expected: Array) -> tuple[float, Array]:
    """Return the largest error as a share of the largest finite magnitude expected, and where.

    Unlike `agreement.relative_error` it takes the array as a whole: a check may expect
    anything, and nobody knows which axis of it is that of sequences. NaN and infinity where they
    are expected count as right, elsewhere as infinitely wrong. The share is of 1 where nothing
    but zeros is expected.
    """
    if got.size == 0:
        return 0.0, np.zeros(got.ndim, int)
    ours, theirs = got.astype(np.float64), expected.astype(np.float64)
    finite = np.abs(theirs[np.isfinite(theirs)])
    largest = float(finite.max()) if finite.size else 0.0
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    with np.errstate(invalid="ignore"):
        off = np.where(same, 0.0, np.abs(ours - theirs))
    off = np.nan_to_num(off, nan=np.inf, posinf=np.inf)
    place = np.unravel_index(int(np.argmax(off)), off.shape)
    return float(off[place]) / (largest or 1.0), np.array(place)


def _place(index: Array, number: int, several: int) -> str:
    where = f"[{', '.join(str(one) for one in index)}]"
    return f"{where} of output {number}" if several > 1 else where
