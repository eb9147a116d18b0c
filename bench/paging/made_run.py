"""A run of a given size, made from a seed: a decode loop on a GPU, with all that a trace tells.

A step has twenty command buffers of ten encoders, each of one kernel. Times fall on the ticks of
a clock of 24 MHz, as they do in traces of Apple silicon. One interval in twenty is another
process's; the GPU's clock, its states and counters, the driver, the compiler and the memory have
rows of their own.
"""

import numpy as np
import pandas as pd

from paging.frames import Made, Times, frame, ticks
from paging.surroundings import PER_STEP, compiler, levels, marks, states
from tracekit.base.recording import Process, Provenance

PER_BUFFER = 10
_MS = 10**6
_KERNELS = 40
_OWN = {"process": "python3", "pid": 4242, "target": True}
_OTHER = {"process": "WindowServer", "pid": 581, "target": False}


def provenance() -> Provenance:
    """Return where the run comes from."""
    return Provenance(recorder="xctrace", workload="decode", targets=(Process(4242, "python3"),))


def tables(count: int, seed: int = 1) -> Made:
    """Make the tables of a run with `count` intervals on the GPU."""
    random = np.random.default_rng(seed)
    foreign = count // 20
    own = count - foreign
    starts, durations, kernels = _work(random, own)
    buffers = np.arange(own) // PER_BUFFER
    firsts = np.arange(0, own, PER_BUFFER)
    begins, ends = starts[firsts], np.maximum.reduceat(starts + durations, firsts)
    encoded = ticks(begins - 60_000 - random.exponential(30_000, firsts.size))
    ids = (6 << 32) + np.arange(firsts.size)
    frames = {
        "gpu_intervals": _mixed(
            _intervals(starts, durations, kernels, starts - (encoded + 27_000)[buffers]),
            _others(random, foreign, int(starts[-1])),
        ),
        "encoders": _encoders(starts, encoded, buffers),
        **_host(random, encoded, begins, ends, ids),
        **states(begins, ends),
        **levels(random, int(ends[-1])),
        **marks(starts, durations),
        "compiler_activity": compiler(random),
    }
    return Made(frames)


def _work(random: np.random.Generator, count: int) -> tuple[Times, Times, Times]:
    kernels = (np.arange(count) % PER_STEP) * 7 % _KERNELS
    usual = random.lognormal(10, 0.7, _KERNELS)
    lengths = usual[kernels] * random.lognormal(0, 0.06, count)
    pauses = random.exponential(1_500, count)
    pauses[::PER_BUFFER] += random.exponential(25_000, pauses[::PER_BUFFER].size)
    pauses[::PER_STEP] += random.exponential(400_000, pauses[::PER_STEP].size)
    begins = np.cumsum(pauses + lengths) - lengths + 900 * _MS
    starts = ticks(begins)
    ends = np.maximum(ticks(begins + lengths), starts)
    return starts, ends - starts, kernels


def _intervals(starts: Times, durations: Times, kernels: Times, latencies: Times) -> pd.DataFrame:
    places = np.arange(starts.size)
    labels = [
        f"Command Buffer 0:kernel_{kernel}_float16   ( python3 (4242) )  {number:#x}"
        for number, kernel in enumerate(kernels.tolist())
    ]
    return frame(
        "gpu_intervals",
        starts.size,
        start=starts,
        duration=durations,
        channel="Compute",
        state="Active",
        label=labels,
        start_latency=latencies,
        depth=0,
        command_buffer=(6 << 32) + places // PER_BUFFER,
        encoder=(7 << 32) + places,
        **_OWN,
    )


def _others(random: np.random.Generator, count: int, until: int) -> pd.DataFrame:
    begins = np.sort(random.integers(0, until, count))
    starts, ends = ticks(begins), ticks(begins + random.lognormal(11, 0.5, count))
    return frame(
        "gpu_intervals",
        count,
        start=starts,
        duration=ends - starts,
        channel=np.where(np.arange(count) % 2, "Fragment", "Vertex"),
        state="Active",
        label="Frame   ( WindowServer (581) )",
        depth=0,
        **_OTHER,
    )


def _mixed(own: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    whole = pd.concat([own, others], ignore_index=True)
    return whole.sort_values("start", kind="stable", ignore_index=True)


def _encoders(starts: Times, encoded: Times, buffers: Times) -> pd.DataFrame:
    places = np.arange(starts.size)
    return frame(
        "encoders",
        starts.size,
        start=encoded[buffers] + places % PER_BUFFER * 2_000,
        duration=1_500,
        event="Encoding",
        label="Compute Command 0",
        command_buffer=(6 << 32) + buffers,
        encoder=(7 << 32) + places,
        **_OWN,
    )


def _host(
    random: np.random.Generator, encoded: Times, begins: Times, ends: Times, ids: Times
) -> dict[str, pd.DataFrame]:
    count = ids.size
    committed = ticks(encoded + 22_000)
    driver = np.repeat(committed, 2)
    driver[1::2] += 25_000
    driver = ticks(driver)
    lengths = random.lognormal(9.6, 0.3, 2 * count).clip(1, 24_000)
    named = np.where(np.arange(2 * count) % 2, "Command Encoder", "Command Buffer")
    return {
        "submissions": frame(
            "submissions",
            count,
            start=encoded,
            duration=committed - encoded,
            event="CommandBufferSubmission",
            label="Command Buffer 0",
            encoders=PER_BUFFER,
            encoder_time=15_000,
            command_buffer=ids,
            **_OWN,
        ),
        "commits": frame(
            "commits", count, time=begins, committed=committed, command_buffer=ids, **_OWN
        ),
        "completions": frame("completions", count, time=ends + 9_000, command_buffer=ids),
        "driver_intervals": frame(
            "driver_intervals",
            2 * count,
            start=driver,
            duration=ticks(driver + lengths) - driver,
            driver="Driver Processing",
            event=named,
            depth=0,
            **_OWN,
        ),
    }
