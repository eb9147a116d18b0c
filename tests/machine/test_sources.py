"""The state of a machine as its parts say it: power, heat, load, others on the GPU."""

import os
import plistlib
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from tracekit.machine import sources
from tracekit.machine.sources import Clients, CpuTime, SensorReading, Taken
from tracekit.machine.state import THERMAL_PRESSURES

SECOND = 1_000_000_000


def test_sensors_of_linux_are_the_clock_and_the_hottest_sensor_of_the_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frequency = SimpleNamespace(current=2400.0)
    degrees = [SimpleNamespace(current=value) for value in (41.0, 63.5, 0.0)]
    sensors = {"nvme": [SimpleNamespace(current=80.0)], "k10temp": degrees, "acpitz": degrees[:1]}
    monkeypatch.setattr("psutil.cpu_freq", lambda: frequency, raising=False)
    monkeypatch.setattr("psutil.sensors_temperatures", lambda: sensors, raising=False)
    clock, heat = (
        SensorReading("cpu_clock", 2.4e9, "Hz"),
        SensorReading("cpu_temperature", 63.5, "°C"),
    )
    assert sources.read_host_sensors(tmp_path) == Taken((clock, heat))
    assert sources.read_host_sensors(tmp_path / "missing") == Taken((heat,))  # without cpufreq
    sensors["k10temp"] = degrees[2:]  # which says nothing
    cooler = SensorReading("cpu_temperature", 41.0, "°C")
    assert sources.read_host_sensors(tmp_path / "missing") == Taken((cooler,))
    frequency.current = 0.0
    sensors.clear()
    assert sources.read_host_sensors(tmp_path) == Taken()
    monkeypatch.delattr("psutil.sensors_temperatures")
    assert sources.read_host_sensors(tmp_path) == Taken()


SETTINGS = """System-wide power settings:
Currently in use:
 standby              1
 Sleep On Power Button 1
 sleep                1 (sleep prevented by powerd)
{} womp                 0
"""


BATTERIES = {
    (53, False): {"mains": 0.0, "battery": 0.53},
    (101, True): {"mains": 1.0, "battery": 1.0},
    (80, None): {"battery": 0.8},
}


def test_a_battery_tells_its_charge_and_the_mains() -> None:
    for (percent, plugged), expected_readings in BATTERIES.items():
        battery = SimpleNamespace(percent=percent, power_plugged=plugged)
        power_state = sources.source(lambda battery=battery: battery)
        assert power_state.readings == expected_readings, percent
        assert set(power_state.absences) == {"mains", "battery"} - set(expected_readings), percent
    assert set(sources.source(lambda: None).absences) == {"mains", "battery"}


MODES = {
    " lowpowermode         0\n": {"low_power": 0.0},
    " lowpowermode         1\n": {"low_power": 1.0},
    " powermode            0\n": {"low_power": 0.0},
    " powermode            1\n": {"low_power": 1.0},
    " powermode            2\n": {"low_power": 0.0},
    " lowpowermode         1\n powermode            0\n": {"low_power": 1.0},
    " powermode            3\n": {},  # one that is new is no reading
    " lowpowermode         on\n": {},
}


def test_the_power_mode_of_a_mac() -> None:
    modes = {line: sources.low_power_of_mac(SETTINGS.format(line)).readings for line in MODES}
    assert modes == MODES


def test_the_platform_profile_of_linux(tmp_path: Path) -> None:
    file = tmp_path / "platform_profile"
    assert "no platform profile" in sources.low_power_of_linux(file).absences["low_power"]
    for profile, value in (("low-power\n", 1.0), ("balanced\n", 0.0), ("performance\n", 0.0)):
        file.write_text(profile)
        assert sources.low_power_of_linux(file).readings == {"low_power": value}, profile


def test_levels_of_macos_have_their_place_or_a_reason() -> None:
    for level, name in enumerate(("Nominal", "Moderate", "Heavy", "Trapping", "Sleeping")):
        place = THERMAL_PRESSURES.index(name)
        assert sources.pressure(level).readings == {"thermal_pressure": place}
    for unknown, reason in ((None, "does not report"), (5, "is 5"), (-1, "is -1")):
        assert sources.pressure(unknown).readings == {}
        assert reason in sources.pressure(unknown).absences["thermal_pressure"]


def test_foreign_time_belongs_to_others() -> None:
    earlier_count = CpuTime(0.0, busy=100.0, idle=300.0)
    ours = replace(earlier_count, ours={7: 10.0})
    later = CpuTime(1.0, busy=102.0, idle=302.0)
    shares = (
        (ours, CpuTime(1.0, busy=101.5, idle=302.5, ours={7: 10.5}), 0.25),
        (ours, CpuTime(1.0, busy=101.0, idle=301.0, ours={7: 12.0}), 0.0),
        (ours, later, 0.5),  # who was no child and ended takes nothing from others
        (earlier_count, replace(later, ours={7: 1.0}), 0.25),  # a new one
        # a child that ended counts by what it did since
        (replace(ours, children_time=4.0), replace(later, children_time=15.0), 0.25),
    )
    for count_before, count_after, share in shares:
        assert sources.load(count_before, count_after).readings == {"load": share}, (
            count_before,
            count_after,
        )
    standing_load = sources.load(earlier_count, earlier_count)
    assert standing_load.absences == {"load": "the system's count of CPU time does not change."}


def refuse(process: psutil.Process) -> None:
    raise psutil.AccessDenied(process.pid)


def test_our_own_time_is_ours_and_one_unasked_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sources.spent(()).ours.keys() == {os.getpid()}
    monkeypatch.setattr(psutil.Process, "cpu_times", refuse)  # another user's, on a Mac
    assert sources.spent((os.getppid(),)).ours == {}


BUSY = "import time\nend = time.monotonic() + 1.2\nwhile time.monotonic() < end: pass"


@pytest.mark.processes
def test_our_time_does_not_count_and_foreign_time_does() -> None:
    with subprocess.Popen([sys.executable, "-c", BUSY]) as child:
        time.sleep(0.2)
        mine, theirs = sources.spent((child.pid,)), sources.spent(())
        time.sleep(0.6)
        as_ours = sources.load(mine, sources.spent((child.pid,))).readings["load"]
        as_others = sources.load(theirs, sources.spent(())).readings["load"]
        child.kill()
    # The child's share is kept apart from what else the machine does; it may get less than a core.
    cores = os.cpu_count() or 1
    assert 0.04 / cores < as_others - as_ours < 1.3 / cores


def entry(number: Any, creator: Any, *times: Any, **more: Any) -> dict[str, Any]:
    usage = [{"API": "Metal", "lastSubmittedTime": 1, "accumulatedGPUTime": time} for time in times]
    properties = {"IORegistryEntryID": number, "IOUserClientCreator": creator, "AppUsage": usage}
    return {"IOObjectClass": "AGXDeviceUserClient", **properties, **more}


NOBODY, NO_LIST = "no entry names a process and its time", "ioreg prints no property list"


def test_each_client_has_its_process_and_its_time() -> None:
    for entries, expected_entries in (
        (
            [
                entry(101, "pid 42, python3.12", 5, 7),
                entry(102, 'pid 420, Window"Server', 100),
                entry(103, "pid 42, python3.12"),
            ],
            {101: (42, 12), 102: (420, 100), 103: (42, 0)},
        ),
        ([{"AppUsage": []}, entry(7, "pid 1, a", 3)], {7: (1, 3)}),  # a strange one costs no other
        # what does not look so is no reading
        ([entry("101", "pid 42, python3", 5)], {}),
        ([entry(101, "process 42", 5)], {}),
        ([entry(101, 42, 5)], {}),
        ([entry(101, "pid 42, python3", "5")], {}),
        ([entry(101, "pid 42, python3", AppUsage={"accumulatedGPUTime": 5})], {}),
        ([entry(101, "pid 42, python3", AppUsage=[5])], {}),
        (["text"], {}),
        ({"a": 1}, {}),
    ):
        clients = sources.read(plistlib.dumps(entries), 1.5)
        assert (clients.moment, clients.by_entry) == (1.5, expected_entries), entries
        assert clients.reason == ("" if expected_entries else f"ioreg: {NOBODY} on the GPU."), (
            entries
        )


def test_an_unreadable_list_is_a_reason() -> None:
    assert NOBODY in sources.read(b"\n", 0.0).reason
    odd = b"<?xml version='1.0' encoding='UPF-8'?><plist/>"
    for text in (b"+-o AGXDeviceUserClient", b"<?xml version='1.0'?><plist><arr", odd):
        assert NO_LIST in sources.read(text, 0.0).reason


def test_others_gain_their_clients_time() -> None:
    earlier_clients = Clients(1.0, {1: (42, SECOND), 2: (420, 100), 3: (9, 50)})
    tenth = SECOND // 10
    later = Clients(3.0, {1: (42, 2 * SECOND), 2: (420, 100 + tenth), 4: (421, tenth)})
    assert sources.compute_gpu_others(earlier_clients, later, {42}).readings == {
        "gpu_others": pytest.approx(0.1)
    }
    assert sources.compute_gpu_others(earlier_clients, later, {42, 420, 421}).readings == {
        "gpu_others": 0.0
    }
    # an entry that became another's counts again
    another = Clients(2.0, {1: (43, SECOND // 2)})
    assert sources.compute_gpu_others(earlier_clients, another, ()).readings == {"gpu_others": 0.5}
    blind, seeing = Clients(0.0, reason="no root."), Clients(1.0, {1: (1, 1)})
    for pair in ((blind, seeing), (seeing, blind)):
        assert sources.compute_gpu_others(*pair, ()).absences == {"gpu_others": "no root."}
    assert "no time passed" in sources.compute_gpu_others(seeing, seeing, ()).absences["gpu_others"]
