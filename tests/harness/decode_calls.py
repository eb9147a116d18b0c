"""Decode calls for kernels that run on a CPU: arrays of numpy's, poisoned where nothing is read."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tracekit.base import tolerances
from tracekit.base.tolerances import as_float64
from tracekit.lab.msl.compile import compile_kernel
from tracekit.lab.msl.edits import KernelText
from tracekit.lab.msl.emulation import Generated, generated
from tracekit.lab.msl.program import KernelProgram, Statistics, ThreadOrder
from tracekit.ops.attention.metal import paged_decode
from tracekit.ops.attention.planning import DecodePlan
from tracekit.ops.attention.problem import DecodeProblem, reference_of

Array = NDArray[Any]

KV_HEADS = 2
UNMAPPED = 1_000_000
ARRAYS = ("q", "k_pages", "v_pages", "block_tables", "context_lens")
BOUNDS = {getattr(mx, name): bound for name, bound in tolerances.BOUNDS.items()}


@dataclass(frozen=True)
class Case:
    dtype: mx.Dtype
    head_dim: int
    block_size: int
    group: int
    lens: tuple[int, ...]
    blocks: int


@cache
def drawn(case: Case) -> DecodeProblem:
    """Draw a problem with NaN in unused rows, and pages that do not exist in unused entries."""
    random = np.random.default_rng(0)
    batch, block = len(case.lens), case.block_size
    pool = (batch * case.blocks, block, KV_HEADS, case.head_dim)
    pages = [random.normal(size=pool) for _ in range(2)]
    tables = random.permutation(pool[0]).reshape(batch, case.blocks).astype(np.int32)
    for sequence, length in enumerate(case.lens):
        used_blocks = -(-length // block)
        for page in pages:
            page[tables[sequence, used_blocks:]] = np.nan
            if length % block:
                page[tables[sequence, used_blocks - 1], length % block :] = np.nan
        tables[sequence, used_blocks:] = UNMAPPED
    q = random.normal(size=(batch, case.group * KV_HEADS, case.head_dim))
    lens = np.zeros(max(8, batch), np.int32)
    lens[:batch] = case.lens
    floats = [mx.array(array).astype(case.dtype) for array in (q, *pages)]
    return DecodeProblem(*floats, mx.array(tables), mx.array(lens))


@cache
def compute_expected(case: Case) -> NDArray[np.float64]:
    return reference_of(drawn(case), scale=case.head_dim**-0.5)


def traced(case: Case, how: DecodePlan) -> tuple[Generated, ...]:
    """Return the kernels of a call, in the text that MLX would compile."""
    problem = drawn(case)

    def call(*arrays: mx.array) -> mx.array:
        return paged_decode(DecodeProblem(*arrays), scale=1.0, how=how)

    return generated(call, *(getattr(problem, name) for name in ARRAYS))


def compile_programs(kernels: Iterable[Generated]) -> dict[str, KernelProgram]:
    texts: dict[str, KernelText] = {}
    for kernel in kernels:
        text, _, _ = kernel.text.partition("template [[host_name")
        source = text.replace(kernel.function, kernel.name)
        texts[kernel.function] = KernelText(source, kernel.name, kernel.template)
    with ThreadPoolExecutor() as pool:
        programs = pool.map(partial(compile_kernel, checked=True), texts.values())
        return dict(zip(texts, programs, strict=True))


def numpy_of(array: mx.array) -> Array:
    """View the bits of bfloat16, which numpy lacks."""
    return np.array(array.view(mx.uint16) if array.dtype == mx.bfloat16 else array)


def run(
    case: Case,
    how: DecodePlan,
    programs: Mapping[str, KernelProgram],
    order: ThreadOrder,
    changes: Mapping[str, Array] | None = None,
) -> tuple[NDArray[np.float64], Statistics]:
    problem = drawn(case)
    rows = (problem.batch, problem.q_heads, how.partitions)
    output = numpy_of(mx.full(problem.q.shape, mx.nan, problem.dtype))
    arguments: dict[str, Any] = {name: numpy_of(getattr(problem, name)) for name in ARRAYS}
    arguments |= {
        "max_blocks": np.int32([problem.max_blocks]),
        "scale": np.float32([case.head_dim**-0.5]),
        "partitions": np.int32([how.partitions]),
        "sums": np.full((*rows, case.head_dim), np.nan, np.float32),
        "stats": np.full((*rows, 2), np.nan, np.float32),
        "out": output,
        **(changes or {}),
    }
    statistics: list[Statistics] = []
    for kernel in traced(case, how):
        program = programs[kernel.function]
        names = (parameter.name for parameter in program.parameters if parameter.kind == "buffer")
        size = {"grid": kernel.grid, "threadgroup": kernel.threadgroup}
        kernel_arguments = {name: arguments[name] for name in names}
        statistics.append(program.run(kernel_arguments, **size, order=order, seed=1))
    result = (
        mx.array(output).view(problem.dtype) if problem.dtype == mx.bfloat16 else mx.array(output)
    )
    return as_float64(result), statistics[0]


def relative_error(case: Case, output: NDArray[np.float64]) -> float:
    """Return the largest relative error of a sequence, in the 2-norm; NaN counts as inf."""
    off = np.linalg.norm((output - compute_expected(case)).reshape(len(case.lens), -1), axis=1)
    size = np.linalg.norm(compute_expected(case).reshape(len(case.lens), -1), axis=1)
    relative = off / np.where(size > 0, size, 1.0)
    return float(np.nan_to_num(relative, nan=np.inf).max())
