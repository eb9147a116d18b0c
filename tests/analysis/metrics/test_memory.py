"""MLX's memory, by what the worker noted between phases."""

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.metrics import METRICS

STEPS = pd.DataFrame(
    {
        "phase": ["warm-up", "steady", "steady"],
        "start": [0, 10, 20],
        "duration": pd.array([5, 5, 5], dtype="Int64"),
    }
)
NOTES = [
    ("baseline", "mlx_active", None, "MLX is not loaded"),
    ("prepare", "mlx_active", 1000, ""),
    ("prepare", "mlx_peak", 9000, ""),
    ("warm-up", "mlx_active", 1200, ""),
    ("warm-up", "mlx_peak", 1300, ""),
    ("steady", "mlx_active", 1600, ""),
    ("steady", "mlx_peak", 2500, ""),
]


def profile(notes: list[tuple[str, str, int | None, str]]) -> pd.DataFrame:
    frame = pd.DataFrame(notes, columns=["phase", "what", "bytes", "reason"])
    frame["bytes"] = pd.array([one[2] for one in notes], dtype="Int64")
    frame["time"] = range(len(notes))
    return frame


def test_the_peak_is_that_of_the_steady_phase() -> None:
    assert METRICS["mlx_memory_peak"].measure(profile(NOTES)) == 2500


def test_growth_is_from_the_note_before_the_steady_phase_for_each_step() -> None:
    assert METRICS["memory_growth"].measure(profile(NOTES), STEPS) == 200


def test_what_the_steady_phase_gave_back_is_growth_below_zero() -> None:
    notes = [*NOTES[:-2], ("steady", "mlx_active", 1000, "")]
    assert METRICS["memory_growth"].measure(profile(notes), STEPS) == -100


def test_a_workload_without_mlx_says_so() -> None:
    notes = [
        (phase, what, None, "MLX is not loaded")
        for phase in ("baseline", "warm-up", "steady")
        for what in ("mlx_active", "mlx_peak")
    ]
    with pytest.raises(Unavailable, match="MLX is not loaded"):
        METRICS["mlx_memory_peak"].measure(profile(notes))
    with pytest.raises(Unavailable, match="MLX is not loaded"):
        METRICS["memory_growth"].measure(profile(notes), STEPS)


def test_without_a_steady_phase_nothing_is_known() -> None:
    for notes in (NOTES[:-2], []):
        with pytest.raises(Unavailable, match="not noted at the end of a steady phase"):
            METRICS["mlx_memory_peak"].measure(profile(notes))


def test_growth_needs_a_level_to_grow_from() -> None:
    with pytest.raises(Unavailable, match="from before the steady phase"):
        METRICS["memory_growth"].measure(profile(NOTES[-2:]), STEPS)


def test_growth_needs_steps() -> None:
    with pytest.raises(Unavailable, match="no step in its steady phase"):
        METRICS["memory_growth"].measure(profile(NOTES), STEPS[:1])
