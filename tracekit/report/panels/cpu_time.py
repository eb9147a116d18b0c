"""What the target's threads ran, by samples: functions, threads, a flame graph."""

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from tracekit.analysis import (
    PROFILES,
    Result,
    Unavailable,
    flame,
    functions,
    lifetime_of,
    sampled_weight,
)
from tracekit.base import Provenance, count, duration, percent
from tracekit.report.panel import Context, Rows, Tables, of_table, of_target, panel, rows

MOST_ROWS = 25
LEAST = 0.05
"""Share of the CPU time from which a function is listed that has none of its own."""
_WIDTH, _ROW = 1_000, 18  # of the flame graph, in units of its own
_LETTER = 6.6  # width of a letter there
_AWAKE = 0.5  # share of its life below which a target is said to have slept


@panel("CPU time", *PROFILES, "threads", "life_cycles")
def cpu_time(result: Result, tables: Tables) -> Context | None:
    """Show where the samples of the target's threads lie; None where nothing was sampled."""
    name = next((table for table in PROFILES if not rows(tables, table).absence), None)
    if name is None:
        return None
    sample_rows = of_target(tables, name)
    if sample_rows.absence:
        return {"absence": sample_rows.absence}
    samples, frames = sample_rows.frame, rows(tables, "profile_frames").frame
    weight = sampled_weight(samples)
    in_words = duration if name == "cpu_profile" else lambda cycles: f"{count(cycles)} cycles"
    all_functions = functions(samples, frames)
    listed = all_functions[(all_functions["own"] > 0) | (all_functions["total"] >= LEAST * weight)]
    return {
        "absence": "",
        "source": of_table(tables, name),
        "samples": len(samples),
        "weight": in_words(weight),
        "asleep": _asleep(weight, result.provenance, tables) if name == "cpu_profile" else "",
        "functions": [
            {
                "function": row["function"],
                "samples": row["samples"],
                "own": in_words(row["own"]),
                "own_share": row["own"] / weight if weight else 0.0,
                "total": in_words(row["total"]),
                "total_share": row["total"] / weight if weight else 0.0,
            }
            for row in listed.head(MOST_ROWS).to_dict("records")
        ],
        "more": len(all_functions) - min(len(listed), MOST_ROWS),
        "nameless": int(samples["stack"].isna().sum()),
        "threads": list(_threads(samples, in_words, weight, rows(tables, "threads"))),
        "flame": _flame(samples, frames, in_words, weight),
    }


def _asleep(weight: int, provenance: Provenance, tables: Tables) -> str:
    """Say how much of its life the target ran, and that it mostly slept."""
    cycles = rows(tables, "life_cycles")
    try:
        life = lifetime_of(None if cycles.absence else cycles.frame, provenance.targets, provenance)
    except Unavailable:
        return ""
    share = f"That is {percent(weight / life.length)} of the {duration(life.length)}"
    share += " recorded" if life.created is None else f" of its life ({_left_out(life.created)})"
    if weight < _AWAKE * life.length:
        idle = "It waited, or was not started." if life.created is None else "It waited."
        return f"{share}: for the rest no thread of the target ran. {idle}"
    return f"{share}; more than 100 % where several threads ran at once."


def _left_out(created: int) -> str:
    return f"the {duration(created)} before it was created are left out"


def _threads(
    samples: pd.DataFrame, in_words: Callable[[float], str], entire: int, thread_rows: Rows
) -> Iterator[Context]:
    """Yield the sampled threads, the one that ran longest first, by their names where known."""
    names = thread_rows.frame.drop_duplicates("tid", keep="last").set_index("tid")["name"].dropna()
    weights = samples["weight"].fillna(0).astype(np.int64).groupby(samples["tid"], dropna=False)
    sums = weights.agg(["sum", "size"]).sort_values("sum", ascending=False, kind="stable")
    for tid, (own_weight, number) in zip(sums.index, sums.to_numpy().tolist(), strict=True):
        yield {
            "name": str(names.get(tid, f"thread {tid}")),
            "samples": number,
            "own": in_words(own_weight),
            "share": own_weight / entire if entire else 0.0,
        }


def _flame(
    samples: pd.DataFrame, frames: pd.DataFrame, in_words: Callable[[float], str], entire: int
) -> Context | None:
    """Place the blocks of the flame graph, the outermost callers on top."""
    blocks = flame(samples, frames) if entire else []
    if not blocks:
        return None
    scale = _WIDTH / entire
    placed_blocks = [
        {
            "x": round(block.start * scale, 2),
            "y": block.depth * _ROW,
            "width": round(block.weight * scale, 2),
            "tone": block.depth % 2,
            "label": _fit_label(block.function, block.weight * scale),
            "title": f"{block.function}: {in_words(block.weight)}, "
            f"{percent(block.weight / entire)}",
        }
        for block in blocks
    ]
    deepest = max(block.depth for block in blocks) + 1
    return {"blocks": placed_blocks, "width": _WIDTH, "height": deepest * _ROW, "row": _ROW}


def _fit_label(name: str, width: float) -> str:
    room = int(width / _LETTER) - 1
    if room < 3:  # noqa: PLR2004  a letter and an ellipsis say nothing
        return ""
    return name if len(name) <= room else f"{name[: room - 1]}…"
