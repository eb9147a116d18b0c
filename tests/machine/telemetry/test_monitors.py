from collections.abc import Callable

import pytest

from tracekit.machine.machine import Machine
from tracekit.machine.monitors import Poll, Stream, choose
from tracekit.machine.sources import Reading, Taken

WARM = Taken((Reading("cpu_temperature", 51.0, "°C"),))


def found(*names: str) -> Callable[[str], str | None]:
    return lambda name: f"/usr/local/bin/{name}" if name in names else None


def a_mac(*programs: str, root: bool = False) -> Machine:
    return Machine("Darwin", found(*programs), root, Taken)


def linux(*, sensors: Taken = Taken(), programs: tuple[str, ...] = ()) -> Machine:  # noqa: B008
    return Machine("Linux", found(*programs), root=False, sensors=lambda: sensors)


def test_macmon_is_taken_where_it_is_installed() -> None:
    monitor, remark = choose("auto", a_mac("macmon", "powermetrics"), 10)
    assert isinstance(monitor, Stream)
    assert monitor.name == "macmon"
    assert monitor.command[:2] == ("/usr/local/bin/macmon", "pipe")
    assert remark == ""


def test_a_mac_without_macmon_has_ioreg() -> None:
    monitor, remark = choose("auto", a_mac("powermetrics", root=True), 10)
    assert isinstance(monitor, Poll)
    assert monitor.name == "ioreg"
    assert remark == ""


def test_linux_has_its_sensors_where_it_has_any() -> None:
    monitor, _remark = choose("auto", linux(sensors=WARM), 10)
    assert isinstance(monitor, Poll)
    assert monitor.name == "psutil"
    assert monitor.look() == WARM


def test_where_there_is_nothing_to_read_auto_is_silent() -> None:
    monitor, remark = choose("auto", linux(), 10)
    assert monitor is None
    assert remark == ""


def test_off_reads_nothing() -> None:
    monitor, remark = choose("off", a_mac("macmon"), 10)
    assert monitor is None
    assert remark == ""


def test_powermetrics_is_read_by_root_alone() -> None:
    monitor, _remark = choose("powermetrics", a_mac("macmon", "powermetrics", root=True), 10)
    assert isinstance(monitor, Stream)
    assert monitor.name == "powermetrics"
    assert monitor.end == b"</plist>"


@pytest.mark.parametrize(
    ("wanted", "machine", "monitor", "remark"),
    [
        (
            "powermetrics",
            a_mac("macmon", "powermetrics"),
            "macmon",
            "powermetrics needs root, which tracekit does not ask for; macmon is read instead.",
        ),
        (
            "powermetrics",
            a_mac("powermetrics"),
            "ioreg",
            "powermetrics needs root, which tracekit does not ask for; ioreg is read instead.",
        ),
        (
            "macmon",
            a_mac("powermetrics"),
            "ioreg",
            "macmon is not on the PATH; ioreg is read instead.",
        ),
        ("macmon", linux(), "", "macmon is not on the PATH; nothing is read instead."),
        (
            "ioreg",
            linux(sensors=WARM),
            "psutil",
            "ioreg tells of GPUs on macOS only; psutil is read instead.",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(
    wanted: str, machine: Machine, monitor: str, remark: str
) -> None:
    found, said = choose(wanted, machine, 10)
    assert (found.name if found else "") == monitor
    assert said == remark


def test_a_stream_is_bounded_by_the_recordings_length() -> None:
    monitor, _remark = choose("macmon", a_mac("macmon"), 10)
    assert isinstance(monitor, Stream)
    assert monitor.command[2:] == ("-s", "7220", "-i", "500")
