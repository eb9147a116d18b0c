"""Rules on memory: what the target keeps, allocates in its loop, and has wired again and again.

`memory-growth` by the lowest levels of eight parts, `hot-allocations`, `lost-residency`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysed import MS, SECOND, Golden, intervals, judge_tables, phases, row_of_steps, table
from stock import WIRE, Stock
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window
from tracekit.analysis.memory_levels import MemoryLevels, Trend, trend
from tracekit.analysis.rule import Finding
from tracekit.analysis.wording import sentence_of
from tracekit.base.recording import Provenance

MIB = 1 << 20
WINDOW = Window(0, 8_000, "the steady window")


def make_allocated_sizes(*sizes: int, is_target: bool = True) -> pd.DataFrame:
    """Make `allocated_sizes` of a second each, in MiB."""
    rows = [(second, size * MIB) for second, size in enumerate(sizes)]
    return table("start size", *rows, unit=SECOND, duration=1, pid=4711, target=is_target)


def make_held_gauges(*sizes: int, source: str = "workload") -> pd.DataFrame:
    """Make `gauges` of what a workload says that it keeps, each second, in MiB."""
    rows = [(second, float(size * MIB)) for second, size in enumerate(sizes)]
    return table("time value", *rows, unit=SECOND, name="bytes_held", source=source)


def steps(tokens: int) -> pd.DataFrame:
    return row_of_steps([SECOND // 2] * 14).assign(tokens=tokens)


GROWING = make_allocated_sizes(100, 120, 140, 160, 180, 200, 220, 240)
SAMPLES = GROWING.rename(columns={"start": "time", "size": "memory"})


def judge(sizes: pd.DataFrame | None, memory: int | None = None, **tables: Any) -> list[Finding]:
    """Judge a loop of eight seconds on a machine with so many MiB."""
    window = {"gpu_intervals": intervals([(0, 8 * SECOND)]), "phases": phases(0, 8 * SECOND)}
    machine = Provenance(machine={} if memory is None else {"memory": memory * MIB})
    return judge_tables(
        "memory-growth", provenance=machine, allocated_sizes=sizes, **window, **tables
    )


def test_growth_is_reported_by_second_step_and_token(golden: Golden) -> None:
    all_known, no_tokens = judge(GROWING, 480, steps=steps(2)), judge(GROWING, steps=steps(0))
    # 50 MiB of what grew the workload keeps, as it says.
    partly = judge(GROWING, gauges=make_held_gauges(10, 10, 10, 10, 10, 10, 10, 60))
    golden(*all_known, *no_tokens, *partly)


def test_a_rise_below_32_mebibytes_or_a_twentieth_passes() -> None:
    for sizes in (
        (100, 150, 100, 150, 100, 150, 100, 150),
        (100, 100, 100, 300, 300, 300, 300, 300),
        (100, 180, 120, 160, 105, 175, 130, 165),  # level noise
        (240, 220, 200, 180, 160, 140, 120, 100),
    ):
        assert not judge(make_allocated_sizes(*sizes)), sizes
    for first_size, last_size, number in (
        (100, 132, 0),
        (100, 133, 1),
        (1_000, 1_050, 0),
        (1_000, 1_051, 1),
    ):
        line = np.linspace(first_size, last_size, 8).round().astype(int).tolist()
        assert len(judge(make_allocated_sizes(*line))) == number, last_size


def test_a_cache_that_grows_as_it_says_is_passed_and_resident_memory_serves_last() -> None:
    kept_gauges = make_held_gauges(10, 30, 50, 70, 90, 110, 130, 150)[::-1]
    assert not judge(GROWING, gauges=kept_gauges)
    assert len(judge(GROWING, gauges=kept_gauges.assign(source="macmon"))) == 1
    resident, of_the_gpu = "resident memory", "memory of the GPU"
    other_sizes = make_allocated_sizes(5, is_target=False)
    for sizes, words in ((None, resident), (other_sizes, resident), (GROWING, of_the_gpu)):
        [finding] = judge(sizes, process_samples=SAMPLES)
        assert words in str(finding.fact("what")), sizes
    for sizes, reason in (
        (None, "neither allocated sizes"),
        (make_allocated_sizes(1, 2), "too short for its samples"),
        (make_allocated_sizes(5, is_target=False), r"none of the \d rows"),
    ):
        with pytest.raises(Unavailable, match=reason):
            judge(sizes)


def judge_program(*sizes: int, seconds: int = 8, **tables: Any) -> list[Finding]:
    """Judge a program without device work whose memory, in MiB, was sampled in equal distances."""
    times = np.linspace(0, seconds * SECOND, len(sizes)).astype(np.int64).tolist()
    rows = [(time, size * MIB) for time, size in zip(times, sizes, strict=True)]
    samples = table("time memory", *rows, unit=1, pid=4711, target=True)
    host = Provenance(recorder="host")
    return judge_tables("memory-growth", provenance=host, process_samples=samples, **tables)


def test_a_program_without_steps_grows_if_it_does_so_from_its_start_to_its_end() -> None:
    line = np.linspace(13, 450, 160).astype(int).tolist()
    [finding] = judge_program(*line, 20)  # at its end it frees what it has
    assert sentence_of(finding) == (
        "The target's resident memory grew from 13 MiB to 386 MiB in the recording, by 55.2 MiB a "
        "second."
    )
    level = [450] * 40
    for sizes in ((*line, *level), (*level, *line), [*line[:80], *line[:80]], [450] * 160):
        assert not judge_program(*sizes), sizes
    with pytest.raises(Unavailable, match=r"sampled for 4\.00 s, and a trend"):
        judge_program(*line, seconds=4)
    prepared = phases(0, 8 * SECOND).assign(name="prepare")
    with pytest.raises(Unavailable, match="did not come to its steady phase"):
        judge_program(*line, phases=prepared, gpu_intervals=intervals([(0, 8 * SECOND)]))


def make_levels(sizes: Sequence[float] | np.ndarray) -> MemoryLevels:
    times = np.linspace(0, 7_999, len(sizes)).astype(np.int64)
    levels = np.array(sizes).astype(np.int64)
    return MemoryLevels("process_samples", "resident memory", times, times + 1, levels)


def find_trend(sizes: np.ndarray) -> Trend:
    return trend([make_levels(sizes)], WINDOW)


def test_lines_grow_by_their_slope_and_saw_teeth_do_not() -> None:
    line = np.linspace(1_000, 9_000, 801)
    assert find_trend(line).rate == pytest.approx(1.0, rel=0.01)
    assert find_trend(line).grown == pytest.approx(7_000, rel=0.01)
    noise = np.random.default_rng(1).integers(0, 300, 801)
    stairs = np.linspace(0, 8, 801).astype(int) * 1_000
    assert all(find_trend(sizes).rising for sizes in (line, line + noise, stairs))
    for teeth in (2, 2.5, 3, 3.7, 5, 8, 13, 40.3):
        for phase in (0.0, 0.3, 0.9):
            positions = np.linspace(0, teeth, 801) + phase
            assert not find_trend(1_000 * MIB + (positions % 1.0) * 100 * MIB).rising, teeth
    for seed in range(20):
        level = np.random.default_rng(seed).normal(1_000, 100, 801)
        assert not find_trend(level).rising, f"noise of seed {seed}"
    for place in (0.1, 0.5, 0.9):
        assert not find_trend(np.where(np.linspace(0, 1, 801) < place, 1_000, 9_000)).rising, place
    assert not find_trend(np.minimum(np.linspace(0, 8, 801), 2.5)).rising
    joint_trend = trend([make_levels(np.full(80, 10)), make_levels(np.linspace(0, 80, 81))], WINDOW)
    assert (joint_trend.floors[0], joint_trend.floors[-1]) == (10, 81)
    bounds = np.array([[0, 9_000], [4_000, 100]])
    memory_levels = MemoryLevels(
        "allocated_sizes", "memory", bounds[:, 0], bounds.sum(axis=1), np.array([5, 3])
    )
    assert trend([memory_levels], WINDOW).floors.tolist() == [5, 5, 5, 5, 3, 5, 5, 5]


def resources(count: int, **cells: object) -> pd.DataFrame:
    """Make resources of so many, …, 2, 1 KiB in a second, half of them with a label."""
    rows = [
        (SECOND + round(SECOND * index / count), 1024 * (count - index)) for index in range(count)
    ]
    labels = ["scores"] * (count // 2) + [None] * (count - count // 2)
    frame = table("time size", *rows, unit=1, event="Allocation", type="Buffer", target=True)
    return frame.assign(label=pd.array(labels, dtype="string"), **cells)


def hot(allocations: pd.DataFrame, **tables: pd.DataFrame) -> list[Finding]:
    """Judge resources beside work of the second second."""
    work = intervals([(SECOND, SECOND)])
    return judge_tables(
        "hot-allocations", gpu_intervals=work, resource_allocations=allocations, **tables
    )


def test_allocations_of_each_step_are_reported(golden: Golden) -> None:
    steps = row_of_steps([250 * MS] * 4)
    steps["start"] += SECOND
    wiring = table("start duration", (1_000, 10), (1_005, 15), (3_000, 1), event="Wire Memory")
    tables = {"steps": steps, "driver_events": wiring.assign(target=True)}
    golden(*hot(resources(8), **tables), *hot(resources(50)))  # without steps seconds count
    assert hot(resources(6, size=pd.array([None] * 6, "Int64")), **tables)
    assert not hot(resources(5), **tables)
    assert not hot(resources(49))


def test_allocations_before_requests_are_reported_without_levels_of_memory() -> None:
    stock = Stock()
    for tokens in (20, 31, 26, 37, 23, 29, 34, 22, 27):
        for _ in range(60):
            cells = {"event": "Allocation", "size": MIB, "type": "Buffer"}
            stock.add("resource_allocations", stock.host_time, **cells)
            stock.spend(3_000)
        for _ in range(tokens):
            stock.buffer([2_000])
            stock.wait()
            stock.spend(100)
    [without_levels] = judge_tables("hot-allocations", **stock.tables())
    sentence = sentence_of(without_levels)
    assert "allocates 60 buffers (60 MiB) anew" in sentence
    assert "Memory" not in sentence
    # Memory that stays at its level is kept: these are allocations like those of any loop.
    stock.add("allocated_sizes", 0, stock.host_time, size=900 * MIB)
    [kept] = judge_tables("hot-allocations", **stock.tables())
    assert "1.93 per iteration" in sentence_of(kept)


def test_a_pool_that_fills_first_and_memory_of_others_pass() -> None:
    many = resources(400)
    many["time"] = SECOND + (many["time"] - SECOND) // 2 - 1
    assert not hot(many)
    assert hot(many.assign(time=SECOND + (many["time"] - SECOND) * 5 // 4))
    assert not hot(resources(99, target=False))
    assert not hot(resources(99), phases=phases(2 * SECOND, SECOND))
    with pytest.raises(Unavailable, match="is not known: Birth"):
        hot(resources(9, event="Birth"))


def wiring(*starts: int, size: str = "96.00") -> pd.DataFrame:
    """Wire 96 MiB for 5 ms at each of these ms."""
    label = WIRE.format(size=size) if size else ""
    cells = {"event": "Wire Memory", "target": True, "label": label}
    return table("start", *((start,) for start in starts), duration=5, **cells)


def allocating(*sizes: int) -> pd.DataFrame:
    rows = [(index * 100, size * MIB) for index, size in enumerate(sizes)]
    return table("time size", *rows, event="Allocation", target=True, label="", type="Buffer")


EACH = range(0, 800, 100)


def judge_residency(
    events: pd.DataFrame, allocations: pd.DataFrame | None, **tables: Any
) -> list[Finding]:
    """Judge wiring and allocations in a loop of 80 iterations of 10 ms."""
    work = intervals([(step * 10 * MS, 9 * MS) for step in range(80)])
    loop_tables = {
        "gpu_intervals": work,
        "driver_events": events,
        "resource_allocations": allocations,
    }
    return judge_tables("lost-residency", **loop_tables, **tables)


def test_memory_wired_again_without_allocations_is_lost(golden: Golden) -> None:
    by_size = judge_residency(wiring(0, 100, 200, 300, 400, 500), allocating(*[10] * 8))
    # The level of wired memory tells where events have no sizes.
    rows = [(index * 50, 1 + index % 2 << 30) for index in range(20)]  # the last after the loop
    levels = table("start size", *rows, duration=50).sample(frac=1, random_state=1)
    by_level = judge_residency(wiring(*EACH, size=""), allocating(0), wired_memory=levels)
    # Without allocations it takes over a gigabyte.
    golden(*by_size, *by_level, *judge_residency(wiring(*EACH, size="128.00"), None))
    assert not judge_residency(wiring(*EACH), None)
    for is_target in (True, False):  # what others allocate is no reason
        allocated_sizes = levels.assign(target=is_target, pid=4711)
        assert (
            bool(judge_residency(wiring(*EACH), None, allocated_sizes=allocated_sizes)) != is_target
        )
    machine = Provenance(machine={"memory": 8 << 30, "swap": MIB})
    sets = table("time target", (50, True), (60, True), (70, False))
    [small] = judge_residency(
        wiring(*EACH), allocating(0), provenance=machine, residency_changes=sets
    )
    sentence_end = "changed 2 times meanwhile. The machine has 8 GiB, swap holds 1 MiB."
    assert sentence_of(small).endswith(f" Residency sets were {sentence_end}")
    with pytest.raises(Unavailable, match="name no sizes"):
        judge_residency(wiring(*EACH, size=""), allocating(0))


def test_memory_that_is_wired_for_a_reason_is_not_lost() -> None:
    for starts, allocated, size, number in (
        ((0,), 0, "96.00", 0),  # once
        ((0, 100, 200, 300), 0, "96.00", 0),  # in half of the parts
        (EACH, 48, "96.00", 0),  # as it is allocated
        ((900,), 0, "96.00", 0),  # never
        (EACH, 0, "1.00", 1),  # a megabyte in each part
        (EACH, 0, "0.99", 0),  # less than a megabyte
    ):
        assert (
            len(judge_residency(wiring(*starts, size=size), allocating(*[allocated] * 8))) == number
        ), (starts, size)


def by_request(
    *leftovers: int, at_once: bool = True, pause: float = 1.5, machine: int | None = None
) -> list[Finding]:
    """Judge requests of half a second with pauses, each of which leaves so many MiB."""
    levels: list[tuple[float, float, int]] = []
    work: list[tuple[int, int]] = []
    level, time = 1_000, 1.0
    levels.append((0.0, time, level))
    for size in leftovers:
        work += [(round(time * SECOND) + k * 25 * MS, 25 * MS) for k in range(20)]
        for part in range(10):
            level += size if at_once and part == 0 else (0 if at_once else size // 10)
            levels.append((time + part * 0.05, 0.05, level))
        levels.append((time + 0.5, pause, level))
        time += 0.5 + pause
    rows = [(start, length, size * MIB) for start, length, size in levels]
    sizes = table("start duration size", *rows, unit=SECOND, pid=4711, target=True)
    tables: dict[str, Any] = {"gpu_intervals": intervals(work), "allocated_sizes": sizes}
    memory = Provenance(machine={} if machine is None else {"memory": machine * MIB})
    return judge_tables("memory-growth", provenance=memory, **tables)


@pytest.mark.parametrize(
    ("left", "rise"),
    [
        pytest.param((942,) * 8, 942, id="eight requests"),
        pytest.param((300, 300, 300), 300, id="three requests"),
        pytest.param((5_000, 300, 310, 290, 300), 300, id="the first makes what all use"),
        pytest.param((300, 300, 0, 300, 300, 300), 300, id="one leaves nothing"),
        pytest.param((300, 300), None, id="two requests"),
        pytest.param((900, 300, 100, 30, 10, 0, 0), None, id="memory levels off"),
        pytest.param((300, -300, 300, -300, 300), None, id="what comes goes again"),
        pytest.param((900, 0, 0, 0, 0), None, id="the first alone"),
        pytest.param((147,) * 18 + (0,) * 12, None, id="a cache that is full in the end"),
        pytest.param((9, 8, 9, 8), None, id="hardly anything"),
    ],
)
def test_memory_that_each_request_leaves_behind_is_found(
    left: tuple[int, ...], rise: int | None
) -> None:
    rises = [finding.fact("rise") for finding in by_request(*left)]
    assert rises == ([] if rise is None else [rise * MIB])


@pytest.mark.parametrize("seed", range(6))
def test_any_number_of_requests_that_leave_about_as_much_is_found(seed: int) -> None:
    random = np.random.default_rng(seed)
    rise = int(random.integers(60, 3_000))
    leftovers = (rise * random.uniform(0.8, 1.2, int(random.integers(3, 15)))).astype(int).tolist()
    [finding] = by_request(*leftovers, pause=float(random.uniform(0.4, 4)))
    assert finding.fact("requests") == len(leftovers)
    assert finding.fact("rise") == pytest.approx(rise * MIB, rel=0.2)


def test_memory_left_by_requests_differs_from_growth_at_the_beginning() -> None:
    [prefill], [steadily] = by_request(*(942,) * 8), by_request(*(940,) * 8, at_once=False)
    assert (prefill.fact("at_once"), steadily.fact("at_once")) == (True, False)
    assert (prefill.fact("first"), prefill.fact("last")) == (1_942 * MIB, 8_536 * MIB)
    assert prefill.fact("requests") == 8
    assert len(prefill.evidence) == 8


def growing(*sizes: int) -> pd.DataFrame:
    """Make eight allocations of each size, in KiB, in equal parts of the second second."""
    rows = [
        (SECOND + (SECOND * (8 * index + k)) // (8 * len(sizes)), 1024 * size)
        for index, size in enumerate(sizes)
        for k in range(8)
    ]
    frame = table("time size", *rows, unit=1, event="Allocation", type="Buffer", target=True)
    return frame.assign(label=pd.array([None] * len(rows), dtype="string"))


@pytest.mark.parametrize(
    ("sizes", "grown"),
    [
        pytest.param(range(800, 4_000, 100), True, id="a cache that is copied"),
        pytest.param([100] * 32, False, id="always the same"),
        pytest.param([100, 900] * 16, False, id="two sizes in turns"),
        pytest.param(range(4_000, 800, -100), False, id="smaller and smaller"),
        pytest.param([1_000 + place for place in range(32)], False, id="by three percent"),
    ],
)
def test_buffers_that_grow_all_the_time_are_not_kept_for_use_again(
    sizes: Sequence[int], grown: bool
) -> None:
    [finding] = hot(growing(*sizes))
    assert (finding.lever == "growing-work") is grown


@pytest.mark.parametrize(
    ("first", "last", "machine", "lever"),
    [
        pytest.param(9, 18, {}, "cache-swapped", id="twice as much as before"),
        pytest.param(9, 18, {"memory": 64}, "wiring-lost", id="much room is left"),
        pytest.param(9, 18, {"memory": 24}, "cache-swapped", id="as much as can be wired"),
        pytest.param(22, 22, {"memory": 24}, "cache-swapped", id="nearly all of the machine"),
        pytest.param(18, 18, {"memory": 24}, "wiring-lost", id="all along, and over the limit"),
        pytest.param(9, 9, {}, "wiring-lost", id="all along"),
        pytest.param(9, 9, {"paged_out": 2}, "cache-swapped", id="memory was written out"),
    ],
)
def test_the_wired_limit_is_for_a_model_that_lost_its_place(
    first: int, last: int, machine: dict[str, int], lever: str
) -> None:
    rows = [(part * 100, (first + (last - first) * part // 7) << 30) for part in range(8)]
    sizes = table("start size", *rows, duration=100, pid=4711, target=True)
    provenance = Provenance(machine={name: size << 30 for name, size in machine.items()})
    [finding] = judge_residency(
        wiring(*EACH), allocating(0), allocated_sizes=sizes, provenance=provenance
    )
    assert finding.lever == lever


def test_allocated_memory_is_compared_with_wired_memory_and_its_limit() -> None:
    rows = [(part * 100, (9 + part) << 30) for part in range(8)]
    sizes = table("start size", *rows, duration=100, pid=4711, target=True)
    levels = table("start size", (0, 11 << 30), (400, 12 << 30), duration=400)
    device = pd.DataFrame({"working_set": pd.array([16 << 30], "Int64")})
    tables = {"allocated_sizes": sizes, "wired_memory": levels, "gpu_devices": device}
    [finding] = judge_residency(wiring(*EACH), allocating(0), **tables)
    assert sentence_of(finding).endswith(
        " The target's memory grew by 7 GiB since the loop began, to 16 GiB, and 12 GiB were wired "
        "for all processes; the limit is 16 GiB."
    )
    assert finding.lever == "cache-swapped"
