"""Looks at a machine that is described, what a monitor said meanwhile, and this machine."""

import os
import plistlib
import signal
import time
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from children import until_gone
from fake_macmon import install_macmon
from tracekit.machine.machine import Machine
from tracekit.machine.sources import IOREG_COMMAND, PMSET_COMMAND, CpuTime, SensorReading, Taken
from tracekit.machine.state import JUDGED, State
from tracekit.machine.watch import LOOK, Samples, Watch, look, summary


def make_sample(**values: float) -> Taken:
    return Taken(tuple(SensorReading(name, value, "") for name, value in values.items()))


def test_samples_are_given_out_once_and_the_last_one_holds_for_a_while() -> None:
    samples = Samples()
    samples.add("macmon", Taken((), ("macmon: a line is no object.",)))
    assert not samples.ever.is_set()
    assert samples.since_asked(60.0) == []
    samples.add("macmon", make_sample(gpu_clock=1.0))
    samples.add("macmon", make_sample(gpu_clock=2.0))
    assert samples.ever.is_set()
    assert samples.since_asked(0.0) == [{"gpu_clock": 1.0}, {"gpu_clock": 2.0}]
    assert samples.since_asked(60.0) == [{"gpu_clock": 2.0}]
    assert samples.since_asked(0.0) == []


def test_a_monitors_output_is_one_reading_a_name() -> None:
    for samples, readings, reason in (
        (  # the median of the samples in which the GPU worked
            [
                {"gpu_clock": 4e8, "gpu_active": 0.02},
                {"gpu_clock": 1.4e9, "gpu_active": 0.9},
                {"gpu_clock": 1.2e9, "gpu_active": 0.8},
                {"gpu_clock": 1.25e9, "gpu_active": 0.5},
            ],
            {"gpu_clock": 1.25e9, "gpu_active": 0.65}, "",
        ),
        (  # of heat the worst counts
            [{"thermal_pressure": heat, "gpu_power": heat} for heat in (0.0, 0.0, 2.0)],
            {"thermal_pressure": 2.0, "gpu_power": 0.0}, "m does not tell it.",
        ),
        ([], {}, "m has said nothing in the meantime."),
        (
            [{"gpu_clock": 4e8, "gpu_active": 0.49}],
            {"gpu_active": 0.49}, "the GPU had too little to do as m looked.",
        ),
    ):  # fmt: skip
        sample_summary = summary(samples, "m")
        assert sample_summary.readings == readings
        assert sample_summary.absences == ({"gpu_clock": reason} if reason else {}), readings
        no_monitor = {"gpu_clock": "no monitor that tells it can be read here."}
        assert summary(samples, "").absences == no_monitor


class Mac:
    """A Mac whose counts go on by a fixed amount at each look."""

    def __init__(self, program: Path | None = None) -> None:
        self.looks = 0
        self.asked: list[tuple[int, ...]] = []
        self.found = {"macmon": str(program)} if program else {}

    def answer(self, command: tuple[str, ...], patience: float) -> bytes:
        assert patience > 0
        if command == PMSET_COMMAND:
            return b"Currently in use:\n lowpowermode         0\n"
        assert command == IOREG_COMMAND
        return plistlib.dumps([self.client(1, 7, 90_000_000), self.client(2, 420, 1_000_000)])

    def client(self, number: int, pid: int, time_per_look: int) -> dict[str, Any]:
        usage = [{"accumulatedGPUTime": self.looks * time_per_look}]
        creator = f"pid {pid}, {pid}"
        return {"IORegistryEntryID": number, "IOUserClientCreator": creator, "AppUsage": usage}

    def count_cpu_time(self, pids: Iterable[int]) -> CpuTime:
        """Count a look, and the time that goes with it."""
        self.looks += 1
        self.asked.append(tuple(sorted(pids)))
        ours = dict.fromkeys(pids, self.looks * 0.1)
        return CpuTime(time.monotonic(), self.looks * 0.3, self.looks * 0.7, ours)

    def machine(self, **more: Any) -> Machine:
        """Return this Mac to be asked; keywords change what it says."""
        charged = SimpleNamespace(percent=100, power_plugged=True)
        answers: dict[str, Any] = {
            "answer": self.answer, "battery": lambda: charged, "memory": lambda: 8 << 30,
            "spent": self.count_cpu_time, "pressure": lambda: 1, "find": self.found.get,
            "root": False,
        }  # fmt: skip
        return Machine("Darwin", **answers | more)


def all_judged(state: State) -> bool:
    reading_names, absent_names = set(state.readings), set(state.absences)
    return (
        not reading_names & absent_names
        and reading_names | absent_names >= set(JUDGED)
        and all(state.absences.values())
    )


@pytest.mark.processes
def test_a_mac_with_macmon_tells_everything_and_an_interrupt_leaves_no_monitor(
    tmp_path: Path,
) -> None:
    mac = Mac(install_macmon(tmp_path))
    with pytest.raises(KeyboardInterrupt), Watch(machine=mac.machine()) as watch:  # noqa: PT012
        state = watch.before([7], calibration=1234.0)
        pid = int((tmp_path / "pid").read_text())
        assert psutil.pid_exists(pid)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    until_gone(pid)
    assert (watch.monitor, watch.remarks, state.absences) == ("macmon", (), {})
    readings = state.readings
    assert (readings["calibration"], readings["gpu_clock"]) == (1234.0, 1.398e9)
    assert readings["load"] == pytest.approx(0.2)
    assert 0 < readings["gpu_others"] <= 0.001 / LOOK
    assert (readings["memory_free"], readings["mains"], readings["battery"]) == (8 << 30, 1, 1)
    assert (readings["thermal_pressure"], readings["low_power"]) == (2, 0)
    assert readings["gpu_temperature"] == 36.25
    look(machine=mac.machine())  # of which a monitor that is forgotten prints an end
    assert (tmp_path / "arguments").read_text() == "pipe -s 7205 -i 500"


def test_the_last_look_covers_all_the_time_since_the_first_if_our_processes_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mac, other_mac, waited = Mac(), Mac(), list[float]()
    with Watch("off", machine=mac.machine()) as watch:
        watch.before([7, 8])
        time.sleep(2 * LOOK)
        with monkeypatch.context() as patched:
            patched.setattr(time, "sleep", waited.append)
            state_after = watch.after(calibration=5.0)
        assert waited == [0.0]
        # Two looks for before, one for after: it goes on from where before ended.
        assert mac.asked == [(7, 8)] * mac.looks == [(7, 8)] * 3
        assert state_after.readings["calibration"] == 5.0
        assert state_after.readings["load"] == pytest.approx(0.1)
        assert state_after.readings["gpu_others"] < 0.001 / LOOK
    with Watch("off", machine=other_mac.machine()) as watch:
        watch.before()
        start_time = time.monotonic()
        watch.after()
        assert time.monotonic() - start_time >= 0.9 * LOOK
    assert other_mac.looks == 4


def test_a_machine_that_does_not_answer_has_a_reason_for_each_absence(tmp_path: Path) -> None:
    silent = Mac().machine(
        answer=lambda *_: b"", battery=lambda: None, pressure=lambda: None,
        spent=lambda _: CpuTime(time.monotonic(), 1.0, 1.0),
    )  # fmt: skip
    state = look(monitor="off", machine=silent)
    assert set(state.readings) == {"memory_free"}
    assert all_judged(state)
    profile = tmp_path / "platform_profile"
    profile.write_text("low-power\n")
    linux = Machine("Linux", lambda _: None, root=False, sensors=Taken, profile=profile)
    state = look(machine=linux)
    assert all_judged(state)
    assert state.readings["low_power"] == 1
    assert "Linux" in state.absences["thermal_pressure"]
    assert "traced capture" in state.absences["gpu_others"]
