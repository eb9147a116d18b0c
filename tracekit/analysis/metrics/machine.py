"""The state of the machine: CPU, memory, clock, heat and power, and CPU time by samples."""

import pandas as pd

from tracekit.analysis.allocations import allocations
from tracekit.analysis.handover import Handover
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import busy, marked_window
from tracekit.analysis.iterations import Loop
from tracekit.analysis.lifetime import Lifetime
from tracekit.analysis.machine import below_best, read_monitor
from tracekit.analysis.memory_levels import levels, trend
from tracekit.analysis.profile import sampled_weight
from tracekit.analysis.scope import (
    Device,
    Targets,
    host_of,
    of_target,
    reference_time,
    steady_steps,
)
from tracekit.analysis.upkeep import wiring


def host_busy(device: Device, handover: Handover) -> int:
    """Time in which work of the target was in flight on the CPU, by the host's clock."""
    return busy(*host_of(device).spans)


def host_idle_ratio(
    device: Device,
    handover: Handover,
    loop: Loop,
    spans: pd.DataFrame | None,
) -> float:
    """Share of the steady window in which no work was in flight, by the host's clock.

    Time in which the worker timed its reference work is left out.
    """
    work_time = host_of(device).measure_work(loop)
    own_time = loop.length - reference_time(spans, loop)
    return 1 - work_time / own_time


def reference_share(device: Device, loop: Loop, spans: pd.DataFrame | None) -> float:
    """Share of the steady window in which reference work was timed, between steps.

    It shows the machine's pace, by which `tracekit compare` corrects times. No step, rate or idle
    share contains it.
    """
    host_of(device)
    spent_time = reference_time(spans, loop)
    if spent_time == 0:
        raise Unavailable("the worker did no reference work of its own.")
    return spent_time / loop.length


def host_cpu(process_samples: pd.DataFrame, phases: pd.DataFrame | None) -> float:
    """Median of the cores that the target used in its steady phase, over all samples.

    The processes that it started count as well, but for one that left it, as a daemon does, before
    it was seen: that one counts as another program.
    """
    window = marked_window(phases)
    steady_samples = process_samples
    if window is not None:
        steady_samples = window.rows(process_samples, "time")
    cores = steady_samples["cpu"].dropna()
    if cores.empty:
        raise Unavailable("no sample of the target lies in the steady window.")
    return float(cores.median())


def memory_peak(process_samples: pd.DataFrame) -> int:
    """Most resident memory of the target in any sample; peaks between samples are not seen.

    The processes that it started count as well; pages that they share count in each.
    """
    memory = process_samples["memory"].dropna()
    if memory.empty:
        raise Unavailable("there is no sample of the target's memory.")
    return int(memory.max())


def mlx_memory_peak(memory_profile: pd.DataFrame) -> int:
    """Most memory that MLX's arrays took at any moment of the steady phase."""
    return _find_noted_bytes(memory_profile, "mlx_peak")


def memory_growth(memory_profile: pd.DataFrame, steps: pd.DataFrame) -> float:
    """Memory of MLX's arrays that each steady step left behind, from the first to the last."""
    initial_level = _find_noted_bytes(memory_profile, "mlx_active", phases_before=1)
    final_level = _find_noted_bytes(memory_profile, "mlx_active")
    return (final_level - initial_level) / len(steady_steps(steps))


def _find_noted_bytes(profile: pd.DataFrame, level_name: str, phases_before: int = 0) -> int:
    """Return the bytes that were noted at the end of the steady phase, or of an earlier one."""
    is_level = profile["what"] == level_name
    notes = profile[is_level].sort_values("time", kind="stable")
    phases = notes["phase"].tolist()
    if "steady" not in phases:
        raise Unavailable("the workload's memory was not noted at the end of a steady phase.")
    place = phases.index("steady") - phases_before
    if place < 0:
        raise Unavailable("there is no note of memory from before the steady phase.")
    note = notes.iloc[place]
    if pd.isna(note["bytes"]):
        raise Unavailable(f"{note['reason'] or 'no reason was noted'}.")
    return int(note["bytes"])


def gpu_clock_p50(gauges: pd.DataFrame | None, phases: pd.DataFrame | None) -> float:
    """Median clock of the GPU in the steady window, as the monitor reports it."""
    return float(_steady_readings(gauges, phases, "gpu_clock").median())


def gpu_clock_min(gauges: pd.DataFrame | None, phases: pd.DataFrame | None) -> float:
    """Lowest clock of the GPU in the steady window: far below the median, it was throttled or idle.

    A monitor is read twice a second; shorter drops may not be seen.
    """
    return float(_steady_readings(gauges, phases, "gpu_clock").min())


def gpu_power_p50(gauges: pd.DataFrame | None, phases: pd.DataFrame | None) -> float:
    """Median power of the GPU in the steady window, as the monitor reports it."""
    return float(_steady_readings(gauges, phases, "gpu_power").median())


def thermal_pressure_worst(gauges: pd.DataFrame | None, phases: pd.DataFrame | None) -> int:
    """Worst thermal pressure in the steady window.

    0 nominal, 1 light, 2 moderate, 3 heavy, 4 trapping, 5 sleeping.
    """
    return int(_steady_readings(gauges, phases, "thermal_pressure").max())


def _steady_readings(
    gauges: pd.DataFrame | None, phases: pd.DataFrame | None, name: str
) -> "pd.Series[float]":
    """Return the readings of one name in the steady phase, or of all the run without phases."""
    readings = read_monitor(gauges, name)
    window = marked_window(phases)
    if window is not None:
        is_in_window = readings["time"].between(window.start, window.end)
        readings = readings[is_in_window]
    if readings.empty:
        raise Unavailable(f"no reading of {name} lies in the steady window: it was too short.")
    return readings["value"].astype(float)


def gpu_downclocked_ratio(gpu_performance_states: pd.DataFrame, gpu: Device, loop: Loop) -> float:
    """Share of the steady time awake in which the GPU was below its best performance state."""
    return below_best(gpu_performance_states, loop).share


def gpu_memory_slope(allocated_sizes: pd.DataFrame, targets: Targets, loop: Loop) -> float:
    """GPU memory that the target kept per second, by the lowest levels of the steady window.

    The median slope, by Theil and Sen, of the lowest levels of eight equal parts of it.
    """
    gpu_levels = levels(allocated_sizes, None, targets)
    return trend(gpu_levels, loop).rate * 1e9


def memory_slope(process_samples: pd.DataFrame, targets: Targets, loop: Loop) -> float:
    """Resident memory that the target kept per second, by the same lowest levels."""
    resident_levels = levels(None, process_samples, targets)
    return trend(resident_levels, loop).rate * 1e9


def allocations_per_step(
    resource_allocations: pd.DataFrame, steps: pd.DataFrame, loop: Loop
) -> float:
    """Metal resources that the target allocated in the steady window, over its steps."""
    allocated = allocations(resource_allocations, loop)
    return len(allocated) / len(steady_steps(steps))


def wire_time(driver_events: pd.DataFrame, loop: Loop) -> int:
    """Steady time in which the driver wired memory for the target."""
    return busy(*wiring(driver_events, loop))


def cpu_time(cpu_profile: pd.DataFrame, targets: Targets) -> int:
    """CPU time of the target's threads: the sum of the weights of Time Profiler's samples."""
    return sampled_weight(of_target(cpu_profile, targets))


def target_life(lifetime: Lifetime) -> int:
    """Time of the recording in which the target lived, from the end of its creation on."""
    if lifetime.created is None:
        raise Unavailable(
            "when the target was created is not known, as no table of life cycles "
            "(life-cycle-period) tells it: `cpu_utilization` is of all that was recorded."
        )
    return lifetime.length


def cpu_utilization(cpu_profile: pd.DataFrame, targets: Targets, lifetime: Lifetime) -> float:
    """CPU time of the target over its life; above 100 % if several threads ran.

    The life is `target_life`, or the whole recorded time if `target_life` is not known.
    """
    target_samples = of_target(cpu_profile, targets)
    return sampled_weight(target_samples) / lifetime.length
