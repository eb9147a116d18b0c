"""`chip`: what this machine's chip can do."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

import typer

from tracekit import machine
from tracekit.base import UsageError, nearest, size, unavailable
from tracekit.cli import console, options

Row = tuple[str, str, str]


def chip(
    *,
    measure: Annotated[
        bool, typer.Option("--measure", help="Measure what the CPU gets from memory, 2 s.")
    ] = False,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Another chip, such as 'Apple M4 Max'.")
    ] = None,
    gpu_cores: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="GPU cores of that chip.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Show what this machine's chip can do.

    Each figure has its source and how far it can be trusted; for a missing figure the reason is
    shown.
    """
    one, facts = _asked(name, gpu_cores, measure=measure)
    measured = machine.measure_bandwidth() if measure else None
    if json:
        console.show_json(_document(one, facts, measured))
        return
    rows = [*_chip_rows(one, facts), *_measured_rows(measured)]
    console.table(("", "this machine" if name is None else "that chip", "source"), rows)
    if name is not None and one.name not in machine.known_chips():
        console.show_hint(nearest(one.name, machine.known_chips()))


def _asked(
    name: str | None, cores: int | None, *, measure: bool
) -> "tuple[machine.Chip, dict[str, Any]]":
    """Return the chip, and what else is known of its machine, if that is this one."""
    if name is not None and measure:
        raise UsageError("--measure is of this machine; --name names another chip.")
    if name is not None:
        return machine.chip(machine.spelled(name), cores), {}
    if cores is not None:
        raise UsageError("--gpu-cores is of a chip that --name names.")
    facts = machine.describe()
    return machine.this_chip(facts), facts


def _chip_rows(one: "machine.Chip", facts: dict[str, Any]) -> Iterator[Row]:
    yield "chip", one.name or unavailable("the system does not name it"), ""
    uncounted = "only a Mac's are counted"
    if not facts:
        uncounted = "--gpu-cores does not say it"
    elif facts.get("system") == "Darwin":
        uncounted = "`ioreg` does not count them"
    yield "gpu cores", str(one.cores) if one.cores else unavailable(uncounted), ""
    if facts.get("memory"):
        yield "memory", size(facts["memory"]), ""
    yield from _gpu_rows()
    yield _figure_row("bandwidth", one.bandwidth, 1e9, "GB/s")
    yield _figure_row("float32", one.fp32, 1e12, "TFLOP/s")
    yield _figure_row("float16", one.fp16, 1e12, "TFLOP/s")
    yield _figure_row("ridge", machine.ridge_of(one), 1, "FLOP/byte")


def _gpu_rows() -> Iterator[Row]:
    """Say what MLX knows of the GPU, on a Mac."""
    architecture = _architecture()
    if found := machine.gpu_class(architecture):
        meaning, limits = found
        yield "architecture", f"{architecture}: {meaning}", "MLX"
        full = f"more than {limits.operations} operations or {limits.mebi_elements} Mi elements"
        yield "MLX commits", full, "MLX's source; MLX_MAX_OPS_PER_BUFFER changes it"


def _architecture() -> str:
    try:
        import mlx.core as mx
    except ImportError:
        return ""
    return str(mx.device_info().get("architecture", "")) if mx.metal.is_available() else ""


def _figure_row(name: str, figure: "machine.Figure", scale: float, unit: str) -> Row:
    if figure.value is None:
        return name, unavailable(figure.reason), ""
    return name, f"{figure.value / scale:.4g} {unit}", f"{figure.confidence}: {figure.source}"


def _measured_rows(measured: "machine.Bandwidth | None") -> Iterator[Row]:
    if measured is None:
        return
    how = f"measured here: triad over {size(measured.size)}, {measured.threads} threads, the CPU's"
    if measured.of_memory is None:
        how += "; the caches' size is not known"
    elif not measured.of_memory:
        how += f"; too small for caches of {size(measured.cache)}, so partly theirs"
    yield "measured", f"{measured.best / 1e9:.4g} GB/s", how
    yield "  median", f"{measured.median / 1e9:.4g} GB/s", f"of {measured.passes} passes"


def _document(
    one: "machine.Chip",
    facts: dict[str, Any],
    measured: "machine.Bandwidth | None",
) -> dict[str, Any]:
    """Return all that is known as JSON has it: rates per second, sizes in bytes."""
    return {
        "chip": asdict(one),
        "machine": facts,
        "architecture": _architecture() or None,
        "ridge": asdict(machine.ridge_of(one)),
        "measured": None if measured is None else asdict(measured),
    }
