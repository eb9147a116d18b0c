"""What each monitor prints, as it is documented and otherwise, and which one is read."""

import json
import plistlib
from dataclasses import astuple
from typing import Any

import pytest

from fake_macmon import SAMPLE
from tracekit.machine.machine import Machine
from tracekit.machine.monitors import (
    Poll,
    SampleStream,
    choose,
    read_ioreg,
    read_macmon,
    read_powermetrics,
)
from tracekit.machine.sources import SensorReading, Taken


def collect_readings(sample: Taken) -> dict[str, tuple[Any, str]]:
    readings = map(astuple, sample.readings)
    return {name: (pytest.approx(value), unit) for name, value, unit in readings}


M2 = (
    "+-o AGXAcceleratorG14G  <class AGXAcceleratorG14G, id 0x10000054f, registered, matched>\n"
    "    {\n"
    '      "PerformanceStatistics" = {"In use system memory (driver)"=0,"Alloc system memory"'
    '=2930081792,"Tiler Utilization %"=54,"recoveryCount"=0,"Renderer Utilization %"=53,'
    '"Device Utilization %"=56,"In use system memory"=855785472}\n'
    '      "model" = "Apple M2"\n'
    "    }\n"
)
OTHER = '"PerformanceStatistics" = {"Device Utilization %"=70,"In use system memory"=1}\n'
STRANGE = '"PerformanceStatistics" = {"GPU Busy %"=7,"Commands"=12}'


def test_ioreg_reports_its_chips_values() -> None:
    for text, values, remark in (
        (
            M2,
            {
                "gpu_active": (0.56, "ratio"), "gpu_renderer_active": (0.53, "ratio"),
                "gpu_tiler_active": (0.54, "ratio"), "gpu_memory": (855785472, "bytes"),
            },
            "",
        ),
        (M2 + OTHER, {"gpu_active": (0.7, "ratio"), "gpu_memory": (1, "bytes")}, ""),  # the busiest
        (STRANGE, {}, "none of the statistics is known; there are: Commands, GPU Busy %."),
        ("", {}, "no accelerator has PerformanceStatistics."),
    ):  # fmt: skip
        sample = read_ioreg(text)
        assert collect_readings(sample) == values, (values, remark)
        assert sample.remarks == ((f"ioreg: {remark}",) if remark else ()), (values, remark)


MACMON = {
    "gpu_clock": (1.398e9, "Hz"), "gpu_active": (0.875, "ratio"), "gpu_power": (17.25, "W"),
    "cpu_power": (2.5, "W"), "memory_power": (1.25, "W"), "system_power": (31.5, "W"),
    "gpu_temperature": (36.25, "°C"), "cpu_temperature": (43.5, "°C"),
}  # fmt: skip


def macmon(**changes: Any) -> Taken:
    """Read a line with other fields; None leaves one out."""
    fields = {**SAMPLE, "fans": [{"rpm": 999}], "ane_power": 0.0, **changes}
    there = {name: value for name, value in fields.items() if value is not None}
    return read_macmon(json.dumps(there).encode() + b"\n")


def test_a_line_of_macmon_is_read_whole_and_before_0_8_the_gpu_was_a_pair() -> None:
    new = macmon()
    old = macmon(gpu_freq_mhz=None, gpu_active_ratio=None, gpu_usage=[461, 0.5])
    assert collect_readings(new) == collect_readings(macmon(gpu_usage=[461, 0.5])) == MACMON
    assert collect_readings(old) == {
        **MACMON,
        "gpu_clock": (461e6, "Hz"),
        "gpu_active": (0.5, "ratio"),
    }
    assert new.remarks == old.remarks == ()


def older(usage: Any) -> dict[str, Any]:
    return {"gpu_freq_mhz": None, "gpu_active_ratio": None, "gpu_usage": usage}


def test_a_missing_value_costs_only_itself() -> None:
    for changes, missing_keys in (
        *(({"gpu_power": value}, "gpu_power") for value in ("17 W", True, [17.25])),
        ({"temp": None}, "temp/gpu_temp_avg, temp/cpu_temp_avg"),
        (older(["fast", 0.5]), "gpu_freq_mhz"),
        (older([461]), "gpu_freq_mhz, gpu_active_ratio"),
        (older(461), "gpu_freq_mhz, gpu_active_ratio"),
    ):
        sample = macmon(**changes)
        assert sample.remarks == (f"macmon: there is no number at {missing_keys}.",), changes
        assert len(sample.readings) == 8 - missing_keys.count(",") - 1, changes


@pytest.mark.parametrize("text", [b"error: no Apple silicon\n", b"[1, 2]\n", b'{"gpu', b"\n"])
def test_a_line_that_is_not_an_object_is_reported_with_its_beginning(text: bytes) -> None:
    [remark] = read_macmon(text).remarks
    assert remark == f"macmon: a line is not a JSON object; it begins {text.decode()!r}."


ENERGY: dict[str, Any] = {"cpu_power": 993.0, "combined_power": 18_250.0}
PROCESSOR = {**ENERGY, "clusters": [{"freq_hz": 9.6e8}], "gpu_power": 17_250.0}
GPU = {"freq_hz": 1398.5, "idle_ratio": 0.25, "dvfm_states": []}
HEAD = {"is_delta": True, "elapsed_ns": 500_000_000, "thermal_pressure": "Nominal"}
DOCUMENT = {**HEAD, "processor": PROCESSOR, "gpu": GPU}
POWERMETRICS = {
    "gpu_clock": (1398.5e6, "Hz"), "gpu_active": (0.75, "ratio"), "gpu_power": (17.25, "W"),
    "cpu_power": (0.993, "W"), "combined_power": (18.25, "W"), "thermal_pressure": (0.0, "level"),
}  # fmt: skip


NO_POWER = {"gpu_power": None}


def test_a_document_of_powermetrics_is_read_in_base_units() -> None:
    for changes, changed, missing_keys in (
        ({}, {}, ""),
        ({"gpu": {**GPU, "freq_hz": 4e8}}, {"gpu_clock": (4e8, "Hz")}, ""),  # can only be hertz
        ({"gpu": {**GPU, "freq_hz": 99_999}}, {"gpu_clock": (99_999e6, "Hz")}, ""),
        ({"gpu": {**GPU, "freq_hz": 100_000}}, {"gpu_clock": (1e5, "Hz")}, ""),
        ({"processor": {**ENERGY, "gpu_energy": 305}}, {"gpu_power": (0.61, "W")}, ""),
        ({"processor": ENERGY, "gpu": {**GPU, "gpu_energy": 305}}, {"gpu_power": (0.61, "W")}, ""),
        ({"processor": {**ENERGY, "gpu_energy": 3}, "elapsed_ns": 0}, NO_POWER, "gpu_power"),
        ({"thermal_pressure": "Toasty"}, {"thermal_pressure": None}, "pressure"),
        ({"thermal_pressure": "Heavy"}, {"thermal_pressure": (3.0, "level")}, ""),
    ):  # fmt: skip
        sample = read_powermetrics(plistlib.dumps({**DOCUMENT, **changes}).strip())
        expected = {name: value for name, value in {**POWERMETRICS, **changed}.items() if value}
        assert collect_readings(sample) == expected, changes
        expected_remarks = (
            (f"powermetrics: there is no number at {missing_keys}.",) if missing_keys else ()
        )
        assert sample.remarks == expected_remarks, changes


def test_a_document_cut_short_or_empty_is_a_remark() -> None:
    for content, remark in (
        *(
            (plistlib.dumps(DOCUMENT)[:length], "is not a property list")
            for length in (40, 200, 500)
        ),
        (plistlib.dumps([1]), "holds no dictionary"),
        (plistlib.dumps({}), "at clock, active, gpu_power, cpu_power, processor/combined_power"),
    ):
        sample = read_powermetrics(content)
        assert sample.readings == (), content
        assert remark in sample.remarks[0], content


ONE = {"powermetrics": "/bin/powermetrics"}
WARM = Taken((SensorReading("cpu_temperature", 51.0, "°C"),))


def a_mac(*programs: str, root: bool = False) -> Machine:
    return Machine("Darwin", {name: f"/bin/{name}" for name in programs}.get, root, Taken)


def linux(sensors: Taken) -> Machine:
    return Machine("Linux", {}.get, root=False, sensors=lambda: sensors)


def test_a_monitor_is_chosen_and_another_in_its_place_is_named(subtests: pytest.Subtests) -> None:
    for choice, machine, monitor, reason in (
        ("auto", a_mac("macmon", "powermetrics"), "macmon", ""),
        ("auto", a_mac("powermetrics", root=True), "ioreg", ""),
        ("auto", linux(WARM), "psutil", ""),
        ("auto", linux(Taken()), "", ""),
        ("auto", Machine("Linux", ONE.get, root=True, sensors=Taken), "", ""),
        ("off", a_mac("macmon"), "", ""),
        ("powermetrics", a_mac("macmon", "powermetrics", root=True), "powermetrics", ""),
        ("powermetrics", a_mac("macmon", "powermetrics"), "macmon", "powermetrics needs root, wh"),
        ("powermetrics", a_mac("powermetrics"), "ioreg", "powermetrics needs root, which"),
        ("macmon", a_mac("powermetrics"), "ioreg", "macmon is not on the PATH; "),
        ("macmon", linux(Taken()), "", "macmon is not on the PATH; nothing is read instead."),
        ("ioreg", linux(WARM), "psutil", "ioreg tells of GPUs on macOS only; psutil is read inst"),
    ):
        with subtests.test(wanted=choice, machine=machine):
            chosen_monitor, remark = choose(choice, machine, 10)
            assert (chosen_monitor.name if chosen_monitor else "") == monitor, (choice, machine)
            assert remark.startswith(reason)
            assert remark.endswith(f"{monitor or 'nothing'} is read instead." if reason else "")
            assert bool(remark) is bool(reason)


def test_a_stream_is_bounded_by_the_recordings_length_and_ioreg_need_print_no_text() -> None:
    monitor, _ = choose("macmon", a_mac("macmon"), 10)
    assert isinstance(monitor, SampleStream)
    assert monitor.command[2:] == ("-s", "7220", "-i", "500")
    printed = b'"name"="\xff" "PerformanceStatistics"={"Device Utilization %"=7}\n'
    machine = Machine("Darwin", lambda _: None, root=False, answer=lambda *_: printed)
    monitor, _ = choose("ioreg", machine, 10)
    assert isinstance(monitor, Poll)
    assert monitor.look() == Taken((SensorReading("gpu_active", 0.07, "ratio"),))
