"""What a trace tells beside the work itself: states, counters, memory, marks, compiles."""

import numpy as np
import pandas as pd

from paging.frames import Times, frame

PER_STEP = 200
_MS = 10**6
_OWN = {"process": "python3", "pid": 4242, "target": True}
_KERNELS = 40
_COUNTERS = (
    "Kernel Occupancy",
    "ALU Utilization",
    "ALU Limiter",
    "F16 Utilization",
    "Buffer Read Limiter",
    "Buffer Write Limiter",
    "Last Level Cache Limiter",
    "MMU Limiter",
    "GPU Read Bandwidth",
    "GPU Write Bandwidth",
)


def states(begins: Times, ends: Times) -> dict[str, pd.DataFrame]:
    """Return the states of the GPU and of its clock."""
    joined = np.flatnonzero(begins[1:] > ends[:-1])
    firsts = np.concatenate(([0], joined + 1))
    lasts = np.concatenate((joined, [ends.size - 1]))
    edges = np.column_stack((begins[firsts], ends[lasts])).reshape(-1)[:-1]
    count = edges.size - 1
    awake = np.arange(0, begins.size, 100)
    until = np.append(begins[awake[1:]], ends[-1])
    return {
        "gpu_states": frame(
            "gpu_states",
            count,
            start=edges[:-1],
            duration=np.diff(edges),
            state=np.where(np.arange(count) % 2, "Idle", "Active"),
        ),
        "gpu_performance_states": frame(
            "gpu_performance_states",
            awake.size,
            start=begins[awake],
            duration=until - begins[awake],
            state=np.where(np.arange(awake.size) % 9, "Maximum", "Medium"),
            event="GPU Performance State",
        ),
    }


def levels(random: np.random.Generator, end: int) -> dict[str, pd.DataFrame]:
    """Return counters, memory and heat up to a time."""
    starts = np.arange(0, end, 10 * _MS, dtype=np.int64)
    names = np.repeat(np.array(_COUNTERS, object), starts.size)
    wander = np.cumsum(random.normal(0, 1.5, (len(_COUNTERS), starts.size)), axis=1)
    sizes = np.arange(0, end, 50 * _MS, dtype=np.int64)
    return {
        "gpu_counters": frame(
            "gpu_counters",
            names.size,
            start=np.tile(starts, len(_COUNTERS)),
            duration=10 * _MS,
            counter=names,
            value=np.abs(40 + wander).clip(0, 100).reshape(-1),
            percentage=True,
        ),
        "allocated_sizes": frame(
            "allocated_sizes",
            sizes.size,
            start=sizes,
            duration=50 * _MS,
            size=(1 << 30) + np.cumsum(random.integers(0, 1 << 16, sizes.size)),
            label="python3",
            **_OWN,
        ),
        "thermal_states": frame(
            "thermal_states", 1, start=0, duration=end, state="Nominal", track="Current"
        ),
    }


def marks(starts: Times, durations: Times) -> dict[str, pd.DataFrame]:
    """Return phases and steps around the work."""
    places = np.arange(0, starts.size, PER_STEP)
    lasts = np.minimum(places + PER_STEP, starts.size) - 1
    begins, ends = starts[places] - 150_000, starts[lasts] + durations[lasts] + 12_000
    warm = max(1, places.size // 20)
    named = np.where(np.arange(places.size) < warm, "warm-up", "steady")
    edges = [0, int(begins[0]), int(begins[warm % begins.size]), int(ends[-1])]
    return {
        "phases": frame(
            "phases",
            3,
            start=edges[:-1],
            duration=np.diff(edges),
            name=["prepare", "warm-up", "steady"],
        ),
        "steps": frame(
            "steps",
            places.size,
            start=begins,
            duration=ends - begins,
            index=np.arange(places.size),
            phase=named,
            submitted=140_000,
            tokens=16,
        ),
    }


def compiler(random: np.random.Generator) -> pd.DataFrame:
    """Return shaders compiled before the first step."""
    starts = np.sort(random.integers(100 * _MS, 900 * _MS, 60))
    return frame(
        "compiler_activity",
        starts.size,
        start=starts,
        duration=4 * _MS,
        compiler="Metal Shader Compiler",
        program=[f"kernel_{one % _KERNELS}" for one in range(60)],
        **_OWN,
    )
