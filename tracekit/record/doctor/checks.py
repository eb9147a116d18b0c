"""The checks of tracekit, the system, Python, permissions, room, nights and direct reading.

A night runs fixed work of its own, so its canary is no matter of the machine.
"""

import os
import platform
import re
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec
import psutil

from tracekit.base import ToolError, TracekitError, UsageError, count, shipped
from tracekit.machine import JUDGED, State, StateLimits, contaminated, describe
from tracekit.machine import unknown as not_known
from tracekit.record.direct_reading.compare import Memory
from tracekit.record.doctor.facts import (
    Fact,
    Surroundings,
    chip,
    existing,
    failed,
    not_applicable,
    ok,
    system_build,
    unknown,
    warning,
)
from tracekit.record.host.sampler import Sampler, read_samples
from tracekit.record.xctrace.claim import VARIABLE, floor, refuse_rivals
from tracekit.record.xctrace.command import distorts

_INSTALL_AGAIN = "Let TMPDIR be a folder that you may write to; else install tracekit again."
_FOLDERS = ("kernels", "workloads", "templates")
_READER = ("lxml", "msgspec", "numpy", "pandas", "pyarrow")


def own_facts() -> Iterator[Fact]:
    """Look at tracekit and at what it stands on, by using it."""
    yield _itself()
    yield _host_recorder()
    yield _reader()


def _itself() -> Fact:
    missing = [name for name in _FOLDERS if not shipped(name).is_dir()]
    where = Path(__file__).parents[2]
    words = f"{version('tracekit')} in {where}"
    if not missing:
        return ok("tracekit", words)
    return failed("tracekit", f"{words} lacks {', '.join(missing)}.", "Install it again.")


def _host_recorder() -> Fact:
    name = "host recorder"
    try:
        with tempfile.TemporaryDirectory() as folder:
            samples = Path(folder) / "samples.jsonl"
            with closing(Sampler(os.getpid(), samples)) as sampler:
                taken = sampler.take()
            readable = len(read_samples(samples))
    except (TracekitError, psutil.Error, OSError) as error:
        return failed(name, f"A process cannot be sampled: {error}", _INSTALL_AGAIN)
    if not taken or not readable:
        return failed(name, "A sample of this process came out empty.", _INSTALL_AGAIN)
    return ok(name, "works: any program can be recorded on the CPU")


def _reader() -> Fact:
    name = "import and analysis"
    absent: list[str] = []
    for package in _READER:
        try:
            __import__(package)
        except ImportError:
            absent.append(package)
    if absent:
        return failed(name, f"{', '.join(absent)} cannot be imported.", "Install tracekit again.")
    return ok(name, f"work: {', '.join(f'{one} {_version(one)}' for one in _READER)}")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"


_VERSION = re.compile(r"\d+(\.\d+)*")
_CORES = re.compile(r'"gpu-core-count" = (\d+)')
_IOREG = ("/usr/sbin/ioreg", "-r", "-d", "1", "-w", "0", "-c", "AGXAccelerator")


def system_facts(surroundings: Surroundings) -> Iterator[Fact]:
    """Look at the system, the architecture, the chip, its GPU and Metal's switches."""
    yield _system(surroundings)
    yield _architecture(surroundings)
    name = chip(surroundings)
    yield ok("chip", name) if name else unknown("chip", "The system does not name it.")
    yield _gpu_cores(surroundings)
    yield _metal_switches(surroundings)


def _system(surroundings: Surroundings) -> Fact:
    if not surroundings.on_mac:
        known = describe() if surroundings.system == platform.system() else {}
        name = known.get("os") or surroundings.system
        return ok("system", f"{name}, kernel {surroundings.release}")
    version = surroundings.answer("/usr/bin/sw_vers", "-productVersion")
    build = system_build(surroundings)
    if not _VERSION.fullmatch(version) or not build:
        return unknown("system", "macOS, but `sw_vers` does not tell its version and build.")
    return ok("system", f"macOS {version} ({build})")


def _architecture(surroundings: Surroundings) -> Fact:
    name, architecture = "architecture", surroundings.architecture
    if not surroundings.on_mac:
        return ok(name, architecture)
    if architecture == "arm64":
        return ok(name, "arm64, native")
    translated = surroundings.answer("/usr/sbin/sysctl", "-n", "sysctl.proc_translated")
    if translated == "1":
        return failed(
            name,
            f"Rosetta translates this Python: it is {architecture} on Apple silicon, "
            "so MLX has no Metal.",
            "Install an arm64 Python, and tracekit with it: `uv python install 3.12`, "
            "in a terminal that does not run under Rosetta.",
        )
    return unknown(
        name,
        f"This Python is {architecture}, and macOS does not say that it is translated: "
        "it may be a Mac without Apple silicon.",
        "MLX's Metal needs Apple silicon; `uname -m` says arm64 there.",
        needed=True,
    )


def _gpu_cores(surroundings: Surroundings) -> Fact:
    if not surroundings.on_mac:
        return not_applicable("gpu cores", "Counted on macOS only.")
    found = _CORES.search(surroundings.answer(*_IOREG))
    if found is None:
        return unknown("gpu cores", "`ioreg` names no gpu-core-count.")
    return ok("gpu cores", found.group(1))


def _metal_switches(surroundings: Surroundings) -> Fact:
    name = "metal switches"
    there = sorted(one for one in surroundings.environment if distorts(one))
    if not there:
        return ok(name, "none is set")
    return warning(
        name,
        f"{', '.join(there)} change what Metal does, and so what is measured.",
        "What tracekit launches does not get them; a process to attach to must be started "
        f"without them: `unset {' '.join(there)}`.",
    )


_ASK_MLX = """
import json
import mlx.core as mx
ask = getattr(mx, "device_info", None) or mx.metal.device_info
print(json.dumps([mx.__version__, bool(mx.metal.is_available()), dict(ask())], default=str))
"""
_ASK_PRESENCE = "import importlib.util as u; print(u.find_spec('mlx') is not None)"
_IMPORT_SECONDS = 60


def python_facts(surroundings: Surroundings) -> Iterator[Fact]:
    """Look at the interpreter, at the ones a shell would find, and at MLX."""
    yield _interpreter(surroundings.executable)
    yield _on_path(surroundings)
    yield from _mlx(surroundings)


def _interpreter(executable: str) -> Fact:
    name = "interpreter"
    if not executable:
        return unknown(name, "Python does not know its own path.", needed=True)
    if _is_script(executable):
        return failed(
            name,
            f"{executable} is a script that starts Python: a recorder would trace the script.",
            "Run tracekit with the interpreter that `python -c 'import sys; "
            "print(sys.executable)'` prints.",
        )
    real = os.path.realpath(executable)
    return ok(name, executable if real == executable else f"{executable}, which is {real}")


def _on_path(surroundings: Surroundings) -> Fact:
    """Look at what `-- python3 …` would record: a shim of pyenv is a shell script."""
    name = "python3 on PATH"
    found = surroundings.find("python3")
    if found is None:
        return ok(name, "none; workloads run with the interpreter above")
    if not _is_script(found):
        return ok(name, found)
    return warning(
        name,
        f"{found} is a script that starts Python: `tracekit capture -- python3 …` would trace "
        "the script. Workloads are not concerned.",
        f"Name the interpreter itself: `-- {surroundings.executable} …`.",
    )


def _is_script(path: str) -> bool:
    try:
        with Path(path).open("rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


def _mlx(surroundings: Surroundings) -> Iterator[Fact]:
    python = (surroundings.executable, "-P", "-c")
    asked = surroundings.answer(*python, _ASK_MLX, seconds=_IMPORT_SECONDS)
    if not asked:
        yield from _without_mlx(surroundings, python)
        return
    try:
        version, metal, device = msgspec.json.decode(
            asked.splitlines()[-1], type=tuple[str, bool, dict[str, Any]]
        )
    except msgspec.MsgspecError:
        yield unknown("mlx", f"It answers {asked!r}.")
        yield unknown("mlx metal", "MLX does not say.", needed=surroundings.on_mac)
        return
    yield ok("mlx", version)
    yield _metal(surroundings, metal=metal, device=device)


def _without_mlx(surroundings: Surroundings, python: tuple[str, ...]) -> Iterator[Fact]:
    there = surroundings.answer(*python, _ASK_PRESENCE) == "True"
    package = "mlx" if surroundings.on_mac else "'mlx[cpu]'"
    if there:
        yield warning(
            "mlx",
            "It is installed and cannot be imported, so the workloads cannot run.",
            f"`{surroundings.executable} -c 'import mlx.core'` says why.",
        )
    else:
        yield warning(
            "mlx",
            "It is not installed, so the workloads cannot run; any other program can be recorded.",
            f"`pip install {package}` for {surroundings.executable}.",
        )
    yield unknown("mlx metal", "There is no MLX to ask.")


def _metal(surroundings: Surroundings, *, metal: bool, device: dict[str, Any]) -> Fact:
    name = "mlx metal"
    shown = " ".join(str(device[key]) for key in ("device_name", "architecture") if device.get(key))
    if metal:
        return ok(name, f"available: {shown or 'the device has no name'}")
    if not surroundings.on_mac:
        why = f"Metal exists on macOS only; MLX works on the CPU here: {shown or 'unnamed'}."
        return not_applicable(name, why)
    return failed(
        name,
        "MLX finds no Metal device, so workloads run on the CPU and no GPU work is recorded.",
        "Use an arm64 Python on Apple silicon, outside of virtual machines, with MLX's own wheel.",
    )


_GROUP = "_developer"
_SAID_ON = "Developer mode is currently enabled."
_SAID_OFF = "Developer mode is currently disabled."


def permission_facts(surroundings: Surroundings) -> Iterator[Fact]:
    """Look at developer mode and at the groups of this user."""
    if not surroundings.on_mac:
        why = f"A switch of macOS, and this is {surroundings.system}."
        yield not_applicable("developer mode", why)
        yield not_applicable("developer group", why)
        return
    yield _mode(surroundings)
    yield _group(surroundings)


def _mode(surroundings: Surroundings) -> Fact:
    name = "developer mode"
    said = surroundings.answer("/usr/sbin/DevToolsSecurity", "-status")
    if said == _SAID_ON:
        return ok(name, "enabled")
    if said == _SAID_OFF:
        return warning(
            name,
            "disabled: macOS may ask for a password, or refuse to start a kernel trace.",
            "`sudo DevToolsSecurity -enable`, once.",
        )
    words = f"`DevToolsSecurity -status` says {said!r}." if said else "It does not say."
    return unknown(name, words, "Run `DevToolsSecurity -status` by hand.", needed=True)


def _group(surroundings: Surroundings) -> Fact:
    name = "developer group"
    groups = surroundings.answer("/usr/bin/id", "-Gn").split()
    if not groups:
        return unknown(name, "`id -Gn` names no group.")
    if _GROUP in groups:
        return ok(name, f"this user is in {_GROUP}")
    return warning(
        name,
        f"This user is not in {_GROUP}: macOS may ask for a password before it records.",
        f'`sudo dseditgroup -o edit -a "$USER" -t user {_GROUP}`, then log in again.',
    )


_GIGABYTE = 1e9
# The host recorder writes megabytes; xctrace and its staging files take many gigabytes.
_HOST_FLOOR = 0.1 * _GIGABYTE
_MUCH_STAGING = 1 * _GIGABYTE


def room_facts(surroundings: Surroundings, *, for_xctrace: bool) -> Iterator[Fact]:
    """Look at what else records, and at the disks; xctrace needs more than the host recorder."""
    yield _other_recorders(surroundings, for_xctrace=for_xctrace)
    yield from _disks(surroundings, for_xctrace=for_xctrace)
    yield _staging(surroundings, for_xctrace=for_xctrace)
    yield _writable(surroundings.runs)


def _other_recorders(surroundings: Surroundings, *, for_xctrace: bool) -> Fact:
    name = "other recorders"
    if not for_xctrace:
        return not_applicable(name, "Only recordings of xctrace get in each other's way.")
    try:
        found = refuse_rivals(surroundings.rivals())
    except ToolError as error:
        return warning(name, error.message, error.hint)
    if found:
        return warning(name, " ".join(found), "Quit it before you record.")
    return ok(name, "none runs")


def _disks(surroundings: Surroundings, *, for_xctrace: bool) -> Iterator[Fact]:
    names = ("disk for runs", "disk for staging")
    try:
        least = floor(surroundings.environment) if for_xctrace else _HOST_FLOOR
    except UsageError as error:
        yield from (failed(name, error.message, f"`unset {VARIABLE}`") for name in names)
        return
    lower = f" {VARIABLE}=2 lowers the floor to 2 GB." if for_xctrace else ""
    for name, folder in zip(names, (surroundings.runs, surroundings.temporary), strict=True):
        yield _disk(name, surroundings, existing(folder), least, f"Make room on that disk.{lower}")


def _disk(name: str, surroundings: Surroundings, folder: Path, least: float, fix: str) -> Fact:
    try:
        free = surroundings.free(folder)
    except OSError as error:
        return unknown(name, f"{folder}: {error.strerror}.", needed=True)
    words = f"{free / _GIGABYTE:.1f} GB free at {folder}"
    if free >= least:
        return ok(name, words)
    return failed(
        name,
        f"{words}; {least / _GIGABYTE:g} GB must stay free.",
        fix,
    )


def _staging(surroundings: Surroundings, *, for_xctrace: bool) -> Fact:
    name = "staging files"
    if not for_xctrace:
        return not_applicable(name, "xctrace leaves them, and it is not here.")
    left = sorted(surroundings.temporary.glob("instruments*.ktrace"))
    taken = sum(map(_size, left))
    words = f"{len(left)} left by recordings, {taken / _GIGABYTE:.1f} GB" if left else "none left"
    if taken < _MUCH_STAGING:
        return ok(name, words)
    return warning(
        name,
        f"{words}, in {surroundings.temporary}.",
        "Remove those that `lsof` shows as closed: nothing else ever does.",
    )


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0


def _writable(runs: Path) -> Fact:
    there = existing(runs)
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        return failed(
            "place for runs",
            f"{there} cannot be written to: {error.strerror}.",
            "Stand in a folder of yours, or name one with --output.",
        )
    made = "" if there == runs.absolute() else f"; {runs} is made there when it is needed"
    return ok("place for runs", f"{there}{made}")


_STATE = "nightly"
_CANARY = "canary"
_MONITOR = "macmon tells a GPU's clock without root: `brew install macmon`."


def nightly_facts(surroundings: Surroundings) -> Iterator[Fact]:
    """Look at the machine as a night does, once."""
    state = surroundings.state()
    state = replace(
        state, absences={name: why for name, why in state.absences.items() if name != _CANARY}
    )
    yield _now(state)
    missing = not_known((state,))
    if missing:
        fix = _MONITOR if surroundings.on_mac and "gpu_clock" in state.absences else ""
        yield unknown("nightly, unknown", " ".join(missing), fix)


def _now(state: State) -> Fact:
    known = [name.replace("_", " ") for name in JUDGED if name in state.readings]
    reasons = contaminated(state, None, (), StateLimits())
    if reasons:
        return warning(
            _STATE,
            " ".join(reasons),
            "While it is so, a night measures such pairs again, and is inconclusive in the end; "
            "its plan may allow more.",
        )
    return ok(_STATE, f"as a night wants it; readable: {', '.join(known) or 'nothing'}")


_NAME = "direct reading"
_REPORT = (
    "Captures use exports of these tables. Report it with this line and the build: "
    "`tracekit doctor --json` has both."
)


def direct_facts(memory: Memory, *, has_xctrace: bool) -> Iterator[Fact]:
    """Say which tables of this build are read from bundles as xctrace exports them."""
    if not has_xctrace:
        yield not_applicable(
            _NAME, "There is no xctrace to compare with; bundles of others can be read."
        )
        return
    checked = memory.tables.values()
    if not checked:
        yield unknown(
            _NAME,
            f"not checked yet for build {memory.build or 'unknown'}",
            "The next `tracekit capture` exports tables once and compares.",
        )
        return
    equal = [one for one in checked if not one.difference]
    filled = sum(1 for one in equal if one.rows)
    rows = count(sum(one.rows for one in equal))
    words = f"verified for build {memory.build}: {filled} tables, {rows} rows compared"
    without = len(equal) - filled
    yield ok(_NAME, f"{words}; {without} without rows" if without else words)
    for one in checked:
        if one.difference:
            yield warning(f"{_NAME}: {one.schema}", f"differs: {one.difference}.", _REPORT)
