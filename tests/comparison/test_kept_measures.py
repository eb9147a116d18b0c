"""Measures that are kept for the next comparison: only as long as nothing of a run has changed."""

import math
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tracekit import pipeline
from tracekit.base import checksums, stamps
from tracekit.base.recording import Process, Provenance, Recording
from tracekit.comparison.kept_measures import KeptMeasures
from tracekit.comparison.runs import compare_paths
from tracekit.tables import losses
from tracekit.tables.notes import PRUNED_NOTE
from tracekit.tables.run_keys import MEASURES_NOTE

ORIGIN = Provenance(targets=(Process(7, "python3"),), recorder="xctrace")
ROWS = [(time, 10, 7, "python3") for time in range(0, 2000, 20)]


pytestmark = pytest.mark.usefixtures("an_hour_later")


@pytest.fixture
def make_run(tmp_path: Path, intervals_xml: Callable[..., str]) -> Callable[..., Recording]:
    def make(name: str, rows: list[tuple[int, int, int, str]] = ROWS) -> Recording:
        run = Recording(tmp_path / name)
        run.exports.mkdir(parents=True)
        (run.exports / "gpu.xml").write_text(intervals_xml(rows))
        run.save_provenance(ORIGIN)
        return run

    return make


def take(run: Recording, value: float, origin: Provenance = ORIGIN) -> float:
    """Take a measure of a run, which has this value unless an earlier one was kept."""
    measures = KeptMeasures(run, origin)
    taken = measures.take("speed", float, lambda: value)
    measures.keep()
    return taken


def test_a_measure_of_a_run_that_did_not_change_is_taken_once(
    make_run: Callable[..., Recording],
) -> None:
    run = make_run("run")
    assert take(run, 0.1 + 0.2) == 0.1 + 0.2
    assert take(run, 2.0) == 0.1 + 0.2, "to the last bit"
    run.result_file.write_text("{}")
    run.report_file.write_text("a page of the result")
    assert take(run, 3.0) == 0.1 + 0.2, "only the origin of the result counts"
    assert take(make_run("another"), 4.0) == 4.0


def change_an_export(run: Recording) -> None:
    export = run.exports / "gpu.xml"
    status = export.stat()
    export.write_text(export.read_text().replace(">20<", ">21<"))
    os.utime(export, ns=(status.st_atime_ns, status.st_mtime_ns))


def add_an_export(run: Recording) -> None:
    (run.exports / "more.xml").write_text("<trace-query-result/>")


def remove_the_export(run: Recording) -> None:
    (run.exports / "gpu.xml").unlink()


def choose_another_target(run: Recording) -> None:
    run.save_provenance(replace(ORIGIN, targets=(Process(420, "WindowServer"),)))


def change_a_digit(run: Recording) -> None:
    note = run.tables / MEASURES_NOTE
    note.write_text(note.read_text().replace("1.5", "1.6"))


def cut_the_note(run: Recording) -> None:
    note = run.tables / MEASURES_NOTE
    note.write_bytes(note.read_bytes()[:-10])


def empty_the_note(run: Recording) -> None:
    (run.tables / MEASURES_NOTE).write_bytes(b"")


@pytest.mark.parametrize(
    "change",
    [
        change_an_export,
        add_an_export,
        remove_the_export,
        choose_another_target,
        change_a_digit,
        cut_the_note,
        empty_the_note,
    ],
)
def test_anything_that_changed_has_the_measure_taken_again(
    make_run: Callable[..., Recording], change: Callable[[Recording], None]
) -> None:
    run = make_run("run")
    assert take(run, 1.5) == 1.5
    change(run)
    assert take(run, 2.5) == 2.5
    assert take(run, 3.5) == 2.5


def test_measures_of_another_run_or_of_another_origin_are_not_believed(
    make_run: Callable[..., Recording],
) -> None:
    run = make_run("run")
    other_run = make_run("other")
    assert take(run, 1.5) == 1.5
    assert take(other_run, 2.5) == 2.5
    (other_run.tables / MEASURES_NOTE).write_bytes((run.tables / MEASURES_NOTE).read_bytes())
    assert take(other_run, 3.5) == 3.5
    assert take(run, 4.5, replace(ORIGIN, duration=2.0)) == 4.5


def test_a_run_that_moved_is_measured_again(
    make_run: Callable[..., Recording], tmp_path: Path
) -> None:
    run = make_run("run")
    assert take(run, 1.5) == 1.5
    run.folder.rename(tmp_path / "moved")
    assert take(Recording(tmp_path / "moved"), 2.5) == 2.5


def test_files_of_this_moment_may_change_unseen(
    make_run: Callable[..., Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run("run")
    monkeypatch.setattr(stamps.time, "time_ns", lambda: run.exports.stat().st_ctime_ns)
    assert take(run, 1.5) == 1.5
    assert take(run, 2.5) == 2.5


def test_a_pruned_run_is_as_its_checksums_say_after_a_comparison(
    make_run: Callable[..., Recording],
) -> None:
    run = make_run("run")
    assert take(run, 1.5) == 1.5
    with checksums.noting(run.folder, "prune"):
        (run.exports / PRUNED_NOTE).write_text("{}")
        (run.tables / "kept.parquet").write_bytes(b"rows")
    assert take(run, 2.5) == 2.5
    compared = checksums.compare_checksums(run.folder)
    assert compared is not None
    assert compared.faults == ()
    assert set(compared.unnoted) == {"exports/gpu.xml", "recording.json"}
    assert take(run, 3.5) == 2.5


def test_numbers_that_json_lacks_are_measured_each_time(
    make_run: Callable[..., Recording],
) -> None:
    run = make_run("run")
    assert take(run, math.inf) == math.inf
    assert take(run, 2.5) == 2.5


def test_a_second_comparison_says_the_same_and_reports_the_same_losses(
    make_run: Callable[..., Recording], intervals_xml: Callable[..., str]
) -> None:
    before = make_run("before")
    after = make_run("after", [(time, 15, pid, name) for time, _, pid, name in ROWS])
    text = (after.exports / "gpu.xml").read_text()
    (after.exports / "gpu.xml").write_text(text[: text.rindex("<row>") + 20])
    for run in (before, after):
        pipeline.analyze(run)
    outcomes: list[object] = []
    for _ in range(2):
        with losses.collecting() as ledger:
            compared = compare_paths([before.folder], [after.folder])
        assert any("gpu.xml" in str(loss) for loss in ledger.costs)
        reported = ledger.reported
        outcomes.append((compared.comparison, set(reported.requested), set(reported.others)))
    assert outcomes[0] == outcomes[1]
    assert (before.tables / MEASURES_NOTE).exists()
    assert compared.comparison.kernels, "the measures are those of work"
