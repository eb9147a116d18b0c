import json
from typing import Any

import pytest

from tracekit.machine.monitors import read_macmon
from tracekit.machine.sources import Reading

SAMPLE: dict[str, Any] = {
    "timestamp": "2026-02-24T20:38:15.427569+00:00",
    "temp": {"cpu_temp_avg": 43.5, "gpu_temp_avg": 36.25},
    "memory": {"ram_total": 25769803776, "ram_usage": 20985479168},
    "fans": [{"name": "fan0", "rpm": 999, "max_rpm": 4900}],
    "ecpu_freq_mhz": 1100,
    "gpu_freq_mhz": 1398,
    "gpu_active_ratio": 0.875,
    "cpu_power": 2.5,
    "gpu_power": 17.25,
    "ane_power": 0.0,
    "all_power": 19.75,
    "sys_power": 31.5,
    "ram_power": 1.25,
}


def line(**changes: Any) -> bytes:
    return json.dumps({**SAMPLE, **changes}).encode() + b"\n"


def without(*names: str) -> dict[str, Any]:
    return {name: value for name, value in SAMPLE.items() if name not in names}


def test_a_line_of_the_documented_form_is_read_whole() -> None:
    taken = read_macmon(line())
    assert taken.remarks == ()
    assert set(taken.readings) == {
        Reading("gpu_clock", 1.398e9, "Hz"),
        Reading("gpu_active", 0.875, "ratio"),
        Reading("gpu_power", 17.25, "W"),
        Reading("cpu_power", 2.5, "W"),
        Reading("memory_power", 1.25, "W"),
        Reading("system_power", 31.5, "W"),
        Reading("gpu_temperature", 36.25, "°C"),
        Reading("cpu_temperature", 43.5, "°C"),
    }


def test_before_0_8_the_gpu_was_a_pair() -> None:
    sample = {**without("gpu_freq_mhz", "gpu_active_ratio"), "gpu_usage": [461, 0.5]}
    taken = read_macmon(json.dumps(sample).encode())
    assert taken.remarks == ()
    assert Reading("gpu_clock", 461e6, "Hz") in taken.readings
    assert Reading("gpu_active", 0.5, "ratio") in taken.readings


def test_a_pair_beside_the_new_names_is_left_alone() -> None:
    clocks = [
        one.value for one in read_macmon(line(gpu_usage=[461, 0.5])).readings if "clock" in one.name
    ]
    assert clocks == [1.398e9]


@pytest.mark.parametrize("pair", [[461], ["fast", 0.5], 461, None])
def test_a_pair_that_is_none_is_a_remark(pair: Any) -> None:
    sample = {**without("gpu_freq_mhz", "gpu_active_ratio"), "gpu_usage": pair}
    assert read_macmon(json.dumps(sample).encode()).remarks == (
        "macmon: the field gpu_usage holds no number.",
    )


def test_a_field_that_changed_its_name_is_named_with_what_is_near() -> None:
    sample = {**without("gpu_freq_mhz"), "gpu_frequency_mhz": 1398}
    taken = read_macmon(json.dumps(sample).encode())
    assert "gpu_clock" not in {one.name for one in taken.readings}
    assert taken.remarks == (
        "macmon: there is no field gpu_freq_mhz; near it are ecpu_freq_mhz, gpu_frequency_mhz.",
    )
    assert len(taken.readings) == 7


def test_a_group_that_is_gone_costs_only_itself() -> None:
    taken = read_macmon(json.dumps(without("temp")).encode())
    assert taken.remarks == (
        "macmon: there is no field temp/gpu_temp_avg.",
        "macmon: there is no field temp/cpu_temp_avg.",
    )
    assert len(taken.readings) == 6


@pytest.mark.parametrize("value", ["17 W", True, None, [17.25]])
def test_what_is_no_number_is_no_reading(value: Any) -> None:
    taken = read_macmon(line(gpu_power=value))
    assert "gpu_power" not in {one.name for one in taken.readings}
    assert taken.remarks == ("macmon: the field gpu_power holds no number.",)


@pytest.mark.parametrize("text", [b"error: no Apple silicon\n", b"[1, 2]\n", b'{"gpu', b"\n"])
def test_a_line_that_is_no_object_is_reported_with_its_beginning(text: bytes) -> None:
    taken = read_macmon(text)
    assert taken.readings == ()
    assert len(taken.remarks) == 1
    assert "is no object of JSON; it begins" in taken.remarks[0]
    assert repr(text.decode()) in taken.remarks[0]
