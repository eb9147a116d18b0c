"""Subjects whose times are literal: they put a clock forward by what they take."""

from collections.abc import Callable
from typing import Any

from tracekit.lab.bench.inputs import Prepared, Subject
from tracekit.workload.workload import Step


class Hand:
    """A clock that only its subjects move, and the names of those that moved it."""

    def __init__(self) -> None:
        self.now, self.calls = 0, list[str]()

    def read(self) -> int:
        return self.now

    def subject(
        self,
        name: str,
        takes: int,
        *,
        family: str = "decode",
        fails_after: int = 1 << 60,
        error: Callable[[], BaseException] = lambda: RuntimeError("the kernel is broken"),
        **kinds: bool,
    ) -> Subject:
        """Return a subject whose calls take `takes` nanoseconds of this clock's time.

        After `fails_after` steps it raises what `error` makes.
        """

        def submit() -> int:
            if self.calls.count(name) >= fails_after:
                raise error()
            self.calls.append(name)
            return 1

        def wait(calls: int) -> None:
            self.now += calls * takes

        def prepare(_: Any) -> Prepared:
            step = Step(submit, wait, backend="cpu", tokens=4, bytes_unique=1000, flops=10)
            return Prepared(step, lambda calls: calls, 1000, 2, 16, error=0.5)

        return Subject(name, "attention", family, "literal", prepare, **kinds)
