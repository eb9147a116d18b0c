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


def test_what_is_not_there_or_no_number_costs_only_itself() -> None:
    for value in ("17 W", True, None, [17.25]):
        taken = read_macmon(line(gpu_power=value))
        assert taken.remarks == ("macmon: there is no number at gpu_power.",)
        assert len(taken.readings) == 7
    taken = read_macmon(json.dumps(without("temp")).encode())
    lacking = "temp/gpu_temp_avg, temp/cpu_temp_avg"
    assert taken.remarks == (f"macmon: there is no number at {lacking}.",)
    for pair in ([461], ["fast", 0.5], 461):
        sample = {**without("gpu_freq_mhz", "gpu_active_ratio"), "gpu_usage": pair}
        assert "gpu_freq_mhz" in read_macmon(json.dumps(sample).encode()).remarks[0]


@pytest.mark.parametrize("text", [b"error: no Apple silicon\n", b"[1, 2]\n", b'{"gpu', b"\n"])
def test_a_line_that_is_no_object_is_reported_with_its_beginning(text: bytes) -> None:
    taken = read_macmon(text)
    assert taken.readings == ()
    assert len(taken.remarks) == 1
    assert "is no object of JSON; it begins" in taken.remarks[0]
    assert repr(text.decode()) in taken.remarks[0]
