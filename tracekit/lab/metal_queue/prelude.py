"""What MLX puts before a kernel's text when it compiles it, read from the installed MLX.

MLX does not print this prelude. Its headers lie in the package, so it can be put together: the
file that defines `Limits`, float16_t and bfloat16_t, with the files that it includes.
"""

import re
from importlib.util import find_spec
from pathlib import Path

from tracekit.lab.metal_queue.bridge import unavailable

UTILS = "mlx/backend/metal/kernels/utils.h"
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"[^\n]*$', re.MULTILINE)
_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once[^\n]*$", re.MULTILINE)


def include_folder() -> Path:
    """Return the folder that holds MLX's headers.

    Raises:
        ToolError: MLX is not installed, or without them.
    """
    spec = find_spec("mlx")
    places = list(spec.submodule_search_locations or []) if spec else []
    for place in places:
        if (Path(place) / "include" / UTILS).is_file():
            return Path(place) / "include"
    raise unavailable(f"the installed MLX has no header {UTILS}, which its kernels need")


def prelude(folder: Path | None = None) -> str:
    """Return the text of MLX's `utils.h` with all that it includes by quotes, each file once.

    Raises:
        ToolError: A header is missing.
    """
    return _expanded(UTILS, folder or include_folder(), set())


def _expanded(name: str, folder: Path, seen: set[str]) -> str:
    if name in seen:
        return ""
    seen.add(name)
    try:
        text = (folder / name).read_text()
    except OSError as error:
        raise unavailable(f"MLX's header {name} cannot be read: {error.strerror}") from error
    text = _ONCE.sub("", text)
    return _INCLUDE.sub(lambda found: _expanded(found[1], folder, seen), text)
