"""What memory the worker has when a phase is over; reading it is no step's time."""

import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import psutil

from tracekit.machine import vmmap
from tracekit.workload.worker.account import Teller

BASELINE = "baseline"

_MLX = {
    "mlx_active": "get_active_memory",
    "mlx_peak": "get_peak_memory",
    "mlx_cache": "get_cache_memory",
}
_VMMAP = ("footprint", "accelerator")
_PATIENCE = 20.0  # seconds that vmmap may take


@dataclass(frozen=True)
class Level:
    """How much there is, or why that cannot be known."""

    bytes: int | None
    reason: str = ""


def note(account: Teller, phase: str, *, thorough: bool = False) -> None:
    """Mark the memory of this process at the end of a phase; peaks of MLX count from here on.

    Args:
        account: Gets the marks.
        phase: The phase that is over, or "baseline".
        thorough: Ask `vmmap` too, where there is one: that takes its time, and may pause this
            process.
    """
    at = time.monotonic_ns()
    for what, level in {**_cheap(), **(_by_vmmap() if thorough else {})}.items():
        account.mark(
            "memory", phase=phase, what=what, bytes=level.bytes, at=at, reason=level.reason
        )
    core: Any = sys.modules.get("mlx.core")
    if core is not None and hasattr(core, "reset_peak_memory"):
        core.reset_peak_memory()


def _cheap() -> dict[str, Level]:
    return {"resident": Level(psutil.Process().memory_info().rss), **dict(_by_mlx())}


def _by_mlx() -> Iterator[tuple[str, Level]]:
    core: Any = sys.modules.get("mlx.core")
    for what, name in _MLX.items():
        if core is None:
            yield what, Level(None, "MLX is not loaded")
        elif not hasattr(core, name):
            yield what, Level(None, f"this MLX has no {name}")
        else:
            yield what, Level(getattr(core, name)())


def _by_vmmap() -> Mapping[str, Level]:
    if platform.system() != "Darwin":
        return _unknown("vmmap is a program of macOS")
    argv = vmmap.command(psutil.Process().pid)
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=_PATIENCE, errors="replace", check=False
        )
    except OSError as error:
        return _unknown(f"{argv[0]} cannot be run: {error.strerror}")
    except subprocess.TimeoutExpired:
        return _unknown(f"{argv[0]} took longer than {_PATIENCE:g} s")
    if done.returncode != 0:
        words = (done.stderr or done.stdout).strip().partition("\n")[0]
        return _unknown(f"{argv[0]} failed with code {done.returncode}: {words}")
    return levels(vmmap.read(done.stdout))


def levels(summary: vmmap.Summary) -> Mapping[str, Level]:
    """Return the process's footprint and what of it the GPU's regions have resident."""
    why = " ".join(summary.remarks)
    footprint = Level(summary.footprint)
    if summary.footprint is None:
        footprint = Level(None, why or "vmmap tells no physical footprint")
    known = [one.resident for one in summary.accelerator.values() if one.resident is not None]
    accelerator = Level(sum(known)) if known else Level(None, why or "vmmap tells no such regions")
    return {"footprint": footprint, "accelerator": accelerator}


def _unknown(reason: str) -> Mapping[str, Level]:
    return dict.fromkeys(_VMMAP, Level(None, reason))
