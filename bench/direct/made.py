"""Bundles and exports with the same rows: work on the GPU, states of the GPU, many small tables.

Rows repeat a pool, as those of a program that does the same again and again do; only their times
differ. Where labels are to be distinct, each row has its own encoder, and so its own label.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bundle_writer import (
    DURATION,
    TIME,
    Col,
    Encoder,
    Label,
    Part,
    Table,
    Value,
    record_type,
    write_bundle,
)
from direct.rows import Row, label_parts, rows_of_xml
from synthetic.identities import PROCESSES

INTERVALS, STATES = "metal-gpu-intervals", "metal-gpu-state-intervals"
POOL = 1260
STORES = 114
_BLOCK = 1 << 16
_ENCODERS, _SUBMISSIONS = 7 << 32, 1 << 31
_COLUMNS = (
    Col("start", "Start", "XRStartTimeTypeID", TIME),
    Col("duration", "Duration", "XRDurationTypeID", DURATION),
    Col("channel-name", "Channel", "XRGPUChannelNameTypeID"),
    Col("frame-number", "Frame", "XRGPUFrameNumberTypeID"),
    Col("start-latency", "Latency", "XRDurationTypeID"),
    Col("event-depth", "Depth", "XRMetalEncodingNestingLevelTypeID"),
    Col("event-label", "Label", "XRFormattedLabelTypeID"),
    Col("state", "State", "XRGPUStateTypeID"),
    Col("connection-UUID", "Connection", "XRVisualConnectionUUID64TypeID"),
    Col("color", "Color", "XRRenderingBufferDepthTypeID"),
    Col("process", "Process", "XRProcessTypeID"),
    Col("gpu", "GPU", "XRMetalDeviceNameTypeID"),
    Col("channel-subtitle", "Subtitle", "XRMetalObjectLabelTypeID"),
    Col("iosurface-accesses", "Surfaces", "XRMetalObjectLabelTypeID"),
    Col("bytes", "Bytes", "XRSizeInBytesTypeID"),
    Col("cmdbuffer-id", "Command buffer", "XRMetalCommandBufferIDTypeID"),
    Col("encoder-id", "Encoder", "XRMetalCommandBufferIDTypeID"),
    Col("gpu-submission-id", "Submission", "XRPrototypeValueTypeID"),
)
_STATES = (
    Col("start", "Start", "XRStartTimeTypeID", TIME),
    Col("duration", "Duration", "XRDurationTypeID", DURATION),
    Col("state", "State", "XRGPUStateTypeID"),
    Col("label", "Label", "XRFormattedLabelTypeID"),
    Col("color", "Color", "XRRenderingBufferDepthTypeID"),
    Col("num-events", "Events", "XRGenericUInt32TypeID"),
    Col("gpu", "GPU", "XRMetalDeviceNameTypeID"),
)


class Pair(NamedTuple):
    """A bundle and an export of the same table."""

    bundle: Path
    export: Path


def intervals(folder: Path, rows: int, *, distinct: bool, seed: int = 1) -> Pair:
    """Make `metal-gpu-intervals` of so many rows, as a bundle and as XML; keep what is there."""
    stem = f"intervals-{'distinct' if distinct else 'repeated'}-{rows}-{seed}"
    pair = Pair(folder / f"{stem}.trace", folder / f"{stem}.xml")
    if pair.export.exists():
        return pair
    pool, encoder = [*_pool(np.random.default_rng(seed))], Encoder()
    first = _records(encoder, _COLUMNS, [row.stored() for row in pool])
    blocks = [*_repeated(first, rows)]
    if distinct:
        _part(encoder, pool, blocks)
    write_bundle(pair.bundle, [Table(INTERVALS, _COLUMNS, blocks=blocks)], encoder=encoder)
    with pair.export.open("w", encoding="utf-8", buffering=1 << 20) as file:
        file.writelines(rows_of_xml(INTERVALS, _COLUMNS, pool, _numbers(blocks)))
    return pair


def states(folder: Path, rows: int, seed: int = 1) -> Path:
    """Make a bundle with so many rows of `metal-gpu-state-intervals`; keep what is there."""
    path = folder / f"states-{rows}-{seed}.trace"
    if path.exists():
        return path
    random, encoder = np.random.default_rng(seed), Encoder()
    drawn = enumerate(random.integers(0, (2, 900), (POOL, 2)).tolist())
    first = _records(encoder, _STATES, [_state(place, *one) for place, one in drawn])
    table = Table(STATES, _STATES, blocks=_repeated(first, rows))
    return write_bundle(path, [table], encoder=encoder)


def many_tables(folder: Path) -> Path:
    """Make a bundle of as many tables as a recording of Metal has; keep what is there."""
    path = folder / f"tables-{STORES}.trace"
    if path.exists():
        return path
    rows = [(number, number, "Active", None, 1, number, "M1") for number in range(100)]
    tables = [Table(f"table-{number}", _STATES, rows) for number in range(STORES)]
    return write_bundle(path, tables)


def _pool(random: np.random.Generator) -> Iterator[Row]:
    for number in range(POOL):
        duration, latency, kernel, owner, surface = random.integers(
            1, (90_000, 400_000, 97, len(PROCESSES) + 1, 9)
        ).tolist()
        yield Row(
            start=number * 100_000,
            duration=duration,
            channel=("Compute", "Vertex", "Fragment", "Blit")[kernel % 4],
            frame=number // 30,
            latency=latency,
            kernel=f"paged_attention_{kernel}",
            process=PROCESSES[owner - 1],
            surface=f"Write Surface: {surface}",
            encoder=_ENCODERS + number,
            submission=_SUBMISSIONS + number,
        )


def _state(place: int, active: int, work: int) -> list[Value]:
    label = Label((Part("XRNarrativeTextTypeID", f"{active} channels active"),))
    return [place * 1000, work, "Active" if active else "Idle", label, 3, active, "M1"]


def _records(
    encoder: Encoder, columns: Sequence[Col], rows: Sequence[Sequence[Value]]
) -> NDArray[np.void]:
    found: NDArray[np.void] = np.zeros(len(rows), record_type(columns))
    for place, row in enumerate(rows):
        for column, value in zip(columns, row, strict=True):
            found[column.mnemonic][place] = encoder.cell(column.type_id, value)
    return found


def _repeated(first: NDArray[np.void], rows: int) -> Iterator[NDArray[np.void]]:
    """Yield the pool again and again, each time later, so many rows of it."""
    span = int(first["start"].max()) + 100_000
    for done in range(0, rows, _BLOCK):
        places = np.arange(done, min(done + _BLOCK, rows))
        block = first[places % len(first)]
        block["start"] += (places // len(first) * span).astype(np.uint64)
        yield block


def _part(encoder: Encoder, pool: list[Row], blocks: list[NDArray[np.void]]) -> None:
    """Give each row an encoder and a label of its own."""
    labels = np.array([[*_pairs(encoder, row)] for row in pool], np.uint64)
    done = 0
    for block in blocks:
        places = done + np.arange(len(block))
        parts = labels[places % len(pool)]
        parts[:, -1] = block["encoder-id"] = _ENCODERS + places
        block["event-label"] = encoder.typed_arrays.extend(parts) + np.arange(len(block))
        done += len(block)


def _pairs(encoder: Encoder, row: Row) -> Iterator[int]:
    for part in label_parts(row):
        yield encoder.type_number(part.type_id)
        yield encoder.cell(part.type_id, part.value)


def _numbers(blocks: list[NDArray[np.void]]) -> Iterator[tuple[int, int]]:
    for block in blocks:
        yield from zip(block["start"].tolist(), block["encoder-id"].tolist(), strict=True)
