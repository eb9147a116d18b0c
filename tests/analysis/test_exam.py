"""Problems that people published, with their numbers: the first finding names what fixed them.

Each is a recording of a program without marks; the numbers are those of the threads that
docs/explanation/how-good-are-the-rules.md lists.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial

import numpy as np
import pandas as pd
import pytest

from analysed import MS, Golden, given, table
from stock import PID, WIRE, Stock, frame, jitter, warnings
from tracekit.analysis import Result, analyze, intervals
from tracekit.base import Process, Provenance

Scene = Callable[[], Stock]
NONE = 0


def run_pipelined(stock: Stock, number: int, buffers: int, work: float) -> Stock:
    """Submit each iteration before waiting for the one before."""
    for factor in jitter(number, 0.01):
        for _ in range(buffers):
            stock.buffer([work * factor])
        stock.run_ahead()
        stock.spend(30)
    stock.wait()
    return stock


def alternating(number: int, buffers: int, work: float, host: float, encode: float = 5) -> Stock:
    """Wait for each iteration, and do something else before the next one."""
    stock = Stock()
    for factor in jitter(number, 0.02):
        for _ in range(buffers):
            stock.buffer([work * factor], encode)
        stock.wait()
        stock.spend(host)
    return stock


def chat(*, waits: bool) -> Stock:
    """Answer three prompts, each after a pause: prefill, then 60 tokens."""
    stock = Stock()
    for _ in range(3):
        for factor in jitter(60, 0.05):
            stock.buffer([9_000 * factor])
        stock.wait()
        for factor in jitter(60, 0.02):
            for _ in range(8):
                stock.buffer([2_000 * factor])
            if waits:
                stock.wait()
            else:
                stock.run_ahead()
            stock.spend(4_500 if waits else 30)
        stock.wait()
        stock.spend(2e6)
    return stock


def mixed_boundaries() -> Stock:
    stock, random = Stock(), np.random.default_rng(3)
    for _ in range(40):
        for _ in range(45):
            stock.buffer([300], switch=float(random.uniform(20, 260)))
        stock.run_ahead()
    return stock


def a_deep_queue() -> Stock:
    stock = Stock(switch=20)
    for _ in range(1_800):
        stock.buffer([300])
    return stock


def reads_inside() -> Stock:
    stock = Stock()
    for factor in jitter(60, 0.02):
        for number in range(4):
            for _ in range(1 + number):
                stock.buffer([600 * factor])
            stock.wait()
            stock.spend(600)
    return stock


def wired_again(allocated: float = 0) -> Stock:
    """Wire 9 GiB before most of 42 iterations, and allocate so many GiB there."""
    stock = Stock()
    label = WIRE.format(size="9216.00")
    for number, factor in enumerate(jitter(42, 0.02)):
        for offset in range(2 if allocated or not number else 0):
            size = round(allocated / 2 * 2**30)
            cells = {"event": "Allocation", "size": size, "type": "Buffer"}
            stock.add("resource_allocations", stock.host_time + offset, **cells)
        if number % 7:
            stock.add("driver_events", stock.host_time, 80_000, event="Wire Memory", label=label)
            stock.spend(80_000)
        for _ in range(4):
            stock.buffer([5_000 * factor])
        stock.wait()
        stock.spend(200)
    return stock


def wired_once() -> Stock:
    stock = Stock()
    label = WIRE.format(size="9216.00")
    stock.add("driver_events", stock.host_time, 800_000, event="Wire Memory", label=label)
    stock.spend(800_000)
    return run_pipelined(stock, 40, 8, 2_000)


def run_at_states(*states: tuple[float, str], thermal: str = "") -> Stock:
    """Run at states, each for a share of the time, in a thermal state that holds in the last."""
    stock = run_pipelined(Stock(), 80, 8, 2_000)
    time = 0.0
    for share, name in states:
        stock.add("gpu_performance_states", time, share * stock.done, state=name, induced=True)
        time += share * stock.done
    if thermal:
        last_start = time - states[-1][0] * stock.done
        stock.add("thermal_states", 0, last_start, state="Nominal", induced=True)
        stock.add(
            "thermal_states", last_start, stock.done - last_start, state=thermal, induced=True
        )
    return stock


def compile_between(iterations_before: int, iterations_after: int) -> Stock:
    stock = run_pipelined(Stock(), iterations_before, 8, 2_000) if iterations_before else Stock()
    stock.add("compiler_activity", stock.host_time, 900_000, compiler="x", program="Compute")
    stock.spend(900_000)
    return run_pipelined(stock, iterations_after, 8, 2_000)


def encoders(gap: float) -> Stock:
    stock = Stock(launch=gap)
    for factor in jitter(30, 0.02):
        for _ in range(2):
            stock.buffer([9 * factor] * 100, 1)
        stock.run_ahead()
    return stock


def one_late(wait: float, *, on_the_cpu: bool = False) -> Stock:
    """Let one of six command buffers wait, for something or for a thread that works meanwhile."""
    stock = Stock()
    for factor in jitter(60, 0.02):
        for number in range(6):
            free_time = stock.device_free_time
            stock.buffer([800 * factor], switch=wait if number == 3 else 1)
            for time in (
                np.arange(free_time, free_time + wait, 500) if number == 3 and on_the_cpu else []
            ):
                stock.add("cpu_profile", time, weight=500_000, leaf="mlx::core::cpu::sort", tid=2)
        stock.run_ahead()
    return stock


def a_stall_every(number: int) -> Stock:
    stock = Stock()
    for place, factor in enumerate(jitter(200, 0.01)):
        for _ in range(4):
            stock.buffer([1_000 * factor])
        stock.run_ahead()
        if place % number == number - 1:
            stock.wait()
            stock.spend(15_000)
    return stock


def a_cliff() -> Stock:
    stock = Stock()
    for place, noise in enumerate(jitter(80, 0.01)):
        for _ in range(6):
            stock.buffer([700 * noise * (1.5 if place >= 40 else 1)])
        stock.run_ahead()
    return stock


def layers(*names: str) -> Stock:
    stock = Stock()
    for factor in jitter(40, 0.01):
        for _ in range(8):
            stock.buffer([400 * factor] * len(names), names=names)
        stock.run_ahead()
    return stock


def beside_another(*, delayed: bool) -> Stock:
    stock = Stock()
    cells = {"process": "other", "pid": 9, "target": False, "channel": "Compute"}
    for factor in jitter(60, 0.01):
        for _ in range(4):
            stock.buffer([1_000 * factor])
            stock.add(
                "gpu_intervals",
                stock.device_free_time + 1,
                400 if delayed else 0,
                **cells,
                label="x",
            )
            stock.device_free_time += 402 if delayed else 0
        stock.run_ahead()
    return stock


def a_slow_driver() -> Stock:
    stock = Stock()
    for factor in jitter(60, 0.02):
        for _ in range(6):
            stock.buffer([800 * factor], driver=900)
        stock.wait()
    return stock


def errors() -> Stock:
    stock = run_pipelined(Stock(), 20, 4, 2_000)
    stock.add("command_buffer_errors", stock.done, error=2, command_buffer=stock.number)
    return stock


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
    "60 buffers a token": (lambda: run_pipelined(Stock(switch=20), 40, 60, 300), *LIMITS),
    "45 buffers of much work": (
        lambda: run_pipelined(Stock(switch=20), 40, 45, 480),
        *("frequent-command-buffers", "MLX_MAX_MB_PER_BUFFER", "async_eval"),
    ),
    "boundaries of 260 us": (
        lambda: run_pipelined(Stock(switch=260), 40, 20, 1_500),
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
    "low power mode": (
        lambda: run_at_states((1, "Minimum")),
        CLOCK,
        "Low Power Mode",
        "High Power",
    ),
    "too hot": (
        lambda: run_at_states(MAXIMUM, MEDIUM, thermal="Serious"),
        *(CLOCK, "cool down", "Low Power Mode"),
    ),
    "a limit of power": (
        lambda: run_at_states(MAXIMUM, MEDIUM, thermal="Nominal"),
        *(CLOCK, "High Power mode", "hot because"),
    ),
    "compiled in the loop": (lambda: compile_between(10, 60), *WARMED),
    "compiled at the first decode": (lambda: compile_between(1, 60), *WARMED),
    "compiled before the loop": (
        lambda: compile_between(0, 60),
        "left-out-time",
        "prebuilt",
        "async",
    ),
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


def require_lever(result: Result, rule: str, expected_words: str, unsaid: str) -> None:
    """Require that the rule found something, and that the first finding names the lever."""
    assert not [check for check in result.checks if check.status == "failed"]
    assert rule in [
        name for finding in result.findings for name in (finding.rule, *finding.effects)
    ]
    first_finding = result.findings[0]
    assert expected_words in first_finding.advice, first_finding
    assert unsaid not in first_finding.advice, first_finding


def numbers(result: Result) -> str:
    known_metrics = [metric for metric in result.metrics if metric.value is not None]
    return ", ".join(f"{metric.name} {metric.value:.5g}" for metric in known_metrics)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_first_finding_names_the_lever(problem: str, golden: Golden) -> None:
    scene, *lever = PROBLEMS[problem]
    result = scene().analyze_tables()
    require_lever(result, *lever)
    first_finding, *other_findings = result.findings
    golden(
        first_finding,
        *(f"{finding.rule}, {finding.saving}: {finding.message}" for finding in other_findings),
        numbers(result),
    )


def with_a_load() -> Stock:
    stock = Stock()
    for _ in range(30):
        stock.buffer([3_000])
        stock.wait()
        stock.spend(40_000)
    stock.spend(2e6)
    return run_pipelined(stock, 80, 8, 2_000)


def nobody_asks() -> Stock:
    stock = run_pipelined(Stock(), 40, 8, 2_000)
    stock.spend(3e6)
    return run_pipelined(stock, 40, 8, 2_000)


def a_pool_that_fills() -> Stock:
    stock = Stock()
    for place in range(60):
        for offset in range(20 if place < 5 else 0):
            cells = {"event": "Allocation", "size": 10 << 20, "type": "Buffer"}
            stock.add("resource_allocations", stock.host_time + offset, **cells)
        for _ in range(8):
            stock.buffer([2_000])
        stock.run_ahead()
    return stock


def run_paced(
    period: float, *, presents: bool, spread: float = 0.2, late: Collection[int] = ()
) -> Stock:
    """Begin each iteration on the line of a grid, or 5 ms behind it for those that are late."""
    stock = Stock()
    for number, factor in enumerate(jitter(200, spread)):
        stock.host_time = max(stock.host_time, 1_000 + number * period)
        stock.spend(5_000 if number in late else 0)
        for _ in range(2):
            stock.buffer([2_000 * factor])
        if presents:
            stock.add("present_requests", stock.host_time, command_buffer=stock.number)
        stock.wait()
    return stock


def two_loops() -> Stock:
    stock = run_pipelined(Stock(), 40, 8, 2_000)
    stock.spend(5_000)
    return run_pipelined(stock, 40, 3, 1_000)


PACED: dict[str, Callable[..., Stock]] = {
    "paced by a display": partial(run_paced, 12_500, presents=True),
    "paced by a timer": partial(run_paced, 21_300, presents=False),
    "as even as a display": partial(run_paced, 1e6 / 60, presents=False, spread=0),
}
HEALTHY: dict[str, Scene] = {
    "launched with its load": with_a_load,
    "nobody asks": nobody_asks,
    "three prompts": lambda: chat(waits=False),
    "a pool fills first": a_pool_that_fills,
    "wired once": wired_once,
    **PACED,
    "a ramp": lambda: run_at_states((0.1, "Minimum"), (0.15, "Medium"), (0.75, "Maximum")),
    "two loops in a row": two_loops,
    "fused attention": lambda: layers("steel_gemm_nt", "sdpa_vector", "rms_norm"),
    "another that waits": lambda: beside_another(delayed=False),
    # as problems, but for one fact
    "none late": lambda: one_late(1),
    "no stall": lambda: a_stall_every(999),
}


@pytest.mark.parametrize("scene", HEALTHY)
def test_hard_and_healthy_recordings_raise_no_warning(scene: str, golden: Golden) -> None:
    result = HEALTHY[scene]().analyze_tables()
    assert not [check for check in result.checks if check.status == "failed"]
    assert not warnings(result)
    golden(*(f"{finding.rule}: {finding.message}" for finding in result.findings), numbers(result))


def test_iterations_of_unequal_work_or_several_waits_are_one_loop() -> None:
    for seed in range(3):
        stock = Stock()
        for factor in jitter(120, 0.2, seed):
            for _ in range(2):
                stock.buffer([2_000 * factor])
            stock.wait()
            stock.spend(8_000)
        assert len(given(**stock.tables())["iterations"]) >= 0.95 * 120, seed
        stock, random = Stock(), np.random.default_rng(seed)
        for _ in range(40):
            for work in (500, 500, 500, 500, 4_000):
                stock.buffer([work * float(np.exp(random.normal(0, 0.1)))])
                stock.wait()
                stock.spend(300)
        assert len(given(**stock.tables())["iterations"]) == 40, seed


def test_signposts_that_repeat_are_the_iterations() -> None:
    tables = run_pipelined(Stock(), 20, 4, 1_000).tables()
    begins = tables["submissions"]["start"].to_numpy()[::4]
    posts = table(
        "start", *((begin,) for begin in begins[::-1]), unit=1, duration=20_000, target=True
    )
    posts = posts.assign(subsystem="app", category="loop", name="token")
    few_posts, other_posts = posts[:7].assign(name="few"), posts.assign(name="other", target=False)
    begun_only = posts[:1].assign(start=begins[-1] + 20_000, duration=pd.array([None], "Int64"))
    all_posts = pd.concat([few_posts, other_posts, posts, begun_only])
    iterations = given(**tables, signpost_intervals=all_posts)["iterations"]
    assert iterations["start"].tolist() == begins.tolist()
    assert set(iterations["source"]) == {"signposts"}


def test_samples_show_the_hosts_work_in_the_gaps() -> None:
    stock = alternating(60, 8, 2_000, 4_500)
    ends = [row["time"] / 1e3 for row in stock.rows["completions"]][7::8]
    for place, end in enumerate(ends):
        for offset in (500, 1_500, 2_500):
            leaf = "sample_token ← (12 other frames)" if place % 4 else "0x1957c3901"
            stock.add("cpu_profile", end + offset, weight=1_000_000, leaf=leaf)
    stock.add("threads", 0, tid=1, name="python", main=True)
    first_finding = stock.analyze_tables().findings[0]
    assert "of 177 samples of the main thread, 74.6 % in sample_token" in first_finding.message
    assert "candidates" not in first_finding.advice


# Each disturbance is something that real recordings have beside. It changes the tables of a
# recording and nothing that its first finding rests on.
Tables = Mapping[str, pd.DataFrame]
Disturb = Callable[[Tables], Tables]
KNOWN = Provenance(recorder="xctrace", targets=(Process(PID, "mlx_lm.generate"),))
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
            "start": time + int(random.integers(0, 2 * MS)),
            "duration": int(random.integers(100_000, 400_000)),
            "channel": channel,
        }
        for time in range(0, end_of(tables), 16_667_000)
        for channel in ("Vertex", "Fragment")
    ]
    all_intervals = pd.concat([tables["gpu_intervals"], frame(rows)], ignore_index=True)
    return {**tables, "gpu_intervals": all_intervals.astype({"target": bool})}


def ids_alike(tables: Tables) -> Tables:
    table_names = [name for name, rows in tables.items() if "command_buffer" in rows]
    changed = {
        name: tables[name].assign(command_buffer=pd.array([1] * len(tables[name]), dtype="UInt64"))
        for name in table_names
        if name != "command_buffer_errors"
    }
    return {**tables, **changed}


def second_channel(tables: Tables) -> Tables:
    """Let each thirtieth interval be a copy; from a tenth of the time on, copies are a finding."""
    work = tables["gpu_intervals"].copy()
    work.loc[work.index[::30], "channel"] = "Blit"
    return {**tables, "gpu_intervals": work}


def older(tables: Tables) -> Tables:
    """Leave out the columns that tell how long encoders of a command buffer took."""
    submissions = tables["submissions"].drop(columns=["encoder_time", "encoders"])
    return {**tables, "submissions": submissions}


def without_latencies(tables: Tables) -> Tables:
    work = tables["gpu_intervals"]
    missing_values = pd.array([None] * len(work), dtype="Int64")
    return {**tables, "gpu_intervals": work.assign(start_latency=missing_values)}


def move_times(tables: Tables, way: Callable[[intervals.Times], intervals.Times]) -> Tables:
    """Lay all times of a recording on another course; lengths follow."""
    moved_tables: dict[str, pd.DataFrame] = {}
    for name, rows in tables.items():
        key = "time" if "time" in rows else "start"
        if rows.empty:
            moved_tables[name] = rows
            continue
        old_times = rows[key].to_numpy(dtype=np.int64)
        new_times = way(old_times)
        cells: dict[str, object] = {key: new_times}
        if "start_latency" in rows:
            latency = rows["start_latency"].to_numpy(dtype=np.int64, na_value=0)
            cells["start_latency"] = pd.array(new_times - way(old_times - latency), dtype="Int64")
        if "duration" in rows:
            ends = old_times + rows["duration"].to_numpy(dtype=np.int64, na_value=0)
            cells["duration"] = pd.array(way(ends) - new_times, dtype="Int64")
            if "encoder_time" in rows:
                encoder_times = rows["encoder_time"].to_numpy(dtype=np.int64, na_value=0)
                cells["encoder_time"] = pd.array(
                    way(ends) - way(ends - encoder_times), dtype="Int64"
                )
        moved_tables[name] = rows.assign(**cells)
    return moved_tables


def uneven(tables: Tables) -> Tables:
    """Let time pass up to 3 % faster or slower in each millisecond."""
    moments = np.arange(0, end_of(tables) + 100 * MS, MS)
    steps = np.exp(np.random.default_rng(5).normal(0, 0.03, moments.size - 1)) * MS
    course = np.concatenate(([0.0], np.cumsum(steps)))
    return move_times(
        tables, lambda times: np.rint(np.interp(times, moments, course)).astype(np.int64)
    )


def hiccups(tables: Tables) -> Tables:
    """Take the host off its processor for 5 ms, twice, where the device has nothing to do.

    All that follows is later, as in a program that nothing paces: see `LATE`.
    """
    target_rows = tables["gpu_intervals"][tables["gpu_intervals"]["target"]].sort_values("start")
    begins = target_rows["start"].to_numpy(dtype=np.int64)
    ends = np.maximum.accumulate(begins + target_rows["duration"].to_numpy(dtype=np.int64))
    idle = np.flatnonzero(begins[1:] > ends[:-1] + 200)
    if idle.size < 2:
        return tables
    chosen = np.random.default_rng(3).choice(idle, 2, replace=False)
    moments = np.sort(ends[chosen]) + 50
    return move_times(
        tables, lambda times: times + 5 * MS * np.searchsorted(moments, times, "right")
    )


DISTURBANCES: dict[str, Disturb] = {
    "a window server": window_server,
    "ids all alike": ids_alike,
    "a second channel": second_channel,
    "an older version": older,
    "no start latencies": without_latencies,
    "a later begin": lambda tables: move_times(tables, lambda times: times + 5_000 * MS),
    "uneven times": uneven,
    "two hiccups": hiccups,
}
# Some disturbances take away what the finding of a recording rests on.
UNFIT: dict[str, Collection[str]] = {
    # The id of the command buffer that failed shows whether it worked or waited.
    "ids all alike": ["a timeout"],
    # Commits leave the grid. Even periods alone are no sign: a host that never waits has them, too.
    "uneven times": PACED,
}
# A clock goes on while the host is off its processor: only the iteration after a hiccup is late.
LATE: dict[str, Scene] = {name: partial(scene, late=(60, 140)) for name, scene in PACED.items()}


@pytest.mark.campaign
@pytest.mark.parametrize("name", DISTURBANCES)
def test_the_first_finding_stays_and_no_warning_comes(name: str) -> None:
    disturb = DISTURBANCES[name]
    unfit = UNFIT.get(name, ())
    for problem, (scene, *lever) in PROBLEMS.items():
        if problem not in unfit:
            require_lever(analyze(disturb(scene().tables()), KNOWN), *lever)
    for calm, scene in HEALTHY.items():
        if calm in unfit:
            continue
        tables = disturb(scene().tables())
        if disturb is hiccups and calm in LATE:
            tables = LATE[calm]().tables()
        assert not warnings(analyze(tables, KNOWN)), calm
