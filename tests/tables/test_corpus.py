"""Every real export, cell for cell, against a decoder of another make.

The oracle reads the whole document into a tree first, finds all ids in it, and knows nothing
of the reader: neither its types nor its text. What a column must be follows from what its
cells hold.
"""

from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree as ET

import pandas as pd
import pytest

from tracekit.tables.exports import identify
from tracekit.tables.flat import read_flat
from tracekit.tables.xml.fast.reader import FastReader
from tracekit.tables.xml.fast.tokens import IrregularError
from tracekit.tables.xml.node import STACK_TYPES, Reader
from tracekit.tables.xml.reader import ExactReader

pytestmark = pytest.mark.corpus

STRINGS = {
    "string", "gpu-channel-name", "gpu-state", "metal-object-label", "metal-device-name",
    "gpu-driver-name", "metal-event-name", "thread-state", "category", "subsystem",
    "signpost-name", "format-string", "event-type", "hang-type", "display-name",
    "display-event-name", "vsync-event", "app-period", "event-concept", "metal-memory-level-event",
    "mps-event-name",
}  # fmt: skip


def exports(corpus: Path, kind: str) -> Iterator[Path]:
    for path in sorted(corpus.rglob("*.xml")):
        if ".trace" not in str(path.relative_to(corpus)) and identify(path).kind == kind:
            yield path


def resolve(element: ET.Element, ids: dict[str, ET.Element]) -> ET.Element:
    return ids[element.get("ref", "")] if element.get("ref") else element


def readable(element: ET.Element, ids: dict[str, ET.Element]) -> str | None:
    """Return what a cell says to people; None of one that holds sentinels only, and no words."""
    if len(element) == 0:
        return element.text or ""
    fmt = element.get("fmt")
    if fmt is not None:
        return fmt
    if all(part.tag == "sentinel" for part in element):
        return None
    frames = [resolve(frame, ids) for frame in element.findall("frame")]
    return f"{frames[0].get('name')} ← ({len(frames) - 1} other frames)"


def pid_of(cell: ET.Element, ids: dict[str, ET.Element]) -> int:
    owner = resolve(cell.find("process"), ids) if cell.tag == "thread" else cell
    return int(resolve(owner.find("pid"), ids).text)


def decode(node: ET.Element, ids: dict[str, ET.Element]) -> dict[str, list[object]]:
    """Decode a table: strings stay strings, all other leaves are numbers."""
    table: dict[str, list[object]] = {}
    columns = [(c.findtext("mnemonic"), c.findtext("engineering-type")) for c in node.iter("col")]
    for k, (mnemonic, engineering_type) in enumerate(columns):
        cells = [
            None if row[k].tag == "sentinel" else resolve(row[k], ids)
            for row in node.findall("row")
        ]
        assert all(cell is None or cell.tag == engineering_type for cell in cells)
        table[mnemonic] = [None if cell is None else value(cell, ids) for cell in cells]
        if engineering_type == "thread":
            table[f"{mnemonic}.tid"] = [
                None if cell is None else int(resolve(cell.find("tid"), ids).text) for cell in cells
            ]
        if engineering_type in {"process", "thread"}:
            table[f"{mnemonic}.pid"] = [
                None if cell is None else pid_of(cell, ids) for cell in cells
            ]
    return table


def value(cell: ET.Element, ids: dict[str, ET.Element]) -> object:
    text = readable(cell, ids)
    if len(cell) or cell.tag in STRINGS:
        return text
    number = Decimal(text)
    if cell.tag == "boolean":
        return number != 0
    return int(number) if number == number.to_integral_value() else float(number)


def listed(series: pd.Series) -> list[object]:
    return [None if pd.isna(one) else one for one in series.tolist()]


def frames_by_reader(path: Path) -> list[pd.DataFrame]:
    """Read an export with each reader; the fast one may give up, never on a Metal table."""
    frames = [read_flat(path, only="exact").frame]
    try:
        frames.append(read_flat(path, only="fast").frame)
    except IrregularError:
        assert "_metal-" not in path.name, path
    return frames


@pytest.mark.campaign
def test_every_real_export_equals_the_oracle(corpus: Path) -> None:
    files = rows = cells = fast = 0
    for path in exports(corpus, "tables"):
        root = ET.parse(path).getroot()
        ids = {e.get("id"): e for e in root.iter() if e.get("id") is not None}
        (table,) = root.findall("node")
        expected = decode(table, ids)
        frames = frames_by_reader(path)
        for frame in frames:
            beside = [name for name in frame.columns if name.endswith(".stack")]
            assert list(frame.columns.drop(beside)) == list(expected), path
            for name, values in expected.items():
                assert listed(frame[name]) == values, f"{path}: {name}"
            assert len(frame) == len(table.findall("row")), path
        cells += sum(map(len, expected.values()))
        files, rows = files + 1, rows + len(frames[0])
        fast += len(frames) - 1
    assert files >= 90
    assert fast >= 85
    assert rows > 60_000
    assert cells > 600_000


Frame = tuple[str | None, int]


def frames_of(stack: ET.Element, ids: dict[str, ET.Element]) -> list[Frame]:
    """Return the names and addresses of a stack's frames, whatever its shape."""
    parts = [resolve(part, ids) for part in stack]
    frames = [(f.get("name"), int(f.get("addr"), 16)) for f in parts if f.tag == "frame"]
    if frames:
        return frames
    inner = [part for part in parts if part.tag == "backtrace"]
    if inner:
        return frames_of(inner[0], ids)
    (counter,) = (part.text for part in parts if part.tag == "text-address")
    (rest,) = (part.text for part in parts if part.tag == "text-addresses")
    addresses = [counter, *rest.removesuffix(" 0").split()]
    return [(None, int(address)) for address in addresses]


def stacks_in_a_tree(table: ET.Element, ids: dict[str, ET.Element]) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    for k, column in enumerate(table.iter("col")):
        if column.findtext("engineering-type") in STACK_TYPES:
            cells = [resolve(row[k], ids) for row in table.findall("row")]
            found[column.findtext("mnemonic")] = [
                None if cell.tag == "sentinel" else frames_of(cell, ids) for cell in cells
            ]
    return found


def stacks_of(reader: Reader) -> dict[str, list[object]]:
    numbers: dict[str, list[int | None]] = {}
    for piece in reader.pieces():
        for column in piece.columns:
            if column.stacks is not None:
                numbers.setdefault(column.column.mnemonic, []).extend(column.stacks.to_pylist())
    symbols = reader.symbols()
    names, addresses = (symbols.frames[name].to_pylist() for name in ("name", "address"))
    stacks = [
        [(names[frame], addresses[frame]) for frame in stack]
        for stack in symbols.stacks["frames"].to_pylist()
    ]
    return {
        name: [None if one is None else stacks[one] for one in column]
        for name, column in numbers.items()
    }


@pytest.mark.campaign
def test_every_stack_of_every_real_export_equals_the_oracle(corpus: Path) -> None:
    stacks = frames = shapes = 0
    for path in exports(corpus, "tables"):
        root = ET.parse(path).getroot()
        ids = {e.get("id"): e for e in root.iter() if e.get("id") is not None}
        (table,) = root.findall("node")
        expected = stacks_in_a_tree(table, ids)
        assert stacks_of(ExactReader(path)) == expected, path
        with suppress(IrregularError):
            assert stacks_of(FastReader(path)) == expected, path
        shapes += bool(expected)
        found = [stack for column in expected.values() for stack in column if stack]
        stacks, frames = stacks + len(found), frames + sum(map(len, found))
    assert shapes >= 10
    assert stacks > 200
    assert frames > 2000
