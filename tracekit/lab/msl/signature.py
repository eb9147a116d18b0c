"""Read the declarations of a Metal text: kernels, parameters, instantiations, constants."""

import re
from collections.abc import Iterable, Iterator, Sequence
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
        "thread_position_in_threadgroup",
        "thread_position_in_grid",
        "grid_origin",
        "grid_size",
        "threadgroup_position_in_grid",
        "threadgroups_per_grid",
        "threads_per_grid",
        "threads_per_threadgroup",
        "dispatch_threads_per_threadgroup",
        "thread_index_in_threadgroup",
        "thread_index_in_simdgroup",
        "thread_index_in_quadgroup",
        "simdgroup_index_in_threadgroup",
        "quadgroup_index_in_threadgroup",
        "simdgroups_per_threadgroup",
        "quadgroups_per_threadgroup",
        "dispatch_simdgroups_per_threadgroup",
        "threads_per_simdgroup",
        "thread_execution_width",
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

    `kind` is "buffer", "threadgroup" or "builtin"; `index` is that of a buffer or of threadgroup
    memory. `element` is the type that it points to, as in the text. `condition` is the function
    constant that must hold for the parameter to exist. A reference, `T& x`, is one value, which no
    check and no count follows.
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
        heads = list(re.finditer(rf"\b{name}\s*\(", code))
        for head in reversed(heads):
            code = _blank_function(code, head.end() - 1)
    return code


def _blank_function(code: str, opening: int) -> str:
    """Make parameters from the bracket at `opening`, and the body, blank; nothing for a call."""
    if not body_follows(code, opening):
        return code
    body = code.index("{", closing(code, opening))
    end = closing(code, body) + 1
    if end <= 0:
        return code
    return code[:opening] + blank(code[opening:end]) + code[end:]


_HOST_NAME = re.compile(r'\btemplate\s*\[\[\s*host_name\(\s*((?:"[^"]*"\s*)+)\)\s*\]\]([^;]*);')


_INSTANTIATED = re.compile(r"(?:decltype\(\s*&?|\b(?:void|kernel)\b[\s\w\]]*?\b)(\w+)\s*<")


def instances_of(code: str) -> list[Instance]:
    """Return the explicit instantiations that have a host name."""
    instances: list[Instance] = []
    for match in _HOST_NAME.finditer(code):
        host_name_text, declaration = match.groups()
        head = declaration
        if "decltype" not in declaration:
            head = declaration.split("(")[0]
        name_match = _INSTANTIATED.search(head)
        if name_match is None:
            continue
        host_name = "".join(re.findall(r'"([^"]*)"', host_name_text))
        end = closing(declaration, name_match.end() - 1)
        arguments = declaration[name_match.end() : end].split()
        instance = Instance(host_name, name_match[1], " ".join(arguments))
        instances.append(instance)
    return instances


def body_follows(code: str, opening: int) -> bool:
    """Return whether the parenthesis at `opening` closes right before a body."""
    end = closing(code, opening)
    return end > 0 and code[end + 1 :].lstrip()[:1] == "{"


_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}


def closing(code: str, opening: int) -> int:
    """Return the offset of the bracket that closes the one at `opening`, or -1 without one."""
    left_bracket = code[opening]
    right_bracket = _PAIRS[left_bracket]
    depth = 0
    for position in range(opening, len(code)):
        letter = code[position]
        if letter == left_bracket:
            depth += 1
        elif letter == right_bracket:
            depth -= 1
        if depth == 0:
            return position
    return -1


def split_parameters(text: str) -> list[str]:
    """Split at the commas that are outside all brackets; leave out blank pieces."""
    pieces: list[str] = []
    depth = 0
    start = 0
    for position, letter in enumerate(text):
        if letter in "([{<":
            depth += 1
        elif letter in ")]}>":
            depth -= 1
        elif letter == "," and depth == 0:
            pieces.append(text[start:position])
            start = position + 1
    pieces.append(text[start:])
    return [piece for piece in pieces if piece.strip()]


def parameters_of(code: str, function: str, file: str) -> tuple[Parameter, ...]:
    """Read the signature of a kernel function from text without comments.

    Raises UsageError for an unknown function, or a parameter that is not understood.
    """
    opening = _find_parameters(code, function)
    if opening is not None:
        parameter_text = code[opening + 1 : closing(code, opening)]
        pieces = split_parameters(parameter_text)
        return _number_parameters([_parameter(piece, file) for piece in pieces])
    kernel_names = ", ".join(dict.fromkeys(kernels_of(code)))
    hint = "It has no kernel function at all."
    if kernel_names:
        hint = f"It has: {kernel_names}."
    raise UsageError(f"{file} has no kernel function {function!r}.", hint=hint)


def _find_parameters(code: str, function: str) -> int | None:
    """Return the offset of the bracket that opens the parameters of a function with a body.

    A kernel comes before another function of the name.
    """
    head_pattern = rf"\bvoid\s+{re.escape(function)}\s*\("
    for pattern in (rf"(?:{_KERNEL})\s*{head_pattern}", head_pattern):
        for match in re.finditer(pattern, code):
            opening = match.end() - 1
            if body_follows(code, opening):
                return opening
    return None


def _parameter(text: str, file: str) -> Parameter:
    attribute_names = [match[1] for match in _ATTRIBUTE.finditer(text)]
    attributes = ",".join(attribute_names)
    declaration = _ATTRIBUTE.sub(" ", text)
    name_match = re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)?(?:=.*)?$", declaration.strip())
    if name_match is None:
        raise UsageError(f"{file}: the parameter {declaration.strip()!r} is not understood.")
    name = name_match[1]
    for word in re.findall(r"\w+", attributes):
        if word in BUILTINS:
            return Parameter(name, "builtin", -1, "", "", word)
    space = _address_space(declaration)
    is_memory = space in {"device", "constant", "threadgroup"}
    if not is_memory or not set("*&[") & set(declaration):
        raise UsageError(
            f"{file}: the parameter {' '.join(declaration.split())!r} is neither memory nor one of "
            "the values that Metal gives to a thread.",
            hint=f"Its attributes are {attributes!r}." if attributes else "",
        )
    kind = "threadgroup" if space == "threadgroup" else "buffer"
    index_match = re.search(rf"\b{kind}\((\d+)\)", attributes)
    condition_match = re.search(r"function_constant\(\s*(\w+)\s*\)", attributes)
    pointee = re.split(r"[*&]", declaration)[0]
    element = re.sub(r"\b(?:device|constant|threadgroup|const|volatile)\b", " ", pointee)
    index = -1
    if index_match:
        index = int(index_match[1])
    condition = condition_match[1] if condition_match else ""
    writable = space == "device" and not re.search(r"\bconst\b", pointee)
    return Parameter(
        name,
        kind,
        index=index,
        address_space=space,
        element=" ".join(element.split()),
        condition=condition,
        writable=writable,
        is_reference="&" in declaration,
    )


def _address_space(declaration: str) -> str:
    words = re.findall(r"\w+", declaration)
    for space in _SPACES:
        if space in words:
            return space
    return ""


def _number_parameters(parameters: list[Parameter]) -> tuple[Parameter, ...]:
    """Give each parameter without a number the first free one, as Metal does."""
    for position, parameter in enumerate(parameters):
        if parameter.kind != "builtin" and parameter.index < 0:
            index = _free_index(parameters, parameter.kind)
            parameters[position] = replace(parameter, index=index)
    return tuple(parameters)


def _free_index(parameters: Sequence[Parameter], kind: str) -> int:
    used_indices = {parameter.index for parameter in parameters if parameter.kind == kind}
    index = 0
    while index in used_indices:
        index += 1
    return index


_DECLARED = re.compile(
    r"(?:\b\w+[ \t]+)+?(?P<type>[\w:]+)\s+(?P<name>\w+)\s*"
    r"\[\[\s*function_constant\s*\(\s*(?P<index>[^()\[\]]+?)\s*\)\s*\]\]\s*;"
)
_MOST_NESTED = 32  # macros that expand to macros


def constant_indices(code: str, kernel: KernelText) -> dict[str, int]:
    """Return the index of each function constant that a text without comments declares."""
    indices: dict[str, int] = {}
    for match in _DECLARED.finditer(code):
        indices[match["name"]] = _index(match["index"], code, kernel)
    return indices


def with_constants(code: str, kernel: KernelText) -> Iterator[Edit]:
    """Yield the edits that turn function constants into C++ constants; 0 without a value."""
    indices = constant_indices(code, kernel)
    for match in _DECLARED.finditer(code):
        kind = match["type"]
        name = match["name"]
        index = indices[name]
        is_defined = "true" if index in kernel.constants else "false"
        for query in re.finditer(_make_query_pattern(name), code):
            yield Edit(*query.span(), is_defined)
        value = _literal(kernel.constants.get(index, 0))
        yield Edit(*match.span(), f"constexpr {kind} {name} = ({kind})({value});")


def require_constants(kernel: KernelText) -> None:
    """Refuse a kernel that may use a function constant without a value."""
    code = without_strings(without_comments(kernel.text))
    indices = constant_indices(code, kernel)
    if not set(indices.values()) - set(kernel.constants):
        return
    code = _DECLARED.sub(" ", code)
    other_kernels = [name for name in kernels_of(code) if name != kernel.function]
    code = without_kernels(code, other_kernels)
    missing: list[str] = []
    for name, index in indices.items():
        if index not in kernel.constants and _uses_constant(code, name):
            missing.append(f"{index} ({name})")
    if missing:
        raise UsageError(
            f"{kernel.file} needs function constants that have no value: {', '.join(missing)}.",
            hint="Give each a value, by its index: `constants`, or --constant INDEX=VALUE.",
        )


def _uses_constant(code: str, name: str) -> bool:
    """Return whether a text uses a function constant other than to ask whether it is defined."""
    code = re.sub(_make_query_pattern(name), "", code)
    return re.search(rf"\b{name}\b", code) is not None


def _make_query_pattern(name: str) -> str:
    return rf"\bis_function_constant_defined\s*\(\s*{name}\s*\)"


def _index(words: str, code: str, kernel: KernelText) -> int:
    """Read an index: a number, or a sum of numbers and macros for numbers."""
    macros = dict(re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(.+)$", code, re.MULTILINE))
    sum_of = words
    for _ in range(_MOST_NESTED):
        expansion = re.sub(r"\b[A-Za-z_]\w*\b", lambda word: macros.get(word[0], word[0]), sum_of)
        if expansion == sum_of:
            break
        sum_of = expansion
    index = 0
    for part in sum_of.split("+"):
        number = part.strip(" \t()uUlL")
        if not number.isdecimal():
            raise UsageError(
                f"{kernel.file}: the index of a function constant, {words!r}, is not a number."
            )
        index += int(number)
    return index


_NOT_FINITE = {"inf": "INFINITY", "-inf": "-INFINITY", "nan": "NAN"}


def _literal(value: Constant) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value}ll"
    number = repr(value)
    return _NOT_FINITE.get(number, number)
