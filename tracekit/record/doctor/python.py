"""Facts of Python: what a recorder would launch, and whether MLX reaches Metal."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tracekit.record.doctor.fact import Fact, failed, not_applicable, ok, unknown, warning
from tracekit.record.doctor.surroundings import Surroundings

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
