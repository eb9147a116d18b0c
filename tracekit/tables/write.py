"""Write a frame to a file, whole or not at all."""

from pathlib import Path

import pandas as pd

from tracekit.errors import UsageError
from tracekit.replacing import replacing

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
