"""What is said of a kernel: one verdict for each question, and what was not asked, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


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
        return tuple(one for one in self.verdicts if one.outcome is Outcome.DEFECT)


def passed(question: Question, detail: str = "") -> Verdict:
    """Return the answer that nothing is wrong."""
    return Verdict(question, Outcome.PASSED, detail)


def defect(question: Question, detail: str, excerpt: Sequence[str] = ()) -> Verdict:
    """Return the answer that something is."""
    return Verdict(question, Outcome.DEFECT, detail, tuple(excerpt))


def unknown(question: Question, why: str) -> Verdict:
    """Return the answer that it could not be checked."""
    return Verdict(question, Outcome.NOT_CHECKED, why)
