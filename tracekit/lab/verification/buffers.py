"""Buffers for a kernel without a check: what `--buffer NAME=…` says, as arrays of numpy."""

import re
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import psutil
from numpy.typing import NDArray

from tracekit.base.errors import InputError, UsageError
from tracekit.base.files import open_input

Array = NDArray[Any]

BFLOAT16 = "bfloat16"
DTYPES = (
    *("float16", BFLOAT16, "float32", "bool"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)
_FORM = re.compile(
    r"(?P<dtype>[a-z]+\d*)(?:\[(?P<shape>\s*\d+\s*(?:,\s*\d+\s*)*)\])?"
    r"(?:=(?P<low>-?[\d.]+(?:e-?\d+)?)(?::(?P<high>-?[\d.]+(?:e-?\d+)?))?)?"
)
_HINT = (
    "Write --buffer NAME=DTYPE[SHAPE], =DTYPE[SHAPE]=VALUE, =DTYPE[SHAPE]=LOW:HIGH or =FILE.npy; "
    f"dtypes are {', '.join(DTYPES)}."
)


@dataclass(frozen=True, eq=False)
class Buffer:
    """What is bound to a parameter of a kernel.

    Attributes:
        name: The parameter.
        dtype: One of `DTYPES`; numpy has no bfloat16, so that `array` holds its bits as uint16.
        array: The contents.
        is_given: Whether the contents were asked for, and are not drawn by the seed.
    """

    name: str
    dtype: str
    array: Array
    is_given: bool

    @property
    def is_floating(self) -> bool:
        """Whether the elements can be NaN."""
        return self.dtype == BFLOAT16 or self.array.dtype.kind == "f"

    def poisoned(self) -> Array:
        """Return as many elements, all NaN, or all ones in every bit where there is no NaN."""
        return (
            np.frombuffer(b"\xff" * self.array.nbytes, self.array.dtype)
            .reshape(self.array.shape)
            .copy()
        )

    def readable(self, array: Array) -> Array:
        """Return contents of this dtype as numbers that numpy can compute with."""
        if self.dtype != BFLOAT16:
            return array
        return (array.astype(np.uint32) << 16).view(np.float32)


def buffer(words: str, *, seed: int) -> Buffer:
    """Make the buffer that `NAME=DTYPE[SHAPE]…` or `NAME=FILE.npy` asks for.

    Floats are drawn from the normal distribution and integers are 0, unless a value or a range
    follows: `=3` fills, `=0:20` draws evenly from 0 to below 20.

    Raises:
        UsageError: The words cannot be read, or ask for more than this machine's memory.
        InputError: The file holds no array, or one of another kind.
    """
    name, separator, form = words.partition("=")
    if not separator or not name.isidentifier():
        raise UsageError(f"--buffer {words!r} names no parameter.", hint=_HINT)
    if form.endswith(".npy"):
        array = load_array(Path(form))
        return Buffer(name, str(array.dtype), np.ascontiguousarray(array), is_given=True)
    found = _FORM.fullmatch(form)
    if found is None or found["dtype"] not in DTYPES:
        raise UsageError(f"--buffer {words!r} cannot be read.", hint=_HINT)
    shape = tuple(int(size) for size in (found["shape"] or "1").split(","))
    _require_room(words, shape)
    # a stream of its own for each name: another buffer more changes no contents
    random = np.random.default_rng([seed, *name.encode()])
    values = _drawn(found["dtype"], shape, found["low"], found["high"], random)
    return Buffer(name, found["dtype"], _stored(values, found["dtype"]), found["low"] is not None)


def load_array(file: Path) -> Array:
    """Read an array of numbers, or the bytes of structs; raise InputError where there are none."""
    try:
        with open_input(file) as opened:
            array: Any = np.load(opened, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{file} cannot be read as an array of numpy: {error}.") from error
    if isinstance(array, np.ndarray) and array.dtype.names:
        return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    if not isinstance(array, np.ndarray) or str(array.dtype) not in (*DTYPES, "float64"):
        kind = getattr(array, "dtype", type(array).__name__)
        raise InputError(f"{file} holds {kind}, which is not one of {', '.join(DTYPES)}.")
    return array


def _require_room(words: str, shape: tuple[int, ...]) -> None:
    needed, there = 8 * prod(shape), psutil.virtual_memory().total
    if needed > there:
        raise UsageError(f"--buffer {words} takes more memory than this machine has.")
    if needed == 0:
        raise UsageError(f"--buffer {words} has no elements.")


def _drawn(
    dtype: str, shape: tuple[int, ...], low: str | None, high: str | None, random: Any
) -> Array:
    floating = "float" in dtype
    if low is None:
        return random.normal(size=shape) if floating else np.zeros(shape)
    first = _number(low)
    if high is None:
        return np.full(shape, first)
    last = _number(high)
    if first >= last:
        raise UsageError(f"The range {low}:{high} is empty.", hint="The upper end is left out.")
    if floating:
        return random.uniform(first, last, shape)
    return random.integers(int(first), int(last), shape)


def _number(text: str) -> float | int:
    try:
        return int(text) if re.fullmatch(r"-?\d+", text) else float(text)
    except ValueError:
        raise UsageError(f"{text!r} is no number.", hint=_HINT) from None


def _stored(values: Array, dtype: str) -> Array:
    if dtype == BFLOAT16:
        rounded = mx.array(values.astype(np.float32)).astype(mx.bfloat16)
        return np.array(rounded.view(mx.uint16))
    kind = np.dtype(dtype)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        if values.min() < limits.min or values.max() > limits.max:
            raise UsageError(f"{dtype} holds {limits.min} to {limits.max} only.")
    return values.astype(kind)
