"""Rewriting for checked programs: pointers to buffers become ones that know their buffer."""

import re
from collections.abc import Iterable, Iterator

from tracekit.base.errors import UsageError
from tracekit.lab.msl.edits import Edit, placed
from tracekit.lab.msl.kernel import Kernel
from tracekit.lab.msl.overloads import says_where_this_lies
from tracekit.lab.msl.signature import closing

_TYPE = (
    r"(?:(?:unsigned|signed)\s+)?[\w:]+(?:\s*<(?:[^;<>()]|\([^()]*\)|<(?:[^;<>]|<[^<>]*>)*>)*>)?"
)
_POINTER = re.compile(
    r"(?P<first>(?:\b(?:const|volatile|static)\s+)*)\b(?P<space>device|constant)\s+"
    rf"(?P<second>(?:(?:const|volatile)\s+)*)(?P<type>(?!const\b|constexpr\b){_TYPE})"
    r"(?P<third>(?:\s+const)?)\s*\*(?P<tail>(?:\s*\b(?:__restrict__|__restrict|restrict)\b)*)"
)
# `constant int sizes[3]` as a parameter is a pointer, too
_ARRAY = re.compile(
    r"(?<=[(,])(?P<lead>\s*)(?P<first>(?:\b(?:const|volatile|static)\s+)*)"
    r"\b(?P<space>device|constant)\s+(?P<second>(?:(?:const|volatile)\s+)*)"
    rf"(?P<type>(?!const\b|constexpr\b){_TYPE})(?P<third>(?:\s+const)?)"
    r"\s+(?P<name>\w+)\s*\[[^\[\]]*\](?=\s*(?:[,)]|\[\[))"
)
_REFERENCE = re.compile(rf"\s*(?:const\s+|constexpr\s+|volatile\s+)*{_TYPE}(?:\s+const)?\s*&")
_NAME = re.compile(r"\s*(?:const\s+)?(\w+)")


def checked_pointers(code: str, kernel: Kernel) -> Iterator[Edit]:
    """Yield the edits that make every pointer into a buffer a checked one.

    Raises:
        UsageError: A use of `device` that is neither a pointer nor a reference.
    """
    names: set[str] = set()
    covered: list[tuple[int, int]] = []
    for found in _POINTER.finditer(code):
        name = _NAME.match(code, found.end())
        if name:
            names.add(name[1])
        kind = "auto" if found["type"] == "auto" else _pointer(found)
        yield Edit(found.start(), found.end(), kind)
        yield from _cast(code, found)
        covered.append(found.span())
    for found in _ARRAY.finditer(code):
        names.add(found["name"])
        yield Edit(found.start(), found.end(), f"{_pointer(found)} {found['name']}")
        covered.append(found.span())
    _expect_covered(code, covered, kernel)
    yield from _addresses(code, names)
    yield from _values(code)


def _pointer(found: re.Match[str]) -> str:
    qualifiers = found["first"] + found["second"] + found["third"]
    is_const = found["space"] == "constant" or "const" in qualifiers
    static = "static " if "static" in qualifiers else ""
    kind = " ".join(found["type"].split())
    return f"{static}tracekit::pointer<{'const ' if is_const else ''}{kind}>"


def _cast(code: str, found: re.Match[str]) -> Iterator[Edit]:
    """Turn `reinterpret_cast<device T*>(x)` into a cast that a class can have."""
    start = max(0, found.start() - 80)
    before = re.search(r"\breinterpret_cast\s*<\s*$", code[start : found.start()])
    after = re.match(r"\s*(?:const\s*)?>", code[found.end() :])
    if before and after:
        yield Edit(start + before.start(), found.start(), "(")
        yield Edit(found.end(), found.end() + after.end(), ")")


def _expect_covered(code: str, covered: list[tuple[int, int]], kernel: Kernel) -> None:
    for found in re.finditer(r"\bdevice\b(?!\s*\()", code):
        is_pointer = any(start <= found.start() < end for start, end in covered)
        is_qualifier = says_where_this_lies(code, found.start())
        if not (is_pointer or is_qualifier or _REFERENCE.match(code, found.end())):
            file, line, column = placed(kernel, code, found.start())
            raise UsageError(
                f"{file}:{line}:{column}: this use of `device` cannot be checked.",
                hint="Run it unchecked, or write it as a pointer `device T*`.",
            )


def _addresses(code: str, names: set[str]) -> Iterator[Edit]:
    """Turn `&p[i]` into `(p+(i))`: an element of a const buffer is a value without an address."""
    for found in re.finditer(r"(?<=[=(,{\[?:|!<>+*/;-])\s*&\s*(\w+)\s*(\[)", code):
        end = closing(code, found.start(2))
        if found[1] in names and end > 0 and not re.match(r"\s*(?:\[|\.|->)", code[end + 1 :]):
            sign = code.index("&", found.start())
            yield Edit(sign, sign + 1, "(")
            yield Edit(found.start(2), found.start(2) + 1, "+(")
            yield Edit(end, end + 1, "))")


def checked_indices(code: str, names: Iterable[str]) -> Iterator[Edit]:
    """Check every index into an array of these names: `a[i]` becomes `a[within(a, i)]`."""
    words = "|".join(sorted(set(names)))
    for found in re.finditer(rf"(?<![\w.>])(?:{words})\s*(?=\[(?!\[))", code) if words else ():
        array, opening = found[0].strip(), found.end()
        before = code[max(0, found.start() - 20) : found.start()]
        end_too = ", true" if re.search(r"(?:[=(,{\[?:;]|\breturn)\s*&\s*$", before) else ""
        while opening > 0:
            end = closing(code, opening)
            if end < 0:
                break
            yield Edit(opening + 1, opening + 1, f"tracekit::within({array}, ")
            yield Edit(end, end, f"{end_too})")
            array += "[0]"
            following = re.compile(r"\s*\[").match(code, end + 1)
            opening = following.end() - 1 if following else 0


def _values(code: str) -> Iterator[Edit]:
    """Turn `auto x = p[i];` into one that takes the value, not the way to it."""
    for found in re.finditer(r"(?<!constexpr )(?<!constexpr const )\bauto\s+\w+\s*=(?!=)", code):
        end = code.find(";", found.end())
        first = code[found.end() : end]
        if (
            end > 0
            and "{" not in first
            and "\n#" not in first
            and first.count("(") == first.count(")")
        ):
            yield Edit(found.end(), found.end(), "tracekit::value(")
            yield Edit(end, end, ")")
