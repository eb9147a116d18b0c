"""What a function of MLX's launches: its custom kernels, with their arguments and their source.

`mx.fast.metal_kernel` is replaced while the function runs; nothing is computed, so this works
where there is no Metal as well.
"""

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import numpy as np

from tracekit.lab.metal_queue.bridge import unavailable
from tracekit.lab.msl.generated import Generated, generated

Triple = tuple[int, int, int]
_BUFFER = re.compile(r"(\w+)\s*\[\[\s*buffer\((\d+)\)\s*\]\]")


@dataclass(frozen=True)
class Launch:
    """One kernel as it is launched.

    Attributes:
        source: Its text, name, grid and threadgroup, as MLX would compile and launch it.
        inputs: Its arrays, by the names of their parameters.
        outputs: Bytes of what it writes, by the names of their parameters.
    """

    source: Generated
    inputs: dict[str, mx.array]
    outputs: dict[str, int]

    @property
    def threadgroup(self) -> Triple:
        """Threads of a threadgroup, as MLX has it: no more than the grid has along an axis."""
        least = [min(pair) for pair in zip(self.source.threadgroup, self.source.grid, strict=True)]
        return least[0], least[1], least[2]

    def buffers(self) -> dict[int, bytes | int]:
        """Return each buffer's contents, or the size of those to be written, by its index.

        Raises:
            ToolError: The text has a parameter whose meaning is not known.
        """
        signature = self.source.text.partition(f"void {self.source.function}(")[2]
        found = _BUFFER.findall(signature.partition("{")[0])
        return {int(index): self._contents(name) for name, index in found}

    def _contents(self, name: str) -> bytes | int:
        if name in self.outputs:
            return self.outputs[name]
        if name in self.inputs:
            return _bytes(self.inputs[name])
        owner, _, what = name.rpartition("_")
        if owner in self.inputs and what in {"shape", "strides", "ndim"}:
            return _layout(self.inputs[owner], what)
        raise unavailable(
            f"it is not known what the parameter {name!r} of {self.source.function} holds"
        )


@contextmanager
def _replaced(factory: Callable[..., Any]) -> Generator[None]:
    true = mx.fast.metal_kernel
    mx.fast.metal_kernel = factory
    try:
        yield
    finally:
        mx.fast.metal_kernel = true


def recorded(function: Callable[[], Any]) -> tuple[Launch, ...]:
    """Run a function and return the custom kernels that it launches, in the order of its calls.

    The kernels give zeros here, so a kernel that reads what another one wrote gets zeros.

    Raises:
        ToolError: This MLX describes a kernel in a way that tracekit does not know.
    """
    found: list[Launch] = []
    make = mx.fast.metal_kernel

    def factory(*, name: str, input_names: Any, output_names: Any, **how: Any) -> Any:
        kernel = make(name=name, input_names=input_names, output_names=output_names, **how)

        def call(*, inputs: Sequence[Any], **launch: Any) -> list[mx.array]:
            arrays = [one if isinstance(one, mx.array) else mx.array(one) for one in inputs]
            outs = _zeros(launch["output_shapes"], launch["output_dtypes"])
            sizes = dict(zip(output_names, (one.nbytes for one in outs), strict=True))
            text = _text(kernel, arrays, launch)
            found.append(Launch(text, dict(zip(input_names, arrays, strict=True)), sizes))
            return outs

        return call

    with _replaced(factory):
        function()
    return tuple(found)


def _text(kernel: Any, arrays: Sequence[mx.array], launch: dict[str, Any]) -> Generated:
    def traced(*given: mx.array) -> list[mx.array]:
        return kernel(inputs=list(given), **launch | {"verbose": False})

    (text,) = generated(traced, *arrays)
    return text


def _zeros(shapes: Sequence[Sequence[int]], dtypes: Sequence[mx.Dtype]) -> list[mx.array]:
    return [mx.zeros(tuple(one), kind) for one, kind in zip(shapes, dtypes, strict=True)]


def _bytes(array: mx.array) -> bytes:
    flat = mx.contiguous(array).reshape(-1)
    if flat.dtype == mx.bfloat16:  # which numpy does not have
        flat = flat.view(mx.uint16)
    return np.array(flat).tobytes()


def _layout(array: mx.array, what: str) -> bytes:
    if what == "ndim":
        return np.int32(array.ndim).tobytes()
    if what == "shape":
        return np.array(array.shape, np.int32).tobytes()
    after = [int(np.prod(array.shape[axis + 1 :])) for axis in range(array.ndim)]
    return np.array(after, np.int64).tobytes()
