"""The tokens of one prompt at once: fused attention against naive."""

import itertools
from collections.abc import Callable

import mlx.core as mx
import numpy as np
import psutil

from tracekit.base.tolerances import as_float64, relative_error
from tracekit.base.units import size
from tracekit.lab.bench.inputs import Inputs
from tracekit.lab.bench.subject import Prepared, Subject, Unavailable
from tracekit.ops.attention.dense import sdpa
from tracekit.ops.attention.naive import causal_mask, naive_attention
from tracekit.ops.attention.reference import dense_reference
from tracekit.ops.traffic import Traffic
from tracekit.workload.calls import backend, step_of

_COPIES = 4  # of the scores: scaled, masked, their exponentials, and in the elements' own type
_CHECKED = 64  # queries at either end that are compared with float64

Arrays = tuple[mx.array, mx.array, mx.array]
PrefillCall = Callable[[mx.array, mx.array, mx.array], mx.array]


def _flash(inputs: Inputs) -> Prepared:
    if backend() == "cpu":  # where MLX keeps the scores as well
        _require_room(inputs)

    def call(q: mx.array, keys: mx.array, values: mx.array) -> mx.array:
        return sdpa(q, keys, values, scale=inputs.shape.scale, mask="causal")

    return _prepared(inputs, call)


def _naive(inputs: Inputs) -> Prepared:
    _require_room(inputs)
    mask = causal_mask(inputs.shape.queries, inputs.shape.queries)
    mx.eval(mask)

    def call(q: mx.array, keys: mx.array, values: mx.array) -> mx.array:
        return naive_attention(q, keys, values, scale=inputs.shape.scale, mask=mask)

    return _prepared(inputs, call, scores=True)


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


def _prepared(inputs: Inputs, call: PrefillCall, *, scores: bool = False) -> Prepared:
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
        error=_error(call(*sets[0]), sets[0], shape.scale),
    )


def _error(out: mx.array, arrays: Arrays, scale: float) -> float:
    """Compare the ends of the first and the last head with float64; heads are the sequences."""
    q, keys, values = (as_float64(one)[0] for one in arrays)
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
        "flash-naive", "attention", "prefill", "a prompt, every score kept", _naive, naive=True
    ),
)
