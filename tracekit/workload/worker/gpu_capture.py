"""A few steps captured by Metal itself, for Xcode to replay: no marks, for nothing is timed."""

import sys
from pathlib import Path
from typing import Any

from tracekit.base.errors import RecordingError, ToolError
from tracekit.workload.worker.loop import Loop

_ENVIRONMENT = "Metal captures only in a process that was started with MTL_CAPTURE_ENABLED=1."


def capture_steps(loop: Loop, path: Path, steps: int) -> None:
    """Make `steps` steps while Metal captures them into `path`.

    Raises:
        RecordingError: The path exists.
        ToolError: There is no GPU work to capture, or no capture came of it.
    """
    if path.exists():
        raise RecordingError(f"{path} exists; a capture is never written over.")
    metal = _metal(loop.step.backend)
    loop.account.enter("gputrace", "capturing")
    _start(metal, path)
    try:
        loop.run_unrecorded(steps)
    finally:
        metal.stop_capture()
    if not path.exists():
        raise ToolError(f"Metal captured nothing: there is no {path}.", hint=_ENVIRONMENT)


def _metal(backend: str) -> Any:
    core: Any = sys.modules.get("mlx.core")
    if core is None:
        raise ToolError(
            "The workload did not load MLX, which is what captures.",
            hint="Only GPU work of MLX can be captured.",
        )
    if backend != "metal" or not core.metal.is_available():
        raise ToolError("The workload ran on the CPU, so there is no GPU work to capture.")
    return core.metal


def _start(metal: Any, path: Path) -> None:
    """Begin; MLX says by an exception, in older versions by False, that it cannot."""
    try:
        refused = metal.start_capture(str(path)) is False
    except (RuntimeError, ValueError) as error:
        raise ToolError(f"MLX could not begin to capture: {error}", hint=_ENVIRONMENT) from error
    if refused:
        raise ToolError("MLX could not begin to capture, and did not say why.", hint=_ENVIRONMENT)
