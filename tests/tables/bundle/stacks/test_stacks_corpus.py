"""Stacks of real exports and of a real bundle."""

from pathlib import Path
from typing import Any

import pytest

from exact_nodes import joined
from tracekit.tables.bundle.bundle import Bundle, BundleRun
from tracekit.tables.bundle.reader import BundleReader
from tracekit.tables.xml.fast.reader import FastReader
from tracekit.tables.xml.node import Reader, Symbols
from tracekit.tables.xml.reader import ExactReader

pytestmark = pytest.mark.corpus

REAL = "Oichkatzelesfrettschen+steinmarder/_history_8227983"
NAMELESS = {"name", "binary", "uuid", "arch", "load_address", "path"}


def said(reader: Reader) -> tuple[dict[str, list[Any]], Symbols]:
    """Return the texts and numbers of all columns of stacks, and what the numbers mean."""
    table = joined(list(reader.pieces()))
    found: dict[str, list[Any]] = {}
    for column in table.columns:
        if column.stacks is not None:
            found[column.column.mnemonic] = column.cells.to_pylist()
            found[f"{column.column.mnemonic}.stack"] = column.stacks.to_pylist()
    return found, reader.symbols()


def direct(run: BundleRun, schema: str) -> BundleReader:
    (store,) = [one for one in run.stores if one.schema == schema and one.rows]
    return BundleReader(run, store, "//trace-toc[1]/run[1]/data[1]/table[1]")


def test_callstacks_of_a_real_bundle_equal_its_export(corpus: Path) -> None:
    run = Bundle(corpus / REAL / "gpu_baseline.trace").runs[0]
    found, symbols = said(direct(run, "time-sample"))
    expected, of_export = said(ExactReader(corpus / REAL / "xctrace_gpu_baseline_time-sample.xml"))
    assert found == expected
    assert symbols.stacks.equals(of_export.stacks)
    assert symbols.frames.equals(of_export.frames)


def test_backtraces_of_a_real_bundle_equal_its_export_up_to_names(corpus: Path) -> None:
    run = Bundle(corpus / REAL / "gpu_baseline.trace").runs[0]
    reader = direct(run, "time-profile")
    found, symbols = said(reader)
    expected, of_export = said(FastReader(corpus / REAL / "xctrace_gpu_baseline_time-profile.xml"))
    assert found["stack.stack"] == expected["stack.stack"]
    assert symbols.stacks.equals(of_export.stacks)
    kept = [name for name in symbols.frames.column_names if name not in NAMELESS]
    assert symbols.frames.select(kept).equals(of_export.frames.select(kept))
    named = symbols.frames.select(["name", "address"]).to_pylist()
    assert all(int(one["name"], 16) in {one["address"], one["address"] - 1} for one in named)
