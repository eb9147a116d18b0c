"""Monitors beside a recording: what they print in pieces, or not at all; and what vmmap prints."""

import plistlib
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from children import until, until_gone
from fake_macmon import FOREVER, install_macmon
from tracekit.machine.machine import Machine
from tracekit.machine.sampler import read_vmmap
from tracekit.machine.sources import SensorReading, Taken
from tracekit.record.observe import run_monitor
from tracekit.workload.journal import fold


def a_mac(program: Path, *, root: bool = False) -> Machine:
    return Machine("Darwin", lambda name: str(program) if name == program.name else None, root)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "gauges.jsonl"


def pid_of(folder: Path) -> int:
    until(lambda: (folder / "pid").exists() and bool((folder / "pid").read_text()))
    return int((folder / "pid").read_text())


def values(file: Path, name: str) -> list[float]:
    return [gauge.value for gauge in fold(file).gauges if gauge.name == name]


@pytest.mark.processes
def test_readings_become_gauges_and_a_deaf_monitor_is_ended(tmp_path: Path, file: Path) -> None:
    deaf = f"signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{FOREVER}"
    start_time = time.monotonic_ns()
    with run_monitor("auto", file, 10, a_mac(install_macmon(tmp_path, deaf))) as reported:
        until(lambda: len(fold(file).gauges) >= 16)
        pid = pid_of(tmp_path)
    until_gone(pid)
    assert reported.remarks == ()
    assert (tmp_path / "arguments").read_text() == "pipe -s 7220 -i 500"
    clocks = [gauge for gauge in fold(file).gauges if gauge.name == "gpu_clock"]
    clock_readings = {(clock.value, clock.unit, clock.source) for clock in clocks}
    assert clock_readings == {(1.398e9, "Hz", "macmon")}
    assert start_time < clocks[0].at < clocks[1].at < time.monotonic_ns()


@pytest.mark.processes
def test_a_monitor_dies_with_a_tracekit_that_was_killed(tmp_path: Path, file: Path) -> None:
    program = install_macmon(tmp_path / "bin")
    script = (
        "import sys, time, pathlib\n"
        "from tracekit.machine.machine import Machine\n"
        "from tracekit.record.observe import run_monitor\n"
        f"machine = Machine('Darwin', lambda name: {str(program)!r}, root=False)\n"
        f"with run_monitor('macmon', pathlib.Path({str(file)!r}), 10, machine):\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script]) as process:
        until(lambda: bool(fold(file).gauges))
        process.send_signal(signal.SIGKILL)
    until_gone(pid_of(tmp_path / "bin"))


SAID = "open(here / 'said', 'w')\n"
CRASHING = f"say(line)\nsys.stderr.write('no such sensor')\n{SAID}sys.exit(3)\n"
SENSELESS = f"say('watts: many')\n{SAID}time.sleep(60)\n"
ENDLESS = f"{SAID}while True:\n    sys.stdout.write('x' * 100_000)\n    sys.stdout.flush()\n"


@pytest.mark.processes
@pytest.mark.parametrize(
    ("lines", "remark"),
    [
        (CRASHING, "with exit code 3, while it was read. Its last words: no such sensor"),
        (SENSELESS, "macmon printed no sample that could be r"),
        (ENDLESS, "macmon prints no end of a sample."),
    ],
)
def test_trouble_with_a_monitor_is_a_remark(
    lines: str, remark: str, tmp_path: Path, file: Path
) -> None:
    with run_monitor("auto", file, 10, a_mac(install_macmon(tmp_path, lines))) as reported:
        until((tmp_path / "said").exists)
        if lines == CRASHING:
            until_gone(pid_of(tmp_path))
        elif lines == ENDLESS:
            until(lambda: bool(reported.remarks))
    assert any(remark in reported_remark for reported_remark in reported.remarks)


@pytest.mark.processes
def test_a_remark_is_said_once_and_not_too_many_are(tmp_path: Path, file: Path) -> None:
    lines = "for number in range(100):\n    say('again')\n    say(f'strange {number}')\n"
    program = install_macmon(tmp_path, f"{lines}say(line)\ntime.sleep(60)\n")
    with run_monitor("macmon", file, 10, a_mac(program)) as reported:
        until(lambda: bool(values(file, "gpu_clock")))
    assert len(set(reported.remarks)) == len(reported.remarks) == 8


@pytest.mark.processes
def test_a_monitor_that_cannot_start_or_write_disturbs_nobody(tmp_path: Path, file: Path) -> None:
    with run_monitor("macmon", file, 10, a_mac(Path("/nowhere/macmon"))) as reported:
        pass
    assert reported.remarks == ("macmon cannot be started: No such file or directory.",)
    machine = a_mac(install_macmon(tmp_path))
    with run_monitor("auto", tmp_path / "missing" / "gauges.jsonl", 10, machine) as reported:
        until(lambda: bool(reported.remarks))
    assert "cannot be written" in reported.remarks[0]


def test_sensors_are_looked_at_again_and_again(file: Path) -> None:
    samples = (
        Taken((SensorReading("cpu_temperature", float(heat), "°C"),)) for heat in range(40, 1000)
    )
    machine = Machine("Linux", {}.get, root=False, sensors=lambda: next(samples))
    with pytest.raises(KeyError), run_monitor("auto", file, 10, machine) as reported:  # noqa: PT012
        until(lambda: len(fold(file).gauges) >= 2)
        raise KeyError
    assert "telemetry" not in {thread.name for thread in threading.enumerate()}
    assert reported.remarks == ()
    first_gauge, second = fold(file).gauges[:2]
    assert (first_gauge.source, first_gauge.unit) == ("psutil", "°C")
    assert (second.value, second.at > first_gauge.at) == (first_gauge.value + 1, True)


def document(clock: float, pressure: str = "Nominal") -> bytes:
    powers = {"gpu_power": 12_000.0, "cpu_power": 900.0, "combined_power": 13_000.0}
    gpu = {"freq_hz": clock, "idle_ratio": 0.5}
    return plistlib.dumps({"thermal_pressure": pressure, "processor": powers, "gpu": gpu})


@pytest.mark.processes
def test_property_lists_come_in_pieces_with_nuls_between(tmp_path: Path, file: Path) -> None:
    documents = [document(1.0), document(444.0), document(1398.0), document(1000.0, "Heavy")]
    printed = b"Machine model: Mac15,9\n" + b"\0".join(documents) + b"@" + document(700.0)[:300]
    lines = (
        f"printed = {printed!r}\n"
        "for start in range(0, len(printed), 97):\n"
        "    sys.stdout.buffer.write(printed[start:start + 97])\n"
        "    sys.stdout.buffer.flush()\n"
        "time.sleep(60)\n"
    )
    program = install_macmon(tmp_path, lines).rename(tmp_path / "powermetrics")
    with run_monitor("powermetrics", file, 10, a_mac(program, root=True)) as reported:
        until(lambda: len(values(file, "thermal_pressure")) == 3)
    # what it prints first is no property list, and the last one never ends
    [remark] = reported.remarks
    assert remark.startswith("powermetrics: a document is not a property list")
    assert values(file, "gpu_clock") == [444e6, 1398e6, 1e9]
    assert values(file, "gpu_power") == [12.0] * 3
    assert values(file, "gpu_active") == [0.5] * 3
    assert values(file, "thermal_pressure") == [0.0, 0.0, 3.0]
    arguments = "--samplers cpu_power,gpu_power,thermal -f plist -i 500 -n 7220"
    assert (tmp_path / "arguments").read_text() == arguments


SUMMARY = """\
Process:         python3.12 [4711]

Physical footprint:         5.0G
Physical footprint (peak):  9.0G
----
                                VIRTUAL RESIDENT    DIRTY  SWAPPED VOLATILE   NONVOL    EMPTY   REGION
REGION TYPE                        SIZE     SIZE     SIZE     SIZE     SIZE     SIZE     SIZE    COUNT (non-coalesced)
===========                     ======= ========    =====  ======= ========   ======    =====  =======
IOAccelerator                       64K      64K      64K       0K       0K       0K       0K        2
IOAccelerator (graphics)           4.8G     4.5G     4.2G      16K       0K     4.8G    4496K     1144
MALLOC_LARGE                      8.9M     7.8M     7.8M     1.1M       0K       0K       0K      106         see MALLOC ZONE table below
TOTAL                              6.4G     5.0G    13.5M     5.0G       0K     4.8G    4496K     3488
"""  # noqa: E501  as vmmap prints it
UNSAID = SUMMARY.replace("Physical", "Other")


def test_the_footprint_and_resident_gpu_regions_are_read() -> None:
    commands: list[tuple[str, ...]] = []
    for text, footprint, accelerator in (
        (SUMMARY, 5 * 2**30, round(4.5 * 2**30) + 64 * 2**10),
        (UNSAID.replace("VIRTUAL RESIDENT", "RESIDENT VIRTUAL"), None, None),
        ("REGION TYPE    PAGES   COUNT\nIOAccelerator  128     3\n", None, None),
        ("  VIRTUAL RESIDENT\nREGION TYPE PAGES PAGES COUNT\nIOAccelerator 9 6 3\n", None, None),
        (UNSAID.replace("IOAcc", "Acc"), None, None),
        ("vmmap: no such process\n", None, None),
    ):

        def answer(command: tuple[str, ...], _: float, text: str = text) -> bytes:
            commands.append(command)
            return text.encode()

        memory_sizes = read_vmmap(4711, Machine("Darwin", answer=answer))
        assert memory_sizes == {"footprint": footprint, "accelerator": accelerator}, text
        assert commands == [("/usr/bin/vmmap", "-summary", "4711")], text
        commands.clear()
