"""`chip`: the limits of this machine's chip, and the launch of paged attention for a shape."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

import typer

from tracekit import lab, machine, ops
from tracekit.base import UsageError, suggest_name, units
from tracekit.cli import console, options
from tracekit.cli.options import flag, option
from tracekit.workload import parameters

_CONTEXT = 1024  # tokens
_UNCOUNTED = "neither `ioreg`, on a Mac, nor --gpu-cores says it"
Row = tuple[str, str, str]


def chip(
    *,
    measure: Annotated[
        bool, flag("--measure", "Measure the memory bandwidth of the CPU, 2 s.")
    ] = False,
    name: Annotated[str | None, option("NAME", "Another chip, such as 'Apple M4 Max'.")] = None,
    gpu_cores: Annotated[int | None, option("N", "GPU cores of that chip.", min=1)] = None,
    batch: Annotated[
        int | None, option("N", "Sequences of a shape to launch.", min=1, max=4096)
    ] = None,
    q_heads: Annotated[int | None, option("N", "Query heads.", min=1, max=512)] = None,
    kv_heads: Annotated[int | None, option("N", "Heads of K and V.", min=1, max=512)] = None,
    head_dim: Annotated[int | None, option("N", "Elements of a head.", min=1)] = None,
    context: Annotated[int | None, option("N", "Tokens of a sequence.", min=1, max=2**21)] = None,
    dtype: Annotated[
        parameters.DtypeName | None, typer.Option(help="Type of the elements.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Show the limits of this machine's chip.

    Each figure is shown with its source and its reliability, a missing figure with the reason. With
    any option of a shape, this also shows how paged decode attention launches it, how much work it
    is, and the least time that it can take. The defaults are 16 sequences of 1024 tokens, 16 query
    and 8 K/V heads of 128 float16, in blocks of 32 tokens. `tracekit bench --tune` measures which
    launch is fastest.
    """
    chip, facts = _choose_chip(name, gpu_cores, measure=measure)
    shape_options = {
        "batch": batch,
        "q_heads": q_heads,
        "kv_heads": kv_heads,
        "head_dim": head_dim,
        "dtype": dtype,
    }
    shape = _shape(shape_options, context)
    measured = machine.triad.measure_bandwidth() if measure else None
    if json:
        console.show_json(_document(chip, facts, measured, shape))
        return
    rows = [*_chip_rows(chip, facts), *_measured_rows(measured)]
    heading = "this machine" if name is None else "that chip"
    console.table(("", heading, "source"), rows)
    if name is not None and chip.name not in machine.chips.known_chips():
        console.show_hint(suggest_name(chip.name, machine.chips.known_chips()))
    if shape is not None:
        console.show_hint(
            f"Paged decode attention, {shape.batch} sequences of {shape.context} tokens, "
            f"{shape.q_heads} query and {shape.kv_heads} K/V heads of {shape.head_dim} elements "
            f"of {shape.itemsize} bytes; `tracekit bench --tune` measures which launch is fastest "
            "here:"
        )
        console.table(("launch", "planned", "meaning"), list(_launch_rows(shape, chip)))


def _choose_chip(
    name: str | None, cores: int | None, *, measure: bool
) -> "tuple[machine.chips.Chip, dict[str, Any]]":
    """Return the chip, and the other facts of its machine if that is this one."""
    if name is not None and measure:
        raise UsageError("--measure is of this machine; --name names another chip.")
    if name is not None:
        return machine.chips.chip(machine.chips.normalize_chip_name(name), cores), {}
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
        raise UsageError(
            f"A context of {tokens} tokens does not fill blocks of {lab.Shape.block_size}.",
            hint=f"Give a multiple of {lab.Shape.block_size}.",
        )
    return lab.Shape(**sizes, active_blocks=tokens // lab.Shape.block_size)


def _chip_rows(chip: "machine.chips.Chip", facts: dict[str, Any]) -> Iterator[Row]:
    yield "chip", chip.name or units.unavailable("the system does not name it"), ""
    cores = str(chip.cores) if chip.cores else units.unavailable(_UNCOUNTED)
    yield "gpu cores", cores, ""
    if facts.get("memory"):
        yield "memory", units.size(facts["memory"]), ""
    yield from _gpu_rows()
    yield _figure_row("bandwidth", chip.bandwidth, 1e9, "GB/s")
    yield _figure_row("float32", chip.fp32, 1e12, "TFLOP/s")
    yield _figure_row("float16", chip.fp16, 1e12, "TFLOP/s")
    yield _figure_row("ridge", machine.roofline.ridge_of(chip), 1, "FLOP/byte")


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
    try:
        import mlx.core as mx
    except ImportError:
        return ""
    if not mx.metal.is_available():
        return ""
    return str(mx.device_info().get("architecture", ""))


def _figure_row(name: str, figure: "machine.chips.Figure", scale: float, unit: str) -> Row:
    if figure.value is None:
        return name, units.unavailable(figure.reason), ""
    return name, f"{figure.value / scale:.4g} {unit}", f"{figure.confidence}: {figure.source}"


def _measured_rows(measured: "machine.triad.Bandwidth | None") -> Iterator[Row]:
    if measured is None:
        return
    how = (
        f"measured here: triad over {units.size(measured.size)}, {measured.threads} threads, "
        f"the CPU's"
    )
    if measured.of_memory is None:
        how += "; the caches' size is not known"
    elif not measured.of_memory:
        how += f"; too small for caches of {units.size(measured.cache)}, so partly theirs"
    yield "measured", f"{measured.best / 1e9:.4g} GB/s", how
    yield "  median", f"{measured.median / 1e9:.4g} GB/s", f"of {measured.passes} passes"


def _launch_rows(shape: "lab.Shape", chip: "machine.chips.Chip") -> Iterator[Row]:
    for name, value, meaning in _launch(shape):
        yield name, f"{value:,}", meaning
    work, bound = _work(shape, chip)
    moved = work.unique + work.written
    yield "bytes", f"{moved / 1e6:,.4g} MB", "that memory must move, each counted once."
    yield "intensity", f"{work.intensity:.3g} FLOP/byte", f"{work.flops / 1e9:.4g} GFLOP in all."
    if bound is None:
        yield "bound", units.NOT_AVAILABLE, chip.bandwidth.reason
    else:
        limit: str = bound.limit
        if bound.partial:
            limit = "memory alone; the rate of arithmetic is not known"
        reason = f"of {limit}; an M1 Max reached about 80 % of its bandwidth."
        yield "bound", units.duration(bound.seconds * 1e9), reason


def _launch(shape: "lab.Shape") -> list[tuple[str, int, str]]:
    """Return the launch of paged attention for a shape: name, value, meaning."""
    plan = lab.plan_default_launch(shape)
    reads = plan.rereads(shape.q_heads // shape.kv_heads)
    loaded = "once" if reads == 1 else f"{reads} times"
    heads = f"query heads of a threadgroup; each row of K and V is loaded {loaded}."
    return [
        ("hd_tile", plan.hd_tile, "elements of a head that a lane owns."),
        ("heads", plan.heads, heads),
        ("threadgroup", plan.threadgroup, "threads."),
        ("partitions", plan.partitions, "threadgroups that share the tokens of a sequence."),
        ("dispatches", plan.dispatches, "with partitions a second kernel merges them."),
    ]


def _work(
    shape: "lab.Shape", chip: "machine.chips.Chip"
) -> "tuple[ops.kernels.CallTraffic, machine.roofline.Bound | None]":
    """Return the work of a shape, and its least time if the bandwidth is known."""
    work = ops.paged.traffic(
        [shape.context] * shape.batch,
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
    return work, machine.roofline.bound(work.flops, moved, bandwidth=bandwidth, rate=rate)


def _document(
    chip: "machine.chips.Chip",
    facts: dict[str, Any],
    measured: "machine.triad.Bandwidth | None",
    shape: "lab.Shape | None",
) -> dict[str, Any]:
    """Return everything for JSON: rates per second, sizes in bytes."""
    document: dict[str, Any] = {
        "chip": asdict(chip),
        "machine": facts,
        "architecture": _architecture() or None,
        "ridge": asdict(machine.roofline.ridge_of(chip)),
        "measured": asdict(measured) if measured else None,
    }
    if shape is not None:
        work, bound = _work(shape, chip)
        sizes = ("batch", "q_heads", "kv_heads", "head_dim", "context", "block_size", "itemsize")
        document["shape"] = {name: getattr(shape, name) for name in sizes}
        keys = ("name", "value", "why")
        document["launch"] = [dict(zip(keys, row, strict=True)) for row in _launch(shape)]
        document["work"] = asdict(work)
        document["bound"] = asdict(bound) if bound else None
    return document
