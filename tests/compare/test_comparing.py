"""Runs by their paths, and the command that compares them."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit import pipeline
from tracekit.base.errors import RecordingError, UsageError
from tracekit.base.recording import Recording, save
from tracekit.compare import compare
from tracekit.compare.spread import Limits

Command = Callable[..., Any]


@pytest.fixture
def runs(imported: Path, tmp_path: Path) -> tuple[Path, Path]:
    """One small trace, analyzed, under two names."""
    pipeline.analyze(Recording(imported))
    other = tmp_path / "other"
    shutil.copytree(imported, other)
    changed(other, started="2026-11-20T10:00:00+00:00")
    return imported, other


def changed(run: Path, **parts: Any) -> None:
    recording = Recording(run)
    result = json.loads(recording.result_file.read_bytes())
    result["provenance"] |= parts
    save(recording.result_file, result)


def copied(run: Path, started: str) -> Path:
    twin = run.with_name(f"{run.name}-{started[11:16].replace(':', '')}")
    shutil.copytree(run, twin)
    changed(twin, started=started)
    return twin


@pytest.mark.parametrize("words", ["a", "a b c", "a vs", "vs b", "a vs b vs c", "a vs vs b"])
def test_what_is_no_comparison_is_refused(words: str) -> None:
    a, b, c, vs = Path("a"), Path("b"), Path("c"), Path("vs")
    assert compare.parse_sides([a, b]) == compare.parse_sides([a, vs, b]) == ([a], [b])
    assert compare.parse_sides([a, c, vs, b]) == ([a, c], [b])
    with pytest.raises(UsageError, match="several on both sides of a vs") as error:
        compare.parse_sides([Path(one) for one in words.split()])
    assert "tracekit compare A1 A2 vs B1 B2" in error.value.hint


def test_runs_are_read_from_folders_and_from_results(runs: tuple[Path, Path]) -> None:
    folder, file = compare.read_samples([runs[0], runs[1] / "result.json"])
    assert (folder.name, file.name) == ("run", "other")
    assert folder.tables is not None
    assert file.tables is not None, "the tables beside a result are used"
    assert folder.result.metrics == file.result.metrics


def test_a_result_alone_has_no_tables(runs: tuple[Path, Path], tmp_path: Path) -> None:
    alone = tmp_path / "kept" / "result.json"
    alone.parent.mkdir()
    shutil.copy(runs[0] / "result.json", alone)
    (sample,) = compare.read_samples([alone])
    assert sample.tables is None
    assert "only its result is left" in sample.absence
    shutil.rmtree(runs[1] / "exports")
    (cleaned,) = compare.read_samples([runs[1]])
    assert cleaned.tables is None


def test_runs_of_one_name_are_told_apart_by_their_folders(runs: tuple[Path, Path]) -> None:
    twin = runs[1].parent / "twins" / "run"
    shutil.copytree(runs[0], twin)
    names = [one.name for one in compare.read_samples([runs[0], twin])]
    assert names[1] == "twins/run"
    assert names[0].endswith("/run")


def test_what_is_no_run_is_said(tmp_path: Path, runs: tuple[Path, Path]) -> None:
    with pytest.raises(RecordingError, match="is not a run's folder"):
        compare.read_samples([tmp_path / "nothing"])
    (runs[0] / "result.json").unlink()
    with pytest.raises(RecordingError, match="does not exist"):
        compare.read_samples([runs[0]])


def test_unlike_work_is_refused_unless_forced(runs: tuple[Path, Path]) -> None:
    changed(runs[0], workload="sdpa", recorder="xctrace")
    changed(runs[1], workload="paged", recorder="xctrace")
    before, after = (compare.read_samples([one]) for one in runs)
    with pytest.raises(UsageError, match="workload is sdpa and paged") as error:
        compare.compare_runs(before, after)
    assert "--force" in error.value.hint
    assert compare.compare_runs(before, after, Limits(), force=True).void


def test_the_command_tells_what_became_of_each_metric(
    runs: tuple[Path, Path], tracekit: Command
) -> None:
    changed(runs[1], machine={"model": "MacBook Pro"})
    shown = tracekit("compare", *runs)
    assert shown.code == 0
    assert shown.out.splitlines()[0].startswith(("The same: ", "Unclear: "))
    assert "# metrics: run → other" in shown.out
    assert "gpu_busy\t20 ns\t20 ns\t0.0 %" in shown.out
    assert "model\tMacBook Air\tMacBook Pro" in shown.out
    assert "--between" in shown.err


def test_a_recording_counts_once_wherever_its_copies_lie(
    runs: tuple[Path, Path], tracekit: Command, tmp_path: Path
) -> None:
    twin = tmp_path / "elsewhere" / "run"
    shutil.copytree(runs[0], twin)
    shown = tracekit("compare", runs[0], twin, "vs", runs[1])
    assert shown.code == 2
    assert "are the same recording" in shown.err
    assert tracekit("compare", runs[0], twin, "vs", runs[1], "--force").code == 0
    itself = tracekit("compare", runs[0], twin)
    assert itself.code == 0
    assert "Both sides have the same recording: run." in itself.err


def test_as_json_it_is_a_document_and_a_page_where_it_is_asked_for(
    runs: tuple[Path, Path], tracekit: Command, tmp_path: Path
) -> None:
    page = tmp_path / "compared.html"
    shown = tracekit("compare", *runs, "--json", "--html", page)
    assert page.read_text().startswith("<!doctype html>")
    assert "Ada" not in page.read_text(), "the device's name stays out"
    assert str(page) in shown.err
    document = json.loads(shown.out)
    assert document["format"] == 1
    assert document["before"] == ["run"]
    assert {"verdict", "reason", "changes", "findings", "kernels", "environment"} <= set(document)
    idle = next(one for one in document["changes"] if one["metric"] == "gpu_idle_ratio")
    assert idle["values_before"] == idle["values_after"]


def test_scripts_learn_of_it_only_if_they_ask(runs: tuple[Path, Path], tracekit: Command) -> None:
    def slower(factor: float) -> None:
        file = runs[1] / "result.json"
        result = json.loads(file.read_bytes())
        for one in result["metrics"]:
            if one["name"] == "gpu_idle_ratio":
                one["value"] = 0.1 * factor
        save(file, result)

    slower(9)
    twins = [copied(run, f"2026-11-21T10:0{place}:00+00:00") for place, run in enumerate(runs)]
    several = [runs[0], twins[0], "vs", runs[1], twins[1]]
    decide = ("--metric", "gpu_idle_ratio")
    assert tracekit("compare", *several, *decide).code == 0
    worse = tracekit("compare", *several, *decide, "--exit-code")
    single = tracekit("compare", *runs, *decide, "--exit-code")
    assert single.code == 4
    assert "Record several runs" in single.err
    assert worse.code == 1


def test_a_page_that_is_not_asked_for_cannot_be_opened(
    runs: tuple[Path, Path], tracekit: Command
) -> None:
    shown = tracekit("compare", *runs, "--open")
    assert shown.code == 2
    assert "--html" in shown.err
