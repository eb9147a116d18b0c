"""Tables written as a bundle, and real bundles: what is read is what was written or exported."""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bundle_writer import (
    DURATION,
    TIME,
    Col,
    Encoder,
    Process,
    Table,
    write_bundle,
)
from bundle_writer.from_exports import tables_of_exports
from labelled.folder import write
from labelled.program import simulate
from labelled.setup import Counters
from small_trace import SETUP
from tracekit.tables.bundle.bundle import Bundle, BundleRun
from tracekit.tables.bundle.container.store import TableStore
from tracekit.tables.bundle.reader import BundleReader
from tracekit.tables.flat import read_flat
from tracekit.tables.layout import Layout, frame_of
from tracekit.tables.xml.node import Symbols


def read_directly(bundle: Path) -> dict[str, pd.DataFrame]:
    """Return the tables of a bundle's first run by schema, their stacks written out."""
    run = Bundle(bundle).runs[0]
    return {store.schema: _frame(run, store) for store in run.stores}


def read_exported(path: Path) -> pd.DataFrame:
    """Return the table of an export, its stacks written out."""
    flat = read_flat(path)
    return written_out(flat.frame, flat.symbols)


def written_out(frame: pd.DataFrame, symbols: Symbols) -> pd.DataFrame:
    stacks = list(_stacks(symbols))
    numbered = [name for name in frame.columns if str(name).endswith(".stack")]
    columns: dict[str, Any] = {
        name: [None if pd.isna(number) else stacks[number] for number in frame[name]]
        for name in numbered
    }
    return frame.assign(**columns)


def _frame(run: BundleRun, store: TableStore) -> pd.DataFrame:
    reader = BundleReader(run, store, "//trace-toc[1]/run[1]/data[1]/table[1]")
    layout: Layout | None = None
    parts: list[pa.Table] = []
    for piece in reader.pieces():
        layout = layout or Layout(piece)
        parts.append(layout.take(piece))
    assert layout is not None
    return written_out(frame_of(layout.convert_table(pa.concat_tables(parts))), reader.symbols())


def _stacks(symbols: Symbols) -> Iterator[tuple[tuple[Any, ...], ...]]:
    frames = [tuple(frame.values()) for frame in symbols.frames.drop_columns(["frame"]).to_pylist()]
    for members in symbols.stacks["frames"].to_pylist():
        yield tuple(frames[member] for member in members)


# Of an Xcode of which no bundle was seen; it words threads in another way.
OTHER_WORDS = {"potential-hangs": ["thread"], "time-sample": ["thread"]}


def compare(exports: list[Path], folder: Path, toc: Path | None = None) -> Iterator[str]:
    """Write exports as one bundle, and compare every table; yield their schemas."""
    converted = tables_of_exports(exports, toc)
    tables = read_directly(write_bundle(folder, converted.tables, info=converted.info))
    for path, table in zip(exports, converted.tables, strict=True):
        omitted_names = {
            name for schema, name in converted.omitted_columns if schema == table.schema
        }
        reworded_columns = OTHER_WORDS.get(table.schema, []) if "xcode-27.0" in path.parts else []
        expected, direct_frame = read_exported(path), tables[table.schema]
        names = [name for name in expected if str(name).removesuffix(".stack") not in omitted_names]
        expected, direct_frame = (
            expected[names].drop(columns=reworded_columns),
            direct_frame.drop(columns=reworded_columns),
        )
        pd.testing.assert_frame_equal(direct_frame, expected, obj=str(path))
        yield table.schema


@pytest.mark.campaign
@pytest.mark.corpus
def test_real_exports_come_back_from_a_bundle(corpus: Path, tmp_path: Path) -> None:
    exports = sorted(
        path
        for path in corpus.rglob("*.xml")
        if ".trace" not in str(path.relative_to(corpus)) and not path.stem.endswith("toc")
    )
    done = [
        schema
        for number, path in enumerate(exports)
        for schema in compare([path], tmp_path / f"{number}.trace")
    ]
    assert len(done) == len(exports) > 90
    assert len(set(done)) > 45


@pytest.mark.parametrize("version", ["26.0", "27.0"])
def test_made_exports_come_back_from_a_bundle(version: str, tmp_path: Path) -> None:
    changed = {"counters": Counters(), "allocations": 2, "thermal": "Serious", "steps": 6}
    world = simulate(replace(SETUP, version=version, **changed))
    run = write(world, tmp_path / "run")
    exports = sorted(path for path in run.exports.glob("*.xml") if path.name != "toc.xml")
    done = set(compare(exports, tmp_path / "made.trace", run.toc_file))
    assert len(done) == len(exports) > 15


PROCESSES = [Process(7, "a (b)"), Process(4711, "a name of more than 16 letters")]
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)
SMALL = st.integers(0, 2**63 - 1)
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "XRGPUState": TEXTS | st.none(),
    "XRMetalCommandBufferID": st.integers(0, 2**64 - 1),
    "XRRenderingBufferDepth": st.integers(0, 2**32 - 2) | st.none(),
    "XRSizeInBytes": SMALL | st.none(),
    "XRBoolean": st.booleans() | st.none(),
    "XRPercentage": st.decimals(-(10**6), 10**6, allow_nan=False, places=9) | st.none(),
    "XRProcess": st.sampled_from(PROCESSES) | st.none(),
}


def normalize_value(value: Any) -> Any:
    match value:
        case Process(pid, name):
            return f"{name} ({pid})"
        case Decimal():
            return float(value)
        case _:
            return None if pd.isna(value) else value


@st.composite
def made_tables(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Table:
    columns = [Col("time", "Time", "XRStartTimeTypeID", TIME)]
    values: list[st.SearchStrategy[Any]] = [st.integers(0, 5) | SMALL]
    if draw(st.booleans()):
        columns.append(Col("duration", "Duration", "XRDurationTypeID", DURATION))
        values.append(SMALL | st.none())
    names = draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=5))
    columns += [Col(f"{place}-{name}", name, f"{name}TypeID") for place, name in enumerate(names)]
    rows = draw(st.lists(st.tuples(*values, *map(KINDS.__getitem__, names)), max_size=12))
    return Table("made-at-random", columns, rows)


@pytest.mark.campaign
@settings(max_examples=60, deadline=None)
@given(made_tables(), st.sampled_from([512, 1 << 20]))
def test_written_rows_are_read_in_the_order_of_time(table: Table, block: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bundle = write_bundle(Path(folder, "x.trace"), [table], encoder=Encoder(block))
        frame = read_directly(bundle)["made-at-random"]
    unordered_rows: list[Any] = list(table.rows)
    rows = sorted(unordered_rows, key=lambda row: row[0])
    for place, column in enumerate(table.columns):
        values = [normalize_value(value) for value in frame[column.mnemonic].tolist()]
        assert values == [normalize_value(row[place]) for row in rows], column


DOCUMENTED, WITHOUT_DOCUMENT = "cpu_time_profiler", "gpu_baseline"
ROWS = {
    (DOCUMENTED, "dyld-library-load"): 0,
    (DOCUMENTED, "gcd-perf-event"): 0,
    (DOCUMENTED, "life-cycle-period"): 4,
    (DOCUMENTED, "process-info"): 863,
    (DOCUMENTED, "thread-info"): 4281,
    (DOCUMENTED, "time-profile"): 68,
    (DOCUMENTED, "time-sample"): 70,
    (WITHOUT_DOCUMENT, "life-cycle-period"): 4,
    (WITHOUT_DOCUMENT, "metal-application-encoders-list"): 1000,
    (WITHOUT_DOCUMENT, "metal-command-buffer-completed"): 1059,
    (WITHOUT_DOCUMENT, "metal-driver-event-per-thread-intervals"): 0,
    (WITHOUT_DOCUMENT, "metal-driver-intervals"): 2197,
    (WITHOUT_DOCUMENT, "metal-gpu-counter-intervals"): 0,
    (WITHOUT_DOCUMENT, "metal-gpu-intervals"): 1260,
    (WITHOUT_DOCUMENT, "metal-gpu-state-intervals"): 2447,
    (WITHOUT_DOCUMENT, "metal-shader-profiler-intervals"): 0,
    (WITHOUT_DOCUMENT, "time-profile"): 82,
    (WITHOUT_DOCUMENT, "time-sample"): 84,
}
read_once = cache(read_directly)


def without_names(stack: tuple[tuple[Any, ...], ...] | None) -> list[Any]:
    return [address for _, address, *_ in stack or ()]


@pytest.mark.corpus
@pytest.mark.parametrize(("table", "rows"), ROWS.items())
def test_a_real_table_equals_its_export(corpus: Path, table: tuple[str, str], rows: int) -> None:
    bundle, schema = table
    folder = next(corpus.rglob(f"{bundle}.trace"))
    direct_frame = read_once(folder)[schema]
    expected = read_exported(folder.parent / f"xctrace_{bundle}_{schema}.xml")
    if table == (WITHOUT_DOCUMENT, "time-profile"):
        # The names of symbols are in the document, which is missing there.
        direct_frame, expected = (
            frame.assign(stack="", **{"stack.stack": [*map(without_names, frame["stack.stack"])]})
            for frame in (direct_frame, expected)
        )
    pd.testing.assert_frame_equal(direct_frame, expected)
    assert len(direct_frame) == rows
