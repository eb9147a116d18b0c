"""What the device did for the target and what a token costs, the machine's state and memory.

MLX's memory is noted between phases; clock, heat and power are read by a monitor.
"""

import pandas as pd
import pytest

from analysed import (
    SECOND,
    intervals,
    make_named_table,
    measure_tables,
    phases,
    row_of_steps,
    table,
)
from tracekit.analysis.inject import Unavailable
from tracekit.base.recording import Provenance

OF_THE_SPAN = ("gpu_busy", "gpu_span", "gpu_idle_ratio", "gpu_interval_count", "start_latency_p50")


def activity(target_starts: list[int], service: list[int]) -> pd.DataFrame:
    mine = [(start, True, "python3") for start in target_starts]
    service_rows = [(start, False, "MTLCompilerService") for start in service]
    return table("start target process", *mine, *service_rows, unit=1, duration=5).astype(
        {"target": bool}
    )


def make_specializations(*times: int) -> pd.DataFrame:
    return table("time name", *((time, f"paged_{time}") for time in times), unit=1)


def encoders(*starts: int, target: bool = True) -> pd.DataFrame:
    cells = {"duration": 1, "command_buffer": 1, "target": target}
    return table("start", *((start,) for start in starts), unit=1, **cells)


def spread(count: int, *, target: bool = True, **columns: object) -> pd.DataFrame:
    """Make rows of a second each, of the target by default."""
    times = [(second, second) for second in range(count)]
    return table("start time", *times, unit=SECOND, duration=1, pid=4711, target=target, **columns)


def test_only_the_targets_intervals_count() -> None:
    for name, target_rows, value in (
        ("gpu_busy", [(0, 10), (5, 10), (100, 20)], 35),
        ("gpu_span", [(5, 100), (20, 10)], 100),
        ("gpu_idle_ratio", [(0, 25), (75, 25)], 0.5),
        ("gpu_interval_count", [(0, 1), (2, 1)], 2),
        ("start_latency_p50", [(0, 1), (2, 1), (4, 1)], 2_000),
        ("start_latency_p99", [(0, 1), (2, 1), (4, 1)], 2_980),
    ):
        frame = intervals(
            target_rows, other_times=[(0, 500)], latencies=[1_000, 3_000, None][: len(target_rows)]
        )
        assert measure_tables(name, gpu_intervals=frame) == pytest.approx(value)


def test_copies_have_a_channel_or_a_label_of_their_own() -> None:
    work = intervals([(0, 10), (20, 5), (22, 5)], [(0, 100)])
    with pytest.raises(Unavailable, match="no blit channel, and no label of the target says"):
        measure_tables("copy_time", gpu_intervals=work)
    work["channel"] = ["Compute", "Compute", "Compute", "Blit"]
    assert measure_tables("copy_time", gpu_intervals=work) == 0
    work["channel"] = ["Compute", "Blit", "Blit", "Blit"]
    assert measure_tables("copy_time", gpu_intervals=work) == 7
    work["channel"] = "Compute"
    work["label"] = ["paged", "Command Buffer 0:Blit Command 0", "paged", "Blit Command 0"]
    assert measure_tables("copy_time", gpu_intervals=work) == 5
    kernels = work["label"].astype("category")
    lean = work.drop(columns="label").assign(kernel=kernels)
    assert measure_tables("copy_time", gpu_intervals=lean) == 5


@pytest.mark.parametrize("name", OF_THE_SPAN)
def test_unrecorded_values_are_not_zero(name: str) -> None:
    for frame, is_known, reason in (
        (intervals([]), True, "no rows, of any process"),
        (
            intervals([], other_times=[(0, 1)]),
            True,
            r"none of the 1 rows belongs to python3 \(4711\)",
        ),
        (intervals([(0, 1)]), False, "which process is the target is not known"),
        (intervals([(0, 1)], clock="host"), True, "ran on the CPU"),
    ):
        with pytest.raises(Unavailable, match=reason):
            measure_tables(name, gpu_intervals=frame, has_targets=is_known)
    frame = intervals([(7, 0)], latencies=[None])
    if reason := {"gpu_idle_ratio": "no length", "start_latency_p50": "latency"}.get(name):
        with pytest.raises(Unavailable, match=reason):
            measure_tables(name, gpu_intervals=frame)


def test_pipelines_of_the_steady_window_are_counted_and_none_that_nobody_counts_are_zero() -> None:
    for compiled, specializations, number in (
        (activity([], [50, 99]), None, 0),
        (activity([99, 100, 399, 400], []), None, 2),
        (None, make_specializations(10, 150), 1),
        (activity([120], []), make_specializations(110, 115, 150), 3),
        (activity([120, 130], []), make_specializations(110), 2),
        (activity([], []), make_specializations(), 0),
        (activity([50], [120]), None, 0),
        (activity([], [120]), make_specializations(150), 1),
    ):
        tables = {"gpu_intervals": intervals([(0, 400)]), "phases": phases(100, 300)}
        compile_tables = {"compiler_activity": compiled, "specializations": specializations}
        assert measure_tables("steady_compiles", **tables, **compile_tables) == number
    for clock, compile_tables, reason in (
        ("gpu", {"compiler_activity": activity([], [120, 130])}, "2 times under its own name"),
        ("gpu", {}, "neither compiler activity"),
        ("host", {"specializations": make_specializations()}, "the workload names no pipelines"),
    ):
        frame = intervals([(0, 400)], clock=clock)
        with pytest.raises(Unavailable, match=reason):
            measure_tables(
                "steady_compiles", gpu_intervals=frame, phases=phases(100, 300), **compile_tables
            )


def test_the_share_of_others_is_of_busy_time() -> None:
    frame = intervals([(100, 60), (200, 40)], other_times=[(0, 120), (150, 20), (390, 90)])
    # Busy are 100 to 170, 200 to 240 and 390 to 400; others had 20, 20 and 10 of that.
    window = phases(100, 300)
    assert measure_tables("other_process_share", gpu_intervals=frame, phases=window) == 50 / 120
    with pytest.raises(Unavailable, match="the GPU did nothing in the steady window"):
        measure_tables("other_process_share", gpu_intervals=intervals([(0, 10)]), phases=window)


def test_a_token_costs_the_union_and_the_encoders_of_the_window() -> None:
    frame = intervals([(0, 150), (120, 60), (300, 20), (390, 40)], other_times=[(200, 90)])
    tables = {"gpu_intervals": frame, "phases": phases(100, 300)}
    tables["steps"] = row_of_steps([100, 80, 220]).assign(tokens=2)
    # Of 100 … 400: 100 to 180, 300 to 320 and 390 to 400.
    assert measure_tables("gpu_time_per_token", **tables) == 110 / 6
    encoder_frames = [encoders(99, 100, 150, 399, 400), encoders(120, 130, target=False)]
    assert (
        measure_tables("encoders_per_token", encoders=pd.concat(encoder_frames), **tables) == 3 / 6
    )
    assert measure_tables("encoder_count", encoders=pd.concat(encoder_frames)) == 5
    tables["steps"] = row_of_steps([100]).assign(tokens=2)
    with pytest.raises(Unavailable, match="no encoder of the target begins in the steady window"):
        measure_tables("encoders_per_token", encoders=encoders(5), **tables)


@pytest.mark.parametrize("name", ["gpu_time_per_token", "encoders_per_token"])
def test_missing_parts_of_a_tokens_cost_are_named(name: str) -> None:
    tables = {"gpu_intervals": intervals([(0, 10)]), "steps": row_of_steps([10])}
    for changes, reason in (
        ({"steps": tables["steps"].assign(tokens=0)}, "produces no tokens"),
        ({"gpu_intervals": intervals([(0, 10)], clock="host")}, "ran on the CPU"),
        ({"steps": row_of_steps([100] * 4)}, "of the steady steps have no interval"),
    ):
        with pytest.raises(Unavailable, match=reason):
            measure_tables(name, encoders=encoders(5), **{**tables, **changes})


def test_work_in_flight_on_a_cpu() -> None:
    frame = intervals([(100, 40), (150, 40)], clock="host")
    notes = make_named_table(("reference", 140, 10), ("reference", 195, 20), unit=1)
    tables = {"gpu_intervals": frame, "phases": phases(100, 100)}
    assert measure_tables("host_busy", gpu_intervals=frame) == 80
    assert measure_tables("host_idle_ratio", **tables) == pytest.approx(0.2)
    assert measure_tables("host_idle_ratio", spans=notes, **tables) == pytest.approx(1 - 80 / 85)
    assert measure_tables("reference_share", spans=notes, **tables) == pytest.approx(0.15)
    with pytest.raises(Unavailable, match="did no reference work"):
        measure_tables("reference_share", **tables)
    with pytest.raises(Unavailable, match="GPU times"):
        measure_tables("host_busy", gpu_intervals=intervals([(0, 10)]))


SAMPLES = table(
    "time cpu memory",
    *((0, 9.0, 10), (100, 1.0, 50), (150, 2.0, None), (190, 1.5, 40), (400, 9.0, 20)),
    unit=1,
    target=True,
)


def test_cpu_and_memory_by_samples() -> None:
    assert measure_tables("host_cpu", process_samples=SAMPLES, phases=phases(100, 100)) == 1.5
    assert measure_tables("host_cpu", process_samples=SAMPLES) == 2.0
    assert measure_tables("memory_peak", process_samples=SAMPLES) == 50
    with pytest.raises(Unavailable, match="no sample"):
        measure_tables("host_cpu", process_samples=SAMPLES, phases=phases(500, 100))
    with pytest.raises(Unavailable, match="no sample of the target's memory"):
        measure_tables("memory_peak", process_samples=SAMPLES.iloc[2:3])


def test_cpu_time_over_the_time_recorded() -> None:
    samples = spread(4, weight=[SECOND, None, 2 * SECOND, SECOND])
    samples["target"] = [True, True, True, False]
    assert measure_tables("cpu_time", cpu_profile=samples) == 3 * SECOND
    lasted = Provenance(duration=1.5)
    assert measure_tables("cpu_utilization", cpu_profile=samples, provenance=lasted) == 2
    with pytest.raises(Unavailable, match="how long was recorded"):
        measure_tables("cpu_utilization", cpu_profile=samples)


def test_states_memory_allocations_and_wiring() -> None:
    work = {"gpu_intervals": intervals([(0, 8 * SECOND)])}
    states = spread(4, state=["Maximum", "Minimum", "Maximum", "Maximum"])
    assert measure_tables("gpu_downclocked_ratio", gpu_performance_states=states, **work) == 0.25
    host = intervals([(0, 5)], clock="host")
    with pytest.raises(Unavailable, match="ran on the CPU"):
        measure_tables("gpu_downclocked_ratio", gpu_performance_states=states, gpu_intervals=host)
    sizes = pd.concat([spread(8, size=range(0, 800, 100)), spread(8, size=[None] * 8)])
    sizes = pd.concat([sizes, sizes.assign(pid=4712, size=50), spread(8, size=9, target=False)])
    assert measure_tables("gpu_memory_slope", allocated_sizes=sizes, **work) == pytest.approx(100)
    samples = sizes.rename(columns={"size": "memory"})
    assert measure_tables("memory_slope", process_samples=samples, **work) == pytest.approx(100)
    saw = spread(16, size=[100, 900] * 8)
    saw["start"] //= 2
    assert measure_tables("gpu_memory_slope", allocated_sizes=saw, **work) == 0
    allocated, steps = spread(6, event="Allocation"), spread(4, phase="steady")
    allocation_tables = {"resource_allocations": allocated, "steps": steps, **work}
    assert measure_tables("allocations_per_step", **allocation_tables) == pytest.approx(4 / 4)
    wired = spread(2, event="Wire Memory")
    foreign = spread(5, event="Wire Memory", target=False)
    twice = pd.concat([wired, wired, spread(5, event="Other"), foreign])
    assert measure_tables("wire_time", driver_events=twice, **work) == 2 * SECOND


Note = tuple[str, str, int | None, str]
STEADY = table("phase start", ("warm-up", 0), ("steady", 10), ("steady", 20), duration=5)
NOTES: list[Note] = [
    ("baseline", "mlx_active", None, "MLX is not loaded"),
    ("prepare", "mlx_active", 1000, ""),
    ("prepare", "mlx_peak", 9000, ""),
    ("warm-up", "mlx_active", 1200, ""),
    ("warm-up", "mlx_peak", 1300, ""),
    ("steady", "mlx_active", 1600, ""),
    ("steady", "mlx_peak", 2500, ""),
]
UNKNOWN: list[Note] = [
    (phase, quantity, None, "MLX is not loaded") for phase, quantity, *_ in NOTES
]


def profile(notes: list[Note]) -> pd.DataFrame:
    frame = table("phase what bytes reason", *notes).astype({"bytes": "Int64"})
    return frame.assign(time=range(len(notes)))[::-1]


def test_growth_is_from_the_note_before_the_steady_phase_for_each_step() -> None:
    assert measure_tables("mlx_memory_peak", memory_profile=profile(NOTES), steps=STEADY) == 2500
    for last_bytes, growth in ((1600, 200), (1000, -100)):
        notes = profile([*NOTES[:-2], ("steady", "mlx_active", last_bytes, "")])
        assert measure_tables("memory_growth", memory_profile=notes, steps=STEADY) == growth


def test_missing_notes_are_named(subtests: pytest.Subtests) -> None:
    for names, notes, steps, reason in (
        ("mlx_memory_peak memory_growth", UNKNOWN, STEADY, "MLX is not loaded"),
        ("mlx_memory_peak memory_growth", NOTES[:-2], STEADY, "not noted at the end of a steady"),
        ("mlx_memory_peak memory_growth", [], STEADY, "not noted at the end of a steady phase"),
        ("memory_growth", NOTES[-2:], STEADY, "from before the steady phase"),
        ("memory_growth", NOTES, STEADY[:1], "no step in its steady phase"),
    ):
        for name in names.split():
            with subtests.test((name, reason)), pytest.raises(Unavailable, match=reason):
                measure_tables(name, memory_profile=profile(notes), steps=steps)


NAMES = ("gpu_clock_p50", "gpu_clock_min", "gpu_power_p50", "thermal_pressure_worst")


READ = table(
    "time name value",
    (0, "gpu_clock", 444e6),
    (1_000, "gpu_clock", 1.4e9),
    (1_500, "gpu_clock", 1.2e9),
    (2_000, "gpu_clock", 1.0e9),
    (1_500, "gpu_power", 17.0),
    (2_000, "gpu_power", 19.0),
    (1_000, "thermal_pressure", 0),
    (1_500, "thermal_pressure", 2),
    (9_000, "thermal_pressure", 4),
    unit=1,
    source="powermetrics",
)


def test_readings_of_the_steady_window_count_else_all_of_the_run() -> None:
    window = phases(1_000, 1_000)
    steady = [measure_tables(name, gauges=READ, phases=window) for name in NAMES]
    assert steady == [1.2e9, 1.0e9, 18.0, 2]
    for marks in (None, window[window["name"] == "warm-up"]):
        assert measure_tables("gpu_clock_min", gauges=READ, phases=marks) == 444e6
        assert measure_tables("thermal_pressure_worst", gauges=READ, phases=marks) == 4
    with pytest.raises(Unavailable, match="no reading of gpu_clock lies in the steady window"):
        measure_tables("gpu_clock_p50", gauges=READ, phases=phases(1_100, 300))
