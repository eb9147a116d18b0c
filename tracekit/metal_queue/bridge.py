"""The module `Metal` of PyObjC, where it is there."""

import importlib
import sys
from typing import Any

from tracekit.errors import ToolError


def load_metal() -> Any:
    """Import PyObjC's bindings of Metal.

    Raises:
        ToolError: This is no Mac, or PyObjC is not installed, or cannot be loaded.
    """
    if sys.platform != "darwin":
        raise ToolError("GPU time is not available, because there is no Metal on this system.")
    try:
        return importlib.import_module("Metal")
    except ImportError as error:
        raise ToolError(
            f"GPU time is not available, because PyObjC's Metal cannot be loaded: {error}.",
            hint="pip install 'tracekit[metal]'",
        ) from error
