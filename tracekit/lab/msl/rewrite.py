"""A Metal text as C++: the same lines, and columns that can be traced back.

Most of what C++ does not know becomes blanks of the same length; what needs other words is an
edit. Everything else is left to the C++ compiler and the header files in `shim`.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from tracekit.base.errors import UsageError
from tracekit.lab.msl.checked import checked_indices, checked_pointers
from tracekit.lab.msl.edits import (
    Edit,
    Edited,
    blank,
    edited,
    placed,
    without_comments,
    without_strings,
)
from tracekit.lab.msl.function_constants import with_constants
from tracekit.lab.msl.kernel import Kernel
from tracekit.lab.msl.overloads import repeated_overloads, says_where_this_lies
from tracekit.lab.msl.refused import refuse_unknown

_SHARED = re.compile(
    r"\bthreadgroup\s+(?:alignas\s*\([^()]*\)\s*)?"
    r"(?P<type>(?:(?:volatile|unsigned|signed|typename)\s+)*[\w:]+"
    r"(?:\s*<(?:[^;<>]|<[^;<>]*>)*>(?:::\w+)*)?)"
    r"\s+(?P<names>\w+\s*(?:\[[^;]*?\]\s*)*(?:,\s*\w+\s*(?:\[[^;]*?\]\s*)*)*);"
)
_DECLARATOR = re.compile(r"(\w+)\s*((?:\[(?:[^\[\]]|\[[^\[\]]*\])*\]\s*)*)(?:,\s*)?")
_SWIZZLE = re.compile(r"(?<=[\w)\]])(\s*\.\s*)([xyzw]{2,4}|[rgba]{2,4})\b(?!\s*\()")
_FLOAT = re.compile(
    r"(?<![\w.])(?:\d+\.\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)(?![\w.])"
)
_IGNORED = re.compile(r"\[\[[^\[\]]*\]\]|\bkernel\b(?=\s+void\b)")
_INSTANCE = re.compile(r"\btemplate\s*\[\[(?:[^;\"]|\"[^\"\n]*\")*;")
_BFLOAT = re.compile(r"(?<![\w.])((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?:bf|BF)\b")
_FILLED = re.compile(
    r"\b(?P<name>\w+)\s*\[(?P<size>[^\[\];{}]+)\](?P<is>\s*=\s*\{\s*"
    r"\[\s*0\s*\.\.\.(?P<last>[^\[\];{}]+)\]\s*=\s*(?P<value>[^;{},]+)\}\s*;)"
)
_LETTERS = {letter: str(i) for word in ("xyzw", "rgba") for i, letter in enumerate(word)}


def rewritten(kernel: Kernel, *, checked: bool) -> Edited:
    """Return the kernel's text as C++.

    Raises:
        UsageError: It uses what this engine does not know, or lacks a function constant.
    """
    text = without_comments(kernel.text)
    refuse_unknown(without_strings(text), text, kernel)
    text = _INSTANCE.sub(lambda found: blank(found[0]), text)
    text = re.sub(
        r"^[ \t]*#[ \t]*(?:include|import|pragma)\b[^\n]*", lambda found: blank(found[0]),
        text, flags=re.MULTILINE,
    )  # fmt: skip
    code = without_strings(text)
    for one in repeated_overloads(code, checked=checked):
        text = text[: one.start] + blank(text[one.start : one.end]) + text[one.end :]
    code = without_strings(text)
    edits = [
        *with_constants(code, kernel),
        *_shared(code),
        *_swizzles(code, checked=checked),
        *_filled_arrays(code),
        *_bfloats(code),
        *(Edit(found.end(), found.end(), "f") for found in _FLOAT.finditer(code)),
    ]
    if checked:
        edits += checked_pointers(code, kernel)
        edits += checked_indices(code, _shared_names(code))
    covered = _Covered(edits)
    blanked = _blank_words(text, code, covered, kernel)
    return edited(blanked, edits)


class _Covered:
    """Which characters edits replace."""

    def __init__(self, edits: list[Edit]) -> None:
        spans = sorted((one.start, one.end) for one in edits if one.end > one.start)
        self._starts = [start for start, _ in spans]
        self._ends = list(accumulate((end for _, end in spans), max))

    def __contains__(self, offset: int) -> bool:
        at = bisect_right(self._starts, offset) - 1
        return at >= 0 and offset < self._ends[at]


def _shared(code: str) -> Iterator[Edit]:
    number = 0
    for found in _SHARED.finditer(code):
        made = ""
        for name, sizes in _DECLARATOR.findall(found["names"]):
            kind = f"{found['type']}{sizes}".replace("\n", " ").strip()
            made += f"auto& {name} = tracekit::shared<{kind}>({number}); "
            number += 1
        yield Edit(found.start(), found.end(), made.rstrip())


def _shared_names(code: str) -> Iterator[str]:
    for found in _SHARED.finditer(code):
        yield from (name for name, sizes in _DECLARATOR.findall(found["names"]) if sizes)


def _swizzles(code: str, *, checked: bool) -> Iterator[Edit]:
    fields = _fields(code)
    patterns = [_SWIZZLE]
    if checked:
        patterns.append(re.compile(r"(?<=\])(\s*\.\s*)([xyzwrgba])\b(?!\s*\()"))
    for pattern in patterns:
        for found in pattern.finditer(code):
            if found[2] not in fields:
                tag = ", ".join(_LETTERS[letter] for letter in found[2])
                yield Edit(found.start(), found.end(), f"[metal::swizzle<{tag}>]")


def _bfloats(code: str) -> Iterator[Edit]:
    for found in _BFLOAT.finditer(code):
        number = found[1] if set(".eE") & set(found[1]) else f"{found[1]}.0"
        yield Edit(*found.span(), f"metal::bfloat({number}f)")


def _filled_arrays(code: str) -> Iterator[Edit]:
    """Fill `T a[N] = {[0 ... N - 1] = x};` element by element: clang knows this, g++ does not."""
    for found in _FILLED.finditer(code):
        size, last = ("".join(found[word].split()) for word in ("size", "last"))
        if last == f"{size}-1":
            loop = f"; for (auto& tracekit_one : {found['name']}) tracekit_one = {found['value']};"
            yield Edit(*found.span("is"), loop)


def _fields(code: str) -> set[str]:
    """Return every word in a struct of the text: its fields are no swizzles."""
    return {
        word
        for found in re.finditer(r"\b(?:struct|union|class)\s+\w*[^;{}()]*\{([^{}]*)\}", code)
        for word in re.findall(r"\w+", found[1])
    }


def _blank_words(text: str, code: str, covered: _Covered, kernel: Kernel) -> str:
    """Blank attributes and address spaces; `constant` becomes `const` where there is none."""
    made = list(text)
    for found in re.finditer(_IGNORED, code):
        made[found.start() : found.end()] = blank(found[0])
    for found in re.finditer(r"\b(?:device|threadgroup|thread|constant)\b(?!\s*\()", code):
        if found.start() in covered:
            continue
        is_qualifier = says_where_this_lies(code, found.start())
        if found[0] == "threadgroup" and not is_qualifier:
            _expect_pointer(code, found, kernel)
        is_constant = found[0] == "constant" and not is_qualifier
        new = "const" if is_constant and not _is_const(code, found) else ""
        made[found.start() : found.end()] = new.ljust(len(found[0]))
    return "".join(made)


def _is_const(code: str, found: re.Match[str]) -> bool:
    """Say whether another `const` stands beside the word."""
    before = code[max(0, found.start() - 80) : found.start()]
    after = code[found.end() : found.end() + 80]
    return bool(
        re.search(r"\bconst(?:expr)?\s+$", before) or re.match(r"\s+const(?:expr)?\b", after)
    )


_POINTER = re.compile(
    r"\s*(?:const\s+|volatile\s+|unsigned\s+)*[\w:]+(?:\s*<(?:[^;<>]|<(?:[^;<>]|<[^<>]*>)*>)*>)?"
    r"(?:\s+const|\s+volatile)*\s*(?:[*&]|\(\s*[*&])|\s*[*&]"
)


def _expect_pointer(code: str, found: re.Match[str], kernel: Kernel) -> None:
    """Refuse a `threadgroup` that would silently become private to each thread."""
    if not _POINTER.match(code, found.end()):
        file, line, column = placed(kernel, code, found.start())
        raise UsageError(
            f"{file}:{line}:{column}: this use of `threadgroup` is not understood.",
            hint="Write `threadgroup T name[N];`, or a pointer or reference to threadgroup memory.",
        )
