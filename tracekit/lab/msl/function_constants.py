"""Function constants: values that Metal fills in when it builds a pipeline."""

import re
from collections.abc import Iterator

from tracekit.base.errors import UsageError
from tracekit.lab.msl.edits import Edit, without_comments, without_strings
from tracekit.lab.msl.kernel import Constant, Kernel
from tracekit.lab.msl.signature import kernels_of, without_kernels

_DECLARED = re.compile(
    r"(?:\b\w+[ \t]+)+?(?P<type>[\w:]+)\s+(?P<name>\w+)\s*"
    r"\[\[\s*function_constant\s*\(\s*(?P<index>[^()\[\]]+?)\s*\)\s*\]\]\s*;"
)
_MOST_NESTED = 32  # macros that stand for macros


def constant_indices(code: str, kernel: Kernel) -> dict[str, int]:
    """Return the index of each function constant that a text without comments declares."""
    return {
        found["name"]: _index(found["index"], code, kernel) for found in _DECLARED.finditer(code)
    }


def with_constants(code: str, kernel: Kernel) -> Iterator[Edit]:
    """Yield the edits that make constants of C++ of function constants; 0 of one without value."""
    indices = constant_indices(code, kernel)
    for found in _DECLARED.finditer(code):
        kind, name = found["type"], found["name"]
        index = indices[name]
        for question in re.finditer(_asked(name), code):
            answer = "true" if index in kernel.constants else "false"
            yield Edit(question.start(), question.end(), answer)
        value = _literal(kernel.constants.get(index, 0))
        yield Edit(found.start(), found.end(), f"constexpr {kind} {name} = ({kind})({value});")


def require_constants(kernel: Kernel) -> None:
    """Check that each function constant has a value that the kernel may use.

    Raises:
        UsageError: One has none, or an index that is no number.
    """
    code = without_strings(without_comments(kernel.text))
    indices = constant_indices(code, kernel)
    if not set(indices.values()) - set(kernel.constants):
        return
    code = _DECLARED.sub(" ", code)
    code = without_kernels(code, [one for one in kernels_of(code) if one != kernel.function])
    missing = [
        f"{index} ({name})"
        for name, index in indices.items()
        if index not in kernel.constants
        and re.search(rf"\b{name}\b", re.sub(_asked(name), "", code))
    ]
    if missing:
        raise UsageError(
            f"{kernel.file} needs function constants that have no value: {', '.join(missing)}.",
            hint="Give each a value, by its index: `constants`, or --constant INDEX=VALUE.",
        )


def _asked(name: str) -> str:
    return rf"\bis_function_constant_defined\s*\(\s*{name}\s*\)"


def _index(words: str, code: str, kernel: Kernel) -> int:
    """Read an index: a number, or a sum of numbers and macros that stand for some."""
    macros = dict(re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(.+)$", code, re.MULTILINE))
    macros |= kernel.defines
    sum_of = words
    for _ in range(_MOST_NESTED):
        made = re.sub(r"\b[A-Za-z_]\w*\b", lambda word: macros.get(word[0], word[0]), sum_of)
        if made == sum_of:
            break
        sum_of = made
    numbers = [one.strip(" \t()uUlL") for one in sum_of.split("+")]
    if not all(one.isdecimal() for one in numbers):
        raise UsageError(
            f"{kernel.file}: the index of a function constant, {words!r}, is no number."
        )
    return sum(map(int, numbers))


def _literal(value: Constant) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value}ll"
    return {"inf": "INFINITY", "-inf": "-INFINITY", "nan": "NAN"}.get(repr(value), repr(value))
