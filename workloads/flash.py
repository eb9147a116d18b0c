"""The workload `flash`: a fused prefill attention and the naive one, step by step."""

# ruff: noqa: PLC0415 - listing workloads must be instant, so MLX is loaded at its first use

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from tracekit.workload import (
    Dtype,
    HeadDim,
    KvHeads,
    LayoutOfAxes,
    Measured,
    Order,
    OrderOfSteps,
    QHeads,
    Seed,
    Step,
    Turns,
    alternate,
    workload,
)

if TYPE_CHECKING:
    import mlx.core as mx

    from tracekit.ops import DenseProblem, DenseShape, Layout

    Attend = Callable[[], mx.array]


UNKNOWN_KERNEL = "MLX does not say which kernel it chose; its name stands in the trace"


@workload
def flash(
    *,
    batch: Annotated[int, typer.Option(min=1, max=4096, help="Sequences of a step.")] = 1,
    seq: Annotated[int, typer.Option(min=1, max=131072, help="Tokens of a sequence.")] = 1024,
    q_heads: QHeads = 8,
    kv_heads: KvHeads = 8,
    head_dim: HeadDim = 64,
    dtype: Dtype = "float16",
    causal: Annotated[
        bool, typer.Option(help="Let a query see only keys up to its own place.")
    ] = True,
    layout: LayoutOfAxes = "BHSD",
    seed: Seed = 0,
    order: OrderOfSteps = "abba",
) -> Step:
    """Compare MLX's fused attention with the naive one, in a prefill.

    The naive one writes a matrix of scores for each head, in float32; a fused kernel never
    does. On a CPU MLX has no fused kernel: there the two hardly differ except for the mask.
    """
    import mlx.core as mx

    from tracekit.ops import DenseShape, check_heads, draw_dense, require_memory

    check_heads(q_heads, kv_heads)
    shape = DenseShape(
        (seq,) * batch,
        seq,
        q_heads,
        kv_heads,
        head_dim,
        getattr(mx, dtype).size,
        queries=seq,
        causal=causal,
    )
    require_memory(shape.scores, "The matrix of scores")
    problem = draw_dense(shape, dtype=getattr(mx, dtype), seed=seed)
    return _step(problem, shape, layout, order)


def _step(problem: "DenseProblem", shape: "DenseShape", layout: "Layout", order: Order) -> Step:
    import mlx.core as mx

    from tracekit.ops import dense_traffic, naive_traffic
    from tracekit.workload import backend, variant_of

    device, tokens = backend(), len(shape.lens) * shape.queries
    fast, naive = _fast(problem, layout), _naive(problem, layout)
    results: dict[str, float | Measured] = {
        "scores": Measured(shape.scores, "bytes", "lower"),
        "fused": Measured(0, "count")
        if device == "cpu"
        else Measured(None, "count", reason=UNKNOWN_KERNEL),
    }
    for name, attend in (("flash", fast), ("naive", naive)):
        results |= _checked(problem, attend, name, layout)
    turns = Turns(
        variant_of("flash", fast, dense_traffic(shape).work(tokens)),
        variant_of("naive", naive, naive_traffic(shape).work(tokens)),
        order,
        mx.eval,
    )
    return alternate(turns, backend=device, results=results)


def _fast(problem: "DenseProblem", layout: "Layout") -> "Attend":
    from tracekit.ops import sdpa

    q, keys, values = problem.laid_out(layout)
    mask, scale = problem.mask(), problem.scale
    return lambda: sdpa(q, keys, values, scale=scale, mask=mask, layout=layout)


def _naive(problem: "DenseProblem", layout: "Layout") -> "Attend":
    import mlx.core as mx

    from tracekit.ops import causal_mask, naive_attention

    arrays = problem.laid_out(layout)
    mask = causal_mask(problem.queries, problem.longest) if problem.causal else None
    if mask is not None:
        mx.eval(mask)

    def attend() -> "mx.array":
        if layout == "BHSD":
            return naive_attention(*arrays, scale=problem.scale, mask=mask)
        turned = (array.swapaxes(1, 2) for array in arrays)
        return naive_attention(*turned, scale=problem.scale, mask=mask).swapaxes(1, 2)

    return attend


def _checked(
    problem: "DenseProblem", attend: "Attend", name: str, layout: "Layout"
) -> dict[str, float | Measured]:
    """Compare a result with the reference, and measure the memory that it took."""
    import mlx.core as mx

    from tracekit.base import require_accuracy
    from tracekit.ops import largest_dense_error

    before = mx.get_active_memory()
    mx.reset_peak_memory()
    out = attend()
    mx.eval(out)
    peak = mx.get_peak_memory() - before
    out = out if layout == "BHSD" else out.swapaxes(1, 2)
    error = largest_dense_error(problem, out)
    return {
        f"max_error_{name}": require_accuracy(error, problem.q.dtype, f"The result of {name}"),
        f"peak_memory_{name}": Measured(peak, "bytes", "lower"),
    }
