"""The facts of a machine, and the table of checks that find them.

Each check tests one thing that a recording needs, by using it if possible.
"""

import os
import platform
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import psutil

from tracekit.base import (
    InputError,
    ToolError,
    TracekitError,
    UsageError,
    choices,
    own_version,
)
from tracekit.machine import (
    JUDGED,
    StateLimits,
    chips,
    find_launchd_obstacle,
    find_rejections,
)
from tracekit.machine import unknown as not_known
from tracekit.record import gpucapture
from tracekit.record.beliefs import VARIABLE as BELIEFS_VARIABLE
from tracekit.record.beliefs import describe_changes, find_contradictions, read_beliefs
from tracekit.record.doctor.surroundings import DoctorSurroundings
from tracekit.record.host.sampler import Sampler, read_samples
from tracekit.record.supervisor import size
from tracekit.record.xctrace.claim import VARIABLE, floor, refuse_rivals
from tracekit.record.xctrace.command import SELECT_XCODE, WAYS_TO_COUNTERS, distorts
from tracekit.record.xctrace.templates import GPU_COUNTERS
from tracekit.record.xctrace.tool import Listed, Xctrace


class FactStatus(StrEnum):
    """The verdict on a fact."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class MachineFact:
    """One row of the doctor's table."""

    words: str  # the fact, in words
    fix: str = ""  # the remedy, empty if the fact needs none
    # whether nothing can be recorded without it; if such a fact is unknown, so is the whole verdict
    needed: bool = False
    name: str = ""  # the thing that was checked, by default the name of the check
    verdict: FactStatus = FactStatus.OK


ok = MachineFact  # as it should be
# It may spoil a recording, or part of it.
warning = partial(MachineFact, verdict=FactStatus.WARNING)
# Nothing can be recorded; has a fix.
failed = partial(MachineFact, verdict=FactStatus.FAILED, needed=True)
not_applicable = partial(MachineFact, verdict=FactStatus.NOT_APPLICABLE)  # it has no meaning here
unknown = partial(MachineFact, verdict=FactStatus.UNKNOWN)  # it could not be determined


Look = Callable[[DoctorSurroundings], MachineFact | Iterable[MachineFact]]


@dataclass(frozen=True)
class DoctorCheck:
    """One thing to check; `requirement` limits it to some machines, see `_elsewhere`."""

    name: str
    look: Look
    requirement: str = ""


def _elsewhere(requirement: str, surroundings: DoctorSurroundings) -> str:
    """Return why a check has no meaning on this machine; empty if it has one."""
    system = surroundings.machine.system
    if requirement == "mac" and not surroundings.machine.on_mac:
        return f"Only macOS has it, and this is {system}."
    if requirement == "xcode" and not surroundings.has_xcode:
        return f"Xcode runs on macOS only, and this is {system}."
    if requirement == "xctrace" and not (surroundings.machine.on_mac or surroundings.has_xctrace):
        return "It matters to xctrace only, which is not here."
    return ""


def _tracekit(_: DoctorSurroundings) -> MachineFact:
    return ok(f"{own_version()} in {Path(__file__).parents[2]}")


def _host_recorder(_: DoctorSurroundings) -> MachineFact:
    try:
        with tempfile.TemporaryDirectory() as folder:
            samples = Path(folder) / "samples.jsonl"
            with closing(Sampler(os.getpid(), samples)) as sampler:
                sampler.take()
            read_samples(samples)[0]
    except (TracekitError, psutil.Error, OSError, IndexError) as error:
        fix = "Let TMPDIR be a folder that you may write to; else install tracekit again."
        return failed(f"A process cannot be sampled: {error}", fix)
    return ok("works: any program can be recorded on the CPU")


def _system(surroundings: DoctorSurroundings) -> MachineFact:
    machine = surroundings.machine
    if not machine.on_mac:
        name = machine.system
        if machine.system == platform.system() and machine.os:
            name = machine.os
        return ok(f"{name}, kernel {machine.release}")
    if not machine.os or not machine.os_build:
        return unknown("macOS, but `sw_vers` does not tell its version and build.")
    return ok(f"{machine.os} ({machine.os_build})")


def _architecture(surroundings: DoctorSurroundings) -> MachineFact:
    architecture = surroundings.machine.architecture
    if not surroundings.machine.on_mac:
        return ok(architecture)
    if architecture == "arm64":
        return ok("arm64, native")
    if surroundings.machine.is_translated:
        return failed(
            f"Rosetta translates this Python: it is {architecture} on Apple silicon, "
            "so MLX has no Metal.",
            "Install an arm64 Python, and tracekit with it: `uv python install 3.12`, "
            "in a terminal that does not run under Rosetta.",
        )
    return unknown(
        f"This Python is {architecture}, and macOS does not say that it is translated: "
        "it may be a Mac without Apple silicon.",
        "MLX's Metal needs Apple silicon; `uname -m` says arm64 there.",
        needed=True,
    )


def _chip(surroundings: DoctorSurroundings) -> MachineFact:
    if not surroundings.machine.chip:
        return unknown("The system does not name it.")
    return ok(surroundings.machine.chip)


def _virtual_machine(surroundings: DoctorSurroundings) -> MachineFact:
    is_virtual = surroundings.machine.is_virtual
    if is_virtual is None:
        return unknown("`sysctl kern.hv_vmm_present` does not tell.")
    if is_virtual:
        return warning(chips.VIRTUAL_GPU, _OWN_MAC)
    return ok("no")


_OWN_MAC = (
    "Measure on a Mac of your own; here, check that kernels are right: `tracekit kernel parity`."
)


def _gpu_cores(surroundings: DoctorSurroundings) -> MachineFact:
    cores = surroundings.machine.gpu_cores
    if cores is None:
        return unknown("`ioreg` names no gpu-core-count.")
    return ok(str(cores))


def _metal_switches(surroundings: DoctorSurroundings) -> MachineFact:
    names = sorted(filter(distorts, surroundings.environment))
    if not names:
        return ok("none is set")
    return warning(
        f"{', '.join(names)} change the behavior of Metal, and so the measurement.",
        "tracekit does not pass them to the programs that it launches; start a process to attach "
        f"to without them: `unset {' '.join(names)}`.",
    )


def _interpreter(surroundings: DoctorSurroundings) -> MachineFact:
    executable = surroundings.executable
    if not executable:
        return unknown("Python does not know its own path.", needed=True)
    with suppress(OSError), Path(executable).open("rb") as file:
        if file.read(2) == b"#!":
            return failed(
                f"{executable} is a script that starts Python: a recorder would trace the script.",
                "Run tracekit with the interpreter that `python -c 'import sys; "
                "print(sys.executable)'` prints.",
            )
    real_path = os.path.realpath(executable)
    if real_path == executable:
        return ok(executable)
    return ok(f"{executable}, which is {real_path}")


_HARDENED = (
    "Whether Metal System Trace records such a program is not known, and an instrument that looks "
    "into it may not: `uv run --python 3.13` takes a Python that is not hardened."
)


def _signature(surroundings: DoctorSurroundings) -> MachineFact:
    """Tell how the interpreter is signed; `codesign` says so on standard error."""
    try:
        answer = surroundings.run(("/usr/bin/codesign", "-dv", surroundings.executable), 10)
    except TracekitError:
        return unknown("`codesign` cannot be started.")
    if "not signed at all" in answer.text:
        return ok("not signed")
    flags = re.search(r"flags=0x[0-9a-f]+\(([^)]*)\)", answer.text)
    if flags is None:
        return unknown("`codesign -dv` tells no flags.")
    words = flags[1].split(",")
    if "runtime" in words:
        return warning("signed with the hardened runtime.", _HARDENED)
    return ok("signed ad hoc" if "adhoc" in words else "signed")


def _session(surroundings: DoctorSurroundings) -> MachineFact:
    if surroundings.environment.get("SSH_CONNECTION"):
        return ok("ssh; a dialog of macOS would wait at the desktop, where nobody sees it")
    name = surroundings.answer("/bin/launchctl", "managername")
    if name == "Aqua":
        return ok("desktop")
    return unknown(f"launchctl names the session {name!r}.")


def _reach(surroundings: DoctorSurroundings) -> MachineFact:
    folder = surroundings.runs.absolute()
    obstacle = find_launchd_obstacle(folder, Path.home())
    if obstacle:
        return warning(
            f"Nights cannot use {folder}: {obstacle}.",
            "Keep the plan, its output and this checkout in another folder of your home.",
        )
    return ok("launchd may read the folder of runs, as far as is known")


_ASK_MLX = """
import json
import mlx.core as mx
ask = getattr(mx, "device_info", None) or mx.metal.device_info
print(json.dumps([mx.__version__, bool(mx.metal.is_available()), dict(ask())], default=str))
"""
_IMPORT_SECONDS = 60
_METAL = "mlx metal"


def _mlx(surroundings: DoctorSurroundings) -> Iterator[MachineFact]:
    on_mac = surroundings.machine.on_mac
    answer = surroundings.answer(
        surroundings.executable, "-P", "-c", _ASK_MLX, seconds=_IMPORT_SECONDS
    )
    if not answer:
        package = "mlx" if on_mac else "'mlx[cpu]'"
        yield warning(
            "It cannot be imported, so the workloads cannot run; other programs can be recorded.",
            f"`{surroundings.executable} -c 'import mlx.core'` says why; `uv pip install --python "
            f"{surroundings.executable} {package}` adds it.",
        )
        yield unknown("There is no MLX to ask.", name=_METAL)
        return
    try:
        release, has_metal, device = msgspec.json.decode(
            answer.splitlines()[-1], type=tuple[str, bool, dict[str, Any]]
        )
    except msgspec.MsgspecError:
        yield unknown(f"It answers {answer!r}.")
        yield unknown("MLX does not say.", needed=on_mac, name=_METAL)
        return
    yield ok(release)
    yield _metal(device, on_mac=on_mac, has_metal=has_metal)


def _metal(device: dict[str, Any], *, on_mac: bool, has_metal: bool) -> MachineFact:
    """Return whether MLX can use Metal; `device` is its own description."""
    names = [str(device[key]) for key in ("device_name", "architecture") if device.get(key)]
    device_label = " ".join(names) or "unnamed"
    if has_metal and chips.is_virtual_device(device_label):
        return warning(f"available: {device_label}. {chips.VIRTUAL_GPU}", _OWN_MAC, name=_METAL)
    if has_metal:
        return ok(f"available: {device_label}", name=_METAL)
    if on_mac:
        return failed(
            "MLX finds no Metal device, so workloads run on the CPU and no GPU work is recorded.",
            "Use an arm64 Python on Apple silicon, outside of virtual machines, and MLX's wheel.",
            name=_METAL,
        )
    reason = f"Metal exists on macOS only; MLX works on the CPU here: {device_label}."
    return not_applicable(reason, name=_METAL)


_COMMAND_LINE_TOOLS = "/Library/Developer/CommandLineTools"


def _developer_folder(surroundings: DoctorSurroundings) -> MachineFact:
    chosen_folder = surroundings.environment.get("DEVELOPER_DIR", "")
    folder = chosen_folder or surroundings.answer("xcode-select", "-p")
    if not folder.startswith("/"):
        return unknown("`xcode-select -p` names none.", SELECT_XCODE)
    if folder.startswith(_COMMAND_LINE_TOOLS):
        how = "DEVELOPER_DIR names" if chosen_folder else "Selected are"
        return failed(f"{how} the Command Line Tools, which have no xctrace.", SELECT_XCODE)
    if chosen_folder:
        return ok(f"{folder} (DEVELOPER_DIR)")
    return ok(folder)


def _xctrace(surroundings: DoctorSurroundings) -> MachineFact:
    tool = surroundings.xctrace
    if isinstance(tool, TracekitError):
        fix = tool.hint or "Run the same line by hand and read its output."
        return failed(" ".join(tool.message.split()), fix)
    assert tool is not None  # there is an Xcode
    version = tool.version
    if version.xcode is None:
        words = f"It answers {version.text!r}, which names no build."
        return unknown(words, "Is this Apple's xctrace?")
    return ok(f"{version.text}: by its build {version.build}, of Xcode {version.xcode}")


def _frame_capture(surroundings: DoctorSurroundings) -> Iterator[MachineFact]:
    if surroundings.machine.on_mac:
        words = "part of Metal: `tracekit capture --gputrace` captures workloads by it"
        yield ok(words, name="MTLCaptureManager")
    uses = {
        gpucapture.NAME: "`tracekit capture --gputrace --attach PID` captures a process by it",
        gpucapture.DEBUGGER: "it profiles a capture; its output has no documented form to read",
    }
    for name, use in uses.items():
        path = gpucapture.find_tool(surroundings.run, name)
        if not surroundings.has_xctrace:
            yield unknown("xctrace does not answer.", name=name)
        elif path:
            yield ok(f"{path}: {use}", name=name)
        else:
            yield not_applicable(f"There is none; it comes with {gpucapture.ORIGIN}.", name=name)


def _beliefs(_: DoctorSurroundings) -> MachineFact:
    try:
        beliefs = read_beliefs()
    except InputError as error:
        return failed(error.message, f"`unset {BELIEFS_VARIABLE}`, or repair the file.")
    contradictions = list(find_contradictions(beliefs))
    if contradictions:
        words = f"Machines contradict each other, so the expected values count: {contradictions[0]}"
        return warning(words, "Ask this machine: `tracekit doctor --questions`.")
    changes = list(describe_changes(beliefs))
    if changes:
        return ok(f"{len(changes)} of {len(beliefs)} changed by answers: {' '.join(changes)}")
    return ok(f"{len(beliefs)} about xctrace, with their expected values")


def _template(surroundings: DoctorSurroundings) -> MachineFact:
    absence_fact = failed(
        f"This Xcode has no template {choices.METAL_SYSTEM_TRACE!r}.",
        "`xcrun xctrace list templates` names those it has; `--template` takes one of them, "
        "or a file that Instruments saved. A whole Xcode has it: install it again.",
    )
    return _check_listed(surroundings, "templates", choices.METAL_SYSTEM_TRACE, absence_fact)


def _gpu_counters(surroundings: DoctorSurroundings) -> MachineFact:
    absence_fact = warning(f"This Xcode has no instrument {GPU_COUNTERS!r}.", WAYS_TO_COUNTERS)
    return _check_listed(surroundings, "instruments", GPU_COUNTERS, absence_fact)


def _check_listed(
    surroundings: DoctorSurroundings, kind: Listed, name: str, absence_fact: MachineFact
) -> MachineFact:
    if not isinstance(surroundings.xctrace, Xctrace):
        return unknown("xctrace does not answer.")
    names: list[str] = []
    with suppress(TracekitError):
        names = surroundings.xctrace.names(kind)
    if not names:
        return unknown("xctrace lists nothing.", "Run `xcrun xctrace list` by hand.")
    if name not in names:
        return absence_fact
    return ok(f"{name} is listed")


_GROUP = "_developer"


def _developer_mode(surroundings: DoctorSurroundings) -> MachineFact:
    status = surroundings.answer("/usr/sbin/DevToolsSecurity", "-status")
    if status == "Developer mode is currently enabled.":
        return ok("enabled")
    if status == "Developer mode is currently disabled.":
        return warning(
            "disabled: macOS may ask for a password, or refuse to start a kernel trace.",
            "`sudo DevToolsSecurity -enable`, once.",
        )
    words = "It does not say."
    if status:
        words = f"`DevToolsSecurity -status` says {status!r}."
    return unknown(words, "Run `DevToolsSecurity -status` by hand.", needed=True)


def _developer_group(surroundings: DoctorSurroundings) -> MachineFact:
    groups = surroundings.answer("/usr/bin/id", "-Gn").split()
    if not groups:
        return unknown("`id -Gn` names no group.")
    if _GROUP in groups:
        return ok(f"this user is in {_GROUP}")
    return warning(
        f"This user is not in {_GROUP}: macOS may ask for a password before it records.",
        f'`sudo dseditgroup -o edit -a "$USER" -t user {_GROUP}`, then log in again.',
    )


_GIGABYTE = 1e9
_HOST_FLOOR = 0.1 * _GIGABYTE  # the host recorder writes megabytes, xctrace many gigabytes


def _other_recorders(surroundings: DoctorSurroundings) -> MachineFact:
    try:
        warnings = refuse_rivals(surroundings.rivals())
    except ToolError as error:
        return warning(error.message, error.hint)
    if not warnings:
        return ok("none runs")
    return warning(" ".join(warnings), "Quit it before you record.")


def _disk(surroundings: DoctorSurroundings, requested_folder: Path) -> MachineFact:
    folder = _find_existing_folder(requested_folder)
    has_xctrace = not _elsewhere("xctrace", surroundings)
    try:
        required_bytes = floor(surroundings.environment) if has_xctrace else _HOST_FLOOR
        free_bytes = surroundings.read_free_bytes(folder)
    except UsageError as error:
        return failed(error.message, f"`unset {VARIABLE}`")
    except OSError as error:
        return unknown(f"{folder}: {error.strerror}.", needed=True)
    words = f"{free_bytes / _GIGABYTE:.1f} GB free at {folder}"
    if free_bytes >= required_bytes:
        return ok(words)
    words = f"{words}; {required_bytes / _GIGABYTE:g} GB must stay free."
    fix = "Make room on that disk."
    if has_xctrace:
        fix = f"{fix} {VARIABLE}=2 lowers the floor to 2 GB."
    return failed(words, fix)


def _find_existing_folder(requested_folder: Path) -> Path:
    """Return the folder itself, or the nearest one above that exists: it will be made in there."""
    folder = requested_folder.absolute()
    return next(filter(Path.is_dir, (folder, *folder.parents)))


def _staging_files(surroundings: DoctorSurroundings) -> MachineFact:
    leftover_files = list(surroundings.temporary.glob("instruments*.ktrace"))
    total_bytes = size(leftover_files)
    words = "none left"
    if leftover_files:
        gigabytes = total_bytes / _GIGABYTE
        words = f"{len(leftover_files)} left by recordings, {gigabytes:.1f} GB"
    if total_bytes < _GIGABYTE:
        return ok(words)
    fix = "Remove those that `lsof` shows as closed: nothing else ever does."
    return warning(f"{words}, in {surroundings.temporary}.", fix)


_FIXED_WORK = "calibration"  # each night does its own, so it is not a property of the machine
_MONITOR = "macmon tells a GPU's clock without root: `brew install macmon`."


def _nightly(surroundings: DoctorSurroundings) -> Iterator[MachineFact]:
    """Check the machine once, as a night does."""
    state = surroundings.state()
    absences = {name: reason for name, reason in state.absences.items() if name != _FIXED_WORK}
    state = replace(state, absences=absences)
    reasons = find_rejections(state, None, (), StateLimits())
    if reasons:
        fix = (
            "While it is so, a night measures such pairs again, and is inconclusive in the end; "
            "its plan may allow more."
        )
        yield warning(" ".join(reasons), fix)
    else:
        names = [name.replace("_", " ") for name in JUDGED if name in state.readings]
        yield ok(f"as a night wants it; readable: {', '.join(names) or 'nothing'}")
    missing_readings = not_known((state,))
    if missing_readings:
        fix = ""
        if surroundings.machine.on_mac and "gpu_clock" in absences:
            fix = _MONITOR
        yield unknown(" ".join(missing_readings), fix, name="nightly, unknown")


CHECKS: tuple[DoctorCheck, ...] = (
    DoctorCheck("tracekit", _tracekit),
    DoctorCheck("host recorder", _host_recorder),
    DoctorCheck("system", _system),
    DoctorCheck("architecture", _architecture),
    DoctorCheck("chip", _chip),
    DoctorCheck("virtual machine", _virtual_machine, "mac"),
    DoctorCheck("gpu cores", _gpu_cores, "mac"),
    DoctorCheck("metal switches", _metal_switches),
    DoctorCheck("interpreter", _interpreter),
    DoctorCheck("signature", _signature, "mac"),
    DoctorCheck("session", _session, "mac"),
    DoctorCheck("reach of launchd", _reach, "mac"),
    DoctorCheck("mlx", _mlx),
    DoctorCheck("developer folder", _developer_folder, "xcode"),
    DoctorCheck("xctrace", _xctrace, "xcode"),
    DoctorCheck("frame capture", _frame_capture, "xcode"),
    DoctorCheck("beliefs", _beliefs, "xctrace"),
    DoctorCheck("template", _template, "xcode"),
    DoctorCheck("gpu counters", _gpu_counters, "xcode"),
    DoctorCheck("developer mode", _developer_mode, "mac"),
    DoctorCheck("developer group", _developer_group, "mac"),
    DoctorCheck("other recorders", _other_recorders, "xctrace"),
    DoctorCheck("disk for runs", lambda surroundings: _disk(surroundings, surroundings.runs)),
    DoctorCheck(
        "disk for staging", lambda surroundings: _disk(surroundings, surroundings.temporary)
    ),
    DoctorCheck("staging files", _staging_files, "xctrace"),
    DoctorCheck("nightly", _nightly),
)


def run_checks(surroundings: DoctorSurroundings, *names: str) -> Iterator[MachineFact]:
    """Yield the facts of a machine, in the order of the table; of some checks, or of all."""
    for check in CHECKS:
        if names and check.name not in names:
            continue
        for fact in _run_check(check, surroundings):
            yield replace(fact, name=fact.name or check.name)


def _run_check(check: DoctorCheck, surroundings: DoctorSurroundings) -> Iterable[MachineFact]:
    reason = _elsewhere(check.requirement, surroundings)
    if reason:
        return (not_applicable(reason),)
    facts = check.look(surroundings)
    if isinstance(facts, MachineFact):
        return (facts,)
    return facts
