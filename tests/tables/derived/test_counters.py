"""Counters by their names: named, side by side, summed up."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.base.errors import InputError
from tracekit.tables import derived

Joined = Callable[..., tuple[pd.DataFrame, list[str]]]
Holds = Callable[[pd.DataFrame, str], bool]

INFOS = """time | counter | name | type | accelerator
    0 | 3 | Kernel Occupancy | Percentage | 1848
    0 | 58 | GPU Bandwidth | Value | 1848
    0 | 60 | Odd | Histogram | 1848"""
SAMPLES = "time counter value accelerator clock\n"


def test_samples_take_the_names_of_their_counters(joined: Joined, holds: Holds) -> None:
    named, warnings = joined(
        "gpu_counters",
        gpu_counter_values=f"{SAMPLES}5 58 309.5 1848 gpu\n5 3 26.25 1848 gpu\n9 60 1.0 1848 gpu",
        gpu_counter_infos=INFOS,
        gpus="time device accelerator\n0 M1 1848",
    )
    assert holds(
        named,
        """start | counter | value | percentage | duration | device | clock
        5 | GPU Bandwidth | 309.5 | False | - | M1 | gpu
        5 | Kernel Occupancy | 26.25 | True | - | M1 | gpu
        9 | Odd | 1.0 | - | - | M1 | gpu""",
    )
    assert warnings == []


def test_a_sample_of_no_device_is_that_of_the_only_one(joined: Joined, holds: Holds) -> None:
    samples = f"{SAMPLES}1 60 1.0 - gpu"
    named, warnings = joined("gpu_counters", gpu_counter_values=samples, gpu_counter_infos=INFOS)
    assert holds(named, "counter\nOdd")
    assert warnings == []
    nowhere = INFOS.replace("1848", "-")
    named, _ = joined("gpu_counters", gpu_counter_values=samples, gpu_counter_infos=nowhere)
    assert holds(named, "counter\n-")


def test_ids_without_one_name_stay_nameless_and_are_counted(joined: Joined, holds: Holds) -> None:
    infos = f"{INFOS}\n0 | 3 | Another | Percentage | 1848\n0 | 60 | Odd | Histogram | 1848"
    samples = f"{SAMPLES}1 3 1.0 1848 gpu\n1 60 2.0 1848 gpu\n1 99 3.0 1848 gpu"
    named, warnings = joined("gpu_counters", gpu_counter_values=samples, gpu_counter_infos=infos)
    assert holds(named, "counter\n-\nOdd\n-")
    several, nameless = warnings
    assert several.startswith("gpu_counters: 1 counter samples have several rows in gpu_counter_")
    assert nameless == "gpu_counters: 1 counter samples have an id that no name is known of"


COUNTERS = "start | counter | value | device | percentage | clock\n"


def test_counters_stand_side_by_side_under_their_names(joined: Joined, holds: Holds) -> None:
    rows = f"""{COUNTERS}
        9 | GPU Bandwidth | 3.0 | M1 | False | gpu
        5 | GPU Bandwidth | 1.0 | M1 | False | gpu
        5 | ALU Limiter | 2.0 | M1 | True | gpu
        5 | ALU Limiter | 8.0 | M2 | True | gpu
        5 | - | 1.0 | M1 | True | gpu
        5 | Empty | - | M1 | True | gpu""".replace("\n\n", "\n")
    wide, warnings = joined("gpu_counters_wide", gpu_counters=rows)
    assert list(wide) == ["start", "device", "clock", "GPU Bandwidth", "ALU Limiter"]
    assert holds(
        wide,
        """start | device | GPU Bandwidth | ALU Limiter
        5 | M1 | 1.0 | 2.0
        5 | M2 | - | 8.0
        9 | M1 | 3.0 | -""",
    )
    assert warnings == []


@pytest.mark.parametrize("name", ["B", "start"])
def test_two_values_at_one_time_are_left_out_and_any_name_will_do(
    joined: Joined, holds: Holds, name: str
) -> None:
    rows = f"{COUNTERS}5 | A | 1.0 | M1 | True | gpu\n5 | A | 2.0 | M1 | True | gpu"
    wide, warnings = joined(
        "gpu_counters_wide", gpu_counters=f"{rows}\n5 | {name} | 3.0 | M1 | - | gpu"
    )
    own = "start (counter)" if name == "start" else name
    assert list(wide) == ["start", "device", "clock", own]
    assert holds(wide, f"start | {own}\n5 | 3.0")
    assert warnings == [
        "gpu_counters_wide: 2 samples share their counter and their time, and are left out"
    ]


@pytest.mark.parametrize("most", [3, 4])
def test_what_would_be_too_wide_is_refused_in_words(
    joined: Joined, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(derived, "_MOST_CELLS", most)
    rows = f"{COUNTERS}5 | A | 1.0 | M1 | - | gpu\n6 | B | 2.0 | M1 | - | gpu"
    if most == 4:
        assert len(joined("gpu_counters_wide", gpu_counters=rows)[0]) == 2
        return
    with pytest.raises(InputError, match="2 counters at 2 different times"):
        joined("gpu_counters_wide", gpu_counters=rows)


def test_counters_are_summed_up_by_name_and_device(joined: Joined, holds: Holds) -> None:
    summed, warnings = joined(
        "gpu_counter_summaries",
        gpu_counters=f"""{COUNTERS.strip()}
        5 | GPU Bandwidth | 1.0 | M1 | False | gpu
        6 | GPU Bandwidth | 3.0 | M1 | False | gpu
        5 | ALU Limiter | - | M1 | True | gpu
        5 | ALU Limiter | 8.0 | M2 | True | gpu""",
        gpu_counter_infos="time | name | description\n0 | GPU Bandwidth | Bytes a second.",
    )
    assert holds(
        summed,
        """counter | device | samples | mean | least | most | percentage | unit | description
        GPU Bandwidth | M1 | 2 | 2.0 | 1.0 | 3.0 | False | - | Bytes a second.
        ALU Limiter | M1 | 0 | - | - | - | True | percent | -
        ALU Limiter | M2 | 1 | 8.0 | 8.0 | 8.0 | True | percent | -""",
    )
    assert warnings == []
