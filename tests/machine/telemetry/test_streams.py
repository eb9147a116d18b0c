"""Monitors as programs: what they print in pieces, too much of, or not at all."""

import plistlib
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fake_macmon import install_macmon
from tracekit.machine.machine import Machine
from tracekit.machine.monitors import Poll, choose
from tracekit.record.observe import beside
from tracekit.workload.journal import fold
from tracekit.workload.workload import Gauge

pytestmark = pytest.mark.processes

PATIENCE = 10.0


def until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)


def document(clock: float, pressure: str) -> bytes:
    return plistlib.dumps(
        {
            "elapsed_ns": 500_000_000,
            "thermal_pressure": pressure,
            "processor": {"gpu_power": 12_000.0, "cpu_power": 900.0, "combined_power": 13_000.0},
            "gpu": {"freq_hz": clock, "idle_ratio": 0.5},
        }
    )


def install_powermetrics(folder: Path, printed: bytes) -> Machine:
    """Make a Mac whose powermetrics prints these bytes, in pieces, and root who may run it."""
    program = folder / "powermetrics"
    program.write_text(
        f"#!{sys.executable}\n"
        "import pathlib, sys, time\n"
        "(pathlib.Path(__file__).parent / 'arguments').write_text(' '.join(sys.argv[1:]))\n"
        f"printed = {printed!r}\n"
        "for start in range(0, len(printed), 97):\n"
        "    sys.stdout.buffer.write(printed[start:start + 97])\n"
        "    sys.stdout.buffer.flush()\n"
        "time.sleep(60)\n"
    )
    program.chmod(0o755)
    return Machine("Darwin", lambda name: str(program) if name == program.name else None, root=True)


def values(gauges: tuple[Gauge, ...], name: str) -> list[float]:
    return [one.value for one in gauges if one.name == name]


def test_property_lists_come_in_pieces_with_nuls_between(tmp_path: Path) -> None:
    whole = [document(444.0, "Nominal"), document(1398.0, "Nominal"), document(1000.0, "Heavy")]
    printed = b"\0".join(whole) + b"\0" + document(700.0, "Nominal")[:300]
    machine = install_powermetrics(tmp_path, printed)
    file = tmp_path / "gauges.jsonl"
    with beside("powermetrics", file, 10, machine) as reported:
        until(lambda: len(values(fold(file).gauges, "thermal_pressure")) == 3)
    gauges = fold(file).gauges
    assert reported.remarks == ()
    assert values(gauges, "gpu_clock") == [444e6, 1398e6, 1e9]
    assert values(gauges, "gpu_power") == [12.0] * 3
    assert values(gauges, "thermal_pressure") == [0.0, 0.0, 3.0]
    assert {one.source for one in gauges} == {"powermetrics"}
    assert (tmp_path / "arguments").read_text() == (
        "--samplers cpu_power,gpu_power,thermal -f plist -i 500 -n 7220"
    )


def test_a_sample_without_end_is_given_up(tmp_path: Path) -> None:
    lines = "while True:\n    sys.stdout.write('x' * 100_000)\n    sys.stdout.flush()\n"
    program = install_macmon(tmp_path, lines)
    machine = Machine("Darwin", lambda name: str(program) if name == "macmon" else None)
    with beside("macmon", tmp_path / "gauges.jsonl", 10, machine) as reported:
        until(lambda: bool(reported.remarks))
    assert reported.remarks[0] == "macmon prints no end of a sample."


def test_remarks_without_number_are_cut_off(tmp_path: Path) -> None:
    lines = "for number in range(100):\n    say(f'strange {number}')\nsay(line)\ntime.sleep(60)\n"
    program = install_macmon(tmp_path, lines)
    machine = Machine("Darwin", lambda name: str(program) if name == "macmon" else None)
    file = tmp_path / "gauges.jsonl"
    with beside("macmon", file, 10, machine) as reported:
        until(lambda: bool(fold(file).gauges))
    assert len(reported.remarks) == 8


def test_what_ioreg_prints_may_be_no_text() -> None:
    printed = b'"name"="\xff" "PerformanceStatistics"={"Device Utilization %"=7}\n'
    machine = Machine("Darwin", lambda _: None, root=False, answer=lambda *_: printed)
    monitor, _ = choose("ioreg", machine, 10)
    assert isinstance(monitor, Poll)
    assert [one.value for one in monitor.look().readings] == [0.07]


@pytest.mark.skipif(sys.platform == "darwin", reason="a Mac has ioreg")
def test_ioreg_that_is_not_there_is_a_remark() -> None:
    monitor, _ = choose("ioreg", Machine("Darwin", lambda _: None, root=False), 10)
    assert isinstance(monitor, Poll)
    taken = monitor.look()
    assert taken.readings == ()
    assert "ioreg" in taken.remarks[0]
