"""The functions that the target's threads ran, by samples: functions, threads, a flame graph."""

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from tracekit.analysis import Result, Unavailable, lifetime_of, profile
from tracekit.base import Provenance, units
from tracekit.pages.panel import Context, Rows, Tables, of_table, of_target, panel, rows

FIRST_ROWS = 8
"""The functions that are read at once; those behind them are folded."""
MOST_ROWS = 25
LEAST = 0.05
"""Share of the CPU time from which a function is listed that has none of its own."""
_ADDRESS = r"(?:[^+]* )?(?:0x[0-9a-f]+|\(no address\))"  # as `profile.frames_table` names it
_WIDTH = 1_200  # of the flame graph, in units of its own
_ROW = 21  # height of a row there
_LETTER = 8.5  # width of a letter there
_AWAKE = 0.5  # share of its life below which a target counts as asleep


@panel("CPU time", *profile.PROFILES, "threads", "life_cycles")
def cpu_time(result: Result, tables: Tables) -> Context | None:
    """Sum up the samples of the target's threads; None if nothing was sampled."""
    name = _find_profile(tables)
    if name is None:
        return None
    sample_rows = of_target(tables, name)
    if sample_rows.absence:
        return {"absent": sample_rows.absence}
    samples = sample_rows.frame
    frames = rows(tables, "profile_frames").frame
    weight = profile.sampled_weight(samples)
    in_words = _cycles_in_words
    asleep = ""
    if name == "cpu_profile":
        in_words = units.duration
        asleep = _asleep(weight, result.provenance, tables)
    all_functions = profile.functions(samples, frames)
    is_address = all_functions["function"].str.fullmatch(_ADDRESS).fillna(value=False).astype(bool)
    addresses = all_functions[is_address]
    all_functions = all_functions[~is_address]
    has_own_time = all_functions["own"] > 0
    has_large_share = all_functions["total"] >= LEAST * weight
    is_listed = has_own_time | has_large_share
    listed = all_functions[is_listed]
    threads = rows(tables, "threads")
    more = len(all_functions) - min(len(listed), MOST_ROWS)
    nameless = int(samples["stack"].isna().sum())
    flame = _flame(samples, frames, in_words, weight) if len(all_functions) else None
    own_of_addresses = int(addresses["own"].sum())
    addresses_share = _share(own_of_addresses, weight)
    return {
        "addresses": len(addresses),
        "addresses_own": in_words(own_of_addresses),
        "addresses_share": addresses_share,
        "source": of_table(tables, name),
        "gist": f"{in_words(weight)} in {units.count(len(samples))} samples",
        "first_rows": FIRST_ROWS,
        "samples": len(samples),
        "weight": in_words(weight),
        "asleep": asleep,
        "functions": list(_list_functions(listed.head(MOST_ROWS), in_words, weight)),
        "more": more,
        "nameless": nameless,
        "threads": list(_threads(samples, in_words, weight, threads)),
        "flame": flame,
    }


def _find_profile(tables: Tables) -> str | None:
    """Return the first profile that has samples."""
    for name in profile.PROFILES:
        if not rows(tables, name).absence:
            return name
    return None


def _cycles_in_words(cycles: float) -> str:
    return f"{units.count(cycles)} cycles"


def _list_functions(
    listed: pd.DataFrame, in_words: Callable[[float], str], entire: int
) -> Iterator[Context]:
    for row in listed.to_dict("records"):
        own_share = _share(row["own"], entire)
        total_share = _share(row["total"], entire)
        yield {
            "function": row["function"],
            "samples": row["samples"],
            "own": in_words(row["own"]),
            "own_share": own_share,
            "total": in_words(row["total"]),
            "total_share": total_share,
        }


def _share(weight: int, entire: int) -> float:
    if not entire:
        return 0.0
    return weight / entire


def _asleep(weight: int, provenance: Provenance, tables: Tables) -> str:
    """Return the share of its life that the target ran, and whether it mostly slept."""
    cycle_rows = rows(tables, "life_cycles")
    cycles = None if cycle_rows.absence else cycle_rows.frame
    try:
        life = lifetime_of(cycles, provenance.targets, provenance)
    except Unavailable:
        return ""
    share_words = units.percent(weight / life.length)
    life_words = units.duration(life.length)
    share = f"That is {share_words} of the {life_words}"
    if life.created is None:
        share = f"{share} recorded"
        idle = "It waited, or was not started."
    else:
        share = f"{share} of its life ({_describe_lead_in(life.created)})"
        idle = "It waited."
    if weight < _AWAKE * life.length:
        return f"{share}: for the rest no thread of the target ran. {idle}"
    return f"{share}; more than 100 % where several threads ran at once."


def _describe_lead_in(created: int) -> str:
    return f"the {units.duration(created)} before it was created are left out"


def _threads(
    samples: pd.DataFrame, in_words: Callable[[float], str], entire: int, thread_rows: Rows
) -> Iterator[Context]:
    """Yield the sampled threads, the one that ran longest first, by their names if known.

    Samples without the id of a thread are one entry.
    """
    latest_threads = thread_rows.frame.drop_duplicates("tid", keep="last")
    names = latest_threads.set_index("tid")["name"].dropna()
    known_weights = samples["weight"].fillna(0).astype(np.int64)
    weights = known_weights.groupby(samples["tid"], dropna=False)
    thread_sums = weights.agg(["sum", "size"])
    sums = thread_sums.sort_values("sum", ascending=False, kind="stable")
    sum_rows = sums.to_numpy().tolist()
    for tid, (own_weight, number) in zip(sums.index, sum_rows, strict=True):
        name = "thread not stated"
        if not pd.isna(tid):
            name = str(names.get(tid, f"thread {tid}"))
        yield {
            "name": name,
            "samples": number,
            "own": in_words(own_weight),
            "share": _share(own_weight, entire),
        }


def _flame(
    samples: pd.DataFrame, frames: pd.DataFrame, in_words: Callable[[float], str], entire: int
) -> Context | None:
    """Place the blocks of the flame graph, the outermost callers on top."""
    if not entire:
        return None
    blocks = profile.flame(samples, frames)
    if not blocks:
        return None
    scale = _WIDTH / entire
    placed_blocks: list[Context] = []
    for block in blocks:
        width = block.weight * scale
        share = units.percent(block.weight / entire)
        x = round(block.start * scale, 2)
        label = _fit_label(block.function, width)
        title = f"{block.function}: {in_words(block.weight)}, {share}"
        placed_block = {
            "x": x,
            "y": block.depth * _ROW,
            "width": round(width, 2),
            "tone": block.depth % 2,
            "label": label,
            "title": title,
        }
        placed_blocks.append(placed_block)
    deepest = max(block.depth for block in blocks) + 1
    return {"blocks": placed_blocks, "width": _WIDTH, "height": deepest * _ROW, "row": _ROW}


def _fit_label(name: str, width: float) -> str:
    room = int(width / _LETTER) - 1
    if room < 3:  # noqa: PLR2004  a letter and an ellipsis say nothing
        return ""
    if len(name) <= room:
        return name
    return f"{name[: room - 1]}…"
