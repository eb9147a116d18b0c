"""Caches and layers to measure: new keys and values, RMSNorm and the linear layer after it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import mlx.core as mx

from tracekit.lab.bench.inputs import (
    Inputs,
    Launch,
    Prepared,
    Subject,
    SubjectUnavailable,
    prepare_call,
)
from tracekit.lab.bench.subjects.attention import NO_METAL
from tracekit.ops import kernels, norm, paged
from tracekit.workload import Work, backend


def _append(inputs: Inputs) -> Prepared:
    """Write one row of keys and one of values for each sequence."""
    shape = inputs.shape
    tables = inputs.problems[0].block_tables
    places = [(tables, mx.full((shape.batch,), token, mx.int32)) for token in range(shape.context)]
    return _into_pages(inputs, shape.batch, paged.append, places)


def _append_run(inputs: Inputs) -> Prepared:
    """Write the keys and values of one sequence's whole prompt."""
    block_tables = inputs.problems[0].block_tables
    places = [(table, 0) for table in block_tables]
    return _into_pages(inputs, inputs.shape.context, paged.append_run, places)


def _into_pages(
    inputs: Inputs,
    count: int,
    write: Callable[..., mx.array],
    places: Sequence[tuple[mx.array, mx.array | int]],
) -> Prepared:
    """Write `count` rows of keys and of values; `places` are tables and positions, in turns."""
    problem = inputs.problems[0]
    rows, size = _rows(inputs, count)
    # pages that only this subject writes to: a view elsewhere would make MLX copy them
    pools = [problem.k_pages * 1, problem.v_pages * 1]
    mx.eval(pools, places)

    def turn(number: int, _: object) -> list[mx.array]:
        place = places[number % len(places)]
        pools[:] = [write(pool, rows, *place) for pool in pools]
        return list(pools)

    work = Work(count, 2 * size, 2 * size, 2 * size)
    working_set = len(places) * 2 * size
    return prepare_call(turn, work, working_set=working_set, sets=1, sequence=count)


def _append_concat(inputs: Inputs) -> Prepared:
    """Put one row for each sequence after its context, as a cache without room does."""
    batch = inputs.shape.batch
    rows, size = _rows(inputs, batch)
    ends = [rows[:, :, None], rows[:, :, None]]

    def turn(number: int, _: object) -> list[mx.array]:
        # From the same contexts each time, which would grow with the calls otherwise; the row
        # is the last one of the call before, so that calls wait for each other.
        context_number = number % len(inputs.dense)
        contexts = inputs.dense[context_number]
        for index, context in enumerate(contexts):
            last_row = ends[index][:, :, -1:]
            ends[index] = mx.concatenate([context, last_row], 2)
        return list(ends)

    context_bytes = 2 * size * inputs.longest
    moved = context_bytes + 2 * size
    work = Work(batch, moved, moved, moved)
    working_set = len(inputs.dense) * context_bytes
    return prepare_call(turn, work, working_set=working_set, sets=1, sequence=batch)


def _rows(inputs: Inputs, count: int) -> tuple[mx.array, int]:
    shape = inputs.shape
    row_shape = (count, shape.kv_heads, shape.head_dim)
    key = mx.random.key(shape.seed)
    rows = mx.random.normal(row_shape, dtype=inputs.dtype, key=key)
    mx.eval(rows)
    return rows, rows.nbytes


CACHE = (
    Subject(
        "append", "cache", "append", "a row for each sequence, into its page", _append, paged=True
    ),
    Subject(
        "append-concat",
        "cache",
        "append",
        "contexts copied to put a row behind",
        _append_concat,
        naive=True,
    ),
    Subject(
        "append-run",
        "cache",
        "append-run",
        "a prompt's rows, into its pages",
        _append_run,
        paged=True,
    ),
)


def prepare_fused(inputs: Inputs, *, device: str | None = None) -> Prepared:
    """Do both in one kernel; `device` is the backend of MLX, by default the present one."""
    if (device or backend()) != "metal":
        raise SubjectUnavailable(NO_METAL)
    problems = _problems(inputs)
    preparation = _prepared_layers(problems, norm.fused_kernel, norm.kernel_traffic(problems[0]))
    return replace(
        preparation,
        launched=Launch("rmsnorm_linear"),
        launch=lambda number: norm.fused_kernel(problems[number]),
    )


def _by_ops(inputs: Inputs, op: Callable[[norm.NormProblem], mx.array]) -> Prepared:
    shape = inputs.shape
    cost = norm.separate_traffic(shape.rows, shape.dims, shape.out_dims, itemsize=shape.itemsize)
    return _prepared_layers(_problems(inputs), op, cost)


def _problems(inputs: Inputs) -> tuple[norm.NormProblem, ...]:
    shape = inputs.shape
    row_count = shape.rows + shape.out_dims
    size = row_count * shape.dims * shape.itemsize
    problems: list[norm.NormProblem] = []
    for number in range(inputs.sets_of(size, copies=3)):
        problem = norm.draw_norm_problem(
            shape.rows,
            shape.dims,
            shape.out_dims,
            dtype=inputs.dtype,
            seed=shape.seed + number,
        )
        problems.append(problem)
    return tuple(problems)


def _prepared_layers(
    problems: tuple[norm.NormProblem, ...],
    op: Callable[[norm.NormProblem], mx.array],
    cost: kernels.CallTraffic,
) -> Prepared:
    first_problem = problems[0]

    def turn(number: int, previous_result: mx.array | None) -> mx.array:
        problem = problems[number % len(problems)]
        next_problem = problem if previous_result is None else replace(problem, x=previous_result)
        return op(next_problem)

    working_set = len(problems) * cost.unique
    error = norm.error_of(first_problem, op(first_problem))
    chained = first_problem.dims == first_problem.outputs
    return prepare_call(
        turn,
        cost.work(first_problem.rows),
        working_set=working_set,
        sets=len(problems),
        sequence=first_problem.rows,
        error=error,
        chained=chained,
    )


NORM = (
    Subject("norm-fused", "norm", "norm", "RMSNorm and Linear in one kernel", prepare_fused),
    Subject(
        *("norm-compiled", "norm", "norm", "both in one function of mx.compile"),
        lambda inputs: _by_ops(inputs, norm.apply_compiled),
    ),
    Subject(
        *("norm-separate", "norm", "norm", "one after the other, as layers of mlx.nn are"),
        lambda inputs: _by_ops(inputs, norm.separate),
        naive=True,
    ),
)
