"""Subjects whose times are literal: they put a clock forward by what they take."""

from collections.abc import Callable
from typing import Any

from tracekit.lab.bench.inputs import Prepared, Subject
from tracekit.workload.workload import Step


class Hand:
    """A clock that only subjects move, and the names of those that moved it."""

    def __init__(self) -> None:
        self.now, self.calls = 0, list[str]()

    def read(self) -> int:
        return self.now


def literal_subject(
    hand: Hand,
    name: str,
    takes: int,
    *,
    naive: bool = False,
    paged: bool = False,
    family: str = "decode",
    fails_after: int | None = None,
    error: Callable[[], BaseException] = lambda: RuntimeError("the kernel is broken"),
) -> Subject:
    """Return a subject whose calls take `takes` nanoseconds of the hand's time.

    After `fails_after` steps it raises what `error` makes.
    """
    steps: list[int] = []

    def submit() -> int:
        if fails_after is not None and len(steps) >= fails_after:
            raise error()
        steps.append(1)
        hand.calls.append(name)
        return 1

    def wait(calls: int) -> None:
        hand.now += calls * takes

    def prepare(_: Any) -> Prepared:
        step = Step(submit=submit, wait=wait, backend="cpu", tokens=4, bytes_unique=1000, flops=10)
        return Prepared(step, lambda calls: calls, 1000, 2, 16, error=0.5)

    return Subject(name, "attention", family, "literal", prepare, naive=naive, paged=paged)
