"""One C++ file for several kernels: their texts, each in a namespace, and how to call them."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tracekit.base import UsageError
from tracekit.lab.msl.edits import Edited, without_comments
from tracekit.lab.msl.kernel import Kernel
from tracekit.lab.msl.library import MOST_BUFFERS
from tracekit.lab.msl.rewrite import rewritten
from tracekit.lab.msl.signature import (
    Instance,
    Parameter,
    instances_of,
    kernels_of,
    parameters_of,
    require_constants,
)

ENTRY = "tracekit_entry_{}"


@dataclass(frozen=True)
class Unit:
    """A C++ file, and what its kernels are called in it.

    Attributes:
        text: The C++ file.
        parameters: Of each kernel, in the order in which they were given.
        texts: Of each kernel, the number of its text.
        files: What messages call a text, and the text as rewritten, by its number.
        checked: Whether accesses are checked.
    """

    text: str
    parameters: tuple[tuple[Parameter, ...], ...]
    texts: tuple[int, ...]
    files: tuple[tuple[str, Edited], ...]
    checked: bool


def _unexpanded(_kernel: Kernel) -> str:
    return ""


def unit(
    kernels: Sequence[Kernel],
    *,
    checked: bool,
    expand: Callable[[Kernel], str] = _unexpanded,
) -> Unit:
    """Write the C++ file of some kernels. Kernels of one text share it.

    Args:
        kernels: What the file is to hold.
        checked: Whether accesses are checked.
        expand: Replaces the macros of a text; asked where a kernel is not found without.

    Raises:
        UsageError: A text uses what this engine does not know, or has no such function.
    """
    texts: dict[object, int] = {}
    files: list[tuple[str, Edited]] = []
    calls: list[list[str]] = []
    first: list[Kernel] = []
    entries: list[str] = []
    parameters: list[tuple[Parameter, ...]] = []
    numbers: list[int] = []
    for number, given in enumerate(kernels):
        kernel, code = _resolved(given, expand)
        identity = (kernel.text, _frozen(kernel.constants), _frozen(kernel.defines))
        if identity not in texts:
            texts[identity] = len(files)
            files.append((kernel.file, rewritten(kernel, checked=checked)))
            calls.append([])
            first.append(kernel)
        require_constants(kernel)
        read = parameters_of(code, kernel.function, kernel.file)
        _check_numbers(read, kernel.file)
        text = texts[identity]
        parameters.append(read)
        numbers.append(text)
        calls[text] += _call(kernel, read, number, text)
        entries += _entry(number, text)
    bodies = (
        line
        for text, kernel in enumerate(first)
        for line in _body(kernel, files[text][1].text, calls[text], text)
    )
    lines = ['#include "prelude.hpp"', *bodies, *entries]
    return Unit("\n".join(lines) + "\n", tuple(parameters), tuple(numbers), tuple(files), checked)


def _frozen(mapping: Mapping[int, object] | Mapping[str, object]) -> object:
    return tuple(sorted((str(key), repr(value)) for key, value in mapping.items()))


def _resolved(kernel: Kernel, expand: Callable[[Kernel], str]) -> tuple[Kernel, str]:
    """Find the function behind a host name, and the code that declares it."""
    code = without_comments(kernel.text)
    found = _instance(code, kernel.function)
    is_there = found is not None or kernel.function in kernels_of(code)
    if not is_there or (found and set(re.findall(r"\w+", found.template)) & _macros(code)):
        code = expand(kernel) or code
        found = _instance(code, kernel.function)
    if found is None or kernel.template:
        return kernel, code
    return replace(kernel, function=found.function, template=found.template, name=kernel.file), code


def _instance(code: str, name: str) -> Instance | None:
    named = (instance for instance in instances_of(code) if instance.host_name == name)
    return next((one for one in named if one.template or one.function != name), None)


def _check_numbers(parameters: Sequence[Parameter], file: str) -> None:
    numbers = [parameter.index for parameter in parameters if parameter.kind == "buffer"]
    if len(set(numbers)) < len(numbers) or any(number >= MOST_BUFFERS for number in numbers):
        raise UsageError(
            f"{file}: buffers are numbered {', '.join(map(str, sorted(numbers)))}; "
            f"each needs a number of its own, below {MOST_BUFFERS}."
        )


def _body(kernel: Kernel, text: str, calls: Sequence[str], number: int) -> list[str]:
    macros = {*_macros(text), *(name.partition("(")[0] for name in kernel.defines)}
    return [
        *(f'#pragma push_macro("{name}")' for name in sorted(macros)),
        *(_define(name, value) for name, value in kernel.defines.items()),
        *_opening(text, number),
        f'#line 1 "{number}.metal"',
        text,
        f'#line 1 "{number}.end"',
        *(() if extends_metal(text) else ("}",)),
        *calls,  # template arguments may be macros of the text
        *(f'#undef {name}\n#pragma pop_macro("{name}")' for name in sorted(macros)),
    ]


def extends_metal(text: str) -> bool:
    """Say whether a text adds to Metal's own namespace: then it stands in no other."""
    return re.search(r"^\s*namespace\s+metal\b", text, re.MULTILINE) is not None


def _opening(text: str, number: int) -> Iterator[str]:
    if extends_metal(text):
        yield "using namespace metal;"
    else:
        yield f"namespace kernel_{number} {{ using namespace metal; using namespace mlx_prelude;"


def _define(name: str, value: str) -> str:
    return f"#undef {name.partition('(')[0]}\n#define {name} {value}"


def _macros(text: str) -> set[str]:
    return set(re.findall(r"^[ \t]*#[ \t]*(?:define|undef)[ \t]+(\w+)", text, re.MULTILINE))


def _call(kernel: Kernel, parameters: Sequence[Parameter], number: int, text: int) -> list[str]:
    function = f"{kernel.function}<{kernel.template}>" if kernel.template else kernel.function
    kind = "tracekit::type_at_t<{}, tracekit_types>"
    values = [_argument(one, kind.format(at)) for at, one in enumerate(parameters)]
    described = [f"tracekit::description<{kind.format(at)}>" for at in range(len(parameters))]
    return [
        f"namespace kernel_{text} {{",
        f'#line 1 "{text}.call"',
        f"struct called_{number} {{",
        f"using tracekit_types = decltype(tracekit::types_of(&{function}));",
        f'#line 1 "{text}.call"',
        f"static void tracekit_body() {{ {function}({', '.join(values)}); }}",
        "static constexpr tracekit::Parameter tracekit_parameters[] =",
        f"{{{', '.join(described) or '{}'}}};",
        "}; }",
    ]


def _entry(number: int, text: int) -> list[str]:
    called = f"kernel_{text}::called_{number}"
    return [
        '#line 1 "unit"',
        (
            f'extern "C" __attribute__((visibility("default"))) const tracekit::Entry '
            f"{ENTRY.format(number)} = {{{called}::tracekit_body, {called}::tracekit_parameters}};"
        ),
    ]


def _argument(parameter: Parameter, kind: str) -> str:
    if parameter.kind == "builtin":
        return f"tracekit::at_{parameter.builtin}<{kind}>()"
    if parameter.kind == "threadgroup":
        return f"tracekit::threadgroup_parameter<{kind}>({parameter.index})"
    return f"tracekit::argument<{kind}>({parameter.index})"
