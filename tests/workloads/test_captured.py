"""Each workload, captured from the command line: what its journal and its page say."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from tracekit.analysis.result import Result
from tracekit.base.paired import paired_ratio
from tracekit.run import open as open_run
from tracekit.workload.journal import WorkloadReport, fold
from tracekit.workload.workload import REFERENCE, Span

DECODE = "--batch 2 --q-heads 4 --kv-heads 2 --head-dim 64 --block-size 16 --max-blocks 4 \
--active-blocks 2 --dtype float32".split()

pytestmark = [
    pytest.mark.skipif(mx.metal.is_available(), reason="records on the host"),
    pytest.mark.processes,
]


@pytest.fixture
def capture(tracekit: Callable[..., Any], tmp_path: Path) -> Callable[..., Path]:
    """Capture a workload; return the run's folder."""

    def run(name: str, *options: str, repeats: int = 20) -> Path:
        ran = tracekit(
            *("capture", "--recorder", "host", "--workload", name, *options),
            *("--warmup", "1", "--repeats", repeats, "--time-limit", "10s"),
            *("--output", tmp_path / "run"),
        )
        assert ran.code == 0, ran.err
        return tmp_path / "run"

    return run


def own_spans(report: WorkloadReport) -> list[Span]:
    """What the workload told of itself: the worker tells when it timed reference work."""
    return [span for span in report.spans if span.name != REFERENCE]


def read(folder: Path) -> tuple[Result, WorkloadReport]:
    return open_run(folder).result, fold(folder / "workload.jsonl")


def test_sdpa(capture: Callable[..., Path]) -> None:
    result, report = read(capture("sdpa", *DECODE, "--ragged", "--layout", "BSHD"))
    assert report.model.tokens == 2
    assert 0 < report.results["max_error"].value < 1e-5
    assert {found.name for found in result.results} == {"max_error", "padding"}


def test_paged_vs_sdpa(capture: Callable[..., Path]) -> None:
    folder = capture("paged-vs-sdpa", *DECODE, repeats=22)
    result, report = read(folder)
    steady = [step for step in report.steps if step.phase == "steady"]
    names = {"a": "paged", "b": "sdpa"}
    assert [step.variant for step in steady] == [names[letter] for letter in ("abba" * 6)[:22]]
    assert set(report.variants) == {"paged", "sdpa"}
    # the journal's own times, which end a little later, give nearly the same ratios
    times = {
        name: [step.completed - step.start for step in steady if step.variant == name]
        for name in ("paged", "sdpa")
    }
    again = paired_ratio(times["sdpa"], times["paged"])
    said = {name: found.value for name, found in report.results.items()}
    assert again.pairs == said["pairs"] == 11
    assert said["speedup"] == pytest.approx(again.median, rel=0.5)
    for name, own in times.items():
        assert said[f"step_time_{name}"] <= np.median(own)
    assert "pipeline-churn" not in {finding.rule for finding in result.findings}
    rate = result.metric("tokens_per_second")
    assert rate.value is None
    assert "several variants (paged, sdpa)" in rate.reason
    page = (folder / "report.html").read_text()
    assert "Steps, by phase and variant" in page


def test_churn_is_found(capture: Callable[..., Path]) -> None:
    result, report = read(capture("churn", "--every", "4", "--size", "64", repeats=9))
    [finding] = [finding for finding in result.findings if finding.rule == "pipeline-churn"]
    assert "By its own count the workload first used 2 of its pipelines" in finding.message
    steady = next(phase for phase in report.phases if phase.name == "steady")
    compiled = [span for span in own_spans(report) if span.start >= steady.start]
    assert [span.name for span in compiled] == ["compile", "compile"]
    assert finding.saving == sum(span.end - span.start for span in compiled)
    assert report.results["pipelines_made"].value == 2


def test_bubbles_are_found_as_large_as_they_are(capture: Callable[..., Path]) -> None:
    result, report = read(capture("bubbles", "--idle", "0.5", "--size", "256"))
    [finding] = [finding for finding in result.findings if finding.rule == "bubbles"]
    steady = next(phase for phase in report.phases if phase.name == "steady")
    steps = [step for step in report.steps if step.phase == "steady"]
    worked = sum(step.completed - step.submitted for step in steps)
    truth = 1 - worked / (steady.end - steady.start)
    assert finding.saving / (steady.end - steady.start) == pytest.approx(truth, abs=0.02)
    slept = [span for span in own_spans(report) if steady.start <= span.start < steady.end]
    assert {span.name for span in slept} == {"sleep"}
    assert finding.saving >= 0.95 * sum(span.end - span.start for span in slept)
    assert report.results["idle_on_purpose"].value <= truth + 0.02
