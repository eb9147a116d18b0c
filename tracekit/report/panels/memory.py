"""The memory of the workload's process, phase by phase."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from tracekit.analysis import Result, Window
from tracekit.base import size
from tracekit.report.chart import Chart
from tracekit.report.panel import (
    Context,
    Tables,
    group_by_key,
    of_table,
    of_target,
    panel,
    phase_begins,
    rows,
)
from tracekit.report.plots import Level, levels, sample_level
from tracekit.report.text import heading, sentence

_STEADY = "steady"
FEWEST = 8
_SEEN = (
    ("resident", "process_samples", "time", "memory", "steps"),
    ("allocated of the GPU", "allocated_sizes", "start", "size", "device"),
)
_PEAKS = ("mlx_peak",)  # which are no levels, so they do not grow
_MEANT = {
    "resident": "of the process, by the operating system",
    "mlx_active": "in MLX's arrays",
    "mlx_peak": "most in MLX's arrays since the phase before",
    "mlx_cache": "kept by MLX for arrays to come",
    "footprint": "of the process, by vmmap",
    "accelerator": "in regions of the GPU, by vmmap",
}


@panel("Memory", "memory_profile", "process_samples", "allocated_sizes", "phases")
def memory(result: Result, tables: Tables) -> Context | None:  # noqa: ARG001  a panel's signature
    """Lay the notes out as a table; None where nobody took any."""
    profile_rows = rows(tables, "memory_profile")
    lines = list(_levels(tables))
    if profile_rows.absence and not lines:
        return None
    notes = profile_rows.frame.sort_values("time", kind="stable")
    phases = list(dict.fromkeys(notes["phase"].astype(str)))
    sorts = [
        _sort(str(name), sort_notes, phases)
        for name, sort_notes in notes.groupby("what", sort=False)
    ]
    return {
        "phases": phases,
        "sorts": [sort for sort in sorts if set(sort["levels"]) != {None}],
        "reasons": _reasons(notes),
        "source": of_table(tables, "memory_profile"),
        "absence": profile_rows.absence,
        "chart": _chart(lines, tables) if lines else None,
    }


def _levels(tables: Tables) -> Iterator[Level]:
    """Yield the levels that were seen over time: of the process, and what it allocated of Metal."""
    for name, table, time, column, color in _SEEN:
        level_rows = of_target(tables, table).frame.dropna(subset=[column]).sort_values(time)
        if len(level_rows) < FEWEST:
            continue
        times = level_rows[time].to_numpy(dtype=np.int64)
        sizes = level_rows[column].to_numpy(dtype=np.float64)
        yield sample_level(name, times, sizes, Window(int(times[0]), int(times[-1])), color)


def _chart(lines: list[Level], tables: Tables) -> Chart:
    summary = ", ".join(
        f"{line.name} from {size(line.heights[0])} to {size(line.heights[-1])}, at most "
        f"{size(max(line.heights))}"
        for line in lines
    )
    begins = phase_begins(tables)
    return levels("Memory over the run", sentence(summary), lines, size, begins=begins)


def _sort(name: str, notes: pd.DataFrame, phases: list[str]) -> Context:
    """Return the level of each phase, None where there is none, and how it grew when steady."""
    phase_levels = {
        str(phase): int(level)
        for phase, level in zip(notes["phase"], notes["bytes"], strict=True)
        if not pd.isna(level)
    }
    growth = None
    if name not in _PEAKS and _STEADY in phase_levels:
        earlier_phases = [
            phase for phase in phases[: phases.index(_STEADY)] if phase in phase_levels
        ]
        growth = (
            phase_levels[_STEADY] - phase_levels[earlier_phases[-1]] if earlier_phases else None
        )
    return {
        "name": name,
        "meant": _MEANT.get(name, ""),
        "levels": [phase_levels.get(phase) for phase in phases],
        "growth": growth,
    }


def _reasons(notes: pd.DataFrame) -> list[tuple[str, str]]:
    """Return which levels are not known, and why; what has one reason stands together."""
    unknown = notes[notes["bytes"].isna()]
    columns = (unknown["what"], unknown["reason"].fillna(""), unknown["phase"])
    cells = zip(*columns, strict=True)
    phases = group_by_key(((str(name), str(reason)), str(phase)) for name, reason, phase in cells)
    sorts = group_by_key(
        ((reason, ", ".join(phase_names)), name) for (name, reason), phase_names in phases.items()
    )
    return [
        (f"{', '.join(map(heading, names))} ({phase_words})", reason)
        for (reason, phase_words), names in sorts.items()
    ]
