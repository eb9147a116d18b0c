"""A Mac without a Mac: an MLX on PYTHONPATH that captures as its documentation says."""

from collections.abc import Callable
from pathlib import Path

import pytest

MLX = '''
"""What a worker needs of MLX; FAKE_MLX tells how its Metal behaves."""
import json
import os
import pathlib

__version__ = "0.99"
_mode = os.environ.get("FAKE_MLX", "")
_steps = None


def device_info():
    return {"device_name": "Test GPU"}


get_active_memory = get_peak_memory = get_cache_memory = reset_peak_memory = lambda: 0


def step():
    global _steps
    if _steps is not None:
        _steps += 1


class metal:
    path = None

    @staticmethod
    def is_available():
        return _mode != "cpu"

    @staticmethod
    def start_capture(path):
        global _steps
        if _mode == "silent":
            return
        if os.environ.get("MTL_CAPTURE_ENABLED") != "1" or _mode == "refuse":
            raise RuntimeError("[metal::start_capture] Failed to start capture: not enabled")
        if not path.endswith(".gputrace") or os.path.exists(path):
            raise RuntimeError("[metal::start_capture] Failed to start capture: path")
        metal.path, _steps = pathlib.Path(path), 0

    @staticmethod
    def stop_capture():
        if metal.path is None:
            return
        metal.path.mkdir()
        seen = {"steps": _steps, "validation": "MTL_DEBUG_LAYER" in os.environ}
        (metal.path / "metadata").write_text(json.dumps(seen))
'''
WORKLOAD = '''
import os
import time

import mlx.core as mx

from tracekit.workload import Step, workload


@workload
def dots(size: int = 4) -> Step:
    """Count steps."""
    if size > 99:
        raise RuntimeError("out of memory")
    mode = os.environ.get("DOTS", "")
    if mode == "die":
        os._exit(9)
    return Step(
        submit=mx.step,
        wait=lambda _: time.sleep(60 if mode == "hang" else 0.001),
        backend="cpu" if mode == "cpu" else "metal",
    )
'''


@pytest.fixture
def mac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let workers find that MLX; call it to change how its Metal or the workload behaves."""
    package = tmp_path / "python" / "mlx"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "core.py").write_text(MLX)
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.setenv("MTL_DEBUG_LAYER", "1")

    def change(metal: str = "", dots: str = "") -> None:
        monkeypatch.setenv("FAKE_MLX", metal)
        monkeypatch.setenv("DOTS", dots)

    change()
    return change


@pytest.fixture
def workloads(tmp_path: Path) -> Path:
    """A folder with a workload that counts its steps."""
    folder = tmp_path / "workloads"
    folder.mkdir()
    (folder / "dots.py").write_text(WORKLOAD)
    return folder
