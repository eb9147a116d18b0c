"""Pointers and arrays that check each index against the bounds of their buffer."""

import re
from collections.abc import Iterable, Iterator

from tracekit.lab.msl.edits import Edit, KernelText
from tracekit.lab.msl.overloads import qualifies_this
from tracekit.lab.msl.signature import closing
from tracekit.lab.msl.unsupported import refuse_place

# A type with template arguments, which may have arguments themselves, two levels deep.
_TYPE = (
    r"(?:(?:unsigned|signed)\s+)?[\w:]+(?:\s*<(?:[^;<>()]|\([^()]*\)|<(?:[^;<>]|<[^<>]*>)*>)*>)?"
)
# `const device T const * restrict`: a pointer into a buffer, up to its name.
_POINTER = re.compile(
    r"(?P<first>(?:\b(?:const|volatile|static)\s+)*)\b(?P<space>device|constant)\s+"
    rf"(?P<second>(?:(?:const|volatile)\s+)*)(?P<type>(?!const\b|constexpr\b){_TYPE})"
    r"(?P<third>(?:\s+const)?)\s*\*(?P<tail>(?:\s*\b(?:__restrict__|__restrict|restrict)\b)*)"
)
# `constant int sizes[3]` as a parameter is a pointer as well
_ARRAY = re.compile(
    r"(?<=[(,])(?P<lead>\s*)(?P<first>(?:\b(?:const|volatile|static)\s+)*)"
    r"\b(?P<space>device|constant)\s+(?P<second>(?:(?:const|volatile)\s+)*)"
    rf"(?P<type>(?!const\b|constexpr\b){_TYPE})(?P<third>(?:\s+const)?)"
    r"\s+(?P<name>\w+)\s*\[[^\[\]]*\](?=\s*(?:[,)]|\[\[))"
)
# `T &`, after an address space.
_REFERENCE = re.compile(rf"\s*(?:const\s+|constexpr\s+|volatile\s+)*{_TYPE}(?:\s+const)?\s*&")
_NAME = re.compile(r"\s*(?:const\s+)?(\w+)")


def checked_pointers(code: str, kernel: KernelText) -> Iterator[Edit]:
    """Yield the edits that make every pointer into a buffer a checked one.

    Raises UsageError for a use of `device` that is neither a pointer nor a reference.
    """
    names: set[str] = set()
    pointer_places: list[tuple[int, int]] = []
    for match in _POINTER.finditer(code):
        name = _NAME.match(code, match.end())
        if name:
            names.add(name[1])
        kind = "auto" if match["type"] == "auto" else _write_pointer(match)
        yield Edit(match.start(), match.end(), kind)
        yield from _rewrite_cast(code, match)
        pointer_places.append(match.span())
    for match in _ARRAY.finditer(code):
        names.add(match["name"])
        pointer = f"{_write_pointer(match)} {match['name']}"
        yield Edit(match.start(), match.end(), pointer)
        pointer_places.append(match.span())
    for match in re.finditer(r"\bdevice\b(?!\s*\()", code):
        is_pointer = any(start <= match.start() < end for start, end in pointer_places)
        is_qualifier = qualifies_this(code, match.start())
        is_reference = _REFERENCE.match(code, match.end()) is not None
        if not (is_pointer or is_qualifier or is_reference):
            hint = "Run it unchecked, or write it as a pointer `device T*`."
            message = "this use of `device` cannot be checked"
            refuse_place(kernel, code, match.start(), message, hint=hint)
    yield from _rewrite_addresses(code, names)
    yield from _take_values(code)


def _write_pointer(match: re.Match[str]) -> str:
    qualifiers = match["first"] + match["second"] + match["third"]
    kind = " ".join(match["type"].split())
    if match["space"] == "constant" or "const" in qualifiers:
        kind = f"const {kind}"
    pointer = f"tracekit::pointer<{kind}>"
    if "static" in qualifiers:
        return f"static {pointer}"
    return pointer


def _rewrite_cast(code: str, match: re.Match[str]) -> Iterator[Edit]:
    """Turn `reinterpret_cast<device T*>(x)` into a cast that a class can have."""
    start = max(0, match.start() - 80)
    text_before = code[start : match.start()]
    cast_head = re.search(r"\breinterpret_cast\s*<\s*$", text_before)
    cast_tail = re.match(r"\s*(?:const\s*)?>", code[match.end() :])
    if cast_head and cast_tail:
        cast_start = start + cast_head.start()
        yield Edit(cast_start, match.start(), "(")
        cast_end = match.end() + cast_tail.end()
        yield Edit(match.end(), cast_end, ")")


# `&p[`, where & is not the binary operator.
_ADDRESS = re.compile(r"(?<=[=(,{\[?:|!<>+*/;-])\s*&\s*(\w+)\s*(\[)")


def _rewrite_addresses(code: str, names: set[str]) -> Iterator[Edit]:
    """Turn `&p[i]` into `(p+(i))`: an element of a const buffer is a value without an address."""
    for match in _ADDRESS.finditer(code):
        opening = match.start(2)
        end = closing(code, opening)
        if match[1] not in names or end <= 0:
            continue
        if re.match(r"\s*(?:\[|\.|->)", code[end + 1 :]):
            continue
        sign = code.index("&", match.start())
        yield Edit(sign, sign + 1, "(")
        yield Edit(opening, opening + 1, "+(")
        yield Edit(end, end + 1, "))")


def checked_indices(code: str, names: Iterable[str]) -> Iterator[Edit]:
    """Check every index into an array of these names: `a[i]` becomes `a[within(a, i)]`."""
    words = "|".join(sorted(set(names)))
    if not words:
        return
    for match in re.finditer(rf"(?<![\w.>])(?:{words})\s*(?=\[(?!\[))", code):
        preceding = code[max(0, match.start() - 20) : match.start()]
        takes_address = re.search(r"(?:[=(,{\[?:;]|\breturn)\s*&\s*$", preceding) is not None
        yield from _checked_dimensions(code, match, takes_address=takes_address)


def _checked_dimensions(code: str, match: re.Match[str], *, takes_address: bool) -> Iterator[Edit]:
    """Check each index after the name of an array; an address may be that of its end."""
    array = match[0].strip()
    tail = ", true)" if takes_address else ")"
    opening = match.end()
    while True:
        end = closing(code, opening)
        if end < 0:
            return
        yield Edit(opening + 1, opening + 1, f"tracekit::within({array}, ")
        yield Edit(end, end, tail)
        array += "[0]"
        following = re.compile(r"\s*\[").match(code, end + 1)
        if following is None:
            return
        opening = following.end() - 1


def _take_values(code: str) -> Iterator[Edit]:
    """Let `auto x = p[i];` take the value, not a reference to the element."""
    for match in re.finditer(r"(?<!constexpr )(?<!constexpr const )\bauto\s+\w+\s*=(?!=)", code):
        end = code.find(";", match.end())
        initializer = code[match.end() : end]
        is_plain = "{" not in initializer and "\n#" not in initializer
        if end > 0 and is_plain and initializer.count("(") == initializer.count(")"):
            yield Edit(match.end(), match.end(), "tracekit::value(")
            yield Edit(end, end, ")")
