"""What `pandas.read_xml` makes of an export. It knows neither repeats nor positions."""

from pathlib import Path

import pandas as pd
import pyarrow as pa

from reading.decoded import Decoded, header


def decode(path: Path) -> Decoded:
    """Read the rows of an export; columns get their names where their number is right."""
    frame = pd.read_xml(path, xpath=".//row", parser="lxml")
    names = [column.name for column in header(path)]
    if len(frame.columns) == len(names):
        frame.columns = names
    return Decoded(pa.Table.from_pandas(frame, preserve_index=False))
