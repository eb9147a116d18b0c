"""Writes one store: its schema, its attributes, its records.

Layout: docs/explanation/trace-bundles.md.
"""

import struct
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import NDArray

from bundle_writer.encoding import Encoder
from bundle_writer.engineering_types import TYPES, U32
from bundle_writer.keyed import Archived, archive
from bundle_writer.values import CATEGORY_1, CATEGORY_2, DURATION, TIME, Col, Table

POINT, INTERVAL = "XRT64_CC32_R_TypeID", "XRTD64_CC32_R_TypeID"
CHUNK = 65536
HEADER = 4096
_FIELD_TYPES = {4: 1, 8: 2}
_TOPOLOGY_TYPES = {POINT: 7, INTERVAL: 6}
_WIDTHS = {TIME: "<u8", DURATION: "<u8", CATEGORY_1: "<u4", CATEGORY_2: "<u4"}


def topology(columns: Sequence[Col]) -> str:
    """Return the topology that columns need: an interval if one of them is its duration."""
    return INTERVAL if any(column.topology_field == DURATION for column in columns) else POINT


def record_type(columns: Sequence[Col]) -> np.dtype[np.void]:
    """Return the layout of a record; columns go by their mnemonics, spare fields by their own."""
    names = {column.topology_field: column.mnemonic for column in columns if column.topology_field}
    fixed_fields = [TIME, DURATION, CATEGORY_1, CATEGORY_2]
    if topology(columns) == POINT:
        fixed_fields.remove(DURATION)
    fields = [(names.get(name, name), _WIDTHS[name]) for name in fixed_fields]
    data_columns = [column for column in columns if not column.topology_field]
    fields += [(column.mnemonic, f"<u{TYPES[column.type_id].width}") for column in data_columns]
    return np.dtype(fields)


def records(table: Table, encoder: Encoder) -> NDArray[np.void]:
    packed_records = np.zeros(len(table.rows), record_type(table.columns))
    for place, column in enumerate(table.columns):
        cells = [encoder.cell(column.type_id, row[place]) for row in table.rows]
        wide = np.array(cells, np.uint64)
        narrow = packed_records.dtype[column.mnemonic].itemsize == U32
        packed_records[column.mnemonic] = wide & np.uint64(0xFFFFFFFF) if narrow else wide
    return packed_records


def write_store(folder: Path, table: Table, encoder: Encoder) -> None:
    folder.mkdir(parents=True)
    blocks = [records(table, encoder)] if table.blocks is None else table.blocks
    encoder.used.update(column.type_id for column in table.columns)
    layout = record_type(table.columns)
    rows = write_records(folder / "bulkstore", blocks, layout.itemsize)
    files = {
        "schema.xml": schema_xml(table).encode(),
        "spec.plist": archive(root=spec(table)),
        "bulkstore_descriptor": descriptor(table, rows),
    }
    if rows:
        files["spindex.0"] = b"SPINDEXv2\0".ljust(64, b"\0")
    for name, content in files.items():
        (folder / name).write_bytes(zlib.compress(content, 1))


def write_records(
    path: Path, blocks: Iterable[NDArray[np.void]], record: int, level: int = 1
) -> int:
    stream, rows = zlib.compressobj(level), 0
    with path.open("wb") as file:
        file.write(stream.compress(header(record)))
        for block in blocks:
            rows += len(block)
            file.write(stream.compress(np.ascontiguousarray(block).view(np.uint8).data))
        file.write(stream.compress(bytes(-rows % CHUNK * record)))
        file.write(stream.flush())
    return rows


def header(record: int) -> bytes:
    fields = struct.pack("<7I", 0x12340A0A, 3, 0x28, HEADER, record, record * CHUNK, CHUNK)
    return fields.ljust(HEADER, b"\0")


def schema_xml(table: Table) -> str:
    columns = "".join(
        f"<column mnemonic={quoteattr(column.mnemonic)} engineeringName={quoteattr(column.title)} "
        f"engineeringType={quoteattr(column.type_id)}"
        + (f" topologyField={quoteattr(column.topology_field)}" if column.topology_field else "")
        + "/>"
        for column in table.columns
    )
    return (
        '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
        f'<schema name={quoteattr(table.schema)} topology="{topology(table.columns)}">'
        f"{columns}</schema>\n"
    )


def spec(table: Table) -> Archived:
    parts = {
        "schemaName": table.schema,
        "engineeringName": table.schema,
        "mergeableAttributeKeys": frozenset[str](),
        "attributes": dict(table.attributes),
    }
    return Archived("XRAnalysisCoreTableSpec", parts)


def descriptor(table: Table, rows: int) -> bytes:
    """Return the layout of the records, and how many there are, as an archive."""
    layout = record_type(table.columns)
    data_names = [column.mnemonic for column in table.columns if not column.topology_field]
    kinds = [("topology", _TOPOLOGY_TYPES[topology(table.columns)])]
    kinds += [(name, _FIELD_TYPES[layout[name].itemsize]) for name in data_names]
    listed = [
        {"_name": name, "_index": index, "_type": kind, "_multi": 1}
        for index, (name, kind) in enumerate(kinds)
    ]
    described = {
        "_name": table.schema,
        "_synopsis": table.schema,
        "_identifier": table.schema,
        "_eventClass": "XRManagedEvent",
        "_fields": [Archived("XRFieldDescriptor", {"$0": field}) for field in listed],
        "_maxEventSize": layout.itemsize,
        "_minEventSize": layout.itemsize,
        "_version": 1,
        "_variableSize": False,
        "_publicProps": {},
        "_props": {"mono_event_id": rows, "next_event_id": rows, "storage_manager_version": 1},
    }
    return archive(root=Archived("XREventDescriptor", {"$0": described}))
