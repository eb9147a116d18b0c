from pathlib import Path

from tracekit.machine.monitors import is_number
from tracekit.machine.sources import Reading, read_host_sensors


def names(readings: tuple[Reading, ...]) -> set[str]:
    return {one.name for one in readings}


def test_without_cpufreq_there_is_no_clock(tmp_path: Path) -> None:
    assert "cpu_clock" not in names(read_host_sensors(tmp_path / "missing").readings)


def test_what_there_is_are_plausible_numbers(tmp_path: Path) -> None:
    for one in read_host_sensors(tmp_path).readings:
        assert is_number(one.value)
        least, most = {"cpu_clock": (1e8, 1e10), "cpu_temperature": (-40, 150)}[one.name]
        assert least < one.value < most
