"""`bench chip`: the limits of this machine's chip, and the launch of attention for a shape."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer

from tracekit import lab, machine, ops
from tracekit.base import InputError, UsageError, suggest_name, units
from tracekit.cli import console, model_rates, options
from tracekit.cli.options import flag, option
from tracekit.workload import parameters

_CONTEXT = 1024  # tokens
_UNCOUNTED = "neither `ioreg`, on a Mac, nor --gpu-cores says it"
Row = tuple[str, str, str]


Measure = Annotated[bool, flag("--measure", "Measure the memory bandwidth of the CPU, 2 s.")]
Name = Annotated[str | None, option("NAME", "Another chip, such as 'Apple M4 Max'.")]
GpuCores = Annotated[int | None, option("N", "GPU cores of that chip.", min=1)]
Decode = Annotated[float | None, option("RATE", "Tokens a second that --model decodes.", min=0.001)]
Prefill = Annotated[
    float | None, option("RATE", "Tokens a second that --model prefills.", min=0.001)
]
Tool = Annotated[str, option("NAME", "The tool with these rates: mlx_lm, llama.cpp …")]
Model = Annotated[
    str | None,
    option("MODEL", "The memory of a model: its folder, config.json, .gguf, or name in the cache."),
]
Batch = Annotated[int | None, option("N", "Sequences of a shape to launch.", min=1, max=4096)]
QHeads = Annotated[int | None, option("N", "Query heads.", min=1, max=512)]
KvHeads = Annotated[int | None, option("N", "Heads of K and V.", min=1, max=512)]
HeadDim = Annotated[int | None, option("N", "Elements of a head.", min=1)]
Context = Annotated[int | None, option("N", "Tokens of a sequence.", min=1, max=2**21)]
Dtype = Annotated[parameters.DtypeName | None, typer.Option(help="Type of the elements.")]


def chip(
    *,
    measure: Measure = False,
    name: Name = None,
    gpu_cores: GpuCores = None,
    batch: Batch = None,
    q_heads: QHeads = None,
    kv_heads: KvHeads = None,
    head_dim: HeadDim = None,
    context: Context = None,
    dtype: Dtype = None,
    model: Model = None,
    decode: Decode = None,
    prefill: Prefill = None,
    tool: Tool = "",
    json: options.Json = False,
) -> None:
    """Show the limits of this machine's chip, and whether a model fits into its memory.

    Each figure is shown with its source and its reliability, a missing figure with the reason. With
    any option of a shape, this also shows how paged decode attention launches it, how much work it
    is, and the least time that it can take. The defaults are 16 sequences of 1024 tokens, 16 query
    and 8 K/V heads of 128 float16, in blocks of 32 tokens. `tracekit bench tune` measures which
    launch is fastest.

    --model reads the sizes of a language model from its `config.json`: weights, KV cache and
    activations for --batch sequences, by default one, of --context tokens. --decode and --prefill
    compare its rates with those that others published for the chip, and with the chip's limits.
    """
    rates = _take_rates(model, decode, prefill, tool)
    chip, facts = _choose_chip(name, gpu_cores, measure=measure)
    shape_options = {
        "batch": batch,
        "q_heads": q_heads,
        "kv_heads": kv_heads,
        "head_dim": head_dim,
        "dtype": dtype,
    }
    memory = None
    tokens = context or _CONTEXT
    if model is not None:
        memory = _estimate_memory(model, tokens, batch or 1, is_needed=rates is None)
        shape_options["batch"] = None
        context = None
    shape = _shape(shape_options, context)
    measured = None
    if measure:
        measured = machine.triad.measure_bandwidth()
    if json:
        document = _document(chip, facts, measured, shape)
        judgements = _judge_rates(rates, chip, memory)
        console.show_json(replace(document, model=memory, rates=judgements))
        return
    rows = [*_chip_rows(chip, facts), *_measured_rows(measured)]
    heading = "that chip"
    if name is None:
        heading = "this machine"
    console.table(("", heading, "source"), rows)
    if name is not None and chip.name not in machine.chips.known_chips():
        known_chips = machine.chips.known_chips()
        console.show_hint(suggest_name(chip.name, known_chips))
    for table in _model_tables(memory, rates, chip, facts, tokens):
        console.measurements(*table)
    if shape is not None:
        console.show_hint(
            f"Paged decode attention, {shape.batch} sequences of {shape.context} tokens, "
            f"{shape.q_heads} query and {shape.kv_heads} K/V heads of {shape.head_dim} elements "
            f"of {shape.itemsize} bytes; `tracekit bench tune` measures which launch is fastest "
            "here:"
        )
        launch_rows = list(_launch_rows(shape, chip))
        console.table(("launch", "planned", "meaning"), launch_rows)


def _choose_chip(
    name: str | None, cores: int | None, *, measure: bool
) -> "tuple[machine.chips.Chip, dict[str, Any]]":
    """Return the chip, and the other facts of its machine if that is this one."""
    if name is not None and measure:
        raise UsageError("--measure is of this machine; --name names another chip.")
    if name is not None:
        chip_name = machine.chips.normalize_chip_name(name)
        return machine.chips.chip(chip_name, cores), {}
    if cores is not None:
        raise UsageError("--gpu-cores needs a chip that --name names.")
    facts = machine.describe()
    return machine.chips.this_chip(facts), facts


def _shape(shape_options: dict[str, Any], context: int | None) -> "lab.Shape | None":
    sizes = {name: size for name, size in shape_options.items() if size is not None}
    if not sizes and context is None:
        return None
    tokens = _CONTEXT if context is None else context
    if tokens % lab.Shape.block_size:
        hint = f"Give a multiple of {lab.Shape.block_size}."
        raise UsageError(
            f"A context of {tokens} tokens does not fill blocks of {lab.Shape.block_size}.",
            hint=hint,
        )
    active_blocks = tokens // lab.Shape.block_size
    return lab.Shape(**sizes, active_blocks=active_blocks)


def _take_rates(
    model: str | None, decode: float | None, prefill: float | None, tool: str
) -> "model_rates.ModelRates | None":
    """Return the rates of a command line; None without any."""
    if decode is None and prefill is None:
        return None
    if model is None:
        raise UsageError("--decode and --prefill are rates of a model.", hint="Give --model.")
    for option_name, rate in (("--decode", decode), ("--prefill", prefill)):
        if rate is not None and not math.isfinite(rate):
            raise UsageError(f"{option_name} must be a number of tokens a second, not {rate}.")
    return model_rates.ModelRates(model, decode, prefill, tool)


def _judge_rates(
    rates: "model_rates.ModelRates | None",
    chip: "machine.chips.Chip",
    memory: "lab.endpoint.model_memory.ModelMemory | None",
) -> "tuple[lab.endpoint.published.RateJudgement, ...] | None":
    if rates is None:
        return None
    return tuple(rates.judge(chip.name, memory and memory.model))


def _model_tables(
    memory: "lab.endpoint.model_memory.ModelMemory | None",
    rates: "model_rates.ModelRates | None",
    chip: "machine.chips.Chip",
    facts: dict[str, Any],
    context: int,
) -> "Iterator[model_rates.Table]":
    """Yield the memory of a model, and its rates."""
    if memory is not None:
        yield _memory_table(memory, facts)
    if rates is not None:
        config = memory and memory.model
        yield model_rates.rate_table(rates, chip, config, context)


def _estimate_memory(
    words: str, context: int, batch: int, *, is_needed: bool
) -> "lab.endpoint.model_memory.ModelMemory | None":
    """Return the memory of a model; None if it has no config.json and none is needed."""
    config = lab.endpoint.model_memory.find_config(words)
    if config is None and not is_needed:
        return None
    if config is None:
        raise InputError(
            f"There is no config.json of {words}.",
            hint="Name a folder with one, the file, or a model that Hugging Face's cache has.",
        )
    sizes = lab.endpoint.model_memory.read_config(config)
    return lab.endpoint.model_memory.estimate_memory(sizes, context, batch)


def _memory_table(
    memory: "lab.endpoint.model_memory.ModelMemory", facts: dict[str, Any]
) -> tuple[str, tuple[str, ...], list[Row]]:
    """Return the memory of a model, and whether it fits into that of this machine."""
    model = memory.model
    kind = model.quantization or f"{model.item_bits} bits"
    title = f"{model.name}, {kind}, for {memory.context:,} tokens"
    if memory.batch > 1:
        title += f" in each of {memory.batch} sequences"
    rows = list(lab.endpoint.model_memory.list_parts(memory))
    limit, source = _memory_limit(facts)
    if limit is None:
        rows.append(("fits", units.unavailable(source), ""))
        return title, ("memory", "size", "computed from"), rows
    verdict = lab.endpoint.model_memory.judge_fit(memory.total, limit)
    rows.append(("fits", verdict, f"{units.size(limit)}, {source}"))
    return title, ("memory", "size", "computed from"), rows


def _memory_limit(facts: dict[str, Any]) -> tuple[int | None, str]:
    """Return the bytes that a model may take on this machine, with their source or the reason.

    Without facts, the chip is another one, of which MLX knows nothing.
    """
    core = _metal()
    if facts and core is not None:
        limit = core.device_info().get("max_recommended_working_set_size")
        if isinstance(limit, int):
            return limit, "the working set that Metal recommends, by MLX"
    if facts.get("memory"):
        return facts["memory"], "the memory of this machine"
    return None, "a chip comes with several sizes of memory"


def _chip_rows(chip: "machine.chips.Chip", facts: dict[str, Any]) -> Iterator[Row]:
    yield "chip", chip.name or units.unavailable("the system does not name it"), ""
    cores = units.unavailable(_UNCOUNTED)
    if chip.cores:
        cores = str(chip.cores)
    yield "gpu cores", cores, ""
    if facts.get("memory"):
        yield "memory", units.size(facts["memory"]), ""
    if facts:
        yield from _gpu_rows()
    yield _figure_row("bandwidth", chip.bandwidth, 1e9, "GB/s")
    yield _figure_row("float32", chip.fp32, 1e12, "TFLOP/s")
    yield _figure_row("float16", chip.fp16, 1e12, "TFLOP/s")
    ridge = machine.roofline.ridge_of(chip)
    yield _figure_row("ridge", ridge, 1, "FLOP/byte")


def _gpu_rows() -> Iterator[Row]:
    """Yield the facts that MLX has of the GPU, on a Mac."""
    architecture = _architecture()
    gpu_class = machine.chips.gpu_class(architecture)
    if gpu_class:
        meaning, limits = gpu_class
        yield "architecture", f"{architecture}: {meaning}", "MLX"
        full = f"more than {limits.operations} operations or {limits.mebi_elements} Mi elements"
        yield "MLX commits", full, "MLX's source; MLX_MAX_OPS_PER_BUFFER changes it"


def _architecture() -> str:
    core = _metal()
    if core is None:
        return ""
    return str(core.device_info().get("architecture", ""))


def _metal() -> Any:
    """Return MLX if it has Metal, else None."""
    try:
        import mlx.core as mx
    except ImportError:
        return None
    if not mx.metal.is_available():
        return None
    return mx


def _figure_row(name: str, figure: "machine.chips.Figure", scale: float, unit: str) -> Row:
    if figure.value is None:
        return name, units.unavailable(figure.reason), ""
    figure_text = f"{figure.value / scale:.4g} {unit}"
    source_text = f"{figure.confidence}: {figure.source}"
    return name, figure_text, source_text


def _measured_rows(measured: "machine.triad.Bandwidth | None") -> Iterator[Row]:
    if measured is None:
        return
    measured_size = units.size(measured.size)
    how = f"measured here: triad over {measured_size}, {measured.threads} threads, the CPU's"
    if measured.of_memory is None:
        how += "; the caches' size is not known"
    elif not measured.of_memory:
        cache_size = units.size(measured.cache)
        how += f"; too small for caches of {cache_size}, so partly theirs"
    best_rate = f"{measured.best / 1e9:.4g} GB/s"
    yield "measured", best_rate, how
    median_rate = f"{measured.median / 1e9:.4g} GB/s"
    yield "  median", median_rate, f"of {measured.passes} passes"


def _launch_rows(shape: "lab.Shape", chip: "machine.chips.Chip") -> Iterator[Row]:
    for name, value, reason in lab.explain_default_launch(shape, chip.cores):
        yield name, f"{value:,}", reason
    work, bound = _work(shape, chip)
    moved = work.unique + work.written
    yield "bytes", f"{moved / 1e6:,.4g} MB", "that memory must move, each counted once."
    intensity_text = f"{work.intensity:.3g} FLOP/byte"
    yield "intensity", intensity_text, f"{work.flops / 1e9:.4g} GFLOP in all."
    if bound is None:
        yield "bound", units.NOT_AVAILABLE, chip.bandwidth.reason
    else:
        limit: str = bound.limit
        if bound.partial:
            limit = "memory alone; the rate of arithmetic is not known"
        reason = f"of {limit}; {machine.chips.ATTAINABLE}."
        bound_time = bound.seconds * 1e9
        bound_text = units.duration(bound_time)
        yield "bound", bound_text, reason


def _work(
    shape: "lab.Shape", chip: "machine.chips.Chip"
) -> "tuple[ops.kernels.CallTraffic, machine.roofline.Bound | None]":
    """Return the work of a shape, and its least time if the bandwidth is known."""
    sequence_lengths = [shape.context] * shape.batch
    work = ops.paged.traffic(
        sequence_lengths,
        q_heads=shape.q_heads,
        kv_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        block_size=shape.block_size,
        itemsize=shape.itemsize,
    )
    bandwidth = chip.bandwidth.value
    if bandwidth is None:
        return work, None
    rate = chip.fp16.value
    if shape.dtype == "float32":
        rate = chip.fp32.value
    moved = work.unique + work.written
    bound = machine.roofline.bound(work.flops, moved, bandwidth=bandwidth, rate=rate)
    return work, bound


@dataclass(frozen=True)
class LaunchValue:
    """A value of a kernel's launch, and its meaning."""

    name: str
    value: int
    why: str


@dataclass(frozen=True)
class ShapeSizes:
    """The sizes of a call of paged attention: `context` in tokens, `itemsize` in bytes."""

    batch: int
    q_heads: int
    kv_heads: int
    head_dim: int
    context: int
    block_size: int
    itemsize: int


@dataclass(frozen=True)
class ChipLimits:
    """The JSON of `tracekit bench chip`: rates per second, sizes in bytes.

    `machine` has the facts of this machine, and is empty for another chip. The last five are null
    unless an option of a shape, or `--model`, is given; `bound` is null as well if the bandwidth is
    not known.
    """

    chip: "machine.chips.Chip"
    machine: dict[str, Any]
    architecture: str | None
    ridge: "machine.chips.Figure"
    measured: "machine.triad.Bandwidth | None"
    shape: ShapeSizes | None = None
    launch: tuple[LaunchValue, ...] | None = None
    work: "ops.kernels.CallTraffic | None" = None
    bound: "machine.roofline.Bound | None" = None
    model: "lab.endpoint.model_memory.ModelMemory | None" = None
    rates: "tuple[lab.endpoint.published.RateJudgement, ...] | None" = None
    format: int = 1


def _document(
    chip: "machine.chips.Chip",
    facts: dict[str, Any],
    measured: "machine.triad.Bandwidth | None",
    shape: "lab.Shape | None",
) -> ChipLimits:
    """Return everything for JSON."""
    architecture = None
    if facts:
        architecture = _architecture() or None
    limits = ChipLimits(
        chip=chip,
        machine=facts,
        architecture=architecture,
        ridge=machine.roofline.ridge_of(chip),
        measured=measured,
    )
    if shape is None:
        return limits
    work, bound = _work(shape, chip)
    sizes = ShapeSizes(
        batch=shape.batch,
        q_heads=shape.q_heads,
        kv_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        context=shape.context,
        block_size=shape.block_size,
        itemsize=shape.itemsize,
    )
    launch_rows = lab.explain_default_launch(shape, chip.cores)
    launch = tuple(LaunchValue(*row) for row in launch_rows)
    return replace(limits, shape=sizes, launch=launch, work=work, bound=bound)
