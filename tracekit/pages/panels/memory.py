"""The memory of the workload's process, phase by phase."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from tracekit.analysis import Result, intervals
from tracekit.base import units
from tracekit.pages.chart import Chart
from tracekit.pages.panel import (
    Context,
    Tables,
    of_table,
    of_target,
    panel,
    phase_begins,
    rows,
)
from tracekit.pages.plots import Level, levels, sample_level
from tracekit.pages.text import heading, sentence

_STEADY = "steady"
FEWEST = 8
_SEEN = (
    ("resident", "process_samples", "time", "memory", "steps"),
    ("allocated of the GPU", "allocated_sizes", "start", "size", "device"),
)
_PEAKS = ("mlx_peak",)  # which are not levels, so they do not grow
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
    """Lay the notes out as a table; None if there are none, and no levels over time."""
    profile_rows = rows(tables, "memory_profile")
    lines = list(_levels(tables))
    if profile_rows.absence and not lines:
        return None
    notes = profile_rows.frame.sort_values("time", kind="stable")
    phase_names = notes["phase"].astype(str)
    phases = list(dict.fromkeys(phase_names))
    sorts: list[Context] = []
    for name, sort_notes in notes.groupby("what", sort=False):
        sort = _sort(str(name), sort_notes, phases)
        if set(sort["levels"]) != {None}:
            sorts.append(sort)
    chart = _chart(lines, tables) if lines else None
    reasons = _reasons(notes)
    source = of_table(tables, "memory_profile")
    return {
        "phases": phases,
        "sorts": sorts,
        "reasons": reasons,
        "source": source,
        "absence": profile_rows.absence,
        "chart": chart,
    }


def _levels(tables: Tables) -> Iterator[Level]:
    """Yield the levels over time: of the process, and of its allocations of Metal."""
    for name, table, time, column, color in _SEEN:
        target_rows = of_target(tables, table).frame
        level_rows = target_rows.dropna(subset=[column]).sort_values(time)
        if len(level_rows) < FEWEST:
            continue
        times = level_rows[time].to_numpy(dtype=np.int64)
        sizes = level_rows[column].to_numpy(dtype=np.float64)
        begin_time = int(times[0])
        end_time = int(times[-1])
        whole_window = intervals.Window(begin_time, end_time)
        yield sample_level(name, times, sizes, whole_window, color)


def _chart(lines: list[Level], tables: Tables) -> Chart:
    words: list[str] = []
    for line in lines:
        begin = units.size(line.heights[0])
        end = units.size(line.heights[-1])
        highest = units.size(max(line.heights))
        words.append(f"{line.name} from {begin} to {end}, at most {highest}")
    summary = sentence(", ".join(words))
    return levels("Memory over the run", summary, lines, units.size, begins=phase_begins(tables))


def _sort(name: str, notes: pd.DataFrame, phases: list[str]) -> Context:
    """Return the level of each phase, None if it is unknown, and the growth to the steady one."""
    known_notes = notes[notes["bytes"].notna()]
    level_by_phase: dict[str, int] = {}
    noted_levels = zip(known_notes["phase"], known_notes["bytes"], strict=True)
    for phase, level in noted_levels:
        level_by_phase[str(phase)] = int(level)
    growth = None
    if name not in _PEAKS:
        growth = _measure_growth(level_by_phase, phases)
    levels = [level_by_phase.get(phase) for phase in phases]
    return {
        "name": name,
        "meant": _MEANT.get(name, ""),
        "levels": levels,
        "growth": growth,
    }


def _measure_growth(level_by_phase: dict[str, int], phases: list[str]) -> int | None:
    """Return the growth to the steady phase from the last phase before it with a known level."""
    if _STEADY not in level_by_phase:
        return None
    earlier_phases = phases[: phases.index(_STEADY)]
    for phase in reversed(earlier_phases):
        if phase in level_by_phase:
            return level_by_phase[_STEADY] - level_by_phase[phase]
    return None


def _reasons(notes: pd.DataFrame) -> list[tuple[str, str]]:
    """Return the levels that are not known, with the reason; those of one reason are joined."""
    unknown = notes[notes["bytes"].isna()]
    phases_by_sort: dict[tuple[str, str], list[str]] = {}
    known_reasons = unknown["reason"].fillna("")
    columns = (unknown["what"], known_reasons, unknown["phase"])
    for name, reason, phase in zip(*columns, strict=True):
        phases_of_sort = phases_by_sort.setdefault((str(name), str(reason)), [])
        phases_of_sort.append(str(phase))
    sorts_by_reason: dict[tuple[str, str], list[str]] = {}
    for (name, reason), phases in phases_by_sort.items():
        sorts = sorts_by_reason.setdefault((reason, ", ".join(phases)), [])
        sorts.append(heading(name))
    reasons: list[tuple[str, str]] = []
    for (reason, phase_words), headings in sorts_by_reason.items():
        heading_words = ", ".join(headings)
        reasons.append((f"{heading_words} ({phase_words})", reason))
    return reasons
