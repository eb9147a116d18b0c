"""`export` of a bundle, which needs no Mac."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bundle_writer import write_bundle
from small_bundle import PYTHON, intervals, ticks

Run = Callable[..., Any]


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_bundle(tmp_path / "my run.trace", [ticks([1, 2]), intervals((5, 7, PYTHON))])


def test_a_bundle_is_written_as_xml_beside_where_one_stands(
    tracekit: Run, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = tracekit("export", bundle)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "my run-exports\n"
    assert {one.name for one in Path("my run-exports").iterdir()} == {
        "toc.xml",
        "tick.xml",
        "metal-gpu-intervals.xml",
    }
    again = tracekit("export", bundle)
    assert again.code == 3
    assert "my run-exports is there already." in again.err


def test_what_was_written_is_imported_like_any_export(
    tracekit: Run, bundle: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert tracekit("export", bundle, out, "--tables", "needed").code == 0
    assert sorted(one.name for one in out.iterdir()) == ["metal-gpu-intervals.xml", "toc.xml"]
    lacking = tracekit("export", bundle, tmp_path / "other", "--tables", "tick,nonsense")
    assert lacking.code == 0
    assert lacking.err == "warning: The recording has no table nonsense.\n"
    assert tracekit("import", out, "--output", tmp_path / "run").code == 0
    listed = tracekit("tables", tmp_path / "run").out
    assert "\ngpu_intervals\t1\t" in listed


def test_a_missing_store_is_exit_code_3_of_convert_and_export(
    tracekit: Run, bundle: Path, tmp_path: Path
) -> None:
    shutil.rmtree(bundle / "corespace/run1/core/stores/indexed-store-0")
    for command, options in (("convert", ["--to", "csv"]), ("export", [])):
        out = tmp_path / command
        ran = tracekit(command, bundle, out, *options)
        assert ran.code == 3
        assert "indexed-store-0 is missing" in ran.err
        assert [one.stem for one in out.glob("metal*")] == ["metal-gpu-intervals"]
    listed = tracekit("tables", bundle)
    assert listed.code == 0
    assert "tick (store 0) of run 1 is left out" in listed.err


def test_a_missing_list_of_tables_is_said(tracekit: Run, bundle: Path, tmp_path: Path) -> None:
    (bundle / "corespace/run1/core/table-manager/tables.plist").unlink()
    for arguments in (
        ("tables", bundle),
        ("convert", bundle, tmp_path / "out", "--to", "csv"),
        ("export", bundle, tmp_path / "xml"),
    ):
        ran = tracekit(*arguments)
        assert ran.code == 0
        assert "could not be checked" in " ".join(ran.err.split()), arguments
