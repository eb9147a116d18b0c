"""A program with a known number of dispatches, for the questions about the GPU.

    python gpu_work.py FOLDER dispatches COUNT
    python gpu_work.py FOLDER seconds SECONDS

Several interpreters run it, so it imports nothing but MLX. It writes FOLDER/ready once MLX works,
waits for FOLDER/go, does its work, writes FOLDER/done with its process id and its dispatches as
JSON, and rests until somebody ends it. If MLX cannot be used, FOLDER/failed has the reason.
"""

import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

_POLL = 0.02
_LONGEST = 300.0  # seconds for which it waits or rests
_SIDE = 2048  # of the matrices whose products keep a GPU busy


def main() -> None:
    """Do the work of the command line."""
    folder = Path(sys.argv[1])
    kind = sys.argv[2]
    amount = float(sys.argv[3])
    until = time.monotonic() + _LONGEST
    try:
        mx = _load_mlx()
    except (ImportError, RuntimeError) as error:
        _publish(folder / "failed", f"{error}")
        return
    (folder / "ready").touch()
    while not (folder / "go").exists() and time.monotonic() < until:
        time.sleep(_POLL)
    work = _dispatch if kind == "dispatches" else _keep_busy
    dispatches = work(mx, amount)
    report = {"pid": os.getpid(), "dispatches": dispatches}
    _publish(folder / "done", json.dumps(report))
    while time.monotonic() < until:
        time.sleep(_POLL)


def _publish(file: Path, text: str) -> None:
    """Write a file that nobody sees before it is whole."""
    unfinished = file.with_suffix(".unfinished")
    unfinished.write_text(text)
    unfinished.replace(file)


def _load_mlx() -> Any:
    """Import MLX, and let it compile; raise RuntimeError if it has no Metal."""
    mx: Any = importlib.import_module("mlx.core")
    if not mx.metal.is_available():
        raise RuntimeError("MLX has no Metal")
    mx.eval(mx.exp(mx.ones((4096,))))
    return mx


def _dispatch(mx: Any, count: float) -> int:
    """Dispatch a small kernel so many times, each in a command buffer of its own."""
    values = mx.ones((4096,))
    for _ in range(int(count)):
        mx.eval(mx.exp(values))
        time.sleep(0.005)
    return int(count)


def _keep_busy(mx: Any, seconds: float) -> int:
    """Multiply matrices for so many seconds."""
    matrix = mx.ones((_SIDE, _SIDE)) / _SIDE
    end = time.monotonic() + seconds
    dispatches = 0
    while time.monotonic() < end:
        matrix = matrix @ matrix
        mx.eval(matrix)
        dispatches += 1
    return dispatches


if __name__ == "__main__":
    main()
