import math
import plistlib
from typing import Any

import pytest

from tracekit.machine.monitors import read_powermetrics
from tracekit.machine.sources import Reading, Taken

SAMPLE: dict[str, Any] = {
    "is_delta": True,
    "elapsed_ns": 500_000_000,
    "hw_model": "Mac15,9",
    "thermal_pressure": "Nominal",
    "processor": {
        "clusters": [{"name": "E-Cluster", "freq_hz": 9.6e8, "idle_ratio": 0.9}],
        "cpu_power": 993.0,
        "gpu_power": 17_250.0,
        "ane_power": 0.0,
        "combined_power": 18_250.0,
    },
    "gpu": {"freq_hz": 1398.5, "idle_ratio": 0.25, "dvfm_states": [], "gpu_energy": 8625},
}


def document(sample: dict[str, Any]) -> bytes:
    return plistlib.dumps(sample).strip()


def with_processor(**values: Any) -> dict[str, Any]:
    kept = {key: value for key, value in SAMPLE["processor"].items() if key not in values}
    given = {key: value for key, value in values.items() if value is not None}
    return {**SAMPLE, "processor": {**kept, **given}}


def value(taken: Taken, name: str) -> float:
    (found,) = [one.value for one in taken.readings if one.name == name]
    return found


def test_a_document_of_the_documented_form_is_read_whole() -> None:
    taken = read_powermetrics(document(SAMPLE))
    assert taken.remarks == ()
    assert set(taken.readings) == {
        Reading("gpu_clock", 1398.5e6, "Hz"),
        Reading("gpu_active", 0.75, "ratio"),
        Reading("gpu_power", 17.25, "W"),
        Reading("cpu_power", 0.993, "W"),
        Reading("combined_power", 18.25, "W"),
        Reading("thermal_pressure", 0.0, "level"),
    }


def test_a_clock_that_can_only_be_hertz_is_hertz() -> None:
    sample = {**SAMPLE, "gpu": {**SAMPLE["gpu"], "freq_hz": 4.0e8}}
    assert value(read_powermetrics(document(sample)), "gpu_clock") == 4.0e8


def test_without_a_power_the_energy_over_its_time_is_one() -> None:
    sample = with_processor(gpu_power=None, gpu_energy=305)
    assert math.isclose(value(read_powermetrics(document(sample)), "gpu_power"), 0.61)


def test_an_energy_without_its_time_is_no_power() -> None:
    sample = with_processor(gpu_power=None, gpu_energy=305)
    del sample["elapsed_ns"]
    taken = read_powermetrics(document(sample))
    assert "gpu_power" not in {one.name for one in taken.readings}
    assert taken.remarks == ("powermetrics: there is no number at gpu_power.",)


def test_a_word_for_heat_that_nobody_knows_is_reported() -> None:
    taken = read_powermetrics(document({**SAMPLE, "thermal_pressure": "Toasty"}))
    assert "thermal_pressure" not in {one.name for one in taken.readings}
    assert taken.remarks == ("powermetrics: there is no number at pressure.",)


def test_an_empty_document_names_all_that_it_lacks() -> None:
    taken = read_powermetrics(document({}))
    assert taken.readings == ()
    lacking = "clock, active, gpu_power, cpu_power, processor/combined_power, pressure"
    assert taken.remarks == (f"powermetrics: there is no number at {lacking}.",)


@pytest.mark.parametrize("cut", [40, 200, 500])
def test_a_document_cut_short_is_a_remark(cut: int) -> None:
    taken = read_powermetrics(document(SAMPLE)[:cut])
    assert taken.readings == ()
    assert "is no property list" in taken.remarks[0]
