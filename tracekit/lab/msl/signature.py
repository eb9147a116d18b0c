"""What a Metal text declares: kernels, parameters, instantiations, function constants."""

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tracekit.base import UsageError
from tracekit.lab.msl.edits import (
    Constant,
    Edit,
    KernelText,
    blank,
    without_comments,
    without_strings,
)

BUILTINS = frozenset(
    {
        *("thread_position_in_threadgroup", "thread_position_in_grid", "grid_origin", "grid_size"),
        *("threadgroup_position_in_grid", "threadgroups_per_grid", "threads_per_grid"),
        *("threads_per_threadgroup", "dispatch_threads_per_threadgroup"),
        *("thread_index_in_threadgroup", "thread_index_in_simdgroup", "thread_index_in_quadgroup"),
        *("simdgroup_index_in_threadgroup", "quadgroup_index_in_threadgroup"),
        *("simdgroups_per_threadgroup", "quadgroups_per_threadgroup"),
        *("dispatch_simdgroups_per_threadgroup", "threads_per_simdgroup", "thread_execution_width"),
    }
)
_ATTRIBUTE = re.compile(r"\[\[([^\[\]]*)\]\]")
_KERNEL = (
    r"\[\[[^\[\]]*\bkernel\b[^\[\]]*\]\](?:\s*\[\[[^\[\]]*\]\])*"
    r"|\bkernel\b(?:\s*\[\[[^\[\]]*\]\])*"
)
_SPACES = ("device", "constant", "threadgroup", "thread")


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel.

    `kind` is "buffer", "threadgroup" or "builtin"; `index` that of a buffer or of threadgroup
    memory. `element` is the type that it points to, as the text says. `condition` is the function
    constant that must hold for it to be there. `T& x`, a reference, is one value, which no check
    and no count follows.
    """

    name: str
    kind: str
    index: int
    address_space: str
    element: str
    builtin: str = ""
    condition: str = ""
    writable: bool = False
    is_reference: bool = False


@dataclass(frozen=True)
class Instance:
    """An explicit instantiation: `template [[host_name("x")]] ... f<half, 64>`."""

    host_name: str
    function: str
    template: str


def kernels_of(code: str) -> list[str]:
    """Return the names of the kernel functions that a text without comments defines."""
    heads = re.finditer(rf"(?:{_KERNEL})\s*\bvoid\s+(\w+)\s*\(", code)
    return [head[1] for head in heads if body_follows(code, head.end() - 1)]


def without_kernels(code: str, names: Iterable[str]) -> str:
    """Make the kernel functions of these names blank, parameters and bodies."""
    for name in names:
        for match in reversed(list(re.finditer(rf"\b{name}\s*\(", code))):
            opening = match.end() - 1
            if body_follows(code, opening):
                end = closing(code, code.index("{", closing(code, opening))) + 1
                if end > 0:
                    code = code[:opening] + blank(code[opening:end]) + code[end:]
    return code


def instances_of(code: str) -> list[Instance]:
    """Return the explicit instantiations that have a host name."""
    pattern = r'\btemplate\s*\[\[\s*host_name\(\s*((?:"[^"]*"\s*)+)\)\s*\]\]([^;]*);'
    instances: list[Instance] = []
    for match in re.finditer(pattern, code):
        declared = match[2].split("(")[0] if "decltype" not in match[2] else match[2]
        name_match = re.search(
            r"(?:decltype\(\s*&?|\b(?:void|kernel)\b[\s\w\]]*?\b)(\w+)\s*<", declared
        )
        if name_match:
            end = closing(match[2], name_match.end() - 1)
            host_name = "".join(re.findall(r'"([^"]*)"', match[1]))
            arguments = " ".join(match[2][name_match.end() : end].split())
            instances.append(Instance(host_name, name_match[1], arguments))
    return instances


def body_follows(code: str, opening: int) -> bool:
    """Say whether the parenthesis at `opening` closes right before a body."""
    end = closing(code, opening)
    return end > 0 and code[end + 1 :].lstrip()[:1] == "{"


_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}


def closing(code: str, opening: int) -> int:
    """Return the offset of the bracket that closes the one at `opening`; -1 where there is none."""
    left_bracket, right = code[opening], _PAIRS[code[opening]]
    depth = 0
    for position in range(opening, len(code)):
        depth += (code[position] == left_bracket) - (code[position] == right)
        if depth == 0:
            return position
    return -1


def split_parameters(text: str) -> list[str]:
    """Split at the commas that stand in no bracket."""
    pieces, depth, start = list[str](), 0, 0
    for position, letter in enumerate(text):
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and depth == 0:
            pieces.append(text[start:position])
            start = position + 1
    return [piece for piece in [*pieces, text[start:]] if piece.strip()]


def parameters_of(code: str, function: str, file: str) -> tuple[Parameter, ...]:
    """Read the signature of a kernel function from text without comments; refuse others."""
    head_pattern = rf"\bvoid\s+{re.escape(function)}\s*\("
    for pattern in (rf"(?:{_KERNEL})\s*{head_pattern}", head_pattern):
        for match in re.finditer(pattern, code):
            if body_follows(code, match.end() - 1):
                parameter_text = code[match.end() : closing(code, match.end() - 1)]
                return _number_parameters(
                    [_parameter(parameter, file) for parameter in split_parameters(parameter_text)]
                )
    kernel_names = ", ".join(dict.fromkeys(kernels_of(code)))
    raise UsageError(
        f"{file} has no kernel function {function!r}.",
        hint=f"It has: {kernel_names}." if kernel_names else "It has no kernel function at all.",
    )


def _parameter(text: str, file: str) -> Parameter:
    attributes = ",".join(match[1] for match in _ATTRIBUTE.finditer(text))
    declaration = _ATTRIBUTE.sub(" ", text)
    name = re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)?(?:=.*)?$", declaration.strip())
    if name is None:
        raise UsageError(f"{file}: the parameter {declaration.strip()!r} is not understood.")
    builtin = next((word for word in re.findall(r"\w+", attributes) if word in BUILTINS), "")
    if builtin:
        return Parameter(name[1], "builtin", -1, "", "", builtin)
    words = re.findall(r"\w+", declaration)
    space = next((word for word in _SPACES if word in words), "")
    if space not in {"device", "constant", "threadgroup"} or not set("*&[") & set(declaration):
        raise UsageError(
            f"{file}: the parameter {' '.join(declaration.split())!r} is neither memory nor one of "
            "the values that Metal gives to a thread.",
            hint=f"Its attributes are {attributes!r}." if attributes else "",
        )
    kind = "threadgroup" if space == "threadgroup" else "buffer"
    index = re.search(rf"\b{kind}\((\d+)\)", attributes)
    condition = re.search(r"function_constant\(\s*(\w+)\s*\)", attributes)
    pointee = re.split(r"[*&]", declaration)[0]
    element = re.sub(r"\b(?:device|constant|threadgroup|const|volatile)\b", " ", pointee)
    writable = space == "device" and not re.search(r"\bconst\b", pointee)
    return Parameter(
        name[1], kind, int(index[1]) if index else -1, space, " ".join(element.split()), "",
        condition[1] if condition else "", writable, "&" in declaration,
    )  # fmt: skip


def _number_parameters(parameters: list[Parameter]) -> tuple[Parameter, ...]:
    """Give those without a number the first that is free, as Metal does."""
    for position, parameter in enumerate(parameters):
        if parameter.kind != "builtin" and parameter.index < 0:
            used_indices = {
                sibling.index for sibling in parameters if sibling.kind == parameter.kind
            }
            index = next(number for number in itertools.count() if number not in used_indices)
            parameters[position] = replace(parameter, index=index)
    return tuple(parameters)


_DECLARED = re.compile(
    r"(?:\b\w+[ \t]+)+?(?P<type>[\w:]+)\s+(?P<name>\w+)\s*"
    r"\[\[\s*function_constant\s*\(\s*(?P<index>[^()\[\]]+?)\s*\)\s*\]\]\s*;"
)
_MOST_NESTED = 32  # macros that stand for macros


def constant_indices(code: str, kernel: KernelText) -> dict[str, int]:
    """Return the index of each function constant that a text without comments declares."""
    return {
        match["name"]: _index(match["index"], code, kernel) for match in _DECLARED.finditer(code)
    }


def with_constants(code: str, kernel: KernelText) -> Iterator[Edit]:
    """Yield the edits that make constants of C++ of function constants; 0 of one without value."""
    indices = constant_indices(code, kernel)
    for match in _DECLARED.finditer(code):
        kind, name = match["type"], match["name"]
        index = indices[name]
        for question in re.finditer(_make_query_pattern(name), code):
            yield Edit(*question.span(), "true" if index in kernel.constants else "false")
        value = _literal(kernel.constants.get(index, 0))
        yield Edit(*match.span(), f"constexpr {kind} {name} = ({kind})({value});")


def require_constants(kernel: KernelText) -> None:
    """Refuse a kernel that may use a function constant without a value."""
    code = without_strings(without_comments(kernel.text))
    indices = constant_indices(code, kernel)
    if not set(indices.values()) - set(kernel.constants):
        return
    code = _DECLARED.sub(" ", code)
    code = without_kernels(code, [name for name in kernels_of(code) if name != kernel.function])
    missing = [
        f"{index} ({name})"
        for name, index in indices.items()
        if index not in kernel.constants
        and re.search(rf"\b{name}\b", re.sub(_make_query_pattern(name), "", code))
    ]
    if missing:
        raise UsageError(
            f"{kernel.file} needs function constants that have no value: {', '.join(missing)}.",
            hint="Give each a value, by its index: `constants`, or --constant INDEX=VALUE.",
        )


def _make_query_pattern(name: str) -> str:
    return rf"\bis_function_constant_defined\s*\(\s*{name}\s*\)"


def _index(words: str, code: str, kernel: KernelText) -> int:
    """Read an index: a number, or a sum of numbers and macros that stand for some."""
    macros = dict(re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(.+)$", code, re.MULTILINE))
    sum_of = words
    for _ in range(_MOST_NESTED):
        expansion = re.sub(r"\b[A-Za-z_]\w*\b", lambda word: macros.get(word[0], word[0]), sum_of)
        if expansion == sum_of:
            break
        sum_of = expansion
    numbers = [part.strip(" \t()uUlL") for part in sum_of.split("+")]
    if not all(number.isdecimal() for number in numbers):
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
