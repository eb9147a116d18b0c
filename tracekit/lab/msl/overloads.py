"""Functions that differ in address spaces alone: one of them is enough where there are none.

Metal needs `void f(device T*)` beside `void f(threadgroup T*)`, and constructors for each address
space that an object may lie in. To C++ they are one function, written twice.
"""

import re
from collections.abc import Iterator

from tracekit.lab.msl.edits import Edit, blank
from tracekit.lab.msl.signature import closing

_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_SCOPE = re.compile(r"\b(?:namespace|struct|class|union|enum|extern)\b[^()=]*$")
_SPECIALIZED = re.compile(
    r"\b(?:struct|class)\s+\w+\s*<[^{};]*\b(?:device|threadgroup|thread|constant)\b[^{};]*$"
)
_FOR_ALL = re.compile(r"template\s*<\s*>(?!\s*(?:struct|class)\b)")
_IN_CLASS = re.compile(r"\b(?:struct|class)\b[^;{}()]*$")
_SPACES = re.compile(r"\b(?:device|threadgroup|thread|constant|const)\b(?!\s*\()")
_ENDS = re.compile(r"[{};]")

_AFTER_PARAMETERS = re.compile(r"\)\s*(?:const\s+)?$")


def says_where_this_lies(code: str, start: int) -> bool:
    """Say whether the address space that starts there belongs to a member function."""
    return _AFTER_PARAMETERS.search(code[max(0, start - 40) : start]) is not None


def repeated_overloads(code: str, *, checked: bool) -> Iterator[Edit]:
    """Yield edits that leave out a function if one before is the same but for address spaces.

    Where two bodies differ both stay, and the compiler will refuse the second. `template <>` of a
    member is left out too: an overload does the same, and g++ before 14 knows no other way.

    Args:
        code: Text without comments and strings.
        checked: Whether pointers to device memory are a type of their own.
    """
    seen: dict[tuple[int, str], str] = {}
    code = _DIRECTIVE.sub(lambda one: blank(one[0]), code)
    for scope, start, opening, end in _definitions(code):
        head = code[start:opening]
        member = _FOR_ALL.match(head)
        if member and _IN_CLASS.search(code[:scope]):
            yield Edit(start, start + member.end(), "")
        key, body = (scope, _erased_head(head, checked)), _erased(code[opening:end])
        if set("(<") & set(head) and seen.get(key) == body:
            yield Edit(start, end, "")
        seen.setdefault(key, body)


def _definitions(code: str) -> Iterator[tuple[int, int, int, int]]:
    """Yield scope, start, opening brace and end of what a namespace or a class defines.

    That is functions, and templates specialized for a type with an address space.
    """
    scopes, start, at = [0], 0, 0
    while found := _ENDS.search(code, at):
        at = found.end()
        head = code[start : found.start()]
        if found[0] == "{" and (not _SCOPE.search(head) or _SPECIALIZED.search(head)):
            end = closing(code, found.start())
            if end < 0:
                return
            if head.count("(") > head.count(")"):  # a default argument
                at = end + 1
                continue
            blanks = len(head) - len(head.lstrip())
            yield scopes[-1], start + blanks, found.start(), end + 1
            at = end + 1
        elif found[0] == "{":
            scopes.append(found.start())
        elif found[0] == "}" and len(scopes) > 1:
            scopes.pop()
        start = at


def _erased(code: str) -> str:
    return " ".join(_SPACES.sub(" ", code).split())


def _erased_head(head: str, checked: bool) -> str:
    """Return a head so that two are equal where their types are; parameters one by one."""
    return ", ".join(_erased_type(one, checked) for one in re.split(r"[(),]", head))


def _erased_type(words: str, checked: bool) -> str:
    if not set("*&") & set(words):
        return _erased(words)
    is_const = re.search(r"\b(?:const|constant)\b", words) is not None
    is_checked = "*" in words and re.search(r"\b(?:device|constant)\b", words) is not None
    return f"{is_const} {checked and is_checked} {_erased(words)}"
