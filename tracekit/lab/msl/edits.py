"""One kernel to compile: its text, which keeps the places of everything before it was changed."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.base import InputError, UsageError

Constant = int | float | bool

LONGEST_TEXT = 4_000_000  # characters; MLX's longest kernel file has about 100 000


@dataclass(frozen=True)
class Origin:
    """The lines of a text from `first_line` up to the next origin came from `line` of `file` on."""

    first_line: int
    file: str
    line: int


@dataclass(frozen=True)
class KernelText:
    """A kernel as text, and the choices that make it one program.

    `text` is Metal source: as MLX generates it, or a `.metal` file with `[[kernel]]` functions.
    `function` is the kernel, or a `host_name` that the text gives it; `template` its arguments,
    such as "float16_t, 128". `name` is the name of the file in messages. `constants` are by their
    index, `origins` are the files that the text was put together from.
    """

    text: str
    function: str
    template: str = ""
    name: str = ""
    constants: Mapping[int, Constant] = field(default_factory=dict[int, Constant])
    origins: tuple[Origin, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a text that no compiler could read."""
        if len(self.text) > LONGEST_TEXT:
            raise UsageError(
                f"{self.file} has {len(self.text)} characters; a kernel may have {LONGEST_TEXT}."
            )
        if "\0" in self.text:
            raise UsageError(f"{self.file} holds a NUL character: it is not Metal source.")

    def locate_line(self, line: int) -> tuple[str, int]:
        """Return the file, and its line, that a line of the text comes from."""
        first_lines = [origin.first_line for origin in self.origins]
        index = bisect_right(first_lines, line) - 1
        if index < 0:
            return self.file, line
        origin = self.origins[index]
        file_line = origin.line + line - origin.first_line
        return origin.file, file_line

    @property
    def file(self) -> str:
        """The name of the file in messages."""
        return self.name or f"{self.function}.metal"


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
        index = bisect_right(shifts, (column, 1 << 30)) - 1
        if index < 0:
            return column
        _, shift = shifts[index]
        return max(1, column + shift)


def apply_edits(text: str, edits: Iterable[Edit]) -> Edited:
    """Apply edits that do not overlap; of two that do, the one that starts first holds."""
    pieces: list[str] = []
    shifts: dict[int, list[tuple[int, int]]] = {}
    end = 0
    line = 0
    line_start = 0  # in the new text
    length = 0

    def append_piece(piece: str) -> None:
        nonlocal line, line_start, length
        pieces.append(piece)
        if "\n" in piece:
            line += piece.count("\n")
            line_start = length + piece.rindex("\n") + 1
        length += len(piece)

    for edit in sorted(edits):
        if edit.start < end:
            continue
        append_piece(text[end : edit.start])
        break_count = text.count("\n", edit.start, edit.end)
        line_breaks = "\n" * break_count
        # Inside a new piece every column is that of the piece's start; after it all is moved.
        append_piece(edit.new + line_breaks)
        end = edit.end
        old_column = end - (text.rfind("\n", 0, end) + 1)
        new_column = length - line_start
        shift = (new_column + 1, old_column - new_column)
        shifts.setdefault(line + 1, []).append(shift)
    append_piece(text[end:])
    return Edited("".join(pieces), shifts)


def blank(piece: str) -> str:
    """Return blanks in the shape of `piece`: line breaks and continued lines stay."""
    return re.sub(r"[^\n\\]|\\(?!\n)", " ", piece)


_WORDS = re.compile(r'"(?:\\.|[^"\\\n])*"|//(?:\\\n|[^\n])*|/\*.*?\*/|/\*', re.DOTALL)


def without_comments(text: str) -> str:
    """Turn comments into blanks of the same shape, except one that never ends."""

    def blank_comment(match: re.Match[str]) -> str:
        word = match[0]
        if word == "/*" or word.startswith('"'):
            return word
        return blank(word)

    return _WORDS.sub(blank_comment, text)


def without_strings(text: str) -> str:
    """Turn the contents of quotes into blanks, so that only code is left to search."""

    def blank_string(match: re.Match[str]) -> str:
        blanks = " " * (len(match[0]) - 2)
        return f'"{blanks}"'

    return re.sub(r'"(?:\\.|[^"\\\n])*"', blank_string, text)


_INCLUDED = re.compile(r'^[ \t]*#[ \t]*(?:include|import)[ \t]*"([^"\n]+)"')
_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once\b[^\n]*", re.MULTILINE)
_DEEPEST = 64  # files that include each other


def with_includes(
    text: str, file: Path, folders: Sequence[Path] = (), *, root: Path | None = None
) -> tuple[str, tuple[Origin, ...]]:
    """Return the text of a file with each `#include "..."` replaced by the file that it names.

    Files are searched next to the one that includes them, then in `folders`; with a `root`, only
    files below it. Those of Metal
    itself (`<metal_stdlib>`) stay as they are, and so does a name that is not found: whether
    it matters depends on the conditions around it, which the preprocessor knows. Return also
    the origins of the pieces; none if nothing was included.
    """
    joined: list[str] = []
    origins: list[Origin] = []
    numbers: dict[Path, int] = {}

    def add(text: str, file: Path, depth: int) -> None:
        origin = Origin(len(joined) + 1, file.name, 1)
        origins.append(origin)
        lines = text.split("\n")
        code_lines = without_comments(text).split("\n")
        numbered_lines = enumerate(zip(lines, code_lines, strict=True), start=1)
        for number, (line, code) in numbered_lines:
            target = _find_included(code, (file.parent, *folders), root)
            if target is None:
                joined.append(line)
                continue
            if depth > _DEEPEST or sum(map(len, joined)) > LONGEST_TEXT:
                raise InputError(f"{file.name} includes too much; does a file include itself?")
            include(target, depth + 1)
            next_origin = Origin(len(joined) + 1, file.name, number + 1)
            origins.append(next_origin)

    def include(file: Path, depth: int) -> None:
        try:
            text = file.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{file} cannot be read as text: {error}.") from error
        guard = f"TRACEKIT_INCLUDED_{numbers.setdefault(file, len(numbers))}"
        is_guarded = _ONCE.search(text) is not None
        if is_guarded:
            joined.append(f"#ifndef {guard}")
            joined.append(f"#define {guard}")
        add(_ONCE.sub("", text), file, depth)
        if is_guarded:
            joined.append("#endif")

    add(text, file.resolve(), 0)
    if len(origins) == 1:
        return text, ()
    return "\n".join(joined), tuple(origins)


def _find_included(code: str, folders: Sequence[Path], root: Path | None) -> Path | None:
    """Return the file that a line of code includes, if it is in one of the folders."""
    match = _INCLUDED.match(code)
    if match is None:
        return None
    for folder in folders:
        path = (folder / match[1]).resolve()
        if root is not None and not path.is_relative_to(root.resolve()):
            continue
        if path.is_file():
            return path
    return None
