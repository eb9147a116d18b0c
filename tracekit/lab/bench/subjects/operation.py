"""Operations of a model as subjects: drawn, checked against a plain reference, then chained."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tracekit.base import tolerances
from tracekit.lab.bench.inputs import Inputs, Prepared, Shape, Subject, prepare_call
from tracekit.ops import kernels

Arrays = tuple[mx.array, ...]
Rows = NDArray[np.intp]
_CHECKED_ROWS = 64


@dataclass(frozen=True)
class OperationFamily:
    """Implementations of one operation, all with the same inputs.

    `draw` makes one set of inputs of a shape by a seed; the first array is the one that a call
    of a chain waits for. `measure_error` is that of the results of one call, relative and against
    float64. `count_rows` is the number of tokens of a call. Results may be off by `roundings` times
    the bound of their type: as many values as are rounded one after another.
    """

    name: str
    suite: str
    draw: Callable[[Shape, int], Arrays]
    measure_error: Callable[[Shape, Arrays, Arrays], float]
    count_rows: Callable[[Shape], int]
    roundings: int = 1


@dataclass(frozen=True)
class OperationVariant:
    """One way to do the work of a family, with the bytes and operations of a call."""

    name: str
    summary: str
    call: Callable[[Shape, Arrays], Arrays]
    model_traffic: Callable[[Shape, Arrays], kernels.CallTraffic]
    naive: bool = False


def make_subjects(
    family: OperationFamily, implementations: Sequence[OperationVariant]
) -> tuple[Subject, ...]:
    """Return a subject for each implementation."""
    subjects: list[Subject] = []
    for implementation in implementations:
        subject = Subject(
            implementation.name,
            family.suite,
            family.name,
            implementation.summary,
            partial(_prepare, family, implementation),
            naive=implementation.naive,
        )
        subjects.append(subject)
    return tuple(subjects)


def _prepare(family: OperationFamily, implementation: OperationVariant, inputs: Inputs) -> Prepared:
    """Check one call against the reference, and make it measurable.

    Raise ToolError if its error exceeds the bound of the type.
    """
    shape = inputs.shape
    first_arrays = family.draw(shape, shape.seed)
    size = sum(array.nbytes for array in first_arrays)
    later_numbers = range(1, inputs.sets_of(size))
    sets = [first_arrays, *(family.draw(shape, shape.seed + number) for number in later_numbers)]
    results = implementation.call(shape, first_arrays)
    error = family.measure_error(shape, first_arrays, results)
    tolerances.require_accuracy(
        error, inputs.dtype, f"The result of {implementation.name}", results=family.roundings
    )

    def turn(number: int, previous_results: Arrays | None) -> Arrays:
        arrays = sets[number % len(sets)]
        if previous_results is not None:
            # The call waits for the results, and does not use their values: those of a chain
            # would vanish or grow without bound.
            waiting_arrays = mx.depends([arrays[0]], list(previous_results))
            arrays = (*waiting_arrays, *arrays[1:])
        return implementation.call(shape, arrays)

    traffic = implementation.model_traffic(shape, first_arrays)
    rows = family.count_rows(shape)
    return prepare_call(
        turn,
        traffic.work(rows),
        working_set=len(sets) * size,
        sets=len(sets),
        sequence=rows,
        error=error,
    )


def draw_normal(
    shape: Shape, seed: int, *sizes: tuple[Sequence[int], float]
) -> tuple[mx.array, ...]:
    """Draw arrays of these sizes and scales, normal, of the type of a shape."""
    dtype: mx.Dtype = getattr(mx, shape.dtype)
    keys = mx.random.split(mx.random.key(seed), len(sizes))
    arrays: list[mx.array] = []
    for key, (size, scale) in zip(keys, sizes, strict=True):
        arrays.append(mx.random.normal(size, dtype=dtype, scale=scale, key=key))
    mx.eval(arrays)
    return tuple(arrays)


def choose_rows(count: int) -> Rows:
    """Return the rows whose results are checked: 64 from the first to the last, or all."""
    spread = np.linspace(0, count - 1, _CHECKED_ROWS)
    return np.unique(spread.astype(np.intp))


def row_error(
    refer: Callable[..., tolerances.Floats],
) -> Callable[[Shape, Arrays, Arrays], float]:
    """Return the error of an operation that treats each row of its first array alone.

    `refer` takes the arrays in float64, the first cut to the rows that are checked, and returns
    the exact rows of the result.
    """

    def measure_error(_: Shape, arrays: Arrays, results: Arrays) -> float:
        rows = choose_rows(arrays[0].shape[0])
        exact = [tolerances.as_float64(array) for array in arrays]
        expected = refer(exact[0][rows], *exact[1:])
        output = tolerances.as_float64(results[0])[rows]
        return tolerances.relative_error(output, expected)

    return measure_error


def move_once(read: int, written_bytes: int, flops: int) -> kernels.CallTraffic:
    """Return the traffic of a call that reads each of these bytes once."""
    return kernels.CallTraffic(read=read, unique=read, written=written_bytes, flops=flops)


def read_again(traffic: kernels.CallTraffic, size: int) -> kernels.CallTraffic:
    """Return the traffic of a call that reads `size` bytes again, which caches may hold."""
    return replace(traffic, read=traffic.read + size)
