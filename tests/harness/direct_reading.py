"""Tables read directly from a bundle, and from exports, in a form that can be compared."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from tracekit.tables.bundle.bundle import Bundle, BundleRun
from tracekit.tables.bundle.container.store import Store
from tracekit.tables.bundle.reader import BundleReader
from tracekit.tables.flat import read_flat
from tracekit.tables.layout import Layout
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
    known = list(_stacks(symbols))
    numbered = [name for name in frame.columns if str(name).endswith(".stack")]
    return frame.assign(
        **{
            name: [None if pd.isna(number) else known[number] for number in frame[name]]
            for name in numbered
        }
    )


def _frame(run: BundleRun, store: Store) -> pd.DataFrame:
    reader = BundleReader(run, store, "//trace-toc[1]/run[1]/data[1]/table[1]")
    layout: Layout | None = None
    parts: list[pa.Table] = []
    for piece in reader.pieces():
        layout = layout or Layout(piece)
        parts.append(layout.take(piece))
    assert layout is not None
    return written_out(layout.frame(pa.concat_tables(parts)), reader.symbols())


def _stacks(symbols: Symbols) -> Iterator[tuple[tuple[Any, ...], ...]]:
    frames = [tuple(frame.values()) for frame in symbols.frames.drop_columns(["frame"]).to_pylist()]
    for members in symbols.stacks["frames"].to_pylist():
        yield tuple(frames[member] for member in members)
