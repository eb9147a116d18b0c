"""The workload `kv-cache`: append a token and attend, over caches of three kinds."""

# ruff: noqa: PLC0415 - listing workloads must be instant, so MLX is loaded at its first use

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tracekit.base import UsageError
from tracekit.workload import Measured, Step, parameters, workload

if TYPE_CHECKING:
    import mlx.core as mx

    from tracekit.ops import Cache, Decoding

Kind = Literal["growing", "sliding", "paged"]


@workload
def kv_cache(
    *,
    kind: Annotated[Kind, typer.Option(help="How keys and values are kept.")] = "growing",
    batch: parameters.Batch = 8,
    q_heads: parameters.QHeads = 16,
    kv_heads: parameters.KvHeads = 8,
    head_dim: parameters.HeadDim = 128,
    prompt: Annotated[int, typer.Option(min=1, max=2**20, help="Tokens before the steps.")] = 512,
    max_tokens: Annotated[int, typer.Option(min=2, max=2**20, help="Tokens to end at.")] = 4096,
    grow_step: Annotated[
        int, typer.Option(min=1, max=2**20, help="Tokens that a growing cache grows by.")
    ] = 256,
    window: Annotated[
        int, typer.Option(min=1, max=2**20, help="Tokens that a sliding cache keeps.")
    ] = 1024,
    block_size: parameters.BlockSize = 32,
    dtype: parameters.Dtype = "float16",
    hold_a_view: Annotated[
        bool, typer.Option(help="Misbehave: hold a slice of the cache, so that MLX copies it all.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the contents.")] = 0,
) -> Step:
    """Append a token to each of several sequences and attend to the whole cache.

    A growing cache copies itself now and then, a sliding one keeps only the last tokens, and a
    paged one takes a new block when the last is full. Steps end when the sequences are full.
    """
    import mlx.core as mx

    from tracekit.ops import Decoding, caches, check_heads

    check_heads(q_heads, kv_heads)
    if prompt + 1 >= max_tokens:
        raise UsageError(
            f"After a prompt of {prompt} tokens no step is left before {max_tokens}.",
            hint="--max-tokens must exceed --prompt by 2 at least: one token is for the check.",
        )
    sizes = caches.Sizes(batch, q_heads, kv_heads, head_dim, getattr(mx, dtype))
    sizes.check(window if kind == "sliding" else max_tokens)
    cache: Cache
    if kind == "growing":
        cache = caches.GrowingCache(sizes, step=grow_step)
    elif kind == "sliding":
        cache = caches.SlidingCache(sizes, window=window)
    else:
        cache = caches.PagedCache(sizes, block_size=block_size, max_tokens=max_tokens)
    decoding = Decoding(
        sizes,
        caches.draw_rows(sizes, seed=seed),
        cache,
        lambda query: _attend(cache, query),
        hold_a_view,
    )
    return _step(decoding, prompt, max_tokens)


def _attend(cache: "Cache", query: "mx.array") -> "mx.array":
    import mlx.core as mx

    from tracekit.ops import DecodeProblem, caches, dense, kernels, paged

    scale = query.shape[2] ** -0.5
    if not isinstance(cache, caches.PagedCache):
        return dense.sdpa(query[:, :, None], *cache.view_kept(), scale=scale)[:, :, 0]
    lens = mx.full((max(kernels.LEAST_BUFFER, query.shape[0]),), cache.length, mx.int32)
    problem = DecodeProblem(query, cache.keys, cache.values, cache.block_tables, lens)
    return paged.attend(problem, scale=scale, longest=cache.length)


def _step(decoding: "Decoding", prompt: int, max_tokens: int) -> Step:
    from tracekit.ops import kernels
    from tracekit.workload import backend

    took = decoding.prefill(prompt)
    decoding.wait(decoding.submit())
    read, written, flops = _work(decoding)
    return Step(
        submit=decoding.submit,
        wait=decoding.wait,
        backend=backend(),
        tokens=decoding.sizes.batch,
        bytes_read=read,
        bytes_unique=read,
        bytes_written=written,
        flops=flops,
        specializations=kernels.specializations,
        noting_launches=kernels.noting_launches,
        results={
            "max_error": decoding.error(),
            "prefill": Measured(took, "ns", "lower"),
            "bytes_per_token": Measured(decoding.sizes.token_bytes, "bytes"),
        },
        tell=decoding.tell,
        begin=decoding.begin,
        exhausted=lambda: decoding.cache.length >= max_tokens,
        finish=lambda: _found(decoding, max_tokens),
    )


def _work(decoding: "Decoding") -> tuple[int, int, int]:
    """Return bytes read, bytes written and operations of a step; zeros while they still grow."""
    from tracekit.ops import caches

    cache, sizes = decoding.cache, decoding.sizes
    if not isinstance(cache, caches.SlidingCache) or cache.kept_tokens < cache.window:
        return 0, 0, 0
    flops = 4 * sizes.batch * sizes.q_heads * sizes.head_dim * cache.kept_tokens
    read = cache.kept_tokens * sizes.token_bytes + sizes.query_bytes
    return read, sizes.token_bytes + sizes.query_bytes, flops


def _found(decoding: "Decoding", max_tokens: int) -> Mapping[str, float | Measured]:
    """Report the bytes read since the steady phase began, and the memory of one more step."""
    spent = decoding.costs
    if not spent.steps:
        reason = "the sequences were full before the steady phase"
        return {"kv_rate": Measured(None, "bytes/s", "higher", reason)}
    found = {
        "kv_read": Measured(spent.read, "bytes"),
        "kv_rate": Measured(spent.read / spent.time * 1e9, "bytes/s", "higher"),
    }
    return {**found, **_extra(decoding, max_tokens), "error_at_end": decoding.error()}


def _extra(decoding: "Decoding", max_tokens: int) -> Mapping[str, Measured]:
    """Return the memory of one step besides the cache: much, if a token copies the cache."""
    name = "step_extra_memory"
    if decoding.cache.length >= max_tokens:
        why = "the sequences are full, so no step was left to measure"
        return {name: Measured(None, "bytes", "lower", why)}
    extra = decoding.extra_memory()
    return {
        name: Measured(extra, "bytes", "lower"),
        f"{name}_of_cache": Measured(extra / decoding.cache.nbytes, "ratio", "lower"),
    }
