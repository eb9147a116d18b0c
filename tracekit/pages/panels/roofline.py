"""The limits of the chip for a step, and the share of them that was reached."""

from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pandas as pd

from tracekit.analysis import Result, Unavailable, bytes_moved, machine, scope
from tracekit.base import units
from tracekit.machine import chips
from tracekit.machine import roofline as machine_roofline
from tracekit.pages.chart import Chart
from tracekit.pages.panel import Context, Tables, panel, rows, variants_of
from tracekit.pages.plots import Placed, roof

_SECOND = 1e9


@panel("Roofline", "step_models", "steps")
def roofline(result: Result, tables: Tables) -> Context | None:
    """Place the steps under the chip's roof; None if the workload does not describe its steps."""
    models = rows(tables, "step_models")
    steps = rows(tables, "steps")
    if models.absence or steps.absence:
        return None
    chip, absence = _chip(result, models.frame)
    bandwidth = None
    if chip is not None:
        bandwidth = chip.bandwidth.value
        if bandwidth is None:
            absence = chip.bandwidth.reason
    points = list(_points(models.frame, steps.frame, bandwidth))
    if not points:
        return None
    chart = None
    if chip is not None and bandwidth:
        chart = _chart(points, chip, bandwidth)
    return {"points": points, "absence": absence, "chip": chip, "chart": chart}


def _chip(result: Result, models: pd.DataFrame) -> tuple[chips.Chip | None, str]:
    """Return the chip of the run, or the reason why it is not known."""
    if (models["backend"] == "cpu").any():
        return None, (
            "the steps ran on the CPU, and no bandwidth of a CPU is published; "
            "`tracekit bench chip --measure` measures it here"
        )
    try:
        return machine.chip_of(result.provenance.machine), ""
    except Unavailable as reason:
        return None, str(reason)


def _points(
    models: pd.DataFrame, steps: pd.DataFrame, bandwidth: float | None
) -> Iterator[Context]:
    """Yield the steps of each variant: their median time in ns, with their bytes and operations.

    `flops` and `intensity` are None if the workload does not give the number of operations.
    """
    try:
        steady = scope.steady_steps(steps)
    except Unavailable:
        return
    step_variants = variants_of(steady)
    named_models = zip(models.to_dict("records"), variants_of(models), strict=True)
    for row, name in named_models:
        variant_steps = steady
        if len(models) > 1:
            variant_steps = steady[(step_variants == name).to_numpy()]
        durations = variant_steps["duration"].dropna().astype(np.float64)
        time = durations.median()
        with suppress(Unavailable):
            moved = bytes_moved(pd.Series(row))
            flops = int(row["flops"]) or None
            if time > 0:
                reached = machine_roofline.compute_reached(
                    moved, time / _SECOND, bandwidth=bandwidth
                )
                yield {
                    "name": name or "step",
                    "time": time,
                    "moved": moved,
                    "flops": flops,
                    "intensity": machine_roofline.intensity(flops, moved) if flops else None,
                    "reached": reached,
                }


def _chart(points: list[Context], chip: chips.Chip, bandwidth: float) -> Chart | None:
    """Chart the points whose number of operations is known; None if there are none."""
    placed_points: list[Placed] = []
    words: list[str] = []
    for point in points:
        if point["flops"] and point["intensity"]:
            speed = point["flops"] / (point["time"] / _SECOND)
            placed_point = Placed(point["name"], point["intensity"], speed)
            placed_points.append(placed_point)
        words.append(_describe_point(point))
    if not placed_points:
        return None
    summary = f"{chip.name}. {', '.join(words)}."
    rate = chip.fp16.value or chip.fp32.value
    return roof("Steps under the roof of the chip", summary, placed_points, bandwidth, rate)


def _describe_point(point: Context) -> str:
    reached = point["reached"]
    if reached.cached:
        return f"{point['name']} is faster than memory could deliver its bytes"
    return f"{point['name']} reaches {units.percent(reached.share)} of the bandwidth"
