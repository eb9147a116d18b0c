"""Write tables to files, whole or not at all: a frame at once, a long table part by part."""

from pathlib import Path
from typing import BinaryIO, Protocol

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.base import UsageError, replacing
from tracekit.tables.layout import frame_of
from tracekit.tables.values import dtype_of, is_coded

SUFFIXES = (".parquet", ".csv", ".feather")


def suffix_of(path: Path) -> str:
    """Return the suffix that says the format."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(
            f"{path} has a suffix that says no format.", hint=f"Use {', '.join(SUFFIXES)}."
        )
    return suffix


def write_table(frame: pd.DataFrame, path: Path | str) -> None:
    """Write `frame`, without its index, as Parquet, CSV or Feather, by the suffix of `path`.

    Parquet and Feather keep every value and dtype. CSV keeps the values; a null and an empty
    text look alike there.

    Raises:
        UsageError: The suffix is none of these.
        RecordingError: The file cannot be written; what was there before is left as it was.
    """
    path = Path(path)
    suffix = suffix_of(path)
    with replacing(path) as file:
        match suffix:
            case ".parquet":
                frame.to_parquet(file, index=False)
            case ".feather":
                frame.reset_index(drop=True).to_feather(file)
            case _:
                frame.to_csv(file, index=False)


class TableWriter(Protocol):
    """A file that a table is written into, part by part."""

    def write(self, part: pa.Table) -> None:
        """Write some more rows."""
        ...

    def close(self, metadata: dict[bytes, bytes]) -> None:
        """End the file; the metadata tell pandas the dtypes, which may follow from all parts."""
        ...


def table_writer(suffix: str, file: BinaryIO, schema: pa.Schema) -> TableWriter:
    """Begin a table of that schema; only Feather needs the schema's metadata from the start."""
    match suffix:
        case ".parquet":
            return ParquetParts(file, schema)
        case ".feather":
            return _FeatherParts(file, schema)
        case _:
            return _CsvParts(file)


class ParquetParts:
    """A Parquet file; each part is a row group, and each page has a checksum."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        texts = [one.name for one in schema if dtype_of(one.type, nulls=False) == "string"]
        # The stored schema would hide the metadata that are known only at the end.
        self._writer = pq.ParquetWriter(
            file,
            schema.remove_metadata(),
            compression="zstd",
            compression_level=1,
            use_dictionary=texts,  # pyright: ignore[reportArgumentType]  a list will do
            store_schema=False,
            write_page_checksum=True,
        )

    def write(self, part: pa.Table) -> None:
        """Write a row group."""
        self._writer.write_table(part, row_group_size=max(1, part.num_rows))

    def close(self, metadata: dict[bytes, bytes]) -> None:
        """End the file."""
        self._writer.add_key_value_metadata(metadata)
        self._writer.close()


def _plain(schema: pa.Schema) -> pa.Schema:
    """Return the schema with texts as they are: parts of one file may number them differently."""
    fields = [pa.field(one.name, pa.string()) if is_coded(one.type) else one for one in schema]
    return pa.schema(fields, metadata=schema.metadata)


class _FeatherParts:
    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        self._schema = schema = _plain(schema)
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        self._writer = pa.ipc.new_file(file, schema, options=options)

    def write(self, part: pa.Table) -> None:
        self._writer.write_table(part.cast(self._schema))

    def close(self, metadata: dict[bytes, bytes]) -> None:  # noqa: ARG002  it has them
        self._writer.close()


class _CsvParts:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._begun = False

    def write(self, part: pa.Table) -> None:
        columns = zip(part.column_names, part.columns, strict=True)
        frame = frame_of(columns, part.num_rows)
        frame.to_csv(self._file, index=False, header=not self._begun)
        self._begun = True

    def close(self, metadata: dict[bytes, bytes]) -> None:  # noqa: ARG002  CSV holds no dtypes
        assert self._begun
