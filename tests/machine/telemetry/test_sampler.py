import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from fake_macmon import FOREVER, install_macmon
from tracekit.machine.machine import Machine
from tracekit.machine.sources import Reading, Taken
from tracekit.record.observe import beside
from tracekit.workload.journal import fold

pytestmark = pytest.mark.processes

PATIENCE = 10.0


def with_macmon(folder: Path, lines: str = FOREVER) -> Machine:
    program = install_macmon(folder, lines)
    return Machine("Darwin", lambda name: str(program) if name == "macmon" else None, root=False)


def until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def pid_of(folder: Path) -> int:
    until(lambda: (folder / "pid").exists() and bool((folder / "pid").read_text()))
    return int((folder / "pid").read_text())


def test_what_a_monitor_says_becomes_gauges(tmp_path: Path) -> None:
    file = tmp_path / "gauges.jsonl"
    before = time.monotonic_ns()
    with beside("auto", file, 10, with_macmon(tmp_path)) as reported:
        until(lambda: len(fold(file).gauges) >= 16)
    gauges = fold(file).gauges
    assert reported.remarks == ()
    clocks = [one for one in gauges if one.name == "gpu_clock"]
    assert {(one.value, one.unit, one.source) for one in clocks} == {(1.398e9, "Hz", "macmon")}
    assert before < clocks[0].at < clocks[1].at < time.monotonic_ns()
    assert {"gpu_power", "cpu_power", "system_power"} <= {one.name for one in gauges}


def test_a_monitor_that_does_not_listen_is_killed(tmp_path: Path) -> None:
    deaf = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsay(line)\nsay('deaf')\n" + FOREVER
    file = tmp_path / "gauges.jsonl"
    with beside("auto", file, 10, with_macmon(tmp_path, deaf)):
        until(lambda: bool(fold(file).gauges))
        pid = pid_of(tmp_path)
    assert gone(pid)


def test_a_monitor_dies_with_a_tracekit_that_was_killed(tmp_path: Path) -> None:
    program = install_macmon(tmp_path / "bin")
    script = (
        "import sys, time, pathlib\n"
        "from tracekit.machine.machine import Machine\n"
        "from tracekit.record.observe import beside\n"
        f"machine = Machine('Darwin', lambda name: {str(program)!r}, root=False)\n"
        f"with beside('macmon', pathlib.Path({str(tmp_path / 'gauges.jsonl')!r}), 10, machine):\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script]) as process:
        until(lambda: bool(fold(tmp_path / "gauges.jsonl").gauges))
        process.send_signal(signal.SIGKILL)
    pid = pid_of(tmp_path / "bin")
    until(lambda: gone(pid))


def test_a_monitor_that_ends_by_itself_is_reported_with_its_last_words(tmp_path: Path) -> None:
    lines = "say(line)\nsys.stderr.write('no such sensor')\nsys.exit(3)\n"
    file = tmp_path / "gauges.jsonl"
    with beside("auto", file, 10, with_macmon(tmp_path, lines)) as reported:
        until(lambda: len(fold(file).gauges) >= 8)
        pid = pid_of(tmp_path)
        until(lambda: gone(pid))
    (remark,) = reported.remarks
    assert remark.startswith("macmon ended by itself, with exit code 3, while it was read.")
    assert remark.endswith("Its last words: no such sensor")


def test_a_monitor_that_says_nothing_readable_is_reported(tmp_path: Path) -> None:
    lines = "say('watts: many')\nopen(here / 'said', 'w')\ntime.sleep(60)\n"
    with beside("auto", tmp_path / "gauges.jsonl", 10, with_macmon(tmp_path, lines)) as reported:
        until((tmp_path / "said").exists)
    assert reported.remarks[-1] == "macmon printed no sample that could be read."
    assert not (tmp_path / "gauges.jsonl").exists()


def test_a_program_that_cannot_be_started_disturbs_nobody(tmp_path: Path) -> None:
    machine = Machine("Darwin", lambda name: f"/nowhere/{name}", root=False)
    with beside("macmon", tmp_path / "gauges.jsonl", 10, machine) as reported:
        pass
    assert reported.remarks == ("macmon cannot be started: No such file or directory.",)


def test_sensors_are_looked_at_again_and_again(tmp_path: Path) -> None:
    degrees = iter(range(40, 1000))

    def look() -> Taken:
        return Taken((Reading("cpu_temperature", float(next(degrees)), "°C"),))

    file = tmp_path / "gauges.jsonl"
    machine = Machine("Linux", lambda _: None, root=False, sensors=look)
    with beside("auto", file, 10, machine) as reported:
        until(lambda: len(fold(file).gauges) >= 2)
    assert reported.remarks == ()
    first, second = fold(file).gauges[:2]
    assert (first.source, first.unit) == ("psutil", "°C")
    assert second.value == first.value + 1
    assert second.at > first.at


def test_a_file_that_cannot_be_written_is_reported_and_disturbs_nobody(tmp_path: Path) -> None:
    file = tmp_path / "missing" / "gauges.jsonl"
    with beside("auto", file, 10, with_macmon(tmp_path)) as reported:
        until(lambda: bool(reported.remarks))
    assert "cannot be written" in reported.remarks[0]
