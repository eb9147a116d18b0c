"""A made run as the folder of a recording, so that commands of any checkout can read it."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from paging.made_run import provenance, tables
from tracekit.base.recording import Recording
from tracekit.tables.schema import ColumnKind
from tracekit.tables.schemas import SCHEMAS

_MADE_HERE = {ColumnKind.CLOCK, ColumnKind.TARGET, ColumnKind.KERNEL}


def write_run(folder: Path, count: int) -> None:
    """Write a run with `count` intervals on the GPU, whose exports are flat tables."""
    recording = Recording(folder)
    recording.exports.mkdir(parents=True)
    recording.save_provenance(provenance())
    for name, frame in tables(count).items():
        columns: dict[str, pa.Array] = {}
        for column in SCHEMAS[name].columns:
            if column.source and column.kind not in _MADE_HERE:
                cells = pa.array(frame[column.name], from_pandas=True)
                is_text = pa.types.is_large_string(cells.type)
                columns[column.source] = cells.cast(pa.string()) if is_text else cells
        file = recording.exports / f"{SCHEMAS[name].sources[0].schema}.parquet"
        pq.write_table(pa.table(columns), file, compression="zstd")
