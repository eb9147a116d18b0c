"""MLX's memory between phases, and clock, heat and power by a monitor."""

import pandas as pd
import pytest

from analysed import measured, phases, table
from tracekit.analysis.inject import Unavailable

Note = tuple[str, str, int | None, str]
STEPS = table("phase start", ("warm-up", 0), ("steady", 10), ("steady", 20), duration=5)
NOTES: list[Note] = [
    ("baseline", "mlx_active", None, "MLX is not loaded"),
    ("prepare", "mlx_active", 1000, ""),
    ("prepare", "mlx_peak", 9000, ""),
    ("warm-up", "mlx_active", 1200, ""),
    ("warm-up", "mlx_peak", 1300, ""),
    ("steady", "mlx_active", 1600, ""),
    ("steady", "mlx_peak", 2500, ""),
]
UNKNOWN: list[Note] = [(phase, what, None, "MLX is not loaded") for phase, what, *_ in NOTES]


def profile(notes: list[Note]) -> pd.DataFrame:
    frame = table("phase what bytes reason", *notes).astype({"bytes": "Int64"})
    return frame.assign(time=range(len(notes)))


def test_growth_is_from_the_note_before_the_steady_phase_for_each_step() -> None:
    assert measured("mlx_memory_peak", memory_profile=profile(NOTES), steps=STEPS) == 2500
    for last, growth in ((1600, 200), (1000, -100)):
        notes = profile([*NOTES[:-2], ("steady", "mlx_active", last, "")])
        assert measured("memory_growth", memory_profile=notes, steps=STEPS) == growth


@pytest.mark.parametrize(
    ("names", "notes", "steps", "reason"),
    [
        ("mlx_memory_peak memory_growth", UNKNOWN, STEPS, "MLX is not loaded"),
        ("mlx_memory_peak memory_growth", NOTES[:-2], STEPS, "not noted at the end of a steady"),
        ("mlx_memory_peak memory_growth", [], STEPS, "not noted at the end of a steady phase"),
        ("memory_growth", NOTES[-2:], STEPS, "from before the steady phase"),
        ("memory_growth", NOTES, STEPS[:1], "no step in its steady phase"),
    ],
)
def test_what_was_not_noted_is_said(
    names: str, notes: list[Note], steps: pd.DataFrame, reason: str
) -> None:
    for name in names.split():
        with pytest.raises(Unavailable, match=reason):
            measured(name, memory_profile=profile(notes), steps=steps)


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
    steady = [measured(name, gauges=READ, phases=window) for name in NAMES]
    assert steady == [1.2e9, 1.0e9, 18.0, 2]
    for marks in (None, window[window["name"] == "warm-up"]):
        assert measured("gpu_clock_min", gauges=READ, phases=marks) == 444e6
        assert measured("thermal_pressure_worst", gauges=READ, phases=marks) == 4
    with pytest.raises(Unavailable, match="no reading of gpu_clock lies in the steady window"):
        measured("gpu_clock_p50", gauges=READ, phases=phases(1_100, 300))
