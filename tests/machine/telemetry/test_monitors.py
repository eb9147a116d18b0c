from collections.abc import Callable

import pytest

from tracekit.machine.machine import Machine
from tracekit.machine.monitors import Stream, choose
from tracekit.machine.sources import Reading, Taken

WARM = Taken((Reading("cpu_temperature", 51.0, "°C"),))


def found(*names: str) -> Callable[[str], str | None]:
    return lambda name: f"/usr/local/bin/{name}" if name in names else None


def a_mac(*programs: str, root: bool = False) -> Machine:
    return Machine("Darwin", found(*programs), root, Taken)


def linux(*, sensors: Taken = Taken(), programs: tuple[str, ...] = ()) -> Machine:  # noqa: B008
    return Machine("Linux", found(*programs), root=False, sensors=lambda: sensors)


@pytest.mark.parametrize(
    ("wanted", "machine", "monitor", "remark"),
    [
        ("auto", a_mac("macmon", "powermetrics"), "macmon", ""),
        ("auto", a_mac("powermetrics", root=True), "ioreg", ""),
        ("auto", linux(sensors=WARM), "psutil", ""),
        ("auto", linux(), "", ""),
        ("off", a_mac("macmon"), "", ""),
        ("powermetrics", a_mac("macmon", "powermetrics", root=True), "powermetrics", ""),
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
def test_a_monitor_is_chosen_and_another_in_its_place_is_named(
    wanted: str, machine: Machine, monitor: str, remark: str
) -> None:
    found, said = choose(wanted, machine, 10)
    assert (found.name if found else "") == monitor
    assert said == remark


def test_a_stream_is_bounded_by_the_recordings_length() -> None:
    monitor, _remark = choose("macmon", a_mac("macmon"), 10)
    assert isinstance(monitor, Stream)
    assert monitor.command[2:] == ("-s", "7220", "-i", "500")
