"""Files that take the place of another whole, or not at all."""

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tracekit.errors import RecordingError


@contextmanager
def replacing(path: Path) -> Generator[BinaryIO]:
    """Give a file to write into that takes the place of `path` once it is complete.

    Raises:
        RecordingError: The disk is full, the folder is read-only, and the like; what was there
            before is left as it was.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            yield file
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        raise RecordingError(
            f"{path} cannot be written: {error.strerror or error}.",
            hint="Make room, or name another place that you may write to.",
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
