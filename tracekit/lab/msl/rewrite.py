"""Rewrite a Metal text as C++: the same lines, traceable columns, buffers that know their bounds.

Most of the words unknown to C++ become blanks of the same length; an edit replaces those that need
other words. Everything else is left to the C++ compiler and the header files in `shim`.
"""

import re
from collections.abc import Collection, Iterator

from tracekit.lab.msl.bounds_checks import checked_indices, checked_pointers
from tracekit.lab.msl.edits import (
    Edit,
    Edited,
    KernelText,
    apply_edits,
    blank,
    without_comments,
    without_strings,
)
from tracekit.lab.msl.overloads import qualifies_this, repeated_overloads
from tracekit.lab.msl.signature import with_constants
from tracekit.lab.msl.unsupported import refuse_place, refuse_unsupported

# A declaration of variables or arrays in threadgroup memory.
_SHARED = re.compile(
    r"\bthreadgroup\s+(?:alignas\s*\([^()]*\)\s*)?"
    r"(?P<type>(?:(?:volatile|unsigned|signed|typename)\s+)*[\w:]+"
    r"(?:\s*<(?:[^;<>]|<[^;<>]*>)*>(?:::\w+)*)?)"
    r"\s+(?P<names>\w+\s*(?:\[[^;]*?\]\s*)*(?:,\s*\w+\s*(?:\[[^;]*?\]\s*)*)*);"
)
# One name of such a declaration, with the sizes of an array.
_DECLARATOR = re.compile(r"(\w+)\s*((?:\[(?:[^\[\]]|\[[^\[\]]*\])*\]\s*)*)(?:,\s*)?")
# Several components of a vector, as in `v.xyz`.
_SWIZZLE = re.compile(r"(?<=[\w)\]])(\s*\.\s*)([xyzw]{2,4}|[rgba]{2,4})\b(?!\s*\()")
# A literal with a point or an exponent, and without a suffix.
_FLOAT = re.compile(
    r"(?<![\w.])(?:\d+\.\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)(?![\w.])"
)
# Attributes, and the word before `void` of a kernel: C++ has no use for them.
_IGNORED = re.compile(r"\[\[[^\[\]]*\]\]|\bkernel\b(?=\s+void\b)")
# An explicit instance of a template under a host name.
_INSTANCE = re.compile(r"\btemplate\s*\[\[(?:[^;\"]|\"[^\"\n]*\")*;")
# A literal of type bfloat, such as 1.0bf.
_BFLOAT = re.compile(r"(?<![\w.])((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?:bf|BF)\b")
# An array all of whose elements are set to one value, an extension of clang.
_FILLED = re.compile(
    r"\b(?P<name>\w+)\s*\[(?P<size>[^\[\];{}]+)\](?P<is>\s*=\s*\{\s*"
    r"\[\s*0\s*\.\.\.(?P<last>[^\[\];{}]+)\]\s*=\s*(?P<value>[^;{},]+)\}\s*;)"
)
# Directives that have no meaning for the text alone.
_OMITTED_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?:include|import|pragma)\b[^\n]*", re.MULTILINE)
# A type and `*` or `&`, after `threadgroup`.
_AFTER_THREADGROUP = re.compile(
    r"\s*(?:const\s+|volatile\s+|unsigned\s+)*[\w:]+(?:\s*<(?:[^;<>]|<(?:[^;<>]|<[^<>]*>)*>)*>)?"
    r"(?:\s+const|\s+volatile)*\s*(?:[*&]|\(\s*[*&])|\s*[*&]"
)
# The number of each component.
_COMPONENTS = {
    **{letter: str(number) for number, letter in enumerate("xyzw")},
    **{letter: str(number) for number, letter in enumerate("rgba")},
}


def rewritten(kernel: KernelText, *, checked: bool) -> Edited:
    """Return the kernel's text as C++."""
    text = without_comments(kernel.text)
    refuse_unsupported(without_strings(text), text, kernel)
    for pattern in (_INSTANCE, _OMITTED_DIRECTIVE):
        text = pattern.sub(lambda match: blank(match[0]), text)
    for start, end in repeated_overloads(without_strings(text), checked=checked):
        removed = blank(text[start:end])
        text = text[:start] + removed + text[end:]
    code = without_strings(text)
    edits = [
        *with_constants(code, kernel),
        *_rewrite_shared(code),
        *_rewrite_swizzles(code, checked=checked),
        *_fill_arrays(code),
        *_rewrite_bfloats(code),
        *_mark_floats(code),
    ]
    if checked:
        edits += checked_pointers(code, kernel)
        edits += checked_indices(code, _find_shared_arrays(code))
    replaced: set[int] = set()
    for edit in edits:
        replaced.update(range(edit.start, edit.end))
    return apply_edits(_blank_words(text, code, replaced, kernel), edits)


def _find_shared_arrays(code: str) -> Iterator[str]:
    """Yield the names of the arrays in threadgroup memory."""
    for match in _SHARED.finditer(code):
        for name, sizes in _DECLARATOR.findall(match["names"]):
            if sizes:
                yield name


def _rewrite_shared(code: str) -> Iterator[Edit]:
    """Make each variable in threadgroup memory a reference to one that all threads share."""
    number = 0
    for match in _SHARED.finditer(code):
        references = ""
        for name, sizes in _DECLARATOR.findall(match["names"]):
            declaration = f"{match['type']}{sizes}"
            kind = declaration.replace("\n", " ").strip()
            references += f"auto& {name} = tracekit::shared<{kind}>({number}); "
            number += 1
        yield Edit(match.start(), match.end(), references.rstrip())


def _rewrite_swizzles(code: str, *, checked: bool) -> Iterator[Edit]:
    """Turn `v.xy` into `v[metal::swizzle<0, 1>]`; behind an index of a checked array also `v.x`."""
    field_words = _find_field_words(code)
    patterns = [_SWIZZLE]
    if checked:
        patterns.append(re.compile(r"(?<=\])(\s*\.\s*)([xyzwrgba])\b(?!\s*\()"))
    for pattern in patterns:
        for match in pattern.finditer(code):
            if match[2] not in field_words:
                tag = ", ".join(_COMPONENTS[letter] for letter in match[2])
                yield Edit(match.start(), match.end(), f"[metal::swizzle<{tag}>]")


def _rewrite_bfloats(code: str) -> Iterator[Edit]:
    """Turn `1bf` into `metal::bfloat(1.0f)`."""
    for match in _BFLOAT.finditer(code):
        number = match[1]
        if number.isdecimal():
            number += ".0"
        yield Edit(*match.span(), f"metal::bfloat({number}f)")


def _mark_floats(code: str) -> Iterator[Edit]:
    """Yield the edits that make a literal without suffix a float: Metal has no double."""
    for match in _FLOAT.finditer(code):
        yield Edit(match.end(), match.end(), "f")


def _fill_arrays(code: str) -> Iterator[Edit]:
    """Fill `T a[N] = {[0 ... N - 1] = x};` element by element: clang knows this, g++ does not."""
    for match in _FILLED.finditer(code):
        size = "".join(match["size"].split())
        last_index = "".join(match["last"].split())
        if last_index == f"{size}-1":
            loop = f"; for (auto& tracekit_one : {match['name']}) tracekit_one = {match['value']};"
            yield Edit(*match.span("is"), loop)


def _find_field_words(code: str) -> set[str]:
    """Return every word in a struct of the text: its fields are not swizzles."""
    words: set[str] = set()
    for match in re.finditer(r"\b(?:struct|union|class)\s+\w*[^;{}()]*\{([^{}]*)\}", code):
        words.update(re.findall(r"\w+", match[1]))
    return words


def _blank_words(text: str, code: str, replaced: Collection[int], kernel: KernelText) -> str:
    """Blank attributes and address spaces; `constant` becomes `const` if there is none."""
    characters = list(text)
    for match in re.finditer(_IGNORED, code):
        characters[match.start() : match.end()] = blank(match[0])
    for match in re.finditer(r"\b(?:device|threadgroup|thread|constant)\b(?!\s*\()", code):
        if match.start() in replaced:
            continue
        is_qualifier = qualifies_this(code, match.start())
        is_shared = match[0] == "threadgroup" and not is_qualifier
        if is_shared and not _AFTER_THREADGROUP.match(code, match.end()):
            # it would silently become private to each thread
            hint = (
                "Write `threadgroup T name[N];`, or a pointer or reference to threadgroup memory."
            )
            message = "this use of `threadgroup` is not understood"
            refuse_place(kernel, code, match.start(), message, hint=hint)
        word = ""
        if match[0] == "constant" and not is_qualifier and not _is_const(code, match):
            word = "const"
        characters[match.start() : match.end()] = word.ljust(len(match[0]))
    return "".join(characters)


def _is_const(code: str, match: re.Match[str]) -> bool:
    """Return whether `const` or `constexpr` precedes or follows a word."""
    preceding = code[max(0, match.start() - 80) : match.start()]
    following = code[match.end() :][:80]
    surroundings = f"{preceding}|{following}"
    return re.search(r"\bconst(?:expr)?\s+\||\|\s+const(?:expr)?\b", surroundings) is not None
