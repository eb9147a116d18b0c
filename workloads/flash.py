"""The workload `flash`: a fused prefill attention and the naive one, step by step."""

# ruff: noqa: PLC0415 - listing workloads must be instant, so MLX is loaded at its first use

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from tracekit.workload import Measured, Step, calls, parameters, workload

if TYPE_CHECKING:
    import mlx.core as mx

    from tracekit.ops import dense

    Attend = Callable[[], mx.array]


UNKNOWN_KERNEL = "MLX does not say which kernel it chose; its name stands in the trace"


@workload
def flash(
    *,
    batch: Annotated[int, typer.Option(min=1, max=4096, help="Sequences of a step.")] = 1,
    seq: Annotated[int, typer.Option(min=1, max=131072, help="Tokens of a sequence.")] = 1024,
    q_heads: parameters.QHeads = 8,
    kv_heads: parameters.KvHeads = 8,
    head_dim: parameters.HeadDim = 64,
    dtype: parameters.Dtype = "float16",
    causal: Annotated[
        bool, typer.Option(help="Let a query see only keys up to its own place.")
    ] = True,
    layout: parameters.LayoutOfAxes = "BHSD",
    seed: parameters.Seed = 0,
    order: parameters.OrderOfSteps = "abba",
) -> Step:
    """Compare MLX's fused attention with the naive one, in a prefill.

    The naive one writes a matrix of scores for each head, in float32; a fused kernel never
    does. On a CPU MLX has no fused kernel: there the two hardly differ except for the mask.
    """
    import mlx.core as mx

    from tracekit.ops import check_heads, dense, kernels

    check_heads(q_heads, kv_heads)
    shape = dense.DenseShape(
        (seq,) * batch,
        seq,
        q_heads,
        kv_heads,
        head_dim,
        getattr(mx, dtype).size,
        queries=seq,
        causal=causal,
    )
    kernels.require_memory(shape.scores, "The matrix of scores")
    problem = dense.draw_dense(shape, dtype=getattr(mx, dtype), seed=seed)
    return _step(problem, shape, layout, order)


def _step(
    problem: "dense.DenseProblem",
    shape: "dense.DenseShape",
    layout: "dense.Layout",
    order: calls.Order,
) -> Step:
    import mlx.core as mx

    from tracekit.ops import dense
    from tracekit.workload import backend, calls

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
    turns = calls.Turns(
        calls.variant_of("flash", fast, dense.dense_traffic(shape).work(tokens)),
        calls.variant_of("naive", naive, dense.naive_traffic(shape).work(tokens)),
        order,
        mx.eval,
    )
    return calls.alternate(turns, backend=device, results=results)


def _fast(problem: "dense.DenseProblem", layout: "dense.Layout") -> "Attend":
    from tracekit.ops import dense

    q, keys, values = problem.laid_out(layout)
    mask, scale = problem.mask(), problem.scale
    return lambda: dense.sdpa(q, keys, values, scale=scale, mask=mask, layout=layout)


def _naive(problem: "dense.DenseProblem", layout: "dense.Layout") -> "Attend":
    import mlx.core as mx

    from tracekit.ops import dense

    arrays = problem.laid_out(layout)
    mask = dense.causal_mask(problem.queries, problem.longest) if problem.causal else None
    if mask is not None:
        mx.eval(mask)

    def attend() -> "mx.array":
        if layout == "BHSD":
            return dense.naive_attention(*arrays, scale=problem.scale, mask=mask)
        turned = (array.swapaxes(1, 2) for array in arrays)
        return dense.naive_attention(*turned, scale=problem.scale, mask=mask).swapaxes(1, 2)

    return attend


def _checked(
    problem: "dense.DenseProblem", attend: "Attend", name: str, layout: "dense.Layout"
) -> dict[str, float | Measured]:
    """Compare a result with the reference, and measure the memory that it took."""
    import mlx.core as mx

    from tracekit.base import tolerances
    from tracekit.ops import dense

    before = mx.get_active_memory()
    mx.reset_peak_memory()
    out = attend()
    mx.eval(out)
    peak = mx.get_peak_memory() - before
    out = out if layout == "BHSD" else out.swapaxes(1, 2)
    error = dense.largest_dense_error(problem, out)
    return {
        f"max_error_{name}": tolerances.require_accuracy(
            error, problem.q.dtype, f"The result of {name}"
        ),
        f"peak_memory_{name}": Measured(peak, "bytes", "lower"),
    }
