"""Whether MLX finds Metal here; asked in a process of its own, which leaves no trace in ours."""

import platform
import subprocess
import sys

from tracekit.base.errors import ToolError
from tracekit.record.gputrace.patience import PATIENCE, Patience
from tracekit.record.xctrace.command import not_started

_PROBE = "import mlx.core as mx; print('metal' if mx.metal.is_available() else 'none')"


def require_metal(patience: Patience = PATIENCE) -> None:
    """Raise ToolError unless MLX finds Metal here; asked in a process of its own."""
    argv = (sys.executable, "-P", "-c", _PROBE)
    try:
        asked = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            check=False,
            timeout=patience.probe,
            stdin=subprocess.DEVNULL,
        )
    except OSError as error:
        raise not_started(argv, error) from error
    except subprocess.TimeoutExpired:
        raise ToolError(f"MLX did not answer within {patience.probe:g} s.") from None
    if asked.returncode != 0:
        last = asked.stderr.strip().rpartition("\n")[2]
        raise ToolError(f"MLX cannot be loaded, so nothing can be captured: {last}")
    if asked.stdout.strip() != "metal":
        raise ToolError(
            "GPU frame capture needs Metal, and MLX finds none on this machine "
            f"({platform.system()} {platform.machine()}).",
            hint="It takes a Mac with a GPU of Apple's.",
        )
