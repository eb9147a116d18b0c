"""The Metal source that MLX generates for a custom kernel, also where there is no Metal.

Calling a kernel needs Metal; tracing a function for export does not, since MLX 0.32. The trace
holds the text that MLX would compile, the grid and the threadgroup.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from tracekit.base.errors import ToolError

Dimensions = tuple[int, int, int]

_PREFIX = "custom_kernel_"
_TYPE = r"_(?:u?int(?:8|16|32|64)_t|b?float16_t|float|bool|complex64_t)[sc]?"


@dataclass(frozen=True)
class Generated:
    """A kernel as MLX would compile it for one call.

    Attributes:
        name: What `mx.fast.metal_kernel` was given as `name`.
        function: Name of the kernel in the text, and in a trace of a GPU.
        template: Template arguments as text, such as "float16_t, 128"; "" where there are none.
        text: The header, then the kernel, then its instantiation. MLX puts a prelude of its own
            before it when it compiles.
        grid: Threads to launch along x, y and z.
        threadgroup: Threads of a threadgroup along x, y and z.
    """

    name: str
    function: str
    template: str
    text: str
    grid: Dimensions
    threadgroup: Dimensions


def generated(function: Callable[..., Any], *arrays: mx.array) -> tuple[Generated, ...]:
    """Trace a function of MLX's and return the kernels that it would launch, in running order.

    Nothing is computed: in the function, arrays have a shape and a dtype, and no contents. A
    call whose outputs nothing depends on is not there, as it would not be run either.

    Raises:
        ToolError: This MLX describes a kernel in a way that tracekit does not know.
    """
    found: list[Generated] = []

    def keep(entry: dict[str, Any]) -> None:
        if entry.get("type") == "primitive" and entry.get("name") == "CustomKernel":
            found.append(_kernel(entry))

    mx.export_function(keep, function, *arrays)
    return tuple(found)


def _kernel(entry: dict[str, Any]) -> Generated:
    arguments = entry["arguments"]
    kinds = [type(value) for value in arguments[:8]]
    if kinds != [str, str, *[int] * 6]:
        raise ToolError(
            "This version of MLX describes a custom kernel in a way that tracekit does not know: "
            f"{', '.join(kind.__name__ for kind in kinds)} "
            "instead of two texts and six whole numbers.",
            hint="MLX 0.32 is known to work.",
        )
    function, text, *sizes = arguments[:8]
    template = _template(function, text)
    types = len(entry["inputs"]) + len(entry["outputs"])
    grid, threadgroup = (sizes[0], sizes[1], sizes[2]), (sizes[3], sizes[4], sizes[5])
    name = _name(function, template, types)
    return Generated(name, function, template, text, grid, threadgroup)


def _template(function: str, text: str) -> str:
    found = re.search(rf"decltype\({re.escape(function)}<(.*)>\)", text)
    return found[1] if found else ""


def _name(function: str, template: str, types: int) -> str:
    rest = re.sub(rf"(?:{_TYPE}){{{types}}}$", "", function.removeprefix(_PREFIX))
    values = re.sub(r", |-", "_", template.replace(", -", "__"))
    return rest.removesuffix(f"__{values}") if template else rest
