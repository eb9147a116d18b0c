"""The functions of Python, with the inputs of the commands of their names."""

import gc
import importlib
import inspect
import pkgutil
import pydoc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tracekit
from bundle_writer import RunInfo, write_bundle
from small_bundle import PYTHON, SERVER, intervals, ticks
from tracekit.base.errors import RecordingError, UsageError

Xml = Callable[..., str]
ROWS = [(0, 10, 4711, "python3"), (100, 10, 4711, "python3")]


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    rows = intervals((0, 10, PYTHON), (5, 10, PYTHON), (40, 10, SERVER), (100, 20, PYTHON))
    return write_bundle(tmp_path / "mine.trace", [ticks([1]), rows], info=RunInfo())


def test_a_bundle_is_a_frame_in_two_lines(bundle: Path) -> None:
    run = tracekit.open(bundle)
    frame = run.tables["gpu_intervals"]
    assert frame["start"].tolist() == [0, 5, 40, 100]
    assert sorted(bundle.parent.iterdir()) == [bundle], "something was written next to the input"


def test_the_folder_of_an_open_input_goes_with_the_run(bundle: Path) -> None:
    run = tracekit.open(bundle)
    folder = run.recording.folder
    assert folder.exists()
    assert run.result.metric("gpu_busy").value == 35
    del run
    gc.collect()
    assert not folder.exists()


def test_a_report_an_analysis_and_a_query_take_the_input(bundle: Path) -> None:
    page = tracekit.report(bundle)
    assert page == bundle.parent / "mine-run/report.html"
    assert tracekit.analyze(bundle).metric("gpu_busy").value == 35
    frame = tracekit.query("select start, process from gpu_intervals order by start", bundle)
    assert frame["start"].tolist() == [0, 5, 40, 100]
    run = tracekit.open(page.parent)
    assert tracekit.query("select count(*) as n from gpu_intervals", run)["n"].tolist() == [4]


def test_a_query_of_a_folder_finds_its_runs_its_bundles_and_its_exports(
    bundle: Path, intervals_xml: Xml
) -> None:
    folder = bundle.parent
    tracekit.report(bundle)
    (folder / "metal-gpu-intervals.xml").write_text(intervals_xml(ROWS))
    frame = tracekit.query("select run_path from runs order by run_path", folder)
    places = [folder, folder / "mine-run", bundle]
    assert frame["run_path"].tolist() == [str(place) for place in places]


def test_exports_named_together_are_one_recording(
    tmp_path: Path, toc_xml: Xml, intervals_xml: Xml
) -> None:
    toc, table = tmp_path / "a_toc.xml", tmp_path / "a_intervals.xml"
    toc.write_text(toc_xml())
    table.write_text(intervals_xml(ROWS))
    result = tracekit.analyze(toc, table, output=tmp_path / "run")
    assert result.metric("gpu_busy").value == 20
    other = tracekit.analyze(table, target="python3")
    assert other.provenance.target_reason == "it was chosen with --target."


def test_two_recordings_are_compared(tmp_path: Path, intervals_xml: Xml) -> None:
    before, after = tmp_path / "before.xml", tmp_path / "after.xml"
    before.write_text(intervals_xml(ROWS))
    after.write_text(intervals_xml([*ROWS, (200, 10, 4711, "python3")]))
    comparison = tracekit.compare(before, after, force=True)
    [busy] = [change for change in comparison.changes if change.metric == "gpu_busy"]
    assert (busy.before, busy.after) == (20, 30)
    assert repr(comparison).startswith("<Comparison of after against before: ")
    assert "<td>gpu_busy</td><td>20 ns</td><td>30 ns</td>" in comparison._repr_html_()


def test_an_unknown_name_suggests_the_nearest(bundle: Path) -> None:
    page = tracekit.report(bundle)
    run = tracekit.open(page.parent)
    with pytest.raises(UsageError, match="no metric 'gpu_idle'") as error:
        run.result.metric("gpu_idle")
    assert "gpu_idle_ratio" in error.value.hint
    with pytest.raises(KeyError, match="no table 'gpu_interval'") as missing:
        run.tables["gpu_interval"]
    assert "gpu_intervals" in missing.value.hint
    with pytest.raises(UsageError, match="no workload 'pagde'") as workload:
        tracekit.capture("pagde")
    assert "paged" in workload.value.hint
    with pytest.raises(UsageError, match="no parameter of paged 'bacth'") as parameter:
        tracekit.capture("paged", bacth=1)
    assert "batch" in parameter.value.hint


def test_every_object_is_one_line_and_a_small_page(bundle: Path) -> None:
    run = tracekit.open(tracekit.report(bundle).parent)
    shown: list[Any] = [run, run.result, run.tables, run.provenance]
    texts = [repr(value) for value in shown]
    assert [text for text in texts if "\n" in text or len(text) > 300] == []
    assert texts[1].startswith("<Result of mine: ")
    assert "mine-run" in texts[0]
    assert texts[2].startswith("<")
    assert "gpu_intervals" in texts[2]
    pages = [value._repr_html_() for value in shown[:3]]
    assert [page for page in pages if "<table>" not in page] == []


def test_no_name_of_a_trace_becomes_markup(tmp_path: Path, intervals_xml: Xml) -> None:
    export = tmp_path / "one.xml"
    export.write_text(intervals_xml([(0, 10, 1, "&lt;b&gt;bold&lt;/b&gt;")]))
    run = tracekit.open(tracekit.report(export).parent)
    assert "<b>" not in run._repr_html_()


def test_a_run_that_was_not_analyzed_says_so(bundle: Path, tmp_path: Path) -> None:
    tracekit.pipeline.import_([bundle], tmp_path / "run")
    run = tracekit.open(tmp_path / "run")
    assert "not judged yet" in repr(run)
    assert "<table>" not in run._repr_html_()
    with pytest.raises(RecordingError, match=r"result\.json does not exist"):
        _ = run.result


def test_each_function_is_one_and_shows_its_signature() -> None:
    for name in ("analyze", "capture", "compare", "open", "query", "report"):
        function = getattr(tracekit, name)
        assert inspect.isfunction(function), name
        assert function.__name__ == name
        assert all(part.annotation is not part.empty for part in _parts(function)), name
    signature = str(inspect.signature(tracekit.compare))
    assert "threshold: float = 0.03" in signature
    assert signature.endswith("-> tracekit.comparison.compare.Comparison")
    assert "threshold: float = 0.03" in pydoc.render_doc(tracekit.compare)
    assert "Compare recordings" in pydoc.render_doc(tracekit, renderer=pydoc.plaintext)


def test_no_import_replaces_a_function() -> None:
    for room in ("app", "cli", "comparison", "mcp", "pages", "tables"):
        importlib.import_module(f"tracekit.{room}")
    names = {name for _, name, _ in pkgutil.iter_modules(tracekit.__path__)}
    functions = {name for name in tracekit.__all__ if inspect.isfunction(getattr(tracekit, name))}
    assert len(functions) == 7
    assert names & functions == set()


def _parts(function: Callable[..., object]) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())
