"""Make a subject of a kernel in a `.metal` file; the command line describes the launch."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import psutil

from tracekit.base import InputError, UsageError, files, tolerances
from tracekit.lab.msl.barriers import apply_removal
from tracekit.lab.msl.counting import compile_as_asked
from tracekit.lab.msl.edits import Constant, KernelText, with_includes, without_comments
from tracekit.lab.msl.program import Array, KernelProgram, Launched, ThreadOrder
from tracekit.lab.msl.signature import Parameter, kernels_of
from tracekit.lab.verification.verify import PATIENCE, KernelOutput, VerifiedCase, arrays


def pairs(words: Sequence[str], option: str) -> dict[str, str]:
    """Split `NAME=VALUE` of an option that may be repeated; refuse a repeated name."""
    values_by_name: dict[str, str] = {}
    for word in words:
        name, separator, value = word.partition("=")
        name = name.strip()
        value = value.strip()
        if not separator or not name or not value:
            raise UsageError(
                f"{option} {word!r} is not a pair.", hint=f"Write {option} NAME=VALUE."
            )
        if name in values_by_name:
            raise UsageError(f"{option} gives {name!r} twice.")
        values_by_name[name] = value
    return values_by_name


def triple(words: str, option: str) -> tuple[int, int, int]:
    """Read 1 to 3 sizes of a grid or a threadgroup, each at least 1; missing ones are 1."""
    if not re.fullmatch(r"\s*0*[1-9]\d{0,8}\s*(,\s*0*[1-9]\d{0,8}\s*){0,2}", words):
        message = f"Invalid size {option} {words!r}." if words else f"{option} is not given."
        raise UsageError(message, hint=f"Write for example {option} 256,1,1.")
    sizes = [int(word) for word in words.split(",")]
    padded_sizes = [*sizes, 1, 1]
    x, y, z = padded_sizes[:3]
    return x, y, z


def read_whole_number(word: str) -> int:
    """Read a whole number of at least 0; raise UsageError for anything else."""
    if not re.fullmatch(r"\d{1,18}", word):
        raise UsageError(f"{word!r} is not a whole number.")
    return int(word)


def number(word: str, option: str, hint: str) -> int | float:
    """Read a number, whole if it is written so; raise UsageError for anything else, and nan."""
    if "nan" not in word.lower():
        for read in (partial(int, base=0), float):
            with suppress(ValueError):
                return read(word)
    raise UsageError(f"{option}: {word!r} is not a number.", hint=hint)


BFLOAT16 = "bfloat16"
DTYPES = (
    "float16",
    BFLOAT16,
    "float32",
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
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
class BoundBuffer:
    """The buffer for a parameter of a kernel.

    numpy has no bfloat16, so `array` holds its bits as uint16. `is_given` is true if the command
    line gives the contents, false if the seed draws them.
    """

    name: str
    dtype: str
    array: Array
    is_given: bool

    def make_poison(self) -> Array:
        """Return as many elements, all NaN, or with all bits set if the dtype has no NaN."""
        array = np.empty_like(self.array)
        octets = array.reshape(-1).view(np.uint8)
        octets[...] = 0xFF
        return array

    def readable(self, array: Array) -> Array:
        """Return contents of this dtype as numbers that numpy can compute with."""
        if self.dtype != BFLOAT16:
            return array
        high_halves = array.astype(np.uint32) << 16
        return high_halves.view(np.float32)


def buffer(words: str, *, seed: int) -> BoundBuffer:
    """Make the buffer for `NAME=DTYPE[SHAPE]…` or `NAME=FILE.npy`.

    Floats are drawn from the normal distribution and integers are 0, unless a value or a range
    follows: `=3` fills, `=0:20` draws evenly from 0 to below 20.
    """
    name, separator, form = words.partition("=")
    if not separator or not name.isidentifier():
        raise UsageError(f"--buffer {words!r} names no parameter.", hint=_HINT)
    if form.endswith(".npy"):
        array = load_array(Path(form))
        contiguous = np.ascontiguousarray(array)
        return BoundBuffer(name, str(array.dtype), contiguous, is_given=True)
    match = _FORM.fullmatch(form)
    if match is None or match["dtype"] not in DTYPES:
        raise UsageError(f"--buffer {words!r} cannot be read.", hint=_HINT)
    dtype = match["dtype"]
    written_sizes = (match["shape"] or "1").split(",")
    shape = tuple(int(size) for size in written_sizes)
    needed = 8 * prod(shape)
    if needed > psutil.virtual_memory().total:
        raise UsageError(f"--buffer {words} takes more memory than this machine has.")
    if needed == 0:
        raise UsageError(f"--buffer {words} has no elements.")
    # each name has its own stream: one more buffer changes no contents of others
    random = np.random.default_rng([seed, *name.encode()])
    values = _drawn(dtype, shape, match["low"], match["high"], random)
    array = _encode_values(values, dtype)
    return BoundBuffer(name, dtype, array, is_given=match["low"] is not None)


def load_array(file: Path) -> Array:
    """Read an array of numbers, or the bytes of structs; raise InputError for other contents."""
    try:
        with files.open_input(file) as opened:
            array: Any = np.load(opened, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{file} cannot be read as an array of numpy: {error}.") from error
    if isinstance(array, np.ndarray) and array.dtype.names:
        contiguous = np.ascontiguousarray(array)
        return contiguous.reshape(-1).view(np.uint8)
    if not isinstance(array, np.ndarray) or str(array.dtype) not in (*DTYPES, "float64"):
        kind = getattr(array, "dtype", type(array).__name__)
        raise InputError(f"{file} holds {kind}, which is not one of {', '.join(DTYPES)}.")
    return array


def _drawn(
    dtype: str, shape: tuple[int, ...], low_text: str | None, high_text: str | None, random: Any
) -> Array:
    is_float = "float" in dtype
    if low_text is None:
        if is_float:
            return random.normal(size=shape)
        return np.zeros(shape)
    lower_bound = number(low_text, "--buffer", _HINT)
    if high_text is None:
        return np.full(shape, lower_bound)
    upper_bound = number(high_text, "--buffer", _HINT)
    if lower_bound >= upper_bound:
        raise UsageError(
            f"The range {low_text}:{high_text} is empty.", hint="The upper end is left out."
        )
    if is_float:
        return random.uniform(lower_bound, upper_bound, shape)
    try:
        return random.integers(int(lower_bound), int(upper_bound), shape)
    except ValueError as error:
        raise UsageError(
            f"No number of 64 bits is in {low_text}:{high_text}.", hint=_HINT
        ) from error


def _encode_values(values: Array, dtype: str) -> Array:
    if dtype == BFLOAT16:
        floats = mx.array(values.astype(np.float32))
        rounded = floats.astype(mx.bfloat16)
        return np.array(rounded.view(mx.uint16))
    kind = np.dtype(dtype)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        if values.min() < limits.min or values.max() > limits.max:
            raise UsageError(f"{dtype} holds {limits.min} to {limits.max} only.")
    return values.astype(kind)


_LARGEST = 64_000_000  # bytes of a file to read; a kernel that long is refused


@dataclass(frozen=True)
class LaunchWords:
    """A launch in the words of a command line; each is checked when it is used.

    Without a `bound`, the buffer's dtype chooses one. `lenient` lets some lanes leave an operation
    of their simdgroup out, as Metal does; a launch is stopped after `patience` seconds.
    """

    function: str = ""
    template: str = ""
    buffers: tuple[str, ...] = ()
    grid: str = ""
    threadgroup: str = ""
    threadgroup_memory: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    bound: float | None = None
    lenient: bool = False
    patience: float = PATIENCE
    includes: tuple[str, ...] = ()


def metal_subject(file: Path, launch: LaunchWords, seed: int) -> VerifiedCase:
    """Return the subject that a file and a command line describe.

    Raises UsageError if words do not fit the kernel, InputError if a file cannot be read.
    """
    kernel = read_kernel(file, launch)
    buffers: dict[str, BoundBuffer] = {}
    for words in launch.buffers:
        bound_buffer = buffer(words, seed=seed)
        buffers[bound_buffer.name] = bound_buffer
    expected = pairs(launch.expected, "--expect")
    for name in expected:
        if name not in buffers:
            raise UsageError(f"--expect {name}: there is no --buffer {name}.")

    def run(order: ThreadOrder, watched: bool) -> KernelOutput:
        program = compile_as_asked(apply_removal(kernel), checked=watched)
        needed_parameters = _needed_buffers(program, buffers)
        written_names = [parameter.name for parameter in needed_parameters if parameter.writable]
        contents = _initial_contents(buffers, written_names)
        memory = pairs(launch.threadgroup_memory, "--threadgroup-memory")
        grid = triple(launch.grid, "--grid")
        threadgroup = triple(launch.threadgroup, "--threadgroup")
        memory_bytes = _threadgroup_bytes(memory)
        statistics = program.run(
            contents,
            grid=grid,
            threadgroup=threadgroup,
            order=order,
            seed=seed,
            lenient=launch.lenient,
            patience=launch.patience,
            threadgroup_bytes=memory_bytes,
        )
        result_names = list(expected) or written_names
        results = [buffers[name].readable(contents[name]) for name in result_names]
        return KernelOutput(arrays(results), (Launched(kernel, statistics),))

    bound = launch.bound
    if bound is None:
        expected_types = [buffers[name].dtype for name in expected]
        bound = _bound_of(expected_types)
    expected_arrays = arrays([load_array(Path(path)) for path in expected.values()])
    return VerifiedCase(
        name=f"{file.name} {kernel.function}",
        parameters={},
        launch=run,
        sources=lambda: (kernel,),
        expected=expected_arrays,
        bound=bound,
    )


def _needed_buffers(program: KernelProgram, buffers: Mapping[str, BoundBuffer]) -> list[Parameter]:
    """Return the parameters that must have a buffer; raise UsageError if one has none."""
    bound_parameters = [parameter for parameter in program.parameters if parameter.kind == "buffer"]
    needed_parameters = [parameter for parameter in bound_parameters if not parameter.condition]
    missing = [parameter.name for parameter in needed_parameters if parameter.name not in buffers]
    if missing:
        raise UsageError(
            f"{program.kernel.function} has buffers that are not given: {', '.join(missing)}.",
            hint=f"Add, for example, --buffer '{missing[0]}=float32[1024]'.",
        )
    return needed_parameters


def _initial_contents(
    buffers: Mapping[str, BoundBuffer], written_names: Sequence[str]
) -> dict[str, Array]:
    """Return the contents before a launch: poison in outputs without given contents."""
    contents: dict[str, Array] = {}
    for name, bound_buffer in buffers.items():
        if name in written_names and not bound_buffer.is_given:
            contents[name] = bound_buffer.make_poison()
        else:
            contents[name] = bound_buffer.array.copy()
    return contents


def _threadgroup_bytes(memory: Mapping[str, str]) -> dict[int, int]:
    """Return the bytes of threadgroup memory by the index of its parameter."""
    sizes: dict[int, int] = {}
    for index, size in memory.items():
        sizes[read_whole_number(index)] = read_whole_number(size)
    return sizes


def _bound_of(dtypes: Sequence[str]) -> float:
    """Return the largest bound of some dtypes."""
    float32_bound = tolerances.BOUNDS["float32"]
    dtype_bounds = [tolerances.BOUNDS.get(dtype, float32_bound) for dtype in dtypes]
    return max(dtype_bounds, default=float32_bound)


def read_kernel(file: Path, launch: LaunchWords) -> KernelText:
    """Return the kernel of a file that a launch names, or the only one, with its included files.

    Raise UsageError if the file has several, InputError if it has none or cannot be read.
    """
    with files.open_input(file) as opened:
        content = opened.read(_LARGEST)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{file} cannot be read as text: {error}.") from error
    folders = [Path(folder) for folder in launch.includes]
    text, origins = with_includes(text, file, folders)
    names = list(dict.fromkeys(kernels_of(without_comments(text))))
    if not names and not launch.function:
        raise InputError(
            f"{file} has no kernel function.",
            hint="A text for mx.fast.metal_kernel is a body only: write a FILE.py with @check.",
        )
    if len(names) > 1 and not launch.function:
        raise UsageError(
            f"{file} has {len(names)} kernels: {', '.join(names)}.",
            hint="Choose one with --function.",
        )
    function = launch.function or names[0]
    constants = read_constants(launch)
    return KernelText(
        text=text,
        function=function,
        template=launch.template,
        name=file.name,
        constants=constants,
        origins=origins,
    )


def read_constants(launch: LaunchWords) -> dict[int, Constant]:
    """Return the values of function constants by their index."""
    constants: dict[int, Constant] = {}
    for index_text, value in pairs(launch.constants, "--constant").items():
        index = read_whole_number(index_text)
        if value in {"true", "false"}:
            constants[index] = value == "true"
        else:
            hint = "Write true, false or a number, such as --constant 0=true."
            constants[index] = number(value, "--constant", hint)
    return constants
