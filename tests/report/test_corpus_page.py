"""Real traces become pages: what they show is what the exports hold."""

from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from report_runs import bare
from tracekit import pipeline
from tracekit.analysis import Status
from tracekit.analysis.given import Given
from tracekit.analysis.intervals import busy, clip, spans
from tracekit.base import Process, Provenance
from tracekit.pages.render import render
from tracekit.pages.timeline.track import Kind
from tracekit.pages.timeline.tracks import timeline
from tracekit.tables.tables import Tables

pytestmark = pytest.mark.corpus


@pytest.mark.parametrize("name", ["gpu_baseline", "gpu_register_pressure"])
def test_the_targets_work_differs_from_others(name: str, corpus: Path, tmp_path: Path) -> None:
    [folder] = corpus.glob("*/src/re/apple/results/tranche1_20260330_204856")
    for export in folder.glob(f"xctrace_{name}_*.xml"):
        (tmp_path / export.name).symlink_to(export)
    [pid] = etree.parse(folder / f"{name}_toc.xml").xpath("//target/process/@pid")
    tables = Tables(tmp_path, frozenset({int(pid)}))
    given_tables = Given(tables, Provenance(targets=(Process(1, "any"),)))
    line = timeline(bare().result, given_tables)
    table = tables["gpu_intervals"]
    target_rows, other_rows = table[table["target"]], table[~table["target"]]
    device = [track for track in line.tracks if track.kind is Kind.DEVICE]
    assert sum(track.starts.size for track in device) == len(target_rows) > 0
    assert busy(device[0].starts, device[0].ends) <= busy(*spans(target_rows))
    foreign = [track for track in line.tracks if track.kind is Kind.OTHERS]
    assert sum(track.starts.size for track in foreign) <= len(other_rows)
    assert "WindowServer" in [track.name for track in foreign]
    [gaps] = [track for track in line.tracks if track.kind is Kind.IDLE]
    loop = given_tables["loop"]
    busy_time = busy(*clip(*spans(target_rows), loop.start, loop.end))
    assert gaps.durations.sum() == loop.length - busy_time > 0
    page = render(bare().result, tables, redact=str)
    assert len(page.encode()) <= 250_000
    assert "Command Buffer 0:Compute Command 0" in page


def test_a_bundle_of_time_profiler_shows_where_samples_lie(corpus: Path, tmp_path: Path) -> None:
    [bundle] = corpus.glob("*/_history_*/cpu_time_profiler.trace")
    [recording] = pipeline.import_([bundle], tmp_path / "run")
    result = pipeline.analyze(recording)
    metric_values = {metric.name: metric.value for metric in result.metrics}
    assert metric_values["cpu_time"] == 68_000_000
    life = 893_501_000 - 808_578_624  # it was launched late, as its life cycle tells
    assert metric_values["target_life"] == life
    assert metric_values["cpu_utilization"] == pytest.approx(68_000_000 / life)
    page = pipeline.report(recording).read_text("utf-8")
    assert "95.6 % of their weight in main" in page
    assert "That is 80.1 % of the 84.9 ms of its life" in page
    assert "Initializing - Process Creation" in page
    assert "No work of the target on the device" not in page


def test_a_page_of_real_counters_claims_no_rate_and_no_idle_time(
    corpus: Any, tmp_path: Any
) -> None:
    [recording] = pipeline.import_([corpus / "xcode-counters"], tmp_path / "run")
    result = pipeline.analyze(recording)
    metric_values = {metric.name: metric.value for metric in result.metrics}
    assert metric_values["replay_occupancy"] == pytest.approx(0.1884, abs=1e-3)
    assert metric_values["idle_ratio"] is None
    page = pipeline.report(recording).read_text("utf-8")
    assert page.count("serialized replay at a fixed clock") >= 4
    # A practitioner reads this from these counters; it was written before the rules were.
    (starved, waiting, shared) = result.findings
    assert (starved.rule, starved.lever) == ("starved-encoders", "latency-bound")
    assert "19 of 23 encoders, 77.5 % of the execution cost, kept 8.9 % to 16.2 %" in page
    assert "no unit was busy" in starved.message
    assert "Too few threads were launched" in starved.message
    assert "2 more encoders, 1.3 % of the execution cost, kept less than 1 %" in starved.message
    assert (waiting.rule, waiting.fact("places")) == (
        "launch-bound-encoders",
        "22 (11.5 %), 10 (9.7 %)",
    )
    assert shared.rule == "shared-replay"
    assert "Costliest: encoder 22 (11.5 %), 10 (9.7 %); 18 have 3.5 % to 4.9 % each" in page
    assert "No GPU work was recorded" not in page
    assert "Instruction Throughput for 99" not in page
    assert 'id="bubbles"' not in page


def test_counters_and_their_capture_are_one_page(corpus: Path, tmp_path: Path) -> None:
    folder = corpus / "Lazarus-931+MetalBench"
    [recording] = pipeline.import_(
        [folder / "relu.csv", folder / "relu.gputrace"], tmp_path / "run"
    )
    result = pipeline.analyze(recording)
    (limited, misses) = result.findings
    assert limited.fact("kernels") == "relu_f32"
    assert (misses.rule, misses.fact("once")) == ("uncached-encoders", True)
    states = {check.rule: check.status for check in result.checks}
    assert states["bandwidth-bound-encoders"] is Status.PASSED
    assert states["spilling-encoders"] is Status.PASSED
    assert "relu_f32" in pipeline.report(recording).read_text("utf-8")


def test_the_counters_of_another_capture_are_not_assigned(corpus: Path, tmp_path: Path) -> None:
    folder = corpus / "Lazarus-931+MetalBench"
    paths = [folder / "relu.csv", folder / "matmul_gelu_softmax.gputrace"]
    [recording] = pipeline.import_(paths, tmp_path / "run")
    pipeline.analyze(recording)
    page = pipeline.report(recording).read_text("utf-8")
    assert "So counters and dispatches are shown apart." in page
