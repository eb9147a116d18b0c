"""Changes to a text that remember where everything stood before."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tracekit.lab.msl.kernel import Kernel


@dataclass(frozen=True, order=True)
class Edit:
    """Replace the characters from `start` to `end`; line breaks of the piece are kept."""

    start: int
    end: int
    new: str


@dataclass(frozen=True)
class Edited:
    """A text after some edits, which knows the lines and columns from before."""

    text: str
    _shifts: dict[int, list[tuple[int, int]]]

    def column(self, line: int, column: int) -> int:
        """Return the column of the text before, for one of the text after; both count from 1."""
        shifts = self._shifts.get(line, [])
        at = bisect_right(shifts, (column, 1 << 30)) - 1
        return column if at < 0 else max(1, column + shifts[at][1])


def edited(text: str, edits: Iterable[Edit]) -> Edited:
    """Apply edits that do not overlap; of two that do, the one that starts first holds."""
    pieces: list[str] = []
    shifts: dict[int, list[tuple[int, int]]] = {}
    end = line = 0
    line_start = 0  # in the new text
    length = 0

    def put(piece: str) -> None:
        nonlocal line, line_start, length
        pieces.append(piece)
        if "\n" in piece:
            line += piece.count("\n")
            line_start = length + piece.rindex("\n") + 1
        length += len(piece)

    for edit in sorted(edits):
        if edit.start < end:
            continue
        put(text[end : edit.start])
        new = edit.new + "\n" * text.count("\n", edit.start, edit.end)
        # Inside a new piece every column is that of the piece's start; behind it all is moved.
        put(new)
        end = edit.end
        before = end - (text.rfind("\n", 0, end) + 1)
        shifts.setdefault(line + 1, []).append(
            (length - line_start + 1, before - (length - line_start))
        )
    put(text[end:])
    return Edited("".join(pieces), shifts)


def place(text: str, offset: int) -> tuple[int, int]:
    """Return line and column, both from 1, of an offset."""
    line = text.count("\n", 0, offset) + 1
    return line, offset - text.rfind("\n", 0, offset)


def placed(kernel: Kernel, text: str, offset: int) -> tuple[str, int, int]:
    """Return file, line and column of an offset in a kernel's text."""
    line, column = place(text, offset)
    return *kernel.where(line), column


def blank(piece: str) -> str:
    """Return blanks in the shape of `piece`: line breaks and continued lines stay."""
    return re.sub(r"[^\n\\]|\\(?!\n)", " ", piece)


_WORDS = re.compile(r'"(?:\\.|[^"\\\n])*"|//(?:\\\n|[^\n])*|/\*.*?\*/|/\*', re.DOTALL)


def without_comments(text: str, as_blanks: Callable[[str], str] = blank) -> str:
    """Turn comments into blanks of the same shape. One that never ends is left to be found."""

    def plain(found: re.Match[str]) -> str:
        is_comment = found[0] != "/*" and found[0][0] != '"'
        return as_blanks(found[0]) if is_comment else found[0]

    return _WORDS.sub(plain, text)


def without_strings(text: str) -> str:
    """Turn what stands in quotes into blanks, so that only code is left to search."""
    return re.sub(r'"(?:\\.|[^"\\\n])*"', lambda found: '"' + " " * (len(found[0]) - 2) + '"', text)
