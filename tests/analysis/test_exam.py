"""Problems that people published, with their numbers: the first finding names what fixed them.

Each is a recording of a program without marks; the numbers are those of the threads that
docs/explanation/how-good-are-the-rules.md lists.
"""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
import pytest

from analysed import MS, TARGETS, Golden, given, table
from stock import WIRE, Stock, frame, jitter, warnings
from tracekit.analysis import Result, Times, analyze
from tracekit.base import Provenance

Scene = Callable[[], Stock]
NONE = 0


def pipelined(made: Stock, number: int, buffers: int, work: float) -> Stock:
    """Submit each iteration before waiting for the one before."""
    for factor in jitter(number, 0.01):
        for _ in range(buffers):
            made.buffer([work * factor])
        made.run_ahead()
        made.spend(30)
    made.wait()
    return made


def alternating(number: int, buffers: int, work: float, host: float, encode: float = 5) -> Stock:
    """Wait for each iteration, and do something else before the next one."""
    made = Stock()
    for factor in jitter(number, 0.02):
        for _ in range(buffers):
            made.buffer([work * factor], encode)
        made.wait()
        made.spend(host)
    return made


def chat(*, waits: bool) -> Stock:
    """Answer three prompts, each after a pause: prefill, then 60 tokens."""
    made = Stock()
    for _ in range(3):
        for factor in jitter(60, 0.05):
            made.buffer([9_000 * factor])
        made.wait()
        for factor in jitter(60, 0.02):
            for _ in range(8):
                made.buffer([2_000 * factor])
            if waits:
                made.wait()
            else:
                made.run_ahead()
            made.spend(4_500 if waits else 30)
        made.wait()
        made.spend(2e6)
    return made


def mixed_boundaries() -> Stock:
    made, random = Stock(), np.random.default_rng(3)
    for _ in range(40):
        for _ in range(45):
            made.buffer([300], switch=float(random.uniform(20, 260)))
        made.run_ahead()
    return made


def a_deep_queue() -> Stock:
    made = Stock(switch=20)
    for _ in range(1_800):
        made.buffer([300])
    return made


def reads_inside() -> Stock:
    made = Stock()
    for factor in jitter(60, 0.02):
        for number in range(4):
            for _ in range(1 + number):
                made.buffer([600 * factor])
            made.wait()
            made.spend(600)
    return made


def wired_again(allocated: float = 0) -> Stock:
    """Wire 9 GiB before most of 42 iterations, and allocate so many GiB there."""
    made = Stock()
    label = WIRE.format(size="9216.00")
    for number, factor in enumerate(jitter(42, 0.02)):
        for at in range(2 if allocated or not number else 0):
            size = round(allocated / 2 * 2**30)
            cells = {"event": "Allocation", "size": size, "type": "Buffer"}
            made.add("resource_allocations", made.now + at, **cells)
        if number % 7:
            made.add("driver_events", made.now, 80_000, event="Wire Memory", label=label)
            made.spend(80_000)
        for _ in range(4):
            made.buffer([5_000 * factor])
        made.wait()
        made.spend(200)
    return made


def wired_once() -> Stock:
    made = Stock()
    label = WIRE.format(size="9216.00")
    made.add("driver_events", made.now, 800_000, event="Wire Memory", label=label)
    made.spend(800_000)
    return pipelined(made, 40, 8, 2_000)


def clocked(*states: tuple[float, str], thermal: str = "") -> Stock:
    """Run at states, each for a share of the time, in a thermal state that holds in the last."""
    made = pipelined(Stock(), 80, 8, 2_000)
    at = 0.0
    for share, name in states:
        made.add("gpu_performance_states", at, share * made.done, state=name, induced=True)
        at += share * made.done
    if thermal:
        last = at - states[-1][0] * made.done
        made.add("thermal_states", 0, last, state="Nominal", induced=True)
        made.add("thermal_states", last, made.done - last, state=thermal, induced=True)
    return made


def compiled(before: int, after: int) -> Stock:
    made = pipelined(Stock(), before, 8, 2_000) if before else Stock()
    made.add("compiler_activity", made.now, 900_000, compiler="x", program="Compute")
    made.spend(900_000)
    return pipelined(made, after, 8, 2_000)


def encoders(gap: float) -> Stock:
    made = Stock(launch=gap)
    for factor in jitter(30, 0.02):
        for _ in range(2):
            made.buffer([9 * factor] * 100, 1)
        made.run_ahead()
    return made


def one_late(wait: float, *, on_the_cpu: bool = False) -> Stock:
    """Let one of six command buffers wait, for something or for a thread that works meanwhile."""
    made = Stock()
    for factor in jitter(60, 0.02):
        for number in range(6):
            free = made.free
            made.buffer([800 * factor], switch=wait if number == 3 else 1)
            for at in np.arange(free, free + wait, 500) if number == 3 and on_the_cpu else []:
                made.add("cpu_profile", at, weight=500_000, leaf="mlx::core::cpu::sort", tid=2)
        made.run_ahead()
    return made


def a_stall_every(number: int) -> Stock:
    made = Stock()
    for place, factor in enumerate(jitter(200, 0.01)):
        for _ in range(4):
            made.buffer([1_000 * factor])
        made.run_ahead()
        if place % number == number - 1:
            made.wait()
            made.spend(15_000)
    return made


def a_cliff() -> Stock:
    made = Stock()
    for place, noise in enumerate(jitter(80, 0.01)):
        for _ in range(6):
            made.buffer([700 * noise * (1.5 if place >= 40 else 1)])
        made.run_ahead()
    return made


def layers(*names: str) -> Stock:
    made = Stock()
    for factor in jitter(40, 0.01):
        for _ in range(8):
            made.buffer([400 * factor] * len(names), names=names)
        made.run_ahead()
    return made


def beside_another(*, delayed: bool) -> Stock:
    made = Stock()
    cells = {"process": "other", "pid": 9, "target": False, "channel": "Compute"}
    for factor in jitter(60, 0.01):
        for _ in range(4):
            made.buffer([1_000 * factor])
            made.add("gpu_intervals", made.free + 1, 400 if delayed else 0, **cells, label="x")
            made.free += 402 if delayed else 0
        made.run_ahead()
    return made


def a_slow_driver() -> Stock:
    made = Stock()
    for factor in jitter(60, 0.02):
        for _ in range(6):
            made.buffer([800 * factor], driver=900)
        made.wait()
    return made


def errors() -> Stock:
    made = pipelined(Stock(), 20, 4, 2_000)
    made.add("command_buffer_errors", made.done, error=2, command_buffer=made.number)
    return made


# What the rule that names it is called, what the first advice says, and what it does not.
Lever = tuple[str, str, str]
LIMITS: Lever = ("frequent-command-buffers", "MLX_MAX_OPS_PER_BUFFER", "async_eval")
AHEAD: Lever = ("shallow-queue", "mx.async_eval", "MLX_MAX_OPS")
WARMED: Lever = ("pipeline-churn", "warming up", "async")
UNFUSED = ("steel_gemm_nt", "block_softmax_float16", "steel_gemm_nn", "gemv", "rope")
SORTED = ("steel_gemm_nt", "sdpa_vector", "carg_block_sort_float32")
MAXIMUM, MEDIUM = (0.4, "Maximum"), (0.6, "Medium")
CLOCK, FUSED = "gpu-downclocked", "scaled_dot_product_attention"

PROBLEMS: dict[str, tuple[Scene, str, str, str]] = {
    "60 buffers a token": (lambda: pipelined(Stock(switch=20), 40, 60, 300), *LIMITS),
    "45 buffers of much work": (
        lambda: pipelined(Stock(switch=20), 40, 45, 480),
        *("frequent-command-buffers", "MLX_MAX_MB_PER_BUFFER", "async_eval"),
    ),
    "boundaries of 260 us": (
        lambda: pipelined(Stock(switch=260), 40, 20, 1_500),
        *("frequent-command-buffers", "MLX_MAX_OPS_PER_BUFFER", "mx.cpu"),
    ),
    "boundaries of 20 to 260 us": (mixed_boundaries, *LIMITS),
    "a queue that never drains": (a_deep_queue, *LIMITS),
    "a sync for each token": (lambda: alternating(60, 8, 2_000, 4_500), *AHEAD),
    "as often as a paced loop, but free": (lambda: alternating(200, 2, 2_000, 12_000), *AHEAD),
    "a sync for each token of three prompts": (lambda: chat(waits=True), *AHEAD),
    "reads inside of iterations": (reads_inside, "frequent-readback", ".item()", "MLX_MAX_OPS"),
    "weights wired again": (wired_again, "lost-residency", "mx.set_wired_limit", "pool"),
    "wired as allocated": (
        lambda: wired_again(allocated=9),
        *("hot-allocations", "caches in place", "set_wired_limit"),
    ),
    "low power mode": (lambda: clocked((1, "Minimum")), CLOCK, "Low Power Mode", "High Power"),
    "too hot": (
        lambda: clocked(MAXIMUM, MEDIUM, thermal="Serious"),
        *(CLOCK, "cool down", "Low Power Mode"),
    ),
    "a limit of power": (
        lambda: clocked(MAXIMUM, MEDIUM, thermal="Nominal"),
        *(CLOCK, "High Power mode", "hot because"),
    ),
    "compiled in the loop": (lambda: compiled(10, 60), *WARMED),
    "compiled at the first decode": (lambda: compiled(1, 60), *WARMED),
    "compiled before the loop": (lambda: compiled(0, 60), "left-out-time", "prebuilt", "async"),
    "unfused attention": (lambda: layers(*UNFUSED), "unfused-attention", FUSED, "async"),
    "sorted logits": (lambda: layers(*SORTED), "avoidable-kernels", "argpartition", "contiguous"),
    "2,383 operations of 28 us": (
        lambda: alternating(20, 48, 200, 50, encode=28 * 2_383 / 48),
        *("host-bound", "mx.compile", "in flight win nothing"),
    ),
    "a graph built for longer than it runs": (
        lambda: alternating(20, 48, 1_000, 28 * 2_383),
        *("shallow-queue", "mx.compile", "MLX_MAX_OPS"),
    ),
    "a cliff from 8 rows to 9": (a_cliff, "performance-cliff", "pad beyond it", "async_eval"),
    "between encoders": (lambda: encoders(7.6), "tiny-encoders", "mx.compile", "async_eval"),
    "an event of another stream": (
        lambda: one_late(900),
        *("late-start", "on one stream", "MLX_MAX_OPS"),
    ),
    "an operation on the CPU": (
        lambda: one_late(900, on_the_cpu=True),
        *("late-start", "operations from mx.cpu", "MLX_MAX_OPS"),
    ),
    "a stall every tenth": (lambda: a_stall_every(10), "step-spikes", "clear_cache", "MLX_MAX_OPS"),
    "another process": (
        lambda: beside_another(delayed=True),
        *("gpu-contended", "Close what else", "async_eval"),
    ),
    "a slow driver": (a_slow_driver, "bubbles", "fewer resources", "mx.async_eval"),
    "a timeout": (errors, "command-buffer-errors", "less work into one", "memory"),
}


def require_lever(result: Result, rule: str, said: str, unsaid: str) -> None:
    """Require that the rule found something, and that the first finding names the lever."""
    assert not [check for check in result.checks if check.status == "failed"]
    assert rule in [name for one in result.findings for name in (one.rule, *one.effects)]
    first = result.findings[0]
    assert said in first.advice, first
    assert unsaid not in first.advice, first


def numbers(result: Result) -> str:
    known = [one for one in result.metrics if one.value is not None]
    return ", ".join(f"{one.name} {one.value:.5g}" for one in known)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_first_finding_names_the_lever(problem: str, golden: Golden) -> None:
    scene, *lever = PROBLEMS[problem]
    result = scene().analyzed()
    require_lever(result, *lever)
    first, *others = result.findings
    golden(first, *(f"{one.rule}, {one.saving}: {one.message}" for one in others), numbers(result))


def with_a_load() -> Stock:
    made = Stock()
    for _ in range(30):
        made.buffer([3_000])
        made.wait()
        made.spend(40_000)
    made.spend(2e6)
    return pipelined(made, 80, 8, 2_000)


def nobody_asks() -> Stock:
    made = pipelined(Stock(), 40, 8, 2_000)
    made.spend(3e6)
    return pipelined(made, 40, 8, 2_000)


def a_pool_that_fills() -> Stock:
    made = Stock()
    for place in range(60):
        for at in range(20 if place < 5 else 0):
            cells = {"event": "Allocation", "size": 10 << 20, "type": "Buffer"}
            made.add("resource_allocations", made.now + at, **cells)
        for _ in range(8):
            made.buffer([2_000])
        made.run_ahead()
    return made


def paced(period: float, *, presents: bool, spread: float = 0.2) -> Stock:
    made = Stock()
    for number, factor in enumerate(jitter(200, spread)):
        made.now = max(made.now, 1_000 + number * period)
        for _ in range(2):
            made.buffer([2_000 * factor])
        if presents:
            made.add("present_requests", made.now, command_buffer=made.number)
        made.wait()
    return made


def two_loops() -> Stock:
    made = pipelined(Stock(), 40, 8, 2_000)
    made.spend(5_000)
    return pipelined(made, 40, 3, 1_000)


HEALTHY: dict[str, Scene] = {
    "launched with its load": with_a_load,
    "nobody asks": nobody_asks,
    "three prompts": lambda: chat(waits=False),
    "a pool fills first": a_pool_that_fills,
    "wired once": wired_once,
    "paced by a display": lambda: paced(12_500, presents=True),
    "paced by a timer": lambda: paced(21_300, presents=False),
    "as even as a display": lambda: paced(1e6 / 60, presents=False, spread=0),
    "a ramp": lambda: clocked((0.1, "Minimum"), (0.15, "Medium"), (0.75, "Maximum")),
    "two loops in a row": two_loops,
    "fused attention": lambda: layers("steel_gemm_nt", "sdpa_vector", "rms_norm"),
    "another that waits": lambda: beside_another(delayed=False),
    # as problems, but for one fact
    "none late": lambda: one_late(1),
    "no stall": lambda: a_stall_every(999),
}


@pytest.mark.parametrize("scene", HEALTHY)
def test_hard_and_healthy_recordings_raise_no_warning(scene: str, golden: Golden) -> None:
    result = HEALTHY[scene]().analyzed()
    assert not [check for check in result.checks if check.status == "failed"]
    assert not warnings(result)
    golden(*(f"{one.rule}: {one.message}" for one in result.findings), numbers(result))


def test_iterations_of_unequal_work_or_several_waits_are_one_loop() -> None:
    for seed in range(3):
        made = Stock()
        for factor in jitter(120, 0.2, seed):
            for _ in range(2):
                made.buffer([2_000 * factor])
            made.wait()
            made.spend(8_000)
        assert len(given(**made.tables())["iterations"]) >= 0.95 * 120, seed
        made, random = Stock(), np.random.default_rng(seed)
        for _ in range(40):
            for work in (500, 500, 500, 500, 4_000):
                made.buffer([work * float(np.exp(random.normal(0, 0.1)))])
                made.wait()
                made.spend(300)
        assert len(given(**made.tables())["iterations"]) == 40, seed


def test_signposts_that_repeat_are_the_iterations() -> None:
    tables = pipelined(Stock(), 20, 4, 1_000).tables()
    begun = tables["submissions"]["start"].to_numpy()[::4]
    posts = table("start", *((at,) for at in begun[::-1]), unit=1, duration=20_000, target=True)
    posts = posts.assign(subsystem="app", category="loop", name="token")
    few, others = posts[:7].assign(name="few"), posts.assign(name="other", target=False)
    begun_only = posts[:1].assign(start=begun[-1] + 20_000, duration=pd.array([None], "Int64"))
    every = pd.concat([few, others, posts, begun_only])
    known = given(**tables, signpost_intervals=every)["iterations"]
    assert known["start"].tolist() == begun.tolist()
    assert set(known["source"]) == {"signposts"}


def test_samples_say_what_the_host_did_in_the_gaps() -> None:
    made = alternating(60, 8, 2_000, 4_500)
    ends = [row["time"] / 1e3 for row in made.rows["completions"]][7::8]
    for place, end in enumerate(ends):
        for at in (500, 1_500, 2_500):
            leaf = "sample_token ← (12 other frames)" if place % 4 else "0x1957c3901"
            made.add("cpu_profile", end + at, weight=1_000_000, leaf=leaf)
    made.add("threads", 0, tid=1, name="python", main=True)
    first = made.analyzed().findings[0]
    assert "of 177 samples of the main thread, 74.6 % in sample_token" in first.message
    assert "candidates" not in first.advice


# Each disturbance is something that real recordings have beside. It changes the tables of a
# recording and nothing that its first finding rests on.
Tables = Mapping[str, pd.DataFrame]
Disturb = Callable[[Tables], Tables]
KNOWN = Provenance(recorder="xctrace", targets=TARGETS)
_DRAWN = {"process": "WindowServer", "pid": 420, "target": False, "label": "frame"}
_DRAWN |= {"state": "Active", "clock": "gpu", "device": "M1", "start_latency": 2_000}


def end_of(tables: Tables) -> int:
    work = tables["gpu_intervals"]
    return int((work["start"] + work["duration"]).max())


def window_server(tables: Tables) -> Tables:
    """Let another process draw 60 times a second, on channels of its own."""
    random = np.random.default_rng(0)
    rows = [
        {
            **_DRAWN,
            "start": at + int(random.integers(0, 2 * MS)),
            "duration": int(random.integers(100_000, 400_000)),
            "channel": channel,
        }
        for at in range(0, end_of(tables), 16_667_000)
        for channel in ("Vertex", "Fragment")
    ]
    every = pd.concat([tables["gpu_intervals"], frame(rows)], ignore_index=True)
    return {**tables, "gpu_intervals": every.astype({"target": bool})}


def ids_alike(tables: Tables) -> Tables:
    named = [name for name, rows in tables.items() if "command_buffer" in rows]
    changed = {
        name: tables[name].assign(command_buffer=pd.array([1] * len(tables[name]), dtype="UInt64"))
        for name in named
        if name != "command_buffer_errors"
    }
    return {**tables, **changed}


def second_channel(tables: Tables) -> Tables:
    work = tables["gpu_intervals"].copy()
    work.loc[work.index[::10], "channel"] = "Blit"
    return {**tables, "gpu_intervals": work}


def older(tables: Tables) -> Tables:
    """Leave out the columns that tell how long encoders of a command buffer took."""
    left = tables["submissions"].drop(columns=["encoder_time", "encoders"])
    return {**tables, "submissions": left}


def without_latencies(tables: Tables) -> Tables:
    work = tables["gpu_intervals"]
    none = pd.array([None] * len(work), dtype="Int64")
    return {**tables, "gpu_intervals": work.assign(start_latency=none)}


def moved(tables: Tables, way: Callable[[Times], Times]) -> Tables:
    """Lay all times of a recording on another course; lengths follow."""
    made: dict[str, pd.DataFrame] = {}
    for name, rows in tables.items():
        key = "time" if "time" in rows else "start"
        if rows.empty:
            made[name] = rows
            continue
        before = rows[key].to_numpy(dtype=np.int64)
        after = way(before)
        cells: dict[str, object] = {key: after}
        if "start_latency" in rows:
            latency = rows["start_latency"].to_numpy(dtype=np.int64, na_value=0)
            cells["start_latency"] = pd.array(after - way(before - latency), dtype="Int64")
        if "duration" in rows:
            ends = before + rows["duration"].to_numpy(dtype=np.int64, na_value=0)
            cells["duration"] = pd.array(way(ends) - after, dtype="Int64")
            if "encoder_time" in rows:
                spent = rows["encoder_time"].to_numpy(dtype=np.int64, na_value=0)
                cells["encoder_time"] = pd.array(way(ends) - way(ends - spent), dtype="Int64")
        made[name] = rows.assign(**cells)
    return made


def uneven(tables: Tables) -> Tables:
    """Let time pass up to 3 % faster or slower in each millisecond."""
    at = np.arange(0, end_of(tables) + 100 * MS, MS)
    steps = np.exp(np.random.default_rng(5).normal(0, 0.03, at.size - 1)) * MS
    course = np.concatenate(([0.0], np.cumsum(steps)))
    return moved(tables, lambda times: np.rint(np.interp(times, at, course)).astype(np.int64))


def hiccups(tables: Tables) -> Tables:
    """Take the host off its processor for 5 ms, twice, where the device has nothing to do."""
    own = tables["gpu_intervals"][tables["gpu_intervals"]["target"]].sort_values("start")
    begins = own["start"].to_numpy(dtype=np.int64)
    ends = np.maximum.accumulate(begins + own["duration"].to_numpy(dtype=np.int64))
    idle = np.flatnonzero(begins[1:] > ends[:-1] + 200)
    if idle.size < 2:
        return tables
    chosen = np.random.default_rng(3).choice(idle, 2, replace=False)
    moments = np.sort(ends[chosen]) + 50
    return moved(tables, lambda times: times + 5 * MS * np.searchsorted(moments, times, "right"))


DISTURBANCES: dict[str, Disturb] = {
    "a window server": window_server,
    "ids all alike": ids_alike,
    "a second channel": second_channel,
    "an older version": older,
    "no start latencies": without_latencies,
    "a later begin": lambda tables: moved(tables, lambda times: times + 5_000 * MS),
    "uneven times": uneven,
    "two hiccups": hiccups,
}


@pytest.mark.campaign
@pytest.mark.parametrize("disturb", DISTURBANCES.values(), ids=DISTURBANCES)
def test_the_first_finding_stays_and_no_warning_comes(disturb: Disturb) -> None:
    for scene, *lever in PROBLEMS.values():
        require_lever(analyze(disturb(scene().tables()), KNOWN), *lever)
    calm = dict(HEALTHY)
    if disturb is uneven:  # nothing but its evenness tells that this one is paced
        del calm["as even as a display"]
    for name, scene in calm.items():
        assert not warnings(analyze(disturb(scene().tables()), KNOWN)), name
