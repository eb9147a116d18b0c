"""The C++ file of a kernel: its text, in a namespace, and how to call it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tracekit.base import UsageError
from tracekit.lab.msl.edits import Edited, Kernel, without_comments
from tracekit.lab.msl.program import MOST_BUFFERS
from tracekit.lab.msl.rewrite import rewritten
from tracekit.lab.msl.signature import (
    Instance,
    Parameter,
    instances_of,
    kernels_of,
    parameters_of,
    require_constants,
)

ENTRY = "tracekit_entry_0"


@dataclass(frozen=True)
class Unit:
    """A C++ file with one kernel.

    Attributes:
        text: The C++ file.
        parameters: Of the kernel.
        code: The kernel's text as rewritten.
    """

    text: str
    parameters: tuple[Parameter, ...]
    code: Edited


def unit(given: Kernel, *, checked: bool, expand: Callable[[Kernel], str]) -> Unit:
    """Write the C++ file of a kernel; `expand` replaces macros where it is not found without.

    Raises:
        UsageError: The text uses what this engine does not know, or has no such function.
    """
    kernel, plain = _resolved(given, expand)
    code = rewritten(kernel, checked=checked)
    require_constants(kernel)
    parameters = parameters_of(plain, kernel.function, kernel.file)
    numbers = [parameter.index for parameter in parameters if parameter.kind == "buffer"]
    if len(set(numbers)) < len(numbers) or any(number >= MOST_BUFFERS for number in numbers):
        raise UsageError(
            f"{kernel.file}: buffers are numbered {', '.join(map(str, sorted(numbers)))}; "
            f"each needs a number of its own, below {MOST_BUFFERS}."
        )
    body = _body(kernel, code.text, _call(kernel, parameters))
    lines = ['#include "prelude.hpp"', *body, *_ENTRY]
    return Unit("\n".join(lines) + "\n", parameters, code)


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


def _body(kernel: Kernel, text: str, calls: Sequence[str]) -> list[str]:
    macros = {*_macros(text), *(name.partition("(")[0] for name in kernel.defines)}
    # a text that adds to Metal's own namespace stands in no other
    extends_metal = re.search(r"^\s*namespace\s+metal\b", text, re.MULTILINE) is not None
    inside = "namespace kernel_0 { using namespace metal; using namespace mlx_prelude;"
    return [
        *(f'#pragma push_macro("{name}")' for name in sorted(macros)),
        define_lines(kernel),
        "using namespace metal;" if extends_metal else inside,
        '#line 1 "0.metal"',
        text,
        '#line 1 "0.end"',
        *(() if extends_metal else ("}",)),
        *calls,  # template arguments may be macros of the text
        *(f'#undef {name}\n#pragma pop_macro("{name}")' for name in sorted(macros)),
    ]


def define_lines(kernel: Kernel) -> str:
    """Return the lines that define the macros of a kernel."""
    return "\n".join(
        f"#undef {name.partition('(')[0]}\n#define {name} {value}"
        for name, value in kernel.defines.items()
    )


def _macros(text: str) -> set[str]:
    return set(re.findall(r"^[ \t]*#[ \t]*(?:define|undef)[ \t]+(\w+)", text, re.MULTILINE))


def _call(kernel: Kernel, parameters: Sequence[Parameter]) -> list[str]:
    function = f"{kernel.function}<{kernel.template}>" if kernel.template else kernel.function
    kind = "tracekit::type_at_t<{}, tracekit_types>"
    values = [_argument(one, kind.format(at)) for at, one in enumerate(parameters)]
    described = [f"tracekit::description<{kind.format(at)}>" for at in range(len(parameters))]
    return [
        "namespace kernel_0 {",
        '#line 1 "0.call"',
        "struct called_0 {",
        f"using tracekit_types = decltype(tracekit::types_of(&{function}));",
        '#line 1 "0.call"',
        f"static void tracekit_body() {{ {function}({', '.join(values)}); }}",
        "static constexpr tracekit::Parameter tracekit_parameters[] =",
        f"{{{', '.join(described) or '{}'}}};",
        "}; }",
    ]


_ENTRY = (
    '#line 1 "unit"',
    (
        f'extern "C" __attribute__((visibility("default"))) const tracekit::Entry {ENTRY} = '
        "{kernel_0::called_0::tracekit_body, kernel_0::called_0::tracekit_parameters};"
    ),
)


def _argument(parameter: Parameter, kind: str) -> str:
    if parameter.kind == "builtin":
        return f"tracekit::at_{parameter.builtin}<{kind}>()"
    if parameter.kind == "threadgroup":
        return f"tracekit::threadgroup_parameter<{kind}>({parameter.index})"
    return f"tracekit::argument<{kind}>({parameter.index})"
