"""Counters by their names: named, side by side, summed up."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from tracekit.base.errors import InputError
from tracekit.tables import derived

Joined = Callable[..., tuple[pd.DataFrame, list[str]]]
Values = Callable[[pd.DataFrame, str], list[Any]]

M1 = 1848
INFOS = [
    {"time": 0, "counter": 3, "name": "Kernel Occupancy", "type": "Percentage", "accelerator": M1},
    {"time": 0, "counter": 58, "name": "GPU Bandwidth", "type": "Value", "accelerator": M1},
    {"time": 0, "counter": 60, "name": "Odd", "type": "Histogram", "accelerator": M1},
]


def sample(time: int, counter: int, value: float, accelerator: int | None = M1) -> dict[str, Any]:
    return {
        "time": time,
        "counter": counter,
        "value": value,
        "accelerator": accelerator,
        "clock": "gpu",
    }


def test_samples_take_the_names_of_their_counters(joined: Joined, values: Values) -> None:
    samples = [sample(5, 58, 309.5), sample(5, 3, 26.25), sample(9, 60, 1.0)]
    named, warnings = joined(
        "gpu_counters",
        gpu_counter_values=samples,
        gpu_counter_infos=INFOS,
        gpus=[{"time": 0, "device": "M1", "accelerator": M1}],
    )
    assert values(named, "start") == [5, 5, 9]
    assert values(named, "counter") == ["GPU Bandwidth", "Kernel Occupancy", "Odd"]
    assert values(named, "value") == [309.5, 26.25, 1.0]
    assert values(named, "percentage") == [False, True, None]
    assert values(named, "duration") == [None] * 3
    assert values(named, "device") == ["M1"] * 3
    assert values(named, "clock") == ["gpu"] * 3
    assert warnings == []


def test_a_sample_of_no_device_is_that_of_the_only_one(joined: Joined, values: Values) -> None:
    samples = [sample(1, 3, 1.0, None)]
    named, warnings = joined("gpu_counters", gpu_counter_values=samples, gpu_counter_infos=INFOS)
    assert values(named, "counter") == ["Kernel Occupancy"]
    assert warnings == []
    nowhere = [{**one, "accelerator": None} for one in INFOS]
    named, _ = joined("gpu_counters", gpu_counter_values=samples, gpu_counter_infos=nowhere)
    assert values(named, "counter") == [None]


def test_ids_without_one_name_stay_nameless_and_are_counted(joined: Joined, values: Values) -> None:
    infos = [*INFOS, {**INFOS[0], "name": "Another"}, INFOS[1]]
    samples = [sample(1, 3, 1.0), sample(1, 58, 2.0), sample(1, 99, 3.0)]
    named, warnings = joined("gpu_counters", gpu_counter_values=samples, gpu_counter_infos=infos)
    assert values(named, "counter") == [None, "GPU Bandwidth", None]
    several, nameless = warnings
    assert several.startswith("gpu_counters: 1 counter samples have several rows in gpu_counter_")
    assert nameless == "gpu_counters: 1 counter samples have an id that no name is known of"


def row(start: int, counter: str | None, value: float | None, device: str = "M1") -> dict[str, Any]:
    return {
        "start": start,
        "counter": counter,
        "value": value,
        "device": device,
        "percentage": counter != "GPU Bandwidth",
        "clock": "gpu",
    }


def test_counters_stand_side_by_side_under_their_names(joined: Joined, values: Values) -> None:
    rows = [
        row(9, "GPU Bandwidth", 3.0),
        row(5, "GPU Bandwidth", 1.0),
        row(5, "ALU Limiter", 2.0),
        row(5, "ALU Limiter", 8.0, "M2"),
        row(5, None, 1.0),
        row(5, "Empty", None),
    ]
    wide, warnings = joined("gpu_counters_wide", gpu_counters=rows)
    assert list(wide) == ["start", "device", "clock", "GPU Bandwidth", "ALU Limiter"]
    assert values(wide, "start") == [5, 5, 9]
    assert values(wide, "device") == ["M1", "M2", "M1"]
    assert values(wide, "GPU Bandwidth") == [1.0, None, 3.0]
    assert values(wide, "ALU Limiter") == [2.0, 8.0, None]
    assert warnings == []


def test_two_values_of_one_counter_at_one_time_are_left_out(joined: Joined, values: Values) -> None:
    rows = [row(5, "A", 1.0), row(5, "A", 2.0), row(5, "B", 3.0)]
    wide, warnings = joined("gpu_counters_wide", gpu_counters=rows)
    assert list(wide) == ["start", "device", "clock", "B"]
    assert values(wide, "B") == [3.0]
    assert warnings == [
        "gpu_counters_wide: 2 samples share their counter and their time, and are left out"
    ]


def test_a_counter_may_be_called_like_a_column(joined: Joined, values: Values) -> None:
    wide, _ = joined("gpu_counters_wide", gpu_counters=[row(5, "start", 1.0)])
    assert values(wide, "start") == [5]
    assert values(wide, "start (counter)") == [1.0]


def test_what_would_be_too_wide_is_refused_in_words(
    joined: Joined, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(derived, "_MOST_CELLS", 3)
    rows = [row(5, "A", 1.0), row(6, "B", 2.0)]
    with pytest.raises(InputError, match="2 counters at 2 different times"):
        joined("gpu_counters_wide", gpu_counters=rows)


def test_counters_are_summed_up_by_name_and_device(joined: Joined, values: Values) -> None:
    rows = [
        row(5, "GPU Bandwidth", 1.0),
        row(6, "GPU Bandwidth", 3.0),
        row(5, "ALU Limiter", None),
        row(5, "ALU Limiter", 8.0, "M2"),
    ]
    infos = [{"time": 0, "name": "GPU Bandwidth", "description": "Bytes a second."}]
    summed, warnings = joined("gpu_counter_summaries", gpu_counters=rows, gpu_counter_infos=infos)
    assert values(summed, "counter") == ["GPU Bandwidth", "ALU Limiter", "ALU Limiter"]
    assert values(summed, "device") == ["M1", "M1", "M2"]
    assert values(summed, "samples") == [2, 0, 1]
    assert values(summed, "mean") == [2.0, None, 8.0]
    assert values(summed, "least") == [1.0, None, 8.0]
    assert values(summed, "most") == [3.0, None, 8.0]
    assert values(summed, "percentage") == [False, True, True]
    assert values(summed, "unit") == [None, "percent", "percent"]
    assert values(summed, "description") == ["Bytes a second.", None, None]
    assert warnings == []
