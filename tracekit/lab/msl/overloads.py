"""Functions that are written once for each address space, and are one function to C++.

Metal needs both `void f(device T*)` and `void f(threadgroup T*)`, and constructors for each address
space that an object may lie in.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tracekit.lab.msl.edits import blank
from tracekit.lab.msl.signature import closing

# A line of the preprocessor, with those that it continues on.
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
# The words before a brace that opens a scope, and not the body of a function.
_SCOPE_HEAD = re.compile(r"\b(?:namespace|struct|class|union|enum|extern)\b[^()=]*$")
# The words before the body of a template that is specialized for a type with an address space.
_SPECIALIZED_HEAD = re.compile(
    r"\b(?:struct|class)\s+\w+\s*<[^{};]*\b(?:device|threadgroup|thread|constant)\b[^{};]*$"
)
# The beginning of a full specialization of a function.
_FULL_SPECIALIZATION = re.compile(r"template\s*<\s*>(?!\s*(?:struct|class)\b)")
# The words before the brace of a class.
_CLASS_HEAD = re.compile(r"\b(?:struct|class)\b[^;{}()]*$")
_ADDRESS_SPACE = re.compile(r"\b(?:device|threadgroup|thread|constant|const)\b(?!\s*\()")
_BRACE_OR_END = re.compile(r"[{};]")

# The end of a list of parameters: an address space after it is that of the object itself.
_AFTER_PARAMETERS = re.compile(r"\)\s*(?:const\s+)?$")


def qualifies_this(code: str, start: int) -> bool:
    """Return whether the address space that starts there belongs to a member function."""
    text_before = code[max(0, start - 40) : start]
    return _AFTER_PARAMETERS.search(text_before) is not None


def repeated_overloads(code: str, *, checked: bool) -> Iterator[tuple[int, int]]:
    """Yield start and end of each function that equals an earlier one but for address spaces.

    If two bodies differ, both stay, and the compiler will refuse the second. `template <>` of a
    member is left out too: an overload does the same, and g++ before 14 knows no other way. In a
    `checked` text, pointers to device memory have a type of their own.
    """
    bodies_by_head: dict[tuple[int, str], str] = {}
    code = _DIRECTIVE.sub(lambda directive: blank(directive[0]), code)
    for definition in _find_definitions(code):
        head = code[definition.start : definition.opening]
        specialization = _FULL_SPECIALIZATION.match(head)
        if specialization and _CLASS_HEAD.search(code[: definition.scope]):
            yield definition.start, definition.start + specialization.end()
        parts = re.split(r"[(),]", head)
        erased_head = ", ".join(_erase_type(part, checked) for part in parts)
        key = (definition.scope, erased_head)
        body = _erase_spaces(code[definition.opening : definition.end])
        has_parameters = "(" in head or "<" in head
        if has_parameters and bodies_by_head.get(key) == body:
            yield definition.start, definition.end
        bodies_by_head.setdefault(key, body)


@dataclass(frozen=True)
class _Definition:
    """The places of a definition in a text: its head from `start`, its body from `opening`.

    `scope` is the place of the brace of its namespace or class; 0 without one.
    """

    scope: int
    start: int
    opening: int
    end: int


def _find_definitions(code: str) -> Iterator[_Definition]:
    """Yield each definition in a namespace or a class.

    Definitions are functions, and templates specialized for a type with an address space.
    """
    scopes = [0]
    start = 0
    position = 0
    while match := _BRACE_OR_END.search(code, position):
        position = match.end()
        head = code[start : match.start()]
        if match[0] == "{" and (not _SCOPE_HEAD.search(head) or _SPECIALIZED_HEAD.search(head)):
            end = closing(code, match.start())
            if end < 0:
                return
            if head.count("(") > head.count(")"):  # a default argument
                position = end + 1
                continue
            leading_blanks = len(head) - len(head.lstrip())
            yield _Definition(scopes[-1], start + leading_blanks, match.start(), end + 1)
            position = end + 1
        elif match[0] == "{":
            scopes.append(match.start())
        elif match[0] == "}" and len(scopes) > 1:
            scopes.pop()
        start = position


def _erase_spaces(code: str) -> str:
    """Return code without address spaces and `const`, with one blank for several."""
    return " ".join(_ADDRESS_SPACE.sub(" ", code).split())


def _erase_type(words: str, checked: bool) -> str:
    """Return a parameter, or the words before all parameters, with equal types made equal."""
    erased = _erase_spaces(words)
    if "*" not in words and "&" not in words:
        return erased
    is_const = re.search(r"\b(?:const|constant)\b", words) is not None
    is_checked = checked and "*" in words and re.search(r"\b(?:device|constant)\b", words)
    return f"{is_const} {bool(is_checked)} {erased}"
