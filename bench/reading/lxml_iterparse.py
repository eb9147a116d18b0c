"""The loop that is usually written: `lxml.etree.iterparse`, tuned.

It asks for the event of `<row>` alone, reads cells by their columns, converts a value once,
where it is defined, and frees each row when it is read. What differs from `lxml_tuned` is that
it leaves the reading of blocks, and the search for garbage, to the libraries.
"""

from pathlib import Path
from typing import Any

from lxml import etree

from reading.decoded import Batches, Decoded, frame_table, header, stack_array
from reading.lxml_tuned import Values

_ROWS = 1 << 13


def decode(path: Path) -> Decoded:
    """Read an export row by row."""
    columns, values, rows = header(path), Values(), list[list[Any]]()
    known, reads = values.known, [values.reader(column.engineering_type) for column in columns]
    batches = Batches(columns)
    for _, row in etree.iterparse(str(path), events=("end",), tag="row", huge_tree=True):
        rows.append(
            [
                read(cell) if (ref := cell.get("ref")) is None else known[ref]
                for cell, read in zip(row, reads, strict=True)
            ]
        )
        row.clear()
        while row.getprevious() is not None:
            del row.getparent()[0]
        if len(rows) == _ROWS:
            batches.add(rows)
            rows.clear()
    batches.add(rows)
    return Decoded(batches.table(), stack_array(values.stacks), frame_table(values.frames))
