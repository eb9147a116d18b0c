"""The workload `serve`: an open-loop load on a server of paged attention."""

# ruff: noqa: PLC0415 - listing workloads must be instant, so MLX is loaded at its first use

from typing import Annotated, Any, Literal

import typer

from tracekit.workload import Step, parameters, workload

Attention = Literal["paged", "gather-sdpa", "sdpa"]
Batching = Literal["continuous", "static"]
Order = Literal["fifo", "shortest"]
Distribution = Literal["fixed", "uniform", "lognormal"]
_TOKENS = 1 << 20


def _tokens(text: str) -> Any:
    return typer.Option(min=1, max=_TOKENS, help=text)


@workload
def serve(
    *,
    rate: Annotated[float, typer.Option(min=1e-3, help="Requests per second.")] = 12.0,
    duration: Annotated[float, typer.Option(min=0.1, help="Seconds of the schedule.")] = 5.0,
    requests: Annotated[
        int | None, typer.Option(min=1, help="Requests of the schedule, instead of --duration.")
    ] = None,
    token_budget: Annotated[
        int | None,
        typer.Option(min=1, help="Output tokens after which no request comes, for comparisons."),
    ] = None,
    burstiness: Annotated[
        float, typer.Option(min=0.01, help="1: Poisson arrivals; less: bursts; more: even.")
    ] = 1.0,
    ramp: Annotated[
        float, typer.Option(min=0, help="Seconds in which the rate climbs from none.")
    ] = 0.0,
    spike_at: Annotated[
        list[float] | None, typer.Option(help="Second of a spike; may be given again.")
    ] = None,
    spike_rate: Annotated[float, typer.Option(min=1e-3, help="Requests/s in a spike.")] = 64.0,
    spike_length: Annotated[float, typer.Option(min=1e-3, help="Seconds of a spike.")] = 0.5,
    prompt_lengths: Annotated[
        Distribution, typer.Option(help="How lengths of prompts are drawn.")
    ] = "lognormal",
    prompt_tokens: Annotated[int, _tokens("Typical prompt: the median, or all of them.")] = 64,
    prompt_shortest: Annotated[int, _tokens("Shortest prompt, unless fixed.")] = 16,
    prompt_longest: Annotated[int, _tokens("Longest prompt, unless fixed.")] = 256,
    output_lengths: Annotated[
        Distribution, typer.Option(help="How lengths of outputs are drawn.")
    ] = "lognormal",
    output_tokens: Annotated[int, _tokens("Typical output: the median, or all of them.")] = 32,
    output_shortest: Annotated[int, _tokens("Shortest output, unless fixed.")] = 8,
    output_longest: Annotated[int, _tokens("Longest output, unless fixed.")] = 128,
    max_seqs: Annotated[int, typer.Option(min=1, max=4096, help="Sequences at a time.")] = 8,
    blocks: Annotated[int, typer.Option(min=1, max=1 << 22, help="Blocks of the pool.")] = 96,
    block_size: parameters.BlockSize = 16,
    prefill_chunk: Annotated[
        int, typer.Option(min=1, max=65536, help="Tokens of a prompt that a tick takes.")
    ] = 64,
    q_heads: parameters.QHeads = 8,
    kv_heads: parameters.KvHeads = 4,
    head_dim: parameters.HeadDim = 64,
    attention: Annotated[
        Attention,
        typer.Option(
            help="Paged; or MLX's own over pages gathered by each step, or over one piece."
        ),
    ] = "paged",
    order: Annotated[
        Order, typer.Option(help="First come, or fewest tokens, first served.")
    ] = "fifo",
    batching: Annotated[
        Batching, typer.Option(help="Fill a free slot at once, or once the whole batch is over.")
    ] = "continuous",
    layers: Annotated[int, typer.Option(min=1, max=256, help="Times a token attends.")] = 2,
    dtype: parameters.Dtype = "float16",
    slo_ttft: Annotated[
        float | None, typer.Option(min=0, help="Milliseconds to the first token, at most.")
    ] = None,
    slo_tpot: Annotated[
        float | None, typer.Option(min=0, help="Milliseconds for each token after it, at most.")
    ] = None,
    slow_tick: Annotated[
        float, typer.Option(min=0, help="Milliseconds above which a tick is a spike.")
    ] = 200.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of arrivals, lengths, contents.")] = 0,
) -> Step:
    """Serve requests that arrive on a schedule, whether or not the server is ready.

    A tick admits new requests, prefills a piece of a prompt, decodes one token for every
    sequence whose prompt is done, and retires requests that have all tokens. The schedule is
    drawn before the run; latencies count from it, however late the loop sees an arrival. The
    model is virtual: only its attention, with random contents.
    """
    import mlx.core as mx

    from tracekit.ops import load, server

    spikes = tuple(load.Spike(at, spike_length, spike_rate) for at in spike_at or ())
    server_load = load.ServerLoad(
        rate=load.Rate(rate, ramp, spikes),
        prompts=load.Lengths(
            "prompt", prompt_lengths, prompt_tokens, prompt_shortest, prompt_longest
        ),
        outputs=load.Lengths(
            "output", output_lengths, output_tokens, output_shortest, output_longest
        ),
        duration=duration,
        count=requests,
        token_budget=token_budget,
        burstiness=burstiness,
        seed=seed,
    )
    shape = server.ModelShape(
        q_heads=q_heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        layers=layers,
        blocks=blocks,
        block_size=block_size,
        slots=max_seqs,
        chunk=prefill_chunk,
        longest=server_load.longest,
        dtype=getattr(mx, dtype),
    )
    limits = server.LatencyLimits(slo_ttft, slo_tpot, slow_tick)
    return server.serving_step(
        server_load, shape, limits, attention, order=order, batching=batching
    )
