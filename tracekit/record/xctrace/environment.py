"""What xctrace, and the program that it launches, see of our environment."""

import os
from collections.abc import Mapping

# Validation, HUD and capture change what is measured; none of them is needed to record.
_DISTORTING = ("MTL_", "MTLCAPTURE_", "METAL_DEVICE_WRAPPER_TYPE")
_NEEDED = ("HOME", "PATH", "TMPDIR", "USER")
_NEEDED_PREFIXES = ("MLX_", "PYTHON")
_LOCALE = {"LANG": "en_US.UTF-8", "LC_ALL": "en_US.UTF-8"}


def distorts(name: str) -> bool:
    """Tell whether a variable changes how Metal runs, and so what a trace shows."""
    return name.startswith(_DISTORTING)


def tool_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return `environment` for xctrace itself: in English, without what distorts Metal."""
    kept = {name: value for name, value in environment.items() if not distorts(name)}
    return kept | _LOCALE


def own_environment(
    asked: Mapping[str, str], environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return what a program that tracekit itself starts, to attach to it, is to see."""
    together = {**environment, **asked}
    return {name: value for name, value in together.items() if not distorts(name)}


def target_environment(
    asked: Mapping[str, str], environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return what a launched program must be told, because it may inherit nothing.

    Whether xctrace hands its own environment on is reported both ways, so the few variables
    that a program cannot do without are named one by one. Empty values and whatever distorts
    Metal are left out.
    """
    needed = {
        name: value
        for name, value in environment.items()
        if name in _NEEDED or name.startswith(_NEEDED_PREFIXES)
    }
    return {
        name: value
        for name, value in sorted((needed | dict(asked)).items())
        if value and not distorts(name)
    }
