"""Real recordings: their exports against a decoder of another make, their tables and joins.

The oracle reads the whole document into a tree first, finds all ids in it, and knows nothing
of the reader: neither its types nor its text. What a column must be follows from what its
cells hold.
"""

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pandas as pd
import pytest

from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle_xml import write_exports
from tracekit.tables.export_files import identify
from tracekit.tables.flat import Flat, read_flat
from tracekit.tables.normalize import normalize
from tracekit.tables.schemas import SCHEMAS
from tracekit.tables.tables import Tables
from tracekit.tables.toc import read_toc
from tracekit.tables.xml.fast.tokens import IrregularError
from tracekit.tables.xml.node import STACK_TYPES

pytestmark = pytest.mark.corpus

STRINGS = {
    "string", "gpu-channel-name", "gpu-state", "metal-object-label", "metal-device-name",
    "gpu-driver-name", "metal-event-name", "thread-state", "category", "subsystem",
    "signpost-name", "format-string", "event-type", "hang-type", "display-name",
    "display-event-name", "vsync-event", "app-period", "event-concept", "metal-memory-level-event",
    "mps-event-name",
}  # fmt: skip


def exports(corpus: Path) -> Iterator[Path]:
    for path in sorted(corpus.rglob("*.xml")):
        if ".trace" not in str(path.relative_to(corpus)) and identify(path).kind == "tables":
            yield path


class Oracle:
    """The only table of an export, as a tree."""

    def __init__(self, path: Path) -> None:
        root = ET.parse(path).getroot()
        self.ids = {element.get("id"): element for element in root.iter() if element.get("id")}
        (self.table,) = root.findall("node")
        self.rows = self.table.findall("row")

    def columns(self) -> dict[str, list[object]]:
        """Decode all cells: strings stay strings, all other leaves are numbers."""
        columns: dict[str, list[object]] = {}
        for place, column in enumerate(self.table.iter("col")):
            name, kind = column.findtext("mnemonic", ""), column.findtext("engineering-type", "")
            decoders: dict[str, Callable[[ET.Element], object]] = {"": self.value}
            if kind in STACK_TYPES:
                decoders[".stack"] = self.frames
            if kind == "thread":
                decoders[".tid"] = lambda cell: int(self.inner(cell, "tid").text or "")
            if kind in {"process", "thread"}:
                decoders[".pid"] = self.pid
            cells = [self.resolve(row[place]) for row in self.rows]
            assert {cell.tag for cell in cells} <= {kind, "sentinel"}
            for suffix, decode in decoders.items():
                columns[name + suffix] = [
                    None if cell.tag == "sentinel" else decode(cell) for cell in cells
                ]
        return columns

    def resolve(self, element: ET.Element) -> ET.Element:
        return self.ids[element.get("ref")] if element.get("ref") else element

    def inner(self, element: ET.Element, tag: str) -> ET.Element:
        return next(self.resolve(part) for part in element if part.tag == tag)

    def value(self, cell: ET.Element) -> object:
        """Return what a cell says; None of one that holds sentinels only, and no words."""
        if len(cell):
            if cell.get("fmt") is not None or all(part.tag == "sentinel" for part in cell):
                return cell.get("fmt")
            frames = [self.resolve(frame) for frame in cell.findall("frame")]
            return f"{frames[0].get('name')} ← ({len(frames) - 1} other frames)"
        if cell.tag in STRINGS:
            return cell.text or ""
        number = Decimal(cell.text or "")
        if cell.tag == "boolean":
            return number != 0
        return int(number) if number == number.to_integral_value() else float(number)

    def pid(self, cell: ET.Element) -> int:
        owner = self.inner(cell, "process") if cell.tag == "thread" else cell
        return int(self.inner(owner, "pid").text or "")

    def frames(self, stack: ET.Element) -> list[tuple[str | None, int]]:
        parts = [self.resolve(part) for part in stack]
        if frames := [part for part in parts if part.tag == "frame"]:
            return [(frame.get("name"), int(frame.get("addr", ""), 16)) for frame in frames]
        if inner := [part for part in parts if part.tag == "backtrace"]:
            return self.frames(inner[0])
        texts = {part.tag: part.text or "" for part in parts}
        return_addresses = texts["text-addresses"].removesuffix(" 0").split()
        return [(None, int(address)) for address in (texts["text-address"], *return_addresses)]


def columns_of(flat: Flat) -> dict[str, list[object]]:
    """Return the columns of a flat table, with the frames of stacks in place of their numbers."""
    names, addresses = (flat.symbols.frames[name].to_pylist() for name in ("name", "address"))
    stacks = [
        [(names[frame], addresses[frame]) for frame in frames]
        for frames in flat.symbols.stacks["frames"].to_pylist()
    ]
    return {
        name: [
            None if pd.isna(cell) else stacks[cell] if name.endswith(".stack") else cell
            for cell in flat.frame[name].tolist()
        ]
        for name in flat.names
    }


@pytest.mark.campaign
def test_every_real_export_equals_the_oracle(corpus: Path) -> None:
    files = fast = rows = cells = frames = 0
    for path in exports(corpus):
        oracle = Oracle(path)
        expected = oracle.columns()
        assert columns_of(read_flat(path, reader_name="exact")) == expected, path
        try:
            assert columns_of(read_flat(path, reader_name="fast")) == expected, path
            fast += 1
        except IrregularError:
            assert "_metal-" not in path.name, path
        stacks: list[Any] = [cells for name, cells in expected.items() if name.endswith(".stack")]
        frames += sum(len(stack) for column in stacks for stack in column if stack)
        files, rows = files + 1, rows + len(oracle.rows)
        cells += sum(map(len, expected.values()))
    assert files >= 90
    assert fast >= 85
    assert rows > 60_000
    assert cells > 600_000
    assert frames > 2000


def test_every_real_export_of_a_known_schema_is_read_without_a_word(corpus: Path) -> None:
    sources_by_schema = {
        source.schema: (table, source) for table in SCHEMAS.values() for source in table.sources
    }
    seen_schemas: set[str] = set()
    for path in exports(corpus):
        for name in sources_by_schema.keys() & identify(path).schemas:
            schema, source = sources_by_schema[name]
            table, remarks = normalize(read_flat(path, name).table, schema, source, frozenset())
            assert remarks == [], (name, path)
            assert list(table) == [column.name for column in schema.columns], (path, name)
            seen_schemas.add(name)
    assert len(seen_schemas) >= 45


def test_the_encoders_of_the_target_are_found_for_all_of_its_work(
    corpus: Path, tmp_path: Path
) -> None:
    folder = next(corpus.rglob("tranche1_20260330_204856"))
    for path in folder.glob("*gpu_baseline_*.xml"):
        (tmp_path / path.name).symlink_to(path)
    target = read_toc(folder / "gpu_baseline_toc.xml").runs[0].target
    assert target is not None
    tables = Tables(tmp_path, frozenset({target.pid}))
    jobs, intervals = tables["gpu_jobs"], tables["gpu_intervals"]
    assert jobs["start"].tolist() == intervals["start"].tolist()
    assert jobs["submission"].tolist() == intervals["submission"].tolist()
    target_jobs = jobs[jobs["target"]]
    assert len(target_jobs) == len(tables["encoders"]) == 1000
    assert target_jobs["encoder_label"].notna().all()
    assert jobs.loc[~jobs["target"], "encoder_kind"].isna().all()
    assert (jobs["completed"] >= jobs["start"] + jobs["duration"]).all()
    buffers = tables["command_buffers"]
    assert buffers["command_buffer"].is_unique
    assert len(buffers) == len(tables["completions"])
    assert buffers["gpu_intervals"].sum() == len(intervals)
    assert buffers["encoders"].sum() == 1000
    assert tables.warnings == ()


# Of labels only the words are written, and one bundle lacks kinds of cores and symbols.
SAME_BYTES = {
    "dyld-library-load",
    "gcd-perf-event",
    "metal-application-encoders-list",
    "metal-command-buffer-completed",
    "metal-driver-event-per-thread-intervals",
    "metal-gpu-counter-intervals",
    "metal-shader-profiler-intervals",
    "process-info",
}
UNNAMED = {"gpu_baseline time-sample", "gpu_baseline time-profile"}


def test_exports_that_are_written_from_bundles_are_read_as_the_real_ones(
    corpus: Path, tmp_path: Path
) -> None:
    folder = corpus / "Oichkatzelesfrettschen+steinmarder/_history_8227983"
    same_exports: set[str] = set()
    for name in ("gpu_baseline", "cpu_time_profiler"):
        there = {path.stem.split(f"{name}_")[1] for path in folder.glob(f"xctrace_{name}_*.xml")}
        done = write_exports(Bundle(folder / f"{name}.trace"), tmp_path / name, there.__and__, str)
        assert done.warnings == (), name
        loss_texts = [loss.text for loss in done.losses if loss.evidence is None]
        missing_document = "gpu_baseline.trace has no form.template"
        assert all(missing_document in text for text in loss_texts), (name, loss_texts)
        for ours in done.files[1:]:
            real = folder / f"xctrace_{name}_{ours.name}"
            real_text, text = (
                re.sub(r"table\[\d+\]", "", path.read_text(), count=1) for path in (real, ours)
            )
            same_exports |= {ours.stem} if text == real_text else set()
            table = f"{name} {ours.stem}"
            if table not in UNNAMED:
                frame = read_flat(real).frame
                pd.testing.assert_frame_equal(read_flat(ours).frame, frame, obj=table)
    assert same_exports >= SAME_BYTES
