"""Commands on bundles, and on runs whose tables are read from one."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bundle_writer import RunInfo, write_bundle
from small_bundle import PYTHON, SERVER, intervals, ticks
from tracekit.tables.tables import Tables

Tracekit = Callable[..., Any]
TABLES = [
    ticks([1]),
    intervals((0, 10, PYTHON), (5, 10, PYTHON), (40, 10, SERVER)),
    ticks([7, 8], {"frequency": 10}),
]


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_bundle(tmp_path / "mine.trace", TABLES, info=RunInfo())


@pytest.fixture
def run(bundle: Path, tmp_path: Path, tracekit: Tracekit) -> Path:
    assert tracekit("import", bundle, "--output", tmp_path / "run").code == 0
    return tmp_path / "run"


def test_tables_of_a_bundle_are_listed_and_shown(bundle: Path, tracekit: Tracekit) -> None:
    before = sorted(bundle.rglob("*"))
    listed = tracekit("tables", bundle)
    assert listed.code == 0
    assert "gpu_intervals" in listed.out
    shown = tracekit("tables", bundle, "gpu_intervals")
    assert [line.split("\t")[0] for line in shown.out.splitlines()] == ["start", "0", "5", "40"]
    assert tracekit("tables", bundle, "ticks", "--table", 3).out.count("\n") == 3
    assert sorted(bundle.rglob("*")) == before
    assert sorted(one.name for one in bundle.parent.iterdir()) == ["mine.trace"]


def test_a_table_that_cannot_be_read_is_listed_with_the_reason(
    bundle: Path, tracekit: Tracekit
) -> None:
    (bundle / "corespace/run1/core/stores/indexed-store-1/bulkstore").write_bytes(b"nonsense")
    listed = tracekit("tables", bundle)
    assert listed.code == 0
    assert "not available" in listed.out
    assert "bulkstore" in listed.out


def test_one_table_of_a_bundle_is_converted(
    bundle: Path, tmp_path: Path, tracekit: Tracekit
) -> None:
    file = tmp_path / "x.parquet"
    assert tracekit("convert", bundle, file, "--schema", "metal-gpu-intervals").code == 0
    assert len(pd.read_parquet(file)) == 3
    assert tracekit("convert", bundle, file, "--schema", "tick", "--table", 3).code == 0
    assert pd.read_parquet(file)["time"].tolist() == [7, 8]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["OUT", "--to", "perfetto"], (2, "tracekit import")),
        (["OUT", "--to", "csv", "--schema", "tick"], (2, "name OUT, and one table")),
        (["OUT", "--to", "csv", "--table", "1"], (2, "name OUT, and one table")),
        (["--to", "csv"], (2, "name OUT, and one table")),
        (["OUT.csv"], (2, "name OUT, and one table")),
        (["OUT.txt", "--schema", "metal-gpu-intervals"], (2, "suffix that says no format")),
        (["OUT.csv", "--schema", "tick"], (3, "has 2 tables of tick: run 1 table 1; run 1")),
        (["OUT.csv", "--schema", "tock"], (3, "There are tick")),
    ],
)
def test_what_makes_no_sense_is_said(
    bundle: Path, tmp_path: Path, tracekit: Tracekit, words: list[str], expected: tuple[int, str]
) -> None:
    code, told = expected
    ran = tracekit("convert", bundle, *(one.replace("OUT", f"{tmp_path}/out") for one in words))
    assert ran.code == code
    assert told in " ".join(ran.err.split())


def test_a_bundle_that_is_not_known_is_refused_with_the_way_out(
    tmp_path: Path, tracekit: Tracekit
) -> None:
    (tmp_path / "old.trace").mkdir()
    for words in (["tables"], ["convert", tmp_path / "out", "--to", "csv"]):
        ran = tracekit(words[0], tmp_path / "old.trace", *words[1:])
        assert ran.code == 3
        assert "xctrace export" in ran.err


@pytest.mark.skipif(shutil.which("xcrun") is not None, reason="xctrace would export it")
def test_such_a_run_needs_no_export(run: Path, tracekit: Tracekit) -> None:
    ran = tracekit("export", run)
    assert ran.code == 3
    assert "needs no export" in ran.err
    assert "tracekit analyze" in ran.err


def test_without_its_bundle_such_a_run_is_not_judged(
    bundle: Path, run: Path, tracekit: Tracekit
) -> None:
    bundle.rename(bundle.with_name("elsewhere"))
    ran = tracekit("analyze", run)
    assert ran.code == 3
    assert "which is not there" in ran.err
    assert "Put the bundle back" in ran.err


def pruned(run: Path, bundle: Path, tracekit: Tracekit) -> str:
    """Give a run a bundle of its own, analyse it, and prune it; return what was printed."""
    (run / "recording.trace").unlink()
    shutil.copytree(bundle, run / "recording.trace")
    assert tracekit("analyze", run).code == 0
    return " ".join(tracekit("prune", run.parent, "--keep", "0d", "--newest", 0).out.split())


def test_a_pruned_bundle_is_stood_for_by_its_kept_tables(
    run: Path, bundle: Path, tracekit: Tracekit
) -> None:
    before = Tables(run / "exports", frozenset({4711}))
    intervals, ticks = before["gpu_intervals"], before.raw("tick", table=3)
    pruned(run, bundle, tracekit)
    assert not (run / "recording.trace").exists()
    assert sorted(one.name for one in (run / "exports").iterdir()) == ["pruned.json", "toc.xml"]
    after = Tables(run / "exports", frozenset({4711}), cache=run / "tables")
    pd.testing.assert_frame_equal(after["gpu_intervals"], intervals)
    pd.testing.assert_frame_equal(after.raw("tick", table=3), ticks)
    pd.testing.assert_frame_equal(after.raw("tick", attributes={"frequency": "10"}), ticks)
    assert tracekit("analyze", run).code == 0
    assert "was pruned" in tracekit("export", run).err


def test_a_bundle_of_which_not_all_can_be_kept_is_not_pruned(
    run: Path, bundle: Path, tracekit: Tracekit
) -> None:
    (bundle / "corespace/run1/core/stores/indexed-store-2/bulkstore").write_bytes(b"nonsense")
    told = pruned(run, bundle, tracekit)
    assert "tick, which is read from it: it cannot be read" in told
    assert (run / "recording.trace").is_dir()
    assert tracekit("tables", run, "gpu_intervals").out.count("\n") == 4


def test_a_packed_bundle_is_read_once_it_is_unpacked(tmp_path: Path, tracekit: Tracekit) -> None:
    packed = tmp_path / "mine.trace.zip"
    packed.write_bytes(b"PK\3\4")
    out = tmp_path / "out"
    for words in (
        ["tables"],
        ["export"],
        ["convert", out, "--to", "parquet"],
        ["convert", "x.csv"],
    ):
        ran = tracekit(words[0], packed, *words[1:])
        assert ran.code == 3
        assert f"`tracekit import {packed}` unpacks" in "".join(ran.err.split("\n"))


def test_a_runs_folder_that_is_called_like_a_bundle_is_one_of_a_run(
    bundle: Path, tmp_path: Path, tracekit: Tracekit
) -> None:
    run = tmp_path / "out.trace"
    assert tracekit("import", bundle, "--output", run).code == 0
    assert tracekit("tables", run, "gpu_intervals").out.count("\n") == 4
    assert "is no .trace bundle" in tracekit("export", run, tmp_path / "x").err
    assert tracekit("analyze", run).code == 0
    assert tracekit("report", run).out == f"{run / 'report.html'}\n"
    assert tracekit("convert", run, tmp_path / "run.json", "--to", "chrome").code == 0
    asked = tracekit("query", "select state from runs", run, "--format", "csv")
    assert asked.out == "state\nanalyzed\n"
