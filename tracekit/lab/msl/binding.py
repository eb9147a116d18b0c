"""Arrays for the parameters of a kernel: by name, of the right type, at an even address."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracekit.base.errors import UsageError
from tracekit.lab.msl.edits import without_comments
from tracekit.lab.msl.function_constants import constant_indices
from tracekit.lab.msl.kernel import Kernel
from tracekit.lab.msl.library import Buffer, Entry
from tracekit.lab.msl.library import Parameter as CompiledParameter
from tracekit.lab.msl.signature import Parameter

Array = NDArray[Any]

_ALIGNMENT = 16  # of float4, which kernels read through casts of any pointer
_MARGIN = 4096  # bytes on both sides of what is written
_UNTOUCHED = 0xA5


@dataclass
class Bound:
    """Arrays as bound to one launch.

    Attributes:
        table: Address, size and map of touched bytes of each buffer, by its number.
        touched: The maps, by name.
    """

    table: list[Buffer] = field(default_factory=list[Buffer])
    touched: dict[str, Array] = field(default_factory=dict[str, Array])
    _held: list[Array] = field(default_factory=list[Array])
    _copies: list[tuple[str, Array, Array, Array]] = field(
        default_factory=list[tuple[str, Array, Array, Array]]
    )

    def add(self, parameter: Parameter, array: Array, *, checked: bool, alone: bool) -> None:
        """Bind one array.

        What an unchecked kernel writes goes to a copy between margins, which show what it writes
        beside the buffer, if no other buffer shares its memory; and one at an odd address is
        copied.
        """
        guarded = parameter.writable and alone and not checked
        if guarded or array.ctypes.data % _ALIGNMENT:
            room, copy = _copied(array)
            if parameter.writable:
                self._copies.append((parameter.name, array, copy, room))
            array = copy
        while len(self.table) <= parameter.index:
            self.table.append(Buffer(None, 0, None))
        touched = None
        if checked:
            bits = np.zeros(array.nbytes // 64 + 1, np.uint64)
            self.touched[parameter.name] = bits
            touched = bits.ctypes.data
        self.table[parameter.index] = Buffer(array.ctypes.data, array.nbytes, touched)
        self._held.append(array)

    def write_back(self) -> str:
        """Bring what the kernel wrote to where it belongs; name a buffer it wrote beside."""
        beside = ""
        for name, array, copy, room in self._copies:
            array[...] = copy
            start = copy.ctypes.data - room.ctypes.data
            margins = (room[:start], room[start + copy.nbytes :])
            if any((margin != _UNTOUCHED).any() for margin in margins):
                beside = beside or name
        return beside


def _copied(array: Array) -> tuple[Array, Array]:
    """Return memory with margins, and a copy of the array in its midst, at an even address."""
    room = np.empty(array.nbytes + 2 * _MARGIN + _ALIGNMENT, np.uint8)
    start = _MARGIN + -room.ctypes.data % _ALIGNMENT
    room[:start] = room[start + array.nbytes :] = _UNTOUCHED
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return room, copy


def bind(
    parameters: Sequence[Parameter],
    entry: Entry,
    buffers: Mapping[str, Array | float],
    *,
    checked: bool,
    kernel: Kernel,
) -> Bound:
    """Bind arrays to the buffers of a kernel.

    Raises:
        UsageError: One is missing or unknown, or its type or form is not what the kernel takes.
    """
    wanted = {one.name: (at, one) for at, one in enumerate(parameters) if one.kind == "buffer"}
    unknown = sorted(set(buffers) - set(wanted))
    missing = sorted(
        name for name, (_, one) in wanted.items()
        if name not in buffers and _is_there(one, kernel)
    )  # fmt: skip
    if unknown or missing:
        problems = [f"there is none called {name!r}" for name in unknown]
        problems += [f"{name!r} is not given" for name in missing]
        raise UsageError(
            f"The buffers do not fit the kernel: {', '.join(problems)}.",
            hint=f"It has: {', '.join(wanted) or 'none'}.",
        )
    bound = Bound()
    for name, (at, one) in wanted.items():
        if name in buffers:
            compiled = entry.parameters[at]
            array = _fitting(buffers[name], one, compiled)
            others = (other for key, other in buffers.items() if key != name)
            alone = not any(np.may_share_memory(array, other) for other in others)
            bound.add(one, array, checked=checked, alone=alone)
    return bound


def _is_there(parameter: Parameter, kernel: Kernel) -> bool:
    """Say whether a parameter that depends on a function constant is there."""
    if not parameter.condition:
        return True
    indices = constant_indices(without_comments(kernel.text), kernel)
    index = indices.get(parameter.condition)
    return index is None or bool(kernel.constants.get(index, False))


def _fitting(given: Array | float, parameter: Parameter, compiled: CompiledParameter) -> Array:
    kind, size = chr(compiled.kind), compiled.size
    if not isinstance(given, np.ndarray):
        if parameter.writable:
            raise UsageError(f"{parameter.name} is written by the kernel: give an array.")
        given = np.asarray(given, None if kind in "bs" else _dtype(kind, size))
    if not _is_of(given.dtype, kind, size):
        raise UsageError(
            f"{parameter.name} is {given.dtype}; the kernel takes {_name(kind, size)}"
            f" ({parameter.element}).",
            hint="numpy has no bfloat16: give its bits as uint16." if kind == "b" else "",
        )
    if not given.flags.c_contiguous:
        raise UsageError(
            f"{parameter.name} is not contiguous.", hint="Use numpy.ascontiguousarray."
        )
    if parameter.writable and not given.flags.writeable:
        raise UsageError(f"{parameter.name} is written by the kernel, and cannot be.")
    if given.nbytes < compiled.bytes and parameter.address_space == "constant":
        raise UsageError(
            f"{parameter.name} has {given.nbytes} bytes; the kernel reads {compiled.bytes}."
        )
    return given


def _dtype(kind: str, size: int) -> np.dtype[Any]:
    return np.dtype("?" if kind == "?" else f"{kind}{size}")


def _is_of(dtype: np.dtype[Any], kind: str, size: int) -> bool:
    if kind == "s":
        return True
    if kind == "b":
        return dtype == np.uint16 or dtype.name == "bfloat16"
    return dtype == _dtype(kind, size)


def _name(kind: str, size: int) -> str:
    return "bfloat16" if kind == "b" else _dtype(kind, size).name
