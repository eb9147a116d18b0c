"""Find the barriers of a kernel's text, and compile kernels as if one of them were not there."""

import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

from tracekit.lab.msl.edits import KernelText, without_comments, without_strings

_CALL = re.compile(r"\b(threadgroup_barrier|simdgroup_barrier)\s*\(")


@dataclass(frozen=True)
class Barrier:
    """The call of a barrier, from `start` to `end` of a text, and its line of a file.

    It starts at `column` of the line; both count from 1.
    """

    text: str
    start: int
    end: int
    name: str
    file: str
    line: int
    column: int

    @property
    def text_without(self) -> str:
        """The text with a statement that does nothing in place of the call."""
        return f"{self.text[: self.start]}((void)0){self.text[self.end :]}"


def find_barriers(kernel: KernelText) -> Iterator[Barrier]:
    """Yield the calls of barriers in a kernel's text, in order; comments and strings have none."""
    code = without_strings(without_comments(kernel.text))
    for match in _CALL.finditer(code):
        end = _find_end(code, match.end())
        if end is None:
            continue
        text_line = code.count("\n", 0, match.start()) + 1
        file, line = kernel.locate_line(text_line)
        column = match.start() - code.rfind("\n", 0, match.start())
        yield Barrier(kernel.text, match.start(), end, match[1], file, line, column)


def _find_end(code: str, start: int) -> int | None:
    """Return the place behind the parenthesis that closes one before `start`."""
    depth = 1
    for place in range(start, len(code)):
        if code[place] == "(":
            depth += 1
        elif code[place] == ")":
            depth -= 1
        if depth == 0:
            return place + 1
    return None


_removed: ContextVar[Barrier | None] = ContextVar("removed", default=None)


@contextmanager
def removing(barrier: Barrier) -> Generator[None]:
    """Let kernels of the barrier's text be compiled without it in the block."""
    token = _removed.set(barrier)
    try:
        yield
    finally:
        _removed.reset(token)


def apply_removal(kernel: KernelText) -> KernelText:
    """Return the kernel without the barrier that is removed now; the kernel itself by default."""
    barrier = _removed.get()
    if barrier is None or barrier.text != kernel.text:
        return kernel
    return replace(kernel, text=barrier.text_without)
