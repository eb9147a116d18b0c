"""Where the power comes from, whether it is saved, and how hot the system says it is."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tracekit.machine.sources import low_power_of_linux, low_power_of_mac, pressure, source
from tracekit.machine.state import THERMAL_PRESSURES

SETTINGS = """System-wide power settings:
Currently in use:
 standby              1
 Sleep On Power Button 1
 sleep                1 (sleep prevented by powerd)
{} womp                 0
"""


def test_a_battery_tells_its_charge_and_the_mains() -> None:
    known = source(lambda: SimpleNamespace(percent=53, power_plugged=False))
    assert known.readings == {"mains": 0.0, "battery": 0.53}
    full = source(lambda: SimpleNamespace(percent=101, power_plugged=True))
    assert full.readings == {"mains": 1.0, "battery": 1.0}


def test_without_a_battery_neither_is_known() -> None:
    assert source(lambda: None).readings == {}
    assert set(source(lambda: None).absences) == {"mains", "battery"}


def test_a_battery_that_does_not_know_of_mains_tells_its_charge() -> None:
    known = source(lambda: SimpleNamespace(percent=80, power_plugged=None))
    assert known.readings == {"battery": 0.8}
    assert "plugged in" in known.absences["mains"]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (" lowpowermode         0\n", 0.0),
        (" lowpowermode         1\n", 1.0),
        (" powermode            0\n", 0.0),
        (" powermode            1\n", 1.0),
        (" powermode            2\n", 0.0),
        (" lowpowermode         1\n powermode            0\n", 1.0),
    ],
)
def test_the_power_mode_of_a_mac(line: str, value: float) -> None:
    assert low_power_of_mac(SETTINGS.format(line)).readings == {"low_power": value}


@pytest.mark.parametrize("printed", [" powermode            3\n", " lowpowermode         on\n"])
def test_a_power_mode_that_is_new_is_no_reading(printed: str) -> None:
    assert low_power_of_mac(printed).readings == {}


@pytest.mark.parametrize(
    ("profile", "value"), [("low-power\n", 1.0), ("balanced\n", 0.0), ("performance\n", 0.0)]
)
def test_the_platform_profile_of_linux(tmp_path: Path, profile: str, value: float) -> None:
    file = tmp_path / "platform_profile"
    file.write_text(profile)
    assert low_power_of_linux(file).readings == {"low_power": value}


def test_without_a_platform_profile_it_is_not_known(tmp_path: Path) -> None:
    assert "no platform profile" in low_power_of_linux(tmp_path / "missing").absences["low_power"]


@pytest.mark.parametrize(
    ("level", "name"),
    [(0, "Nominal"), (1, "Moderate"), (2, "Heavy"), (3, "Trapping"), (4, "Sleeping")],
)
def test_levels_of_macos_have_their_place(level: int, name: str) -> None:
    known = pressure(level).readings
    assert THERMAL_PRESSURES[int(known["thermal_pressure"])] == name


@pytest.mark.parametrize(("level", "why"), [(None, "does not answer"), (5, "is 5"), (-1, "is -1")])
def test_a_level_that_is_none_is_a_reason(level: int | None, why: str) -> None:
    assert pressure(level).readings == {}
    assert why in pressure(level).absences["thermal_pressure"]
