"""The module `Metal` of PyObjC, where it is there, and why GPU time is not."""

import importlib
import sys
from typing import Any

from tracekit.base.errors import ToolError


def unavailable(reason: str, hint: str = "") -> ToolError:
    """Return the error of a GPU time that cannot be had; the reason is without a full stop."""
    return ToolError(f"GPU time is not available, because {reason}.", hint=hint)


def load_metal() -> Any:
    """Import PyObjC's bindings of Metal.

    Raises:
        ToolError: This is no Mac, or PyObjC is not installed, or cannot be loaded.
    """
    if sys.platform != "darwin":
        raise unavailable("there is no Metal on this system")
    try:
        return importlib.import_module("Metal")
    except ImportError as error:
        raise unavailable(
            f"PyObjC's Metal cannot be loaded: {error}", hint="pip install 'tracekit[metal]'"
        ) from error
