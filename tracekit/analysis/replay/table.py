"""Counters that Xcode exported of a GPU frame capture, encoder by encoder.

They belong to a serialized replay at a fixed clock. So they rank the bottlenecks of an encoder, and
do not show rates, idle time, or the overlap of encoders in the run.
"""

import pandas as pd

from tracekit.analysis.counters import CounterKind, Group, meaning

COST = "Execution Cost"
GPU_TIME = "GPU Time"
OCCUPANCY = "Kernel Occupancy"
_COLUMNS = {
    "cost": COST,
    "occupancy": OCCUPANCY,
    "read": "Bytes Read From Device Memory",
    "written": "Bytes Written To Device Memory",
    "bandwidth": "Device Memory Bandwidth",
    "launch": "Compute Shader Launch Limiter",
}
STACK = ("Stack L1 Read Accesses", "Stack L1 Write Accesses")


def encoders(replay_counters: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each encoder, the costliest first, or in encoder order without costs.

    Columns: `place`, `command_buffer`, `encoder`; `cost`, its share of the replay's time: its
    execution cost if a tab has that, else its share of the sum of `GPU Time`; `occupancy`;
    `launch`, the share of the time in which the launch of threads was busy or stalled;
    `limiter` and `limited`, the other unit that was busy or stalled longest and its share;
    `used`, the share in which that unit worked; `read` and `written`, bytes of device memory;
    `bandwidth`, in Xcode's format; `stack`, share of L1 accesses to stacks, which hold spilled
    registers and private arrays. Unknown or suspect values are null.
    """
    sound = replay_counters[replay_counters["suspect"].isna()]
    values = sound.pivot_table(index="place", columns="counter", values="value", aggfunc="first")
    labels = replay_counters.drop_duplicates("place").set_index("place")
    table = labels[["command_buffer", "encoder"]].sort_index()
    values = values.reindex(table.index)
    for name, counter in _COLUMNS.items():
        table[name] = values[counter] if counter in values else float("nan")
    if is_timed(replay_counters):
        total_time = values[GPU_TIME].sum()
        table["cost"] = values[GPU_TIME] / total_time
    known = {name: known for name in values if (known := meaning(str(name))) is not None}
    limiters = {
        unit.unit: name
        for name, unit in known.items()
        if unit.kind is CounterKind.LIMITER and unit.group is not Group.LAUNCH
    }
    uses = {
        unit.unit: str(name) for name, unit in known.items() if unit.kind is CounterKind.UTILIZATION
    }
    units_of_limiters = {n: u for u, n in limiters.items()}
    limiter_shares = values[list(limiters.values())].rename(columns=units_of_limiters)
    some = limiter_shares.notna().any(axis=1)
    highest_limiters = limiter_shares[some].idxmax(axis=1)
    table["limiter"] = highest_limiters.reindex(table.index)
    table["limited"] = limiter_shares.max(axis=1)
    table["used"] = float("nan")
    for unit, name in uses.items():
        is_limiter = table["limiter"] == unit
        table["used"] = table["used"].mask(is_limiter, values[name])
    stack = [name for name in STACK if name in values]
    table["stack"] = values[stack].sum(axis=1, min_count=1) if stack else float("nan")
    return table.reset_index().sort_values(
        ["cost", "place"], ascending=[False, True], kind="stable", ignore_index=True
    )


def is_timed(replay_counters: pd.DataFrame) -> bool:
    """Return whether costs are shares of `GPU Time`: no cost was exported, and each time was."""
    sound = replay_counters[replay_counters["suspect"].isna()]
    is_gpu_time = sound["counter"] == GPU_TIME
    is_in_time = sound["unit"] == "ns"
    times = sound[is_gpu_time & is_in_time]
    costs = sound["counter"] == COST
    timed_count = times["place"].nunique()
    all_timed = timed_count == replay_counters["place"].nunique()
    return bool(all_timed and not costs.any() and times["value"].sum() > 0)


def average_by_cost(table: pd.DataFrame, column: str) -> float | None:
    """Return the mean of a column over encoders, weighted by their cost; None without costs."""
    complete_rows = table.dropna(subset=["cost", column])
    entire = complete_rows["cost"].sum()
    if entire > 0:
        weighted = complete_rows["cost"] * complete_rows[column]
        return float(weighted.sum() / entire)
    return None
