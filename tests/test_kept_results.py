"""A result that is not made again: only as long as nothing that it was made of has changed."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit import app, pipeline
from tracekit.analysis.result import Result
from tracekit.base import stamps
from tracekit.base.recording import Process, Provenance, Recording
from tracekit.tables import losses
from tracekit.tables.run_keys import RESULT_NOTE

ROWS = [(0, 10, 7, "python3"), (20, 30, 7, "python3"), (50, 1, 420, "WindowServer")]


pytestmark = pytest.mark.usefixtures("an_hour_later")


@pytest.fixture
def recording(tmp_path: Path, intervals_xml: Callable[..., str]) -> Recording:
    """A run of three intervals, whose target is process 7, with its result."""
    run = Recording(tmp_path / "run")
    run.exports.mkdir(parents=True)
    (run.exports / "gpu.xml").write_text(intervals_xml(ROWS))
    run.save_provenance(Provenance(targets=(Process(7, "python3"),), recorder="xctrace"))
    pipeline.analyze(run)
    return run


def analyze_again(recording: Recording, **choices: Any) -> tuple[Result, bool]:
    """Analyze a run; return the result, and whether its tables were read for it."""
    messages: list[str] = []
    result = pipeline.analyze(recording, messages.append, **choices)
    return result, bool(messages)


def test_the_result_of_a_run_that_did_not_change_is_made_once(recording: Recording) -> None:
    content = recording.result_file.read_bytes()
    noted_stages = recording.provenance_file.read_bytes()
    result, is_new = analyze_again(recording)
    assert not is_new
    assert result == Result.load(recording.result_file)
    assert recording.result_file.read_bytes() == content
    assert recording.provenance_file.read_bytes() == noted_stages
    pipeline.report(recording)
    assert not analyze_again(recording)[1]


def change_an_export(recording: Recording) -> None:
    export = recording.exports / "gpu.xml"
    status = export.stat()
    export.write_text(export.read_text().replace(">30<", ">40<"))
    os.utime(export, ns=(status.st_atime_ns, status.st_mtime_ns))


def add_an_export(recording: Recording) -> None:
    (recording.exports / "more.xml").write_text("<trace-query-result/>")


def remove_the_export(recording: Recording) -> None:
    (recording.exports / "gpu.xml").rename(recording.exports / "other.xml")


def choose_another_target(recording: Recording) -> None:
    provenance = Provenance(targets=(Process(420, "WindowServer"),), recorder="xctrace")
    recording.save_provenance(provenance)


def damage_the_result(recording: Recording) -> None:
    content = recording.result_file.read_text()
    recording.result_file.write_text(content.replace("python3", "python4"))


def cut_the_result(recording: Recording) -> None:
    recording.result_file.write_bytes(recording.result_file.read_bytes()[:100])


def remove_the_result(recording: Recording) -> None:
    recording.result_file.unlink()


def damage_the_note(recording: Recording) -> None:
    (recording.tables / RESULT_NOTE).write_text('{"key": 7}')


def put_in_the_note_of_another_run(recording: Recording) -> None:
    note = json.loads((recording.tables / RESULT_NOTE).read_text())
    (recording.tables / RESULT_NOTE).write_text(json.dumps(note | {"key": 32 * "0"}))


def begin_a_stage(recording: Recording) -> None:
    recording.save_provenance(recording.provenance().note_stage("export", "interrupted"))


@pytest.mark.parametrize(
    "change",
    [
        change_an_export,
        add_an_export,
        remove_the_export,
        choose_another_target,
        damage_the_result,
        cut_the_result,
        remove_the_result,
        damage_the_note,
        put_in_the_note_of_another_run,
        begin_a_stage,
    ],
)
def test_anything_that_changed_has_the_result_made_again(
    recording: Recording, change: Callable[[Recording], None]
) -> None:
    change(recording)
    assert analyze_again(recording)[1]
    assert not analyze_again(recording)[1]


def test_names_of_persons_are_in_no_result_that_was_asked_without_them(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert analyze_again(recording, redacted=False)[1]
    assert analyze_again(recording)[1]
    monkeypatch.setenv("LOGNAME", "python3")
    result, is_new = analyze_again(recording)
    assert is_new
    assert result.provenance.targets[0].name == "<user>"


def test_files_of_this_moment_may_change_unseen(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamps.time, "time_ns", lambda: recording.exports.stat().st_ctime_ns)
    assert analyze_again(recording)[1]
    assert analyze_again(recording)[1]


def test_losses_are_reported_each_time(
    recording: Recording, intervals_xml: Callable[..., str]
) -> None:
    text = intervals_xml(ROWS)
    end = text.rindex("<row>")
    (recording.exports / "gpu.xml").write_text(text[: end + 20])
    reported: list[losses.ReportedLosses] = []
    for is_expected_new in (True, False):
        with losses.collecting() as ledger:
            _, is_new = analyze_again(recording)
        assert is_new == is_expected_new, reported
        assert any("gpu.xml" in str(loss) for loss in ledger.costs), is_expected_new
        reported.append(ledger.reported)
    assert reported[0] == reported[1]


def doubts_of(result: Result) -> list[str]:
    """Return the warnings about result.json."""
    return [text for text in result.provenance.warnings if "result.json" in text]


def put_in_the_result_of_another_run(recording: Recording) -> None:
    other = Recording(recording.folder.parent / "other")
    shutil.copytree(recording.folder, other.folder)
    choose_another_target(other)
    pipeline.analyze(other)
    shutil.copyfile(other.result_file, recording.result_file)


def lengthen_an_interval(recording: Recording) -> None:
    export = recording.exports / "gpu.xml"
    export.write_text(export.read_text().replace(">30<", ">90<"))


CHANGES = [
    (damage_the_result, "run/result.json was changed since the analysis wrote it"),
    (put_in_the_result_of_another_run, "run/result.json was changed since the analysis wrote it"),
    (lengthen_an_interval, "run/result.json is older than the files of its run"),
    (add_an_export, "run/result.json is older than the files of its run"),
    (choose_another_target, "run/result.json is older than the files of its run"),
    (damage_the_note, "Nothing shows that run/result.json was made of the files of its run"),
]


@pytest.mark.parametrize(("change", "words"), CHANGES)
def test_readers_report_that_a_result_may_not_be_that_of_its_files(
    recording: Recording, change: Callable[[Recording], None], words: str
) -> None:
    assert doubts_of(app.functions.open(recording.folder).result) == []
    change(recording)
    content = recording.result_file.read_bytes()
    hint = "; `tracekit analyze run` makes it again."
    assert doubts_of(app.functions.open(recording.folder).result) == [f"{words}{hint}"]
    for _ in range(2):  # the second time from kept rows
        with losses.collecting() as ledger:
            app.functions.query("FROM metrics", recording.folder)
        assert [str(loss) for loss in ledger.losses] == [f"{words}{hint}"]
    assert recording.result_file.read_bytes() == content


@pytest.mark.parametrize(("change", "words"), CHANGES)
def test_a_page_is_made_of_no_other_result_than_that_of_its_files(
    recording: Recording, change: Callable[[Recording], None], words: str
) -> None:
    change(recording)
    assert words not in app.runs.write_page(recording).read_text()
    assert not analyze_again(recording)[1]


def test_comparisons_measure_a_run_again_whose_files_changed(recording: Recording) -> None:
    lengthen_an_interval(recording)
    with app.runs.comparing([recording.folder]) as paths:
        assert paths == [recording.folder]
    assert not analyze_again(recording)[1]
    assert doubts_of(pipeline.load_result(recording)) == []


def test_a_copy_has_the_result_of_its_files(recording: Recording, tmp_path: Path) -> None:
    copy = Recording(tmp_path / "copy")
    shutil.copytree(recording.folder, copy.folder)
    assert doubts_of(pipeline.load_result(copy)) == []
    lengthen_an_interval(copy)
    assert "is older than the files" in doubts_of(pipeline.load_result(copy))[0]


def test_the_result_of_young_files_is_known_by_their_content(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamps.time, "time_ns", lambda: recording.exports.stat().st_ctime_ns)
    analyze_again(recording)
    assert doubts_of(pipeline.load_result(recording)) == []
    change_an_export(recording)
    assert "is older than the files" in doubts_of(pipeline.load_result(recording))[0]


def test_a_run_whose_exports_were_pruned_keeps_its_result(recording: Recording) -> None:
    content = recording.result_file.read_bytes()
    (recording.exports / "gpu.xml").unlink()
    (recording.exports / "pruned.json").write_text('{"exports": [], "format": 1}')
    assert doubts_of(pipeline.load_result(recording)) == []
    app.runs.write_page(recording)
    assert recording.result_file.read_bytes() == content
    damage_the_result(recording)
    words = "run/result.json was changed since the analysis wrote it"
    assert words in app.runs.write_page(recording).read_text()
    result = app.functions.open(recording.folder).result
    assert doubts_of(result) == [f"{words}, which cannot be analyzed again."]


def test_a_conversion_reports_findings_that_are_not_of_the_files(
    recording: Recording, tracekit: Callable[..., Any]
) -> None:
    lengthen_an_interval(recording)
    words = "run/result.json is older than the files of its run"
    for form, is_reported in (("chrome", True), ("csv", False)):
        converted = tracekit("convert", recording.folder, "--to", form)
        assert (converted.code, words in converted.err) == (0, is_reported), form
