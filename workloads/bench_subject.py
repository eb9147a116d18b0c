"""The workload `bench-subject`: one subject of `tracekit bench run`, called once a step."""

from dataclasses import replace
from typing import Annotated

import typer

from tracekit.workload import Step, parameters, workload


@workload
def bench_subject(
    *,
    subject: Annotated[
        str, typer.Option(help="The subject: tracekit bench run --list shows all.")
    ] = "paged",
    batch: parameters.Batch = 16,
    q_heads: parameters.QHeads = 16,
    kv_heads: parameters.KvHeads = 8,
    head_dim: parameters.HeadDim = 128,
    block_size: parameters.BlockSize = 32,
    active_blocks: parameters.ActiveBlocks = 32,
    dtype: parameters.Dtype = "float16",
    ragged: parameters.Ragged = False,
    queries: Annotated[
        int, typer.Option(min=1, max=65536, help="Tokens of a prompt, in prefill.")
    ] = 512,
    rows: Annotated[int, typer.Option(min=1, max=65536, help="Rows of a layer: tokens.")] = 16,
    dims: Annotated[
        int, typer.Option(min=1, max=65536, help="Elements of a row that goes into a layer.")
    ] = 2048,
    out_dims: Annotated[
        int, typer.Option(min=1, max=65536, help="Elements of a row that comes out.")
    ] = 2048,
    experts: Annotated[int, typer.Option(min=1, max=1024, help="Experts of a layer.")] = 8,
    top_k: Annotated[int, typer.Option(min=1, max=1024, help="Experts of a row.")] = 2,
    seed: parameters.Seed = 0,
) -> Step:
    """Call one subject of `tracekit bench run` once a step, so that it can be a side.

    Shapes and inputs are those of `tracekit bench run`. Two subjects of one family do the same
    work. `tracekit bench ab bench-subject subject=paged -- subject=gather-sdpa` compares them in
    pairs of processes, and a plan of nights follows them. The inputs rotate, as in the bench.
    """
    # Listing workloads must be instant, so MLX is loaded where it is used.
    from tracekit.lab import Shape, prepare_subject  # noqa: PLC0415

    shape = Shape(
        batch=batch,
        q_heads=q_heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        block_size=block_size,
        active_blocks=active_blocks,
        dtype=dtype,
        ragged=ragged,
        queries=queries,
        rows=rows,
        dims=dims,
        out_dims=out_dims,
        seed=seed,
        experts=experts,
        top_k=top_k,
    )
    prepared = prepare_subject(subject, shape)
    if prepared.error is None:
        return prepared.step
    return replace(prepared.step, results={"max_error": prepared.error})
