"""Machines that the doctor looks at: a Mac that is ready, and what differs on others."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.errors import ToolError
from tracekit.machine.machine import Machine
from tracekit.machine.state import State
from tracekit.record.doctor.surroundings import DoctorSurroundings
from tracekit.record.xctrace.command import Completed

SW_VERS = "/usr/bin/sw_vers"
SYSCTL = "/usr/sbin/sysctl -n"
READY = {
    f"{SW_VERS} -productVersion": "26.3.1\n",
    f"{SW_VERS} -buildVersion": "25D2128\n",
    f"{SYSCTL} machdep.cpu.brand_string": "Apple M1\n",
    f"{SYSCTL} kern.hv_vmm_present": "0\n",
    "/usr/sbin/ioreg": "+-o AGXAcceleratorG13G  <class AGXAcceleratorG13G>\n    {\n"
    '      "model" = "Apple M1"\n      "gpu-core-count" = 8\n    }\n',
    "xcode-select -p": "/Applications/Xcode.app/Contents/Developer\n",
    "xcrun --find xctrace": "/X/xctrace\n",
    "/X/xctrace version": "xctrace version 26.0 (17C529)\n",
    "/X/xctrace list templates": "== Standard Templates ==\nLogging\nMetal System Trace\n",
    "/X/xctrace list instruments": "== Standard Instruments ==\nGPU\nMetal GPU Counters\n",
    "/usr/sbin/DevToolsSecurity -status": "Developer mode is currently enabled.\n",
    "/usr/bin/codesign -dv": Completed(
        (), 0, stderr="CodeDirectory v=20400 size=441 flags=0x20002(adhoc,linker-signed) hashes=1\n"
    ),
    "/bin/launchctl managername": "Aqua\n",
    "/usr/bin/id -Gn": "staff everyone _developer admin\n",
    "python": '["0.32.1", true, {"device_name": "Apple M1", "architecture": "applegpu_g13g"}]\n',
}
NO_CALIBRATION = {"calibration": "no fixed work was done."}
QUIET_MAC = State(
    "2026-11-20T10:15:03+00:00",
    {
        "load": 0.03, "memory_free": 2.0**34, "mains": 1.0, "battery": 1.0, "thermal_pressure": 0.0,
        "gpu_others": 0.01, "low_power": 0.0,
    },
    {**NO_CALIBRATION, "gpu_clock": "ioreg does not tell it."},
)  # fmt: skip
QUIET_LINUX = State(
    "2026-11-20T10:15:03+00:00",
    {"load": 0.03, "memory_free": 2.0**34},
    {
        **NO_CALIBRATION,
        "gpu_clock": "no monitor that tells it can be read here.",
        "mains": "the system tells of no battery.",
        "battery": "the system tells of no battery.",
        "thermal_pressure": "Linux has no thermal pressure.",
        "gpu_others": "Linux does not say whose work a GPU does.",
        "low_power": "this Linux has no platform profile.",
    },
)
LINUX = {"python": '["0.32.1", false, {"device_name": "Some CPU", "architecture": "x86_64"}]\n'}


class Answers:
    """A `Run`: gives the answer of the longest known beginning of a command line."""

    def __init__(self, answers: Mapping[str, str | Completed | None], executable: Path) -> None:
        answers_by_name = {name: answer for name, answer in answers.items() if answer is not None}
        if "python" in answers_by_name:
            answers_by_name[str(executable)] = answers_by_name.pop("python")
        self.answers = answers_by_name

    def __call__(self, argv: tuple[str, ...], timeout: float) -> Completed:
        """Answer; a program that is not known cannot be started."""
        assert timeout > 0
        line = " ".join(argv)
        matching_names = [name for name in self.answers if line.startswith(name)]
        if not matching_names:
            raise ToolError(f"{argv[0]} cannot be started: No such file or directory.")
        answer = self.answers[max(matching_names, key=len)]
        return answer if isinstance(answer, Completed) else Completed(argv, 0, answer)

    def print_output(self, argv: tuple[str, ...], timeout: float) -> bytes:
        """Answer as a `Machine` is to: with what is printed, or nothing."""
        with suppress(ToolError):
            return self(argv, timeout).stdout.encode()
        return b""


@pytest.fixture
def executable(tmp_path: Path) -> Path:
    """An interpreter that is a program, not a script; it is never started."""
    file = tmp_path / "bin" / "python3.12"
    file.parent.mkdir()
    file.write_bytes(b"\xcf\xfa\xed\xfe")
    file.chmod(0o755)
    return file


@pytest.fixture
def mac(tmp_path: Path, executable: Path) -> Callable[..., DoctorSurroundings]:
    """Make a Mac that is ready; keywords change the surroundings, `answers` what tools say."""

    def make(answers: Mapping[str, str | Completed | None] | None = None, **more: Any) -> Any:
        tools = Answers({**READY, **(answers or {})}, executable)
        architecture = more.pop("architecture", "arm64")
        described = DoctorSurroundings(
            Machine(
                "Darwin", answer=tools.print_output, architecture=architecture, release="25.3.0"
            ),
            run=tools,
            environment={"PATH": str(executable.parent)},
            rivals=lambda: (),
            read_free_bytes=lambda _: 200_000_000_000,
            runs=tmp_path / "runs",
            temporary=tmp_path,
            executable=str(executable),
            state=lambda: QUIET_MAC,
        )
        return replace(described, **more)

    return make


@pytest.fixture
def linux(
    mac: Callable[..., DoctorSurroundings], executable: Path
) -> Callable[..., DoctorSurroundings]:
    """Make a machine without anything of Apple's."""

    def make(**more: Any) -> DoctorSurroundings:
        return replace(
            mac(),
            machine=Machine("Linux", architecture="x86_64", release="6.1.0"),
            run=Answers(LINUX, executable),
            state=lambda: QUIET_LINUX,
            **more,
        )

    return make
