"""Write an export of a given size, and beside it the truth that a reader must arrive at."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from reading.decoded import Column, fields, frame_table, stack_array

_HELD = 64
_SENTINEL = "<sentinel/>"


class Batch(NamedTuple):
    """Some rows: each as XML, and their values by column."""

    rows: list[str]
    truth: dict[str, Any]


@dataclass(frozen=True)
class Synthetic:
    """A table that never ends. What it has defined so far stands in `stacks` and `frames`."""

    schema: str
    columns: list[Column]
    batches: Iterator[Batch]
    stacks: list[list[int]]
    frames: list[tuple[Any, ...]]


@dataclass(frozen=True)
class Truth:
    """The files of an export's truth; those of stacks are there where it has some."""

    table: Path
    stacks: Path
    frames: Path


Make = Callable[[np.random.Generator], Synthetic]


def truth_of(export: Path) -> Truth:
    """Return where the truth of an export stands: beside it."""
    return Truth(
        *(
            export.with_name(f"{export.name}.{part}.parquet")
            for part in ("truth", "stacks", "frames")
        )
    )


def write(make: Make, path: Path, megabytes: float, seed: int) -> None:
    """Write an export of that many megabytes (10^6 bytes) or a little more, and its truth."""
    synthetic = make(np.random.default_rng(seed))
    truth = truth_of(path)
    schema = pa.schema(fields(synthetic.columns))
    with path.open("wb", buffering=1 << 20) as file, pq.ParquetWriter(truth.table, schema) as kept:
        left = megabytes * 1e6 - file.write(_head(synthetic).encode())
        held: list[pa.Table] = []
        for batch in synthetic.batches:
            left -= file.write("".join(batch.rows).encode())
            held.append(pa.table(batch.truth, schema))
            if len(held) == _HELD or left <= 0:
                kept.write_table(pa.concat_tables(held))
                held.clear()
            if left <= 0:
                break
        file.write(b"</node></trace-query-result>\n")
    if synthetic.stacks:
        pq.write_table(pa.table({"frames": stack_array(synthetic.stacks)}), truth.stacks)
        pq.write_table(frame_table(synthetic.frames), truth.frames)


def row(*cells: str) -> str:
    """Return a row of cells."""
    return f"<row>{''.join(cells)}</row>\n"


def optional(write_value: Callable[[Any], str]) -> Callable[[Any], str]:
    """Return what writes a value, or null for None."""
    return lambda value: _SENTINEL if value is None else write_value(value)


def _head(synthetic: Synthetic) -> str:
    columns = "".join(
        f"<col><mnemonic>{name}</mnemonic><name>{name.replace('-', ' ').capitalize()}</name>"
        f"<engineering-type>{engineering_type}</engineering-type></col>"
        for name, engineering_type in synthetic.columns
    )
    return (
        '<?xml version="1.0"?>\n<trace-query-result>\n'
        "<node xpath='//trace-toc[1]/run[1]/data[1]/table[7]'>"
        f'<schema name="{synthetic.schema}">{columns}</schema>'
    )
