"""Tables of recordings, kept beside the results for questions about all of them."""

import difflib
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tracekit import pipeline
from tracekit.base.errors import TracekitError, UsageError
from tracekit.base.files import replacing
from tracekit.base.recording import Recording
from tracekit.fleet.batch.row import Row
from tracekit.tables.schemas import SCHEMAS

ALL, NONE = "all", "none"
FOLDER = "tables"


def wanted_tables(words: str) -> tuple[str, ...]:
    """Return the tables that a list with commas names; none, for the word none.

    Raises:
        UsageError: There is no such table.
    """
    names = [one.strip() for one in words.split(",") if one.strip()]
    for name in names:
        if name not in {ALL, NONE, *SCHEMAS}:
            near = difflib.get_close_matches(name, [ALL, NONE, *SCHEMAS])
            raise UsageError(
                f"There is no table {name!r} to keep.",
                hint=f"Near are {', '.join(near)}."
                if near
                else "Use all, none or names of tables.",
            )
    return tuple(sorted(set(names) - {NONE}))


def keep_tables(
    output: str, wanted: Sequence[str], row: Row, recording: Recording
) -> tuple[str, ...]:
    """Write tables of a recording as `tables/NAME/KEY.parquet`; return the names of those there.

    A column `recording` comes first. A table that the recording lacks, or that cannot be read,
    is left out; the warnings of the recording say why.
    """
    if not output or not wanted:
        return ()
    tables = pipeline.tables_of(recording)
    kept: list[str] = []
    for name in tables:
        if name not in wanted and ALL not in wanted:
            continue
        try:
            frame = tables[name]
        except TracekitError:
            continue
        table = pa.Table.from_pandas(frame, preserve_index=False)
        names = pa.array([row.recording] * table.num_rows, pa.string()).dictionary_encode()
        with replacing(Path(output) / FOLDER / name / f"{row.key}.parquet") as file:
            pq.write_table(
                table.add_column(0, "recording", names),
                file,
                compression="zstd",
                write_page_checksum=True,
            )
        kept.append(name)
    return tuple(kept)


def forget_tables(output: Path, key: str, kept: Sequence[str] = ()) -> None:
    """Remove the tables of a recording that are not among those that were kept now."""
    for file in (output / FOLDER).glob(f"*/{key}.parquet"):
        if file.parent.name not in kept:
            file.unlink(missing_ok=True)
