"""Attention to measure: one new token for each sequence, or the tokens of one prompt at once."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import mlx.core as mx
import numpy as np
import psutil

from tracekit.base import UsageError, as_float64, relative_error, size
from tracekit.lab.bench.inputs import Inputs
from tracekit.lab.bench.subject import Launched, Prepared, Subject, Unavailable
from tracekit.ops import (
    Kernel,
    Plan,
    Problem,
    Traffic,
    attend,
    causal_mask,
    check_head_dim,
    dense_reference,
    gathered,
    largest_error,
    naive_attention,
    paged_decode,
    plan,
    sdpa,
    traffic,
)
from tracekit.workload import backend, step_of

# From queries `[batch, q_heads, head_dim]` and the number of a set to the same shape.
Call = Callable[[mx.array, int], mx.array]


@dataclass(frozen=True)
class Choice:
    """What of a kernel's launch is chosen; None leaves it to the kernel's own plan."""

    kernel: Kernel = "grouped"
    hd_tile: int | None = None
    threadgroup: int | None = None
    partitions: int | None = None


def paged(inputs: Inputs, choice: Choice = Choice(), *, device: str | None = None) -> Prepared:
    """Attend through the table of pages, as `tracekit.ops.attention.attend` does it here.

    Where there is no Metal that is MLX's own operations, and only for the default choice;
    `device` is where MLX runs if it is not to be asked.
    """
    shape, problems = inputs.shape, inputs.problems
    if (device or backend()) != "metal":
        if choice != Choice():
            raise Unavailable("it is a Metal kernel, and MLX finds no Metal on this machine")

        def by_ops(q: mx.array, number: int) -> mx.array:
            return attend(_asked(problems[number], q), scale=shape.scale, longest=inputs.longest)

        return _prepared(inputs, by_ops, copies=True)
    how = planned(problems[0], choice, inputs.longest)

    def by_kernel(q: mx.array, number: int) -> mx.array:
        return paged_decode(_asked(problems[number], q), scale=shape.scale, how=how)

    made = _prepared(inputs, by_kernel, how=how)
    return replace(made, launch=lambda number: by_kernel(problems[number].q, number))


def planned(problem: Problem, choice: Choice, longest: int) -> Plan:
    """Return how a kernel is launched; raise Unavailable where it is not made for the shape."""
    try:
        check_head_dim(problem.head_dim)
        return plan(
            problem,
            longest=longest,
            kernel=choice.kernel,
            hd_tile=choice.hd_tile,
            threadgroup=choice.threadgroup,
            partitions=choice.partitions,
        )
    except UsageError as error:
        raise Unavailable(error.message.rstrip(".")) from error


def _asked(problem: Problem, q: mx.array) -> Problem:
    return problem if q is problem.q else replace(problem, q=q)


def _sdpa(inputs: Inputs) -> Prepared:
    def call(q: mx.array, number: int) -> mx.array:
        keys, values = inputs.dense[number]
        scale, mask = inputs.shape.scale, inputs.mask
        return sdpa(q[:, :, None], keys, values, scale=scale, mask=mask)[:, :, 0]

    return _prepared(inputs, call, padded=True)


def _sdpa_bshd(inputs: Inputs) -> Prepared:
    def call(q: mx.array, number: int) -> mx.array:
        keys, values = inputs.dense_bshd[number]
        scale, mask = inputs.shape.scale, inputs.mask
        return sdpa(q[:, None], keys, values, scale=scale, mask=mask, layout="BSHD")[:, 0]

    return _prepared(inputs, call, padded=True)


def _gather_sdpa(inputs: Inputs) -> Prepared:
    def call(q: mx.array, number: int) -> mx.array:
        keys, values = gathered(inputs.problems[number], inputs.longest)
        scale, mask = inputs.shape.scale, inputs.mask
        return sdpa(q[:, :, None], keys, values, scale=scale, mask=mask)[:, :, 0]

    return _prepared(inputs, call, padded=True, copies=True)


def _naive(inputs: Inputs) -> Prepared:
    def call(q: mx.array, number: int) -> mx.array:
        keys, values = inputs.dense[number]
        scale, mask = inputs.shape.scale, inputs.mask
        return naive_attention(q[:, :, None], keys, values, scale=scale, mask=mask)[:, :, 0]

    return _prepared(inputs, call, padded=True)


def _prepared(
    inputs: Inputs,
    call: Call,
    *,
    how: Plan | None = None,
    padded: bool = False,
    copies: bool = False,
) -> Prepared:
    """Make a call measurable; `padded` says that it reads the padding, `copies` that it gathers."""
    problems, turn = inputs.problems, itertools.cycle(range(inputs.sets))
    cost = _traffic(inputs, how, padded=padded, copies=copies)

    def one() -> mx.array:
        number = next(turn)
        return call(problems[number].q, number)

    def chain(calls: int) -> mx.array:
        out = problems[0].q
        for _ in range(calls):
            out = call(out, next(turn))
        return out

    return Prepared(
        step=step_of(
            one, cost.work(inputs.shape.batch, how.dispatches if how is not None else None)
        ),
        chain=chain,
        working_set=len(problems) * cost.unique,
        sets=len(problems),
        sequence=inputs.longest,
        error=_error(problems[0], call(problems[0].q, 0), inputs),
        launched=_launched(how),
    )


def _launched(how: Plan | None) -> Launched:
    if how is None:
        return Launched()
    return Launched(how.kernel, how.threadgroup, how.hd_tile or None, how.partitions)


def _traffic(inputs: Inputs, how: Plan | None, *, padded: bool, copies: bool) -> Traffic:
    shape, lens = inputs.shape, inputs.lens
    if padded:
        lens = [-(-inputs.longest // shape.block_size) * shape.block_size] * shape.batch
    cost = traffic(
        lens,
        q_heads=shape.q_heads,
        kv_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        block_size=shape.block_size,
        itemsize=shape.itemsize,
        rereads=how.rereads(shape.q_heads // shape.kv_heads) if how is not None else 1,
    )
    if not copies:
        return cost
    moved = 2 * sum(lens) * shape.kv_heads * shape.head_dim * shape.itemsize
    return replace(cost, read=cost.read + moved, written=cost.written + moved)


def _error(problem: Problem, out: mx.array, inputs: Inputs) -> float:
    """Compare the first and the last sequence with float64."""
    ends = {0, problem.batch - 1}
    return largest_error(problem, out, scale=inputs.shape.scale, sequences=ends)


DECODE = (
    Subject(
        "paged",
        "attention",
        "decode",
        "keys and values in pages: what a user gets",
        paged,
        paged=True,
    ),
    Subject(
        "paged-per-head",
        "attention",
        "decode",
        "a threadgroup for each q head: rows are read again for each head of a group",
        lambda inputs: paged(inputs, Choice("per-head")),
        paged=True,
    ),
    Subject(
        "paged-barriers",
        "attention",
        "decode",
        "three barriers a token: the kernel before it was tuned",
        lambda inputs: paged(inputs, Choice("barriers")),
        paged=True,
    ),
    Subject("sdpa", "attention", "decode", "dense, heads before tokens, by MLX", _sdpa),
    Subject("sdpa-bshd", "attention", "decode", "dense, tokens before heads, by MLX", _sdpa_bshd),
    Subject(
        "gather-sdpa", "attention", "decode", "pages copied, then dense", _gather_sdpa, paged=True
    ),
    Subject("naive", "attention", "decode", "dense, every score kept", _naive, naive=True),
)


_COPIES = 4  # of the scores: scaled, masked, their exponentials, and in the elements' own type
_CHECKED = 64  # queries at either end that are compared with float64

Arrays = tuple[mx.array, mx.array, mx.array]
PrefillCall = Callable[[mx.array, mx.array, mx.array], mx.array]


def _flash(inputs: Inputs) -> Prepared:
    if backend() == "cpu":  # where MLX keeps the scores as well
        _require_room(inputs)

    def call(q: mx.array, keys: mx.array, values: mx.array) -> mx.array:
        return sdpa(q, keys, values, scale=inputs.shape.scale, mask="causal")

    return _prepared_prompt(inputs, call)


def _naive_prompt(inputs: Inputs) -> Prepared:
    _require_room(inputs)
    mask = causal_mask(inputs.shape.queries, inputs.shape.queries)
    mx.eval(mask)

    def call(q: mx.array, keys: mx.array, values: mx.array) -> mx.array:
        return naive_attention(q, keys, values, scale=inputs.shape.scale, mask=mask)

    return _prepared_prompt(inputs, call, scores=True)


def _require_room(inputs: Inputs) -> None:
    """Raise Unavailable unless scores and weights fit in memory: MLX would end the process."""
    needed = _COPIES * 4 * inputs.shape.q_heads * inputs.shape.queries**2
    free = psutil.virtual_memory().available
    if needed > free:
        raise Unavailable(f"its scores take {size(needed)}, and {size(free)} are free")


def _drawn(inputs: Inputs, number: int) -> Arrays:
    shape = inputs.shape
    keys = mx.random.split(mx.random.key(shape.seed + number), 3)
    heads = (shape.q_heads, shape.kv_heads, shape.kv_heads)
    drawn = [
        mx.random.normal((1, count, shape.queries, shape.head_dim), dtype=inputs.dtype, key=key)
        for count, key in zip(heads, keys, strict=True)
    ]
    mx.eval(*drawn)
    return drawn[0], drawn[1], drawn[2]


def _prepared_prompt(inputs: Inputs, call: PrefillCall, *, scores: bool = False) -> Prepared:
    shape = inputs.shape
    row = shape.queries * shape.head_dim * shape.itemsize
    read, written = row * (shape.q_heads + 2 * shape.kv_heads), row * shape.q_heads
    pairs = shape.queries * (shape.queries + 1) // 2
    kept = 4 * shape.q_heads * shape.queries**2 if scores else 0
    flops = 4 * shape.q_heads * shape.head_dim * pairs
    cost = Traffic(read + kept, read, written + kept, flops)
    sets = [_drawn(inputs, number) for number in range(inputs.sets_of(read, 2))]
    turn = itertools.cycle(sets)

    def chain(calls: int) -> mx.array:
        out = sets[0][0]
        for _ in range(calls):
            out = call(out, *next(turn)[1:])
        return out

    return Prepared(
        step=step_of(lambda: call(*next(turn)), cost.work(shape.queries)),
        chain=chain,
        working_set=len(sets) * (read + written + kept),
        sets=len(sets),
        sequence=shape.queries,
        error=_prompt_error(call(*sets[0]), sets[0], shape.scale),
    )


def _prompt_error(out: mx.array, arrays: Arrays, scale: float) -> float:
    """Compare the ends of the first and the last head with float64; heads are the sequences."""
    q, keys, values = (as_float64(array)[0] for array in arrays)
    queries = np.arange(q.shape[1])
    ends = queries[(queries < _CHECKED) | (queries >= q.shape[1] - _CHECKED)]
    heads = sorted({0, q.shape[0] - 1})
    kv_heads = [head * keys.shape[0] // q.shape[0] for head in heads]
    seen = queries <= ends[:, np.newaxis]
    expected = dense_reference(
        q[heads][:, ends], keys[kv_heads], values[kv_heads], seen, scale=scale
    )
    return relative_error(as_float64(out)[0][heads][:, ends], expected)


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
