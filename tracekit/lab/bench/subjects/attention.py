"""Attention to measure: one new token for each sequence, or the tokens of one prompt at once."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, cast

import mlx.core as mx
import psutil

from tracekit.base import UsageError, units
from tracekit.lab.bench.inputs import (
    BY_MLX,
    Inputs,
    Launch,
    Prepared,
    Subject,
    SubjectUnavailable,
    prepare_call,
)
from tracekit.ops import (
    DecodeProblem,
    check_head_dim,
    dense,
    kernels,
    largest_error,
    paged,
    planning,
)
from tracekit.workload import backend

# From queries `[batch, q_heads, head_dim]` and the number of a set to the same shape.
Call = Callable[[mx.array, int], mx.array]


_GROUPED = Launch("grouped")
NO_METAL = "it is a Metal kernel, and MLX finds no Metal on this machine"


def prepare_paged(
    inputs: Inputs, choice: Launch = _GROUPED, *, device: str | None = None
) -> Prepared:
    """Attend through the table of pages, as `tracekit.ops.attention.attend` does it here.

    Without Metal, MLX's own operations do it, and only for the default choice; `device` is the
    backend of MLX, by default the present one.
    """
    shape = inputs.shape
    problems = inputs.problems
    how = None
    if (device or backend()) == "metal":
        how = plan_launch(problems[0], choice, inputs.longest)
    elif choice != _GROUPED:
        raise SubjectUnavailable(NO_METAL)

    def call(q: mx.array, number: int) -> mx.array:
        problem = problems[number]
        if q is not problem.q:
            problem = replace(problem, q=q)
        return paged.attend(problem, scale=shape.scale, longest=inputs.longest, how=how)

    preparation = _prepare_decode(inputs, call, how=how, copies=how is None)
    if how is None:
        return preparation
    return replace(preparation, launch=lambda number: call(problems[number].q, number))


def plan_launch(problem: DecodeProblem, choice: Launch, longest: int) -> planning.DecodePlan:
    """Return the launch of a kernel; raise SubjectUnavailable if it does not support the shape."""
    sizes = dict(vars(choice))
    kernel = cast("planning.Kernel", sizes.pop("kernel"))
    try:
        check_head_dim(problem.head_dim)
        return planning.plan(problem, longest=longest, kernel=kernel, **sizes)
    except UsageError as error:
        raise SubjectUnavailable(error.message.rstrip(".")) from error


def _dense(
    inputs: Inputs,
    arrays: Callable[[int], tuple[mx.array, mx.array]],
    attention: Callable[..., mx.array] = dense.sdpa,
    *,
    axis: int = 2,
    copies: bool = False,
    **how: Any,
) -> Prepared:
    """Attend to keys and values in one piece; `axis` is that of the queries."""

    def call(q: mx.array, number: int) -> mx.array:
        keys, values = arrays(number)
        q = mx.expand_dims(q, axis)
        output = attention(q, keys, values, scale=inputs.shape.scale, mask=inputs.mask, **how)
        return output.squeeze(axis)

    return _prepare_decode(inputs, call, padded=True, copies=copies)


def _prepare_decode(
    inputs: Inputs,
    call: Call,
    *,
    how: planning.DecodePlan | None = None,
    padded: bool = False,
    copies: bool = False,
) -> Prepared:
    """Make a call measurable; it reads the padding if `padded`, and gathers if it `copies`."""
    problems = inputs.problems
    shape = inputs.shape
    lens = inputs.lens
    if padded:
        block_count = -(-inputs.longest // shape.block_size)
        padded_length = block_count * shape.block_size
        lens = [padded_length] * shape.batch
    cost = paged.traffic_of(problems[0], lens, how)
    if copies:
        moved = 2 * sum(lens) * shape.kv_heads * shape.head_dim * shape.itemsize
        total_read = cost.read + moved
        total_written = cost.written + moved
        cost = replace(cost, read=total_read, written=total_written)

    def turn(number: int, previous_result: mx.array | None) -> mx.array:
        number %= len(problems)
        q = previous_result
        if q is None:
            q = problems[number].q
        return call(q, number)

    launched = BY_MLX
    dispatches = None
    if how is not None:
        launched = Launch(how.kernel, how.hd_tile or None, how.threadgroup, how.partitions)
        dispatches = how.dispatches
    work = cost.work(shape.batch, dispatches)
    output = call(problems[0].q, 0)
    return prepare_call(
        turn,
        work,
        working_set=len(problems) * cost.unique,
        sets=len(problems),
        sequence=inputs.longest,
        error=largest_error(problems[0], output),
        launched=launched,
    )


def _decode(
    name: str, summary: str, prepare: Callable[[Inputs], Prepared], **kind: bool
) -> Subject:
    return Subject(name, "attention", "decode", summary, prepare, **kind)


DECODE = (
    _decode("paged", "keys and values in pages, as a user calls it", prepare_paged, paged=True),
    _decode(
        "paged-per-head",
        "a threadgroup for each q head: rows are read again for each head of a group",
        lambda inputs: prepare_paged(inputs, Launch("per-head")),
        paged=True,
    ),
    _decode(
        "paged-barriers",
        "three barriers a token: the kernel before it was tuned",
        lambda inputs: prepare_paged(inputs, Launch("barriers")),
        paged=True,
    ),
    _decode(
        "sdpa",
        "dense, heads before tokens, by MLX",
        lambda inputs: _dense(inputs, lambda number: inputs.dense[number]),
    ),
    _decode(
        "sdpa-bshd",
        "dense, tokens before heads, by MLX",
        lambda inputs: _dense(
            inputs, lambda number: inputs.dense_bshd[number], axis=1, layout="BSHD"
        ),
    ),
    _decode(
        "gather-sdpa",
        "pages copied, then dense",
        lambda inputs: _dense(
            inputs,
            lambda number: dense.gather_pages(inputs.problems[number], inputs.longest),
            copies=True,
        ),
        paged=True,
    ),
    _decode(
        "naive",
        "dense, every score kept",
        lambda inputs: _dense(inputs, lambda number: inputs.dense[number], dense.naive_attention),
        naive=True,
    ),
)


_COPIES = 4  # of the scores: scaled, masked, their exponentials, and in the elements' own type

PrefillCall = Callable[[mx.array, mx.array, mx.array], mx.array]


def _flash(inputs: Inputs) -> Prepared:
    shape = _prompt(inputs)
    if backend() == "cpu":  # on which MLX keeps the scores as well
        _require_room(shape)
    attention = partial(dense.sdpa, scale=inputs.shape.scale, mask="causal")
    return _prepared_prompt(inputs, attention, dense.dense_traffic(shape))


def _naive_prompt(inputs: Inputs) -> Prepared:
    shape = _prompt(inputs)
    _require_room(shape)
    mask = dense.causal_mask(shape.queries, shape.queries)
    mx.eval(mask)
    attention = partial(dense.naive_attention, scale=inputs.shape.scale, mask=mask)
    return _prepared_prompt(inputs, attention, dense.naive_traffic(shape))


def _prompt(inputs: Inputs) -> dense.DenseShape:
    shape = inputs.shape
    return dense.DenseShape(
        (shape.queries,),
        shape.queries,
        shape.q_heads,
        shape.kv_heads,
        shape.head_dim,
        shape.itemsize,
        queries=shape.queries,
    )


def _require_room(shape: dense.DenseShape) -> None:
    """Raise SubjectUnavailable unless the scores fit in memory: MLX would end the process."""
    needed = _COPIES * shape.scores
    free_bytes = psutil.virtual_memory().available
    if needed > free_bytes:
        raise SubjectUnavailable(
            f"its scores take {units.size(needed)}, and {units.size(free_bytes)} are free"
        )


def _prepared_prompt(inputs: Inputs, call: PrefillCall, cost: kernels.CallTraffic) -> Prepared:
    shape = _prompt(inputs)
    arrays = dense.dense_traffic(shape).unique
    problems: list[dense.DenseProblem] = []
    for number in range(inputs.sets_of(arrays, 2)):
        seed = inputs.shape.seed + number
        problems.append(dense.draw_dense(shape, dtype=inputs.dtype, seed=seed))

    def turn(number: int, previous_result: mx.array | None) -> mx.array:
        problem = problems[number % len(problems)]
        q = previous_result
        if q is None:
            q = problem.q
        return call(q, problem.keys, problem.values)

    working_set = len(problems) * (arrays + cost.written)
    error = dense.largest_dense_error(problems[0], turn(0, None))
    return prepare_call(
        turn,
        cost.work(shape.queries),
        working_set=working_set,
        sets=len(problems),
        sequence=shape.queries,
        error=error,
    )


PREFILL = (
    Subject("flash", "attention", "prefill", "a prompt by MLX's fused attention", _flash),
    Subject(
        "flash-naive",
        "attention",
        "prefill",
        "a prompt, every score kept",
        _naive_prompt,
        naive=True,
    ),
)
