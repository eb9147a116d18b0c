"""Tables made at random, written as a bundle: what is read is what was written, in time's order."""

import tempfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bundle_writer import (
    DURATION,
    TIME,
    Col,
    Label,
    Location,
    Part,
    Process,
    Table,
    Thread,
    write_bundle,
)
from direct_reading import read_directly

pytestmark = pytest.mark.campaign

NAMES = {0: "kernel", 7: "a (b)", 420: "WindowServer", 4711: "a name of more than 16 letters"}
PROCESSES = [Process(pid, name) for pid, name in NAMES.items()]
THREADS = [Thread(100 + n, PROCESSES[n % 4], f"thread {n % 3}") for n in range(6)]
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)
U64, U32 = st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 2)
SMALL = st.integers(0, 2**63 - 1)
DECIMALS = st.decimals(-(10**6), 10**6, allow_nan=False, places=9)


def said(value: Any) -> Any:
    """Return what a table shows of a value."""
    match value:
        case Process(pid, name):
            return f"{name} ({pid})"
        case Thread(tid, Process(pid, process), name):
            return f"{name} 0x{tid:x} ({process}, pid: {pid})"
        case Label(parts):
            return " ".join(said(part.value) for part in parts)
        case Location(image, offset):
            return f"{str(image).upper()} + 0x{offset:x}"
        case Decimal():
            return float(value)
        case _:
            return value


def parts() -> st.SearchStrategy[Part]:
    texts = TEXTS.map(lambda text: Part("XRPrototypeStringTypeID", text))
    words = TEXTS.map(lambda text: Part("XRNarrativeTextTypeID", text))
    processes = st.sampled_from(PROCESSES).map(lambda one: Part("XRProcessTypeID", one))
    return texts | words | processes


KINDS: dict[str, tuple[str, st.SearchStrategy[Any]]] = {
    "text": ("XRGPUStateTypeID", TEXTS | st.none()),
    "id": ("XRMetalCommandBufferIDTypeID", U64),
    "count": ("XRRenderingBufferDepthTypeID", U32 | st.none()),
    "size": ("XRSizeInBytesTypeID", SMALL | st.none()),
    "flag": ("XRBooleanTypeID", st.booleans() | st.none()),
    "decimal": ("XRPercentageTypeID", DECIMALS | st.none()),
    "process": ("XRProcessTypeID", st.sampled_from(PROCESSES) | st.none()),
    "thread": ("XRThreadTypeID", st.sampled_from(THREADS) | st.none()),
    "place": (
        "XRReturnLocationTypeID",
        st.builds(Location, st.builds(UUID, int=st.integers(0, 2**128 - 1)), U32),
    ),
    "label": ("XRFormattedLabelTypeID", st.lists(parts(), min_size=1, max_size=6).map(
        lambda found: Label(tuple(found))) | st.none()),
}  # fmt: skip


@st.composite
def tables(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Table:
    names = draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=5))
    columns = [Col("time", "Time", "XRStartTimeTypeID", TIME)]
    values: list[st.SearchStrategy[Any]] = [st.integers(0, 5) | SMALL]
    if draw(st.booleans()):
        columns.append(Col("duration", "Duration", "XRDurationTypeID", DURATION))
        values.append(SMALL | st.none())
    for place, name in enumerate(names):
        columns.append(Col(f"{place}-{name}", name, KINDS[name][0]))
        values.append(KINDS[name][1])
    rows = draw(st.lists(st.tuples(*values), max_size=12))
    return Table("made-at-random", columns, rows)


@settings(max_examples=60, deadline=None)
@given(tables(), st.sampled_from([512, 1 << 20]))
def test_what_is_read_is_what_was_written(table: Table, block: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bundle = write_bundle(Path(folder, "x.trace"), [table], block=block)
        frame = read_directly(bundle)["made-at-random"]
    expected = sorted(table.rows, key=lambda row: row[0])
    for place, column in enumerate(table.columns):
        found = [None if pd.isna(one) else one for one in frame[column.mnemonic].tolist()]
        assert found == [said(row[place]) for row in expected], column
        pids = frame.get(f"{column.mnemonic}.pid")
        if pids is not None:
            owners = (row[place] and getattr(row[place], "process", row[place]) for row in expected)
            assert [None if pd.isna(one) else one for one in pids] == [
                owner and owner.pid for owner in owners
            ]
