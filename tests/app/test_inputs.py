"""One input for every command: runs, bundles, zip files, exports, one or several."""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bundle_writer import RunInfo, write_bundle
from command_line import assert_error
from small_bundle import PYTHON, SERVER, intervals, ticks

Xml = Callable[..., str]
OURS, OTHER = (4711, "python3"), (420, "WindowServer")
ROWS = [(0, 10, *OURS), (5, 10, *OURS), (40, 10, *OTHER), (100, 20, *OURS)]
COUNT = "select count(*) as n from gpu_intervals"


@pytest.fixture
def exports(tmp_path: Path, toc_xml: Xml, intervals_xml: Xml) -> Path:
    folder = tmp_path / "exports"
    folder.mkdir()
    (folder / "mine_toc.xml").write_text(toc_xml())
    (folder / "mine_intervals.xml").write_text(intervals_xml(ROWS))
    return folder


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    rows = intervals((0, 10, PYTHON), (5, 10, PYTHON), (40, 10, SERVER), (100, 20, PYTHON))
    return write_bundle(tmp_path / "mine.trace", [ticks([1]), rows], info=RunInfo())


def pack(folder: Path, archive: Path, above: str) -> Path:
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                file.write(path, f"{above}{path.relative_to(folder)}")
    return archive


@pytest.fixture
def inputs(exports: Path, bundle: Path, tmp_path: Path, intervals_xml: Xml) -> dict[str, Path]:
    """An input of each kind, all of the same four intervals."""
    one_file = tmp_path / "alone" / "one.xml"
    one_file.parent.mkdir()
    one_file.write_text(intervals_xml(ROWS))
    return {
        "a bundle": bundle,
        "a zip file of a bundle": pack(bundle, tmp_path / "b.trace.zip", "mine.trace/"),
        "a folder of exports": exports,
        "a zip file of exports": pack(exports, tmp_path / "e.zip", "some/where/"),
        "one export": one_file,
    }


def list_files(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


KINDS = [
    "a bundle",
    "a zip file of a bundle",
    "a folder of exports",
    "a zip file of exports",
    "one export",
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_of_any_input_is_kept_next_to_it(
    kind: str, inputs: dict[str, Path], tracekit: Any
) -> None:
    path = inputs[kind]
    result = tracekit("report", path)
    assert result.code == 0, result.err
    page = Path(result.out.splitlines()[0])
    assert page.parent.parent == path.parent
    assert page.parent.name.endswith("-run")
    assert "gpu_busy" in page.read_text()
    words = [line.split("  ")[0] for line in result.out.splitlines()[1:]]
    assert words[:2] == ["verdict", "target"], result.out
    assert len(words) <= 8
    assert "python3" in result.out


@pytest.mark.parametrize("kind", KINDS)
def test_every_reading_command_takes_any_input_and_leaves_nothing(
    kind: str, inputs: dict[str, Path], tracekit: Any, tmp_path: Path
) -> None:
    path = inputs[kind]
    files_before = list_files(tmp_path)
    tables = tracekit("tables", path, "gpu_intervals")
    assert (tables.code, len(tables.out.splitlines())) == (0, 5), tables.err
    asked = tracekit("query", COUNT, path)
    assert (asked.code, asked.out.split()) == (0, ["n", "4"]), asked.err
    if kind in {"a bundle", "a zip file of exports"}:  # it makes two runs, which takes long
        compared = tracekit("compare", path, path, "--force")
        assert compared.code == 0, compared.err
    assert list_files(tmp_path) == files_before
    converted = tracekit("convert", path, tmp_path / "out", "--to", "parquet")
    assert converted.code == 0, converted.err
    schema = "metal-gpu-intervals" if kind == "a bundle" else "gpu_intervals"
    assert (tmp_path / "out" / f"{schema}.parquet").exists()


def test_a_run_is_its_own_input_and_so_are_its_bundle_and_its_zip_file(
    bundle: Path, tracekit: Any, tmp_path: Path
) -> None:
    assert tracekit("import", bundle, "--output", tmp_path / "run").code == 0
    page = str(tmp_path / "run/report.html")
    assert tracekit("report", tmp_path / "run").out.splitlines()[0] == page
    assert tracekit("report", tmp_path / "run/recording.trace").out.splitlines()[0] == page
    assert tracekit("report", tmp_path / "run/exports").out.splitlines()[0] == page
    pack(tmp_path / "run", tmp_path / "packed.zip", "run/")
    unpacked = tracekit("report", tmp_path / "packed.zip")
    assert unpacked.out.splitlines()[0] == str(tmp_path / "packed-run/report.html"), unpacked.err


def test_the_kept_run_is_found_again_and_made_anew_if_the_input_changed(
    exports: Path, tracekit: Any, intervals_xml: Xml
) -> None:
    first = tracekit("analyze", exports)
    assert "35 ns" in first.out
    kept = exports.parent / "mine-run"
    created = (kept / "recording.json").stat().st_mtime_ns
    note = (kept / "input.json").read_bytes()
    assert tracekit("report", exports).out.splitlines()[0] == str(kept / "report.html")
    assert (kept / "input.json").read_bytes() == note, "the run was not found again"
    assert (kept / "recording.json").stat().st_mtime_ns > created, "the stage is noted"
    (exports / "mine_intervals.xml").write_text(intervals_xml([(0, 50, *OURS)]))
    assert "50 ns" in tracekit("analyze", exports).out
    assert [path.name for path in sorted(exports.parent.glob("mine-run*"))] == ["mine-run"]


def test_a_folder_of_someone_else_is_not_taken_for_the_kept_run(
    exports: Path, tracekit: Any
) -> None:
    other = exports.parent / "mine-run"
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    page = tracekit("report", exports).out.splitlines()[0]
    assert page == str(exports.parent / "mine-run-2/report.html")
    assert list_files(other) == {str(other / "notes.txt"): b"mine"}


def test_a_name_given_for_the_output_is_used_and_found_again(
    bundle: Path, tracekit: Any, tmp_path: Path
) -> None:
    for _ in range(2):
        result = tracekit("report", bundle, "--output", tmp_path / "out")
        assert result.out.splitlines()[0] == str(tmp_path / "out/report.html"), result.err
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken/file").touch()
    taken = tracekit("report", bundle, "--output", tmp_path / "taken")
    assert_error(taken, 2, "exists and is not an empty folder")
    of_a_run = tracekit("report", tmp_path / "out", "--output", tmp_path / "again")
    assert_error(of_a_run, 2, "is a run, which keeps its result and page in its own folder")


def test_the_name_of_a_page_is_refused_as_a_folder(
    bundle: Path, tracekit: Any, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    assert_error(tracekit("analyze", bundle, "--output", page), 2, "the name of a page")
    assert not page.exists()


def test_a_page_can_be_written_elsewhere_without_a_change_of_the_run(
    bundle: Path, exports: Path, tracekit: Any, tmp_path: Path
) -> None:
    run = tmp_path / "mine-run"
    assert tracekit("analyze", bundle).code == 0
    for source in (run, exports):
        before = list_files(tmp_path)
        page = tmp_path / f"{source.name}.html"
        written = tracekit("report", source, "--output", page)
        assert written.out.splitlines()[0] == str(page), written.err
        assert page.read_text().startswith("<!doctype html>")
        new_files = set(list_files(tmp_path)) - set(before)
        assert {file for file in new_files if "/tables/" not in file} == {str(page)}
    assert not (run / "report.html").exists()


def test_two_processes_that_want_one_run_share_it(bundle: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tracekit", "analyze", str(bundle)]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    errors = [process.communicate(timeout=120)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], errors
    assert sorted(path.name for path in tmp_path.glob("*-run*")) == ["mine-run"]


def test_nothing_is_written_into_a_bundle(bundle: Path, tracekit: Any, intervals_xml: Xml) -> None:
    inside = bundle / "exports"
    inside.mkdir()
    (inside / "one.xml").write_text(intervals_xml(ROWS))
    files_before = list_files(bundle)
    result = tracekit("report", inside)
    assert result.out.splitlines()[0] == str(bundle.parent / "exports-run/report.html")
    into = tracekit("report", bundle, "--output", bundle / "run")
    assert_error(into, 2, "which is a bundle: nothing else is written there")
    assert list_files(bundle) == files_before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_place_is_named_with_the_option_that_helps(bundle: Path, tracekit: Any) -> None:
    bundle.parent.chmod(0o555)
    try:
        result = tracekit("report", bundle)
    finally:
        bundle.parent.chmod(0o755)
    assert_error(result, 2, "mine-run cannot be made", "with --output")


def test_several_recordings_become_several_pages(
    exports: Path, bundle: Path, tracekit: Any, toc_xml: Xml, intervals_xml: Xml, tmp_path: Path
) -> None:
    (exports / "mine_heavy_toc.xml").write_text(toc_xml(pid=99, name="heavy"))
    (exports / "mine_heavy_intervals.xml").write_text(intervals_xml([(0, 1, 99, "heavy")]))
    result = tracekit("report", exports, bundle)
    assert result.code == 0, result.err
    pages = [line for line in result.out.splitlines() if line.endswith("report.html")]
    names = sorted(Path(page).parent.name for page in pages)
    assert names == ["mine-run", "mine-run-2", "mine_heavy-run"]
    together = tracekit("report", exports, "--output", tmp_path / "one")
    assert_error(together, 2, "there are 2 recordings")
    shown = tracekit("tables", exports)
    assert_error(shown, 2, "There are 2 recordings")


def test_inputs_without_a_recording_are_refused_by_name(
    bundle: Path, tracekit: Any, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    shutil.copytree(bundle, tmp_path / "runs/a.trace")
    assert tracekit("import", bundle, "--output", tmp_path / "folder/a").code == 0
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.xml").write_text("hello")
    (tmp_path / "damaged.zip").write_bytes(b"PK\x03\x04 and nothing else")
    pack(tmp_path / "empty", tmp_path / "empty.zip", "")
    for name, code, words in (
        ("nowhere", 2, "does not exist"),
        ("empty", 3, "empty is not a run's folder"),
        ("folder", 3, "is a folder of 1 runs, such as a"),
        ("text.xml", 3, "is not XML"),
        ("damaged.zip", 3, "is not a readable zip file"),
        ("empty.zip", 3, "holds nothing that can be read"),
    ):
        for command in ("report", "analyze", "tables"):
            with subtests.test(name=name, command=command):
                assert_error(tracekit(command, tmp_path / name), code, words)


def test_a_bundle_is_converted_for_another_program_and_its_run_is_kept(
    bundle: Path, tracekit: Any, tmp_path: Path
) -> None:
    named = tracekit("convert", bundle, tmp_path / "out.json", "--to", "chrome")
    assert (named.code, (tmp_path / "out.json").exists()) == (0, True), named.err
    assert not (tmp_path / "mine-run").exists()
    kept = tracekit("convert", bundle, "--to", "chrome")
    assert kept.out.split() == [str(tmp_path / "mine-run/convert/mine-run.trace.json")], kept.err


def test_open_makes_the_page_of_any_input(bundle: Path, tracekit: Any) -> None:
    result = tracekit("open", bundle, "--print")
    assert result.code == 0, result.err
    assert result.out.split()[-1] == str(bundle.parent / "mine-run/report.html")


def test_a_report_prints_one_line_about_all_warnings(exports: Path, tracekit: Any) -> None:
    (exports / "mine_toc.xml").unlink()
    result = tracekit("report", exports)
    [line] = result.err.splitlines()
    assert line.endswith("And 2 more remarks; --verbose shows them."), line
    verbose = tracekit("report", exports, "--verbose")
    assert len([line for line in verbose.err.splitlines() if "warning:" in line]) == 3


def test_a_summary_of_any_input_keeps_nothing(bundle: Path, tracekit: Any) -> None:
    result = tracekit("report", bundle, "--summary")
    assert (result.code, "python3 (4711)" in result.out) == (0, True), result.err
    assert sorted(bundle.parent.iterdir()) == [bundle]
