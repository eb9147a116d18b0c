"""Looks at a machine that is described, and at this one."""

import plistlib
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fake_macmon import install_macmon
from tracekit.machine.machine import Machine, answer
from tracekit.machine.sources import IOREG_COMMAND as CLIENTS
from tracekit.machine.sources import PMSET_COMMAND as POWER
from tracekit.machine.sources import Spent, Taken
from tracekit.machine.state import JUDGED, State
from tracekit.machine.watch import LOOK, Watch, look


class Mac:
    """A Mac whose counts go on by a fixed amount at each look."""

    def __init__(self, program: Path | None = None) -> None:
        self.looks = 0
        self.asked: list[tuple[int, ...]] = []
        self.found = {"macmon": str(program)} if program else {}

    def answer(self, command: tuple[str, ...], patience: float) -> bytes:
        """Answer as pmset and ioreg do."""
        assert patience > 0
        if command == POWER:
            return b"Currently in use:\n lowpowermode         0\n"
        assert command == CLIENTS
        return plistlib.dumps(
            [
                {
                    "IORegistryEntryID": number,
                    "IOUserClientCreator": f"pid {pid}, {pid}",
                    "AppUsage": [{"accumulatedGPUTime": self.looks * each}],
                }
                for number, (pid, each) in enumerate(((7, 90_000_000), (420, 1_000_000)))
            ]
        )

    def spent(self, pids: Iterable[int]) -> Spent:
        """Count a look, and the time that goes with it."""
        self.looks += 1
        self.asked.append(tuple(sorted(pids)))
        ours = dict.fromkeys(pids, self.looks * 0.1)
        return Spent(time.monotonic(), self.looks * 0.3, self.looks * 0.7, ours)

    def machine(self, **more: Any) -> Machine:
        """Return this Mac to be asked; keywords change what it says."""
        said: dict[str, Any] = {
            "system": "Darwin",
            "answer": self.answer,
            "battery": lambda: SimpleNamespace(percent=100, power_plugged=True),
            "memory": lambda: 8 << 30,
            "spent": self.spent,
            "pressure": lambda: 1,
            "find": self.found.get,
            "root": False,
            **more,
        }
        return Machine(**said)


def all_judged(state: State) -> bool:
    known, absent = set(state.readings), set(state.absences)
    return not known & absent and known | absent >= set(JUDGED) and all(state.absences.values())


@pytest.mark.processes
def test_a_mac_with_macmon_tells_everything(tmp_path: Path) -> None:
    mac = Mac(install_macmon(tmp_path))
    with Watch(machine=mac.machine()) as watch:
        state = watch.before([7], calibration=1234.0)
    assert watch.monitor == "macmon"
    assert watch.remarks == ()
    assert state.absences == {}
    known = state.readings
    assert known["calibration"] == 1234.0
    assert known["gpu_clock"] == 1.398e9
    assert known["load"] == pytest.approx(0.2)
    assert 0 < known["gpu_others"] <= 0.001 / LOOK
    assert (known["memory_free"], known["mains"], known["battery"]) == (8 << 30, 1, 1)
    assert (known["thermal_pressure"], known["low_power"]) == (2, 0)
    assert known["gpu_temperature"] == 36.25


def test_the_look_after_is_of_all_the_time_since() -> None:
    mac = Mac()
    with Watch("off", machine=mac.machine()) as watch:
        watch.before([7, 8])
        time.sleep(2 * LOOK)
        began = time.monotonic()
        after = watch.after(calibration=5.0)
        assert time.monotonic() - began < LOOK
        # Two looks for before, one for after: it goes on from where before ended.
        assert mac.looks == 3
        assert mac.asked == [(7, 8)] * 3
        assert after.readings["calibration"] == 5.0
        assert after.readings["load"] == pytest.approx(0.1)
        assert after.readings["gpu_others"] < 0.001 / LOOK


def test_where_nobody_knows_who_ours_were_the_time_in_between_is_not_split() -> None:
    mac = Mac()
    with Watch("off", machine=mac.machine()) as watch:
        watch.before()
        time.sleep(2 * LOOK)
        began = time.monotonic()
        watch.after()
        assert time.monotonic() - began >= 0.9 * LOOK
    assert mac.looks == 4


def test_a_mac_that_answers_nothing_has_a_reason_for_each_absence() -> None:
    mac = Mac()
    state = look(
        monitor="off",
        machine=mac.machine(
            answer=lambda *_: b"", battery=lambda: None, pressure=lambda: None, spent=_stands_still
        ),
    )
    assert set(state.readings) == {"memory_free"}
    assert all_judged(state)


def _stands_still(pids: Iterable[int]) -> Spent:
    return Spent(time.monotonic(), 1.0, 1.0)


def test_linux_has_no_thermal_pressure_and_no_clients_of_a_gpu(tmp_path: Path) -> None:
    profile = tmp_path / "platform_profile"
    profile.write_text("low-power\n")
    silent = Machine("Linux", lambda _: None, root=False, sensors=Taken, profile=profile)
    state = look(machine=silent)
    assert all_judged(state)
    assert state.readings["low_power"] == 1
    assert "Linux" in state.absences["thermal_pressure"]
    assert "traced capture" in state.absences["gpu_others"]


@pytest.mark.processes
def test_a_command_that_fails_hangs_or_is_missing_says_nothing(
    own_program: Callable[[str], str],
) -> None:
    assert answer((own_program("print('here')"),), 10) == b"here\n"
    assert answer((own_program("print('here'); raise SystemExit(3)"),), 10) == b""
    assert answer((own_program("import time; time.sleep(60)"),), 0.2) == b""
    assert answer(("/missing/pmset", "-g"), 10) == b""


@pytest.fixture
def own_program(tmp_path: Path) -> Callable[[str], str]:
    """Make a program of lines of Python."""

    def make(lines: str) -> str:
        file = tmp_path / f"program{len(list(tmp_path.iterdir()))}"
        file.write_text(f"#!{sys.executable}\n{lines}\n")
        file.chmod(0o755)
        return str(file)

    return make
