"""One C++ file for several kernels: their texts, each in a namespace, and how to call them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracekit.errors import UsageError
from tracekit.msl.edits import Edited, without_comments
from tracekit.msl.kernel import Kernel
from tracekit.msl.library import MOST_BUFFERS
from tracekit.msl.rewrite import rewritten
from tracekit.msl.signature import Parameter, instances_of, parameters_of

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


def unit(kernels: Sequence[Kernel], *, checked: bool) -> Unit:
    """Write the C++ file of some kernels. Kernels of one text share it.

    Raises:
        UsageError: A text uses what this engine does not know, or has no such function.
    """
    texts: dict[object, int] = {}
    files: list[tuple[str, Edited]] = []
    lines = ['#include "prelude.hpp"']
    parameters: list[tuple[Parameter, ...]] = []
    numbers: list[int] = []
    for number, given in enumerate(kernels):
        kernel, code = _resolved(given)
        identity = (kernel.text, _frozen(kernel.constants), _frozen(kernel.defines))
        if identity not in texts:
            texts[identity] = len(files)
            files.append((kernel.file, rewritten(kernel, checked=checked)))
            lines += _body(kernel, files[-1][1].text, texts[identity])
        read = parameters_of(code, kernel.function, kernel.file)
        _check_numbers(read, kernel.file)
        parameters.append(read)
        numbers.append(texts[identity])
        lines += _call(kernel, read, number, texts[identity])
    return Unit("\n".join(lines) + "\n", tuple(parameters), tuple(numbers), tuple(files), checked)


def _frozen(mapping: Mapping[int, object] | Mapping[str, object]) -> object:
    return tuple(sorted((str(key), repr(value)) for key, value in mapping.items()))


def _resolved(kernel: Kernel) -> tuple[Kernel, str]:
    """Find the function behind a host name, and the template arguments that belong to it."""
    code = without_comments(kernel.text)
    for one in instances_of(code):
        if one.host_name == kernel.function and (one.template or one.function != kernel.function):
            if kernel.template:
                continue
            return (
                Kernel(
                    kernel.text, one.function, one.template, kernel.file,
                    kernel.constants, kernel.defines,
                ),
                code,
            )  # fmt: skip
    return kernel, code


def _check_numbers(parameters: Sequence[Parameter], file: str) -> None:
    numbers = [one.index for one in parameters if one.kind == "buffer"]
    if len(set(numbers)) < len(numbers) or any(number >= MOST_BUFFERS for number in numbers):
        raise UsageError(
            f"{file}: buffers are numbered {', '.join(map(str, sorted(numbers)))}; "
            f"each needs a number of its own, below {MOST_BUFFERS}."
        )


def _body(kernel: Kernel, text: str, number: int) -> list[str]:
    macros = {*_macros(text), *(name.partition("(")[0] for name in kernel.defines)}
    return [
        *(f'#pragma push_macro("{name}")' for name in sorted(macros)),
        *(_define(name, value) for name, value in kernel.defines.items()),
        f"namespace kernel_{number} {{ using namespace metal;",
        f'#line 1 "{number}.metal"',
        text,
        f'#line 1 "{number}.end"',
        "}",
        *(f'#undef {name}\n#pragma pop_macro("{name}")' for name in sorted(macros)),
    ]


def _define(name: str, value: str) -> str:
    return f"#undef {name.partition('(')[0]}\n#define {name} {value}"


def _macros(text: str) -> set[str]:
    return set(re.findall(r"^[ \t]*#[ \t]*(?:define|undef)[ \t]+(\w+)", text, re.MULTILINE))


def _call(kernel: Kernel, parameters: Sequence[Parameter], number: int, text: int) -> list[str]:
    function = f"{kernel.function}<{kernel.template}>" if kernel.template else kernel.function
    kind = "tracekit::type_at_t<{}, A>"
    values = [_argument(one, kind.format(at)) for at, one in enumerate(parameters)]
    described = [f"tracekit::description<{kind.format(at)}>" for at in range(len(parameters))]
    return [
        f"namespace kernel_{text} {{",
        f'#line 1 "{text}.call"',
        f"struct called_{number} {{ using A = decltype(tracekit::types_of(&{function}));",
        f'#line 1 "{text}.call"',
        f"static void body() {{ {function}({', '.join(values)}); }}",
        f"static constexpr tracekit::Parameter parameters[] = {{{', '.join(described) or '{}'}}};",
        "}; }",
        '#line 1 "unit"',
        (
            f'extern "C" __attribute__((visibility("default"))) const tracekit::Entry '
            f"{ENTRY.format(number)} = {{kernel_{text}::called_{number}::body, "
            f"kernel_{text}::called_{number}::parameters}};"
        ),
    ]


def _argument(parameter: Parameter, kind: str) -> str:
    if parameter.kind == "builtin":
        return f"tracekit::at_{parameter.builtin}<{kind}>()"
    if parameter.kind == "threadgroup":
        return f"tracekit::threadgroup_parameter<{kind}>({parameter.index})"
    return f"tracekit::argument<{kind}>({parameter.index})"
