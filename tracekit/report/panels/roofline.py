"""What the chip allows a step, and what was reached of it."""

from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pandas as pd

from tracekit.analysis import Result, Unavailable, bytes_moved, chip_of, steady_steps
from tracekit.base import percent
from tracekit.machine import Chip, compute_reached, intensity
from tracekit.report.chart import Chart
from tracekit.report.panel import Context, Tables, panel, rows, variants_of
from tracekit.report.plots import Placed, roof

_SECOND = 1e9


@panel("Roofline", "step_models", "steps")
def roofline(result: Result, tables: Tables) -> Context | None:
    """Place the steps under the chip's roof; None where the workload does not say what they do."""
    models, steps = rows(tables, "step_models"), rows(tables, "steps")
    if models.absence or steps.absence:
        return None
    chip, absence = _chip(result, models.frame)
    bandwidth = chip.bandwidth.value if chip else None
    if chip and bandwidth is None:
        absence = chip.bandwidth.reason
    points = list(_points(models.frame, steps.frame, bandwidth))
    if not points:
        return None
    return {
        "points": points,
        "absence": absence,
        "chip": chip,
        "chart": _chart(points, chip) if chip and bandwidth else None,
    }


def _chip(result: Result, models: pd.DataFrame) -> tuple[Chip | None, str]:
    if (models["backend"] == "cpu").any():
        return None, (
            "the steps ran on the CPU, and what bandwidth a CPU reaches nobody publishes; "
            "`tracekit chip --measure` measures it here"
        )
    try:
        return chip_of(result.provenance.machine), ""
    except Unavailable as reason:
        return None, str(reason)


def _points(
    models: pd.DataFrame, steps: pd.DataFrame, bandwidth: float | None
) -> Iterator[Context]:
    """Yield the steps of each variant: their median time in ns, what they move and compute in it.

    `flops` and `intensity` are None where the workload does not say how many operations.
    """
    try:
        steady = steady_steps(steps)
    except Unavailable:
        return
    names = variants_of(steady)
    for row, name in zip(models.to_dict("records"), variants_of(models), strict=True):
        variant_steps = steady[(names == name).to_numpy()] if len(models) > 1 else steady
        time = variant_steps["duration"].dropna().astype(np.float64).median()
        with suppress(Unavailable):
            moved, flops = bytes_moved(pd.Series(row)), int(row["flops"]) or None
            if time > 0:
                yield {
                    "name": name or "step",
                    "time": time,
                    "moved": moved,
                    "flops": flops,
                    "intensity": intensity(flops, moved) if flops else None,
                    "reached": compute_reached(moved, time / _SECOND, bandwidth=bandwidth),
                }


def _chart(points: list[Context], chip: Chip) -> Chart | None:
    bandwidth = chip.bandwidth.value
    placed_points = [
        Placed(point["name"], point["intensity"], point["flops"] / (point["time"] / _SECOND))
        for point in points
        if point["flops"] and point["intensity"]
    ]
    if not placed_points or bandwidth is None:
        return None
    words = (
        f"{point['name']} is faster than memory could deliver its bytes"
        if point["reached"].cached
        else f"{point['name']} reaches {percent(point['reached'].share)} of the bandwidth"
        for point in points
    )
    summary = f"{chip.name}. {', '.join(words)}."
    rate = chip.fp16.value or chip.fp32.value
    return roof("Steps under the roof of the chip", summary, placed_points, bandwidth, rate)
