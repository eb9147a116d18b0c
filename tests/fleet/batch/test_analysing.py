"""One recording from its source to its rows."""

import shutil
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, cast

import fsspec
import pyarrow.parquet as pq
import pytest

from bundle_writer import Encoder, Run, RunInfo, write_runs
from capture_writer import ENCODER, OUT, call, small_capture
from many_recordings import GPU, exports, run
from odd_filesystems import LyingFileSystem
from small_bundle import PYTHON, SERVER, intervals
from tracekit import pipeline
from tracekit.base.documents import encode_json
from tracekit.base.errors import InputError
from tracekit.base.recording import Recording
from tracekit.fleet.batch.analysing import analyse_task, fetch_source
from tracekit.fleet.batch.page import write_page
from tracekit.fleet.batch.results import BatchRow, Results, forget_page, page_file
from tracekit.fleet.batch.sources import RecordingSource, SourceForm, place_of, sources_of
from tracekit.fleet.batch.tasks import Choices, Task
from tracekit.tables.cache import keep_exported_tables
from tracekit.tables.exports import note_pruned_exports


def rows_of(folder: Path, output: Path | str = "", **choices: Any) -> tuple[BatchRow, ...]:
    [source] = sources_of([str(folder)])
    return analysed_alone(Task(source, "it", "stamp", Choices(**choices), str(output)))


def analysed_alone(task: Task) -> tuple[BatchRow, ...]:
    with TemporaryDirectory(prefix="tracekit-") as folder:
        return analyse_task(task, Path(folder))


def row_of(folder: Path, output: Path | str = "", **choices: Any) -> BatchRow:
    [row] = rows_of(folder, output, **choices)
    return row


def test_exports_are_imported_and_analysed_as_by_these_commands(tmp_path: Path) -> None:
    folder = exports(tmp_path, 1, {GPU})
    row = row_of(folder)
    assert (row.recording, row.stamp, row.form, row.state) == ("it", "stamp", "exports", "ok")
    assert row.key == row.source
    device = "Mac, macOS 26.3.1 (25D2128)"
    expected_origin = ("Metal System Trace", "26.0", device, "python3 (4711)")
    assert (row.template, row.instruments, row.device, row.target) == expected_origin
    assert row.duration is not None
    assert min(row.duration, row.seconds, row.metrics["gpu_busy"]) > 0
    [recording] = pipeline.import_([folder], tmp_path / "imported")
    result = pipeline.analyze(recording)
    known_metrics = {
        metric.name: metric.value for metric in result.metrics if metric.value is not None
    }
    assert row.metrics == known_metrics
    assert [finding.rule for finding in row.findings] == [
        finding.rule for finding in result.findings
    ]


def test_a_frame_capture_is_analysed_packed_or_not_and_as_a_run(tmp_path: Path) -> None:
    made = small_capture()
    unbound = call(0xC030, "Ctulul", ENCODER, OUT, 0, 0, stack=(0x10C, 0x200))
    made.calls.remove(unbound)
    bundle = made.write(tmp_path / "made.gputrace")
    packed = tmp_path / "zip" / "made.gputrace.zip"
    packed.parent.mkdir()
    with zipfile.ZipFile(packed, "w") as file:
        for path in bundle.iterdir():
            file.write(path, f"made.gputrace/{path.name}")
    [recording] = pipeline.import_([bundle], tmp_path / "run")
    for place, form in (
        (bundle, "capture"),
        (packed.parent, "zipped bundle"),
        (recording.folder, "run"),
    ):
        row = row_of(place)
        assert (row.error, row.state, row.form) == ("", "ok", form), form
        rules = [finding.rule for finding in row.findings]
        assert rules == ["unsound-dispatches"], form


def test_a_run_is_analysed_and_nothing_of_it_is_changed(tmp_path: Path) -> None:
    folder = run(tmp_path / "run", 3, {GPU})
    times_before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    row = row_of(folder)
    assert (row.state, row.form) == ("ok", "run")
    assert row.metrics["gpu_busy"] > 0
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == times_before


def test_no_table_is_kept_in_a_private_folder(tmp_path: Path) -> None:
    [source] = sources_of([str(run(tmp_path / "run", 3, {GPU}))])
    output = tmp_path / "out"
    choices = Choices(tables=("gpu_intervals",), pages=True)
    private_folder = tmp_path / "private"
    private_folder.mkdir()
    [row] = analyse_task(Task(source, "it", "stamp", choices, str(output)), private_folder)
    assert row.tables == ("gpu_intervals",)
    assert list(private_folder.rglob("*.parquet")) == []
    assert [path.name for path in output.rglob("*.parquet")] == [f"{row.key}.parquet"]


def test_the_kept_tables_of_a_pruned_run_are_whole(tmp_path: Path) -> None:
    recording = Recording(run(tmp_path / "run", 3, {GPU}))
    whole_table = pipeline.tables_of(recording).arrow("gpu_intervals")
    pruned_exports, _ = keep_exported_tables(
        recording.exports, recording.tables, "2026-01-01T00:00:00+00:00"
    )
    note_pruned_exports(recording.exports, *pruned_exports)
    for export in pruned_exports:
        (recording.exports / export.name).unlink()
    output = tmp_path / "out"
    row = row_of(recording.folder, output, tables=("gpu_intervals",))
    kept_table = pq.read_table(output / "tables" / "gpu_intervals" / f"{row.key}.parquet")
    assert kept_table.drop_columns(["recording", "month"]).to_pylist() == whole_table.to_pylist()


def test_a_page_is_made_if_it_is_asked_for_and_the_page_of_the_batch_leads_to_it(
    tmp_path: Path,
) -> None:
    output = tmp_path / "out"
    folder = run(tmp_path / "run", 1, {GPU})
    row = row_of(folder, output, pages=True)
    page = page_file(output, row.key)
    assert 'id="verdict"' in page.read_text("utf-8")
    Results(output / "results").write((row,))
    assert f'href="pages/{row.key}.html"' in write_page(output).read_text("utf-8")
    forget_page(output, row.key)
    assert 'href="pages/' not in write_page(output).read_text("utf-8")
    assert not row_of(folder, output).has_failed
    assert not page.exists(), "no page was asked for"


def test_a_run_that_has_a_page_is_linked_to_it(tmp_path: Path) -> None:
    folder = run(tmp_path / "the run", 1, {GPU})
    recording = Recording(folder)
    pipeline.analyze(recording)
    pipeline.report(recording)
    output = tmp_path / "out"
    row = replace(row_of(folder), recording=str(folder))
    Results(output / "results").write((row,))
    assert 'href="../the%20run/report.html"' in write_page(output).read_text("utf-8")


@pytest.mark.usefixtures("an_hour_later")
def test_a_result_is_read_if_analyze_would_not_make_it_again(tmp_path: Path) -> None:
    recording = Recording(run(tmp_path / "run", 4, {GPU}))
    chosen = {"bubbles": {"limit": 0.9}}
    for name, change, is_read in (
        ("nothing", lambda: None, True),
        ("thresholds", lambda: pipeline.analyze(recording, settings=chosen), False),
        ("an export", lambda: (recording.exports / "more.xml").write_text("<x/>"), False),
    ):
        pipeline.analyze(recording)
        change()
        result, _ = pipeline.examine(recording)
        assert (encode_json(result) == recording.result_file.read_bytes()) is is_read, name
    row = row_of(recording.folder)
    assert row.metrics["gpu_busy"] > 0
    assert row_of(recording.folder, redacted=False).metrics == row.metrics


def test_several_recordings_of_one_folder_are_several_rows(tmp_path: Path) -> None:
    shared_folder = tmp_path / "both"
    shared_folder.mkdir()
    for name, seed in (("one", 1), ("two", 2)):
        for file in exports(tmp_path / name, seed, {GPU}).iterdir():
            shutil.copyfile(file, shared_folder / f"{name}_{file.name}")
    start_time = time.monotonic()
    first_row, second = rows_of(shared_folder)
    assert 0 < first_row.seconds + second.seconds <= time.monotonic() - start_time + 0.01
    assert (first_row.recording, second.recording) == ("it#one", "it#two")
    assert second.key == f"{first_row.key}-2"
    assert first_row.source == second.source
    assert first_row.metrics["gpu_busy"] != second.metrics["gpu_busy"]


def test_of_two_runs_the_last_or_the_one_that_is_named_is_analysed(tmp_path: Path) -> None:
    runs: dict[int, Run] = {}
    for number, process in ((1, PYTHON), (2, SERVER)):
        assert process.pid is not None
        info = RunInfo(process=process.name, pid=process.pid)
        runs[number] = Run([intervals((0, 10, process))], Encoder(), info)
    bundle = write_runs(tmp_path / "two.trace", runs)
    [imported] = pipeline.import_([bundle], tmp_path / "run")
    for place in (bundle, imported.folder):
        row = row_of(place)
        assert row.target == f"{SERVER.name} ({SERVER.pid})", place
        assert "has 2 runs" in str(row.warnings), place
        assert row_of(place, run=1).target == f"{PYTHON.name} ({PYTHON.pid})"


def test_another_target_is_another_answer(tmp_path: Path) -> None:
    folder = exports(tmp_path, 5, {GPU})
    assert row_of(folder, target="WindowServer").target.startswith("WindowServer")
    row = row_of(folder, target="nobody")
    assert (row.state, row.metrics) == ("failed", {})
    assert row.error.startswith("--target nobody names none of the processes")
    assert "There are: " in row.hint


@pytest.mark.parametrize("length", [700, 20_000])
@pytest.mark.parametrize("name", ["toc.xml", "metal-gpu-intervals.xml"])
def test_damage_is_a_row_or_a_warning(tmp_path: Path, name: str, length: int) -> None:
    folder = exports(tmp_path, 6, {GPU})
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: min(length, len(content) - 20)])
    row = row_of(folder)
    assert row.state == "failed" or row.warnings
    assert "tracekit-" not in row.error


def test_a_failure_calls_the_source_by_its_name_and_a_bug_is_a_row_too(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "recording.json").write_text("{}")
    row = row_of(tmp_path / "run")
    assert (row.state, row.error) == ("failed", "it has no exports to analyze.")
    assert row.hint == f"Run `tracekit export {tmp_path / 'run'}` first."
    [source] = sources_of([str(tmp_path / "run")])
    [row] = analysed_alone(Task(source, "it", "stamp", cast("Choices", None)))
    assert row.state == "failed"
    assert row.error.startswith("AttributeError: ")
    assert "a bug of tracekit" in row.hint


def test_a_folder_that_was_emptied_after_the_search_is_a_row(tmp_path: Path) -> None:
    folder = exports(tmp_path, 7, {GPU})
    [source] = sources_of([str(folder)])
    for file in folder.iterdir():
        file.unlink()
    [row] = analysed_alone(Task(source, "it", "stamp", Choices()))
    assert (row.state, row.form, row.metrics) == ("failed", "exports", {})
    assert row.error == "it has no recording any more."
    assert "repeat the command" in row.hint
    folder.rmdir()
    [row] = analysed_alone(Task(source, "it", "stamp", Choices()))
    assert row.state == "failed", "the folder itself is gone"


def test_requested_tables_are_kept(tmp_path: Path) -> None:
    folder = exports(tmp_path, 8, {GPU})
    row = row_of(folder, tables=("gpu_intervals", "signposts"), output=tmp_path / "out")
    assert row.tables == ("gpu_intervals",)
    kept_table = pq.read_table(tmp_path / "out" / "tables" / "gpu_intervals" / f"{row.key}.parquet")
    assert kept_table.column_names[0] == "recording"
    assert set(kept_table["recording"].to_pylist()) == {"it"}
    assert kept_table.num_rows > 10
    full_row = row_of(folder, tables=("all",), output=tmp_path / "all")
    assert set(full_row.tables) > {"gpu_intervals"}


fsspec.register_implementation("lying", LyingFileSystem, clobber=True)


@pytest.fixture
def archive(tmp_path: Path) -> str:
    with zipfile.ZipFile(tmp_path / "all.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a b.trace/open.creq", "1")
        packed.writestr("a b.trace/corespace/run1/core/uniquing/strings", "22")
        packed.writestr("a b.trace/UI_state_metadata.bin", "3" * 1_000)
        packed.writestr("e/toc.xml", "<trace-toc/>")
    return f"{tmp_path}/all.zip"


def contents(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(file.relative_to(folder)): file.read_text() for file in files}


def test_only_needed_files_are_fetched(archive: str, tmp_path: Path) -> None:
    bundle, exports = sources_of([f"zip://::{archive}"])
    (tmp_path / "here").mkdir()
    copy = fetch_source(bundle, tmp_path / "here")
    assert copy == tmp_path / "here" / "a-b.trace"
    assert contents(copy) == {"open.creq": "1", "corespace/run1/core/uniquing/strings": "22"}
    assert contents(fetch_source(exports, tmp_path / "here")) == {"toc.xml": "<trace-toc/>"}


def test_files_that_do_not_fit_are_left(
    archive: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5))
    bundle, _ = sources_of([f"zip://::{archive}"])
    with pytest.raises(InputError, match="has 2 files of 3 B to fetch, and 5 B are free"):
        fetch_source(bundle, tmp_path)
    assert not (tmp_path / "a-b.trace").exists()


def test_a_listed_file_that_is_missing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LyingFileSystem, "names", ("HERE/open.creq",))
    source = RecordingSource(place_of("lying://box/run.trace"), SourceForm.BUNDLE)
    with pytest.raises(InputError, match=r"cannot be fetched|does not have its listed size"):
        fetch_source(source, tmp_path)
