"""The benchmark of bundles at a tiny size: it compares, times, and writes; never how fast."""

from pathlib import Path

import pytest

import bundle as benchmark
from direct import made
from direct.ways import WAYS, difference, rows_of, size_of
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.reader import BundleReader
from tracekit.tables.xml.fast.reader import FastReader


@pytest.mark.parametrize("distinct", [False, True])
def test_a_bundle_and_its_export_have_the_same_rows(tmp_path: Path, distinct: bool) -> None:
    pair = made.intervals(tmp_path, 1500, distinct=distinct)
    run = Bundle(pair.bundle).runs[0]
    assert difference(BundleReader(run, run.stores[0], ""), FastReader(pair.export)) == ""
    tables = WAYS["bundle"](pair.bundle)
    assert rows_of(tables) == 1500
    labels = tables[0].columns[6].cells.combine_chunks().dictionary
    assert len(labels) == (1500 if distinct else made.POOL)
    assert size_of(tables) > 1500 * 100
    assert made.intervals(tmp_path, 1500, distinct=distinct) == pair


@pytest.mark.processes
def test_a_run_times_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- written by bench/bundle.py -->\nold\n<!-- end of bundles -->\n")
    tables = ["--table=states", "--table=many", "--records=500", "--rounds=1"]
    benchmark.main([*tables, f"--data={tmp_path}", f"--markdown={page}"])
    page_text = page.read_text()
    assert "old" not in page_text
    assert page_text.count("| bundle |") == 1
    assert "| inflate alone |" in page_text
    assert "**a bundle of 114 tables**" in page_text
    assert page_text.partition("- machine: ")[2].partition("<!--")[0].strip() in (
        capsys.readouterr().out
    )
