"""Write a frame to a file, whole or not at all."""

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pandas as pd

from tracekit.errors import RecordingError, UsageError

SUFFIXES = (".parquet", ".csv", ".feather")


def write_table(frame: pd.DataFrame, path: Path | str) -> None:
    """Write `frame`, without its index, as Parquet, CSV or Feather, by the suffix of `path`.

    Parquet and Feather keep every value and dtype. CSV keeps the values; a null and an empty
    text look alike there.

    Raises:
        UsageError: The suffix is none of these.
        RecordingError: The file cannot be written; what was there before is left as it was.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(
            f"{path} has a suffix that says no format.", hint=f"Use {', '.join(SUFFIXES)}."
        )
    with replacing(path) as file:
        match suffix:
            case ".parquet":
                frame.to_parquet(file, index=False)
            case ".feather":
                frame.reset_index(drop=True).to_feather(file)
            case _:
                frame.to_csv(file, index=False)


@contextmanager
def replacing(path: Path) -> Generator[BinaryIO]:
    """Give a file to write into that takes the place of `path` once it is complete.

    Raises:
        RecordingError: The disk is full, the folder is read-only, and the like.
    """
    temporary = None
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
            hint="Make room, or name another place.",
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
