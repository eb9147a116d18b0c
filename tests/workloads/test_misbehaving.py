"""The workloads that misbehave on purpose: `churn` and `bubbles`."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from prepared_steps import prepare_step as prepare
from small_kernels import needs_emulation
from tracekit import open as open_run
from tracekit.analysis.result import Finding
from tracekit.base.errors import ToolError
from tracekit.lab.msl.emulation import emulation
from tracekit.workload.journal import Phase, StepMark, WorkloadReport, fold
from tracekit.workload.workload import REFERENCE, Span, Step, normalize_results

on_cpu = pytest.mark.skipif(mx.metal.is_available(), reason="here is Metal")
DATA = mx.random.normal((64,), key=mx.random.key(0))


def step_of(step: Step) -> list[Span]:
    step.wait(step.submit())
    return list(step.tell().spans)


@on_cpu
@needs_emulation
def test_churn_compiles_now_and_then_in_the_steady_phase_only() -> None:
    step = prepare("churn", every=3, size=64)
    assert len(step.specializations()) == 1
    assert [span.name for span in step_of(step)] == ["compile"]  # what preparing compiled
    assert [step_of(step) for _ in range(8)] == [[]] * 8
    assert len(step.specializations()) == 1
    step.begin()
    steps = [step_of(step) for _ in range(6)]
    assert [len(spans) for spans in steps] == [0, 0, 1, 0, 0, 1]
    assert len(step.specializations()) == 3
    measurements = normalize_results(step.finish())
    assert measurements["pipelines_made"].value == 2
    spans = [span for step_spans in steps for span in step_spans]
    assert measurements["compile_time"].value == sum(span.end - span.start for span in spans)
    assert all(span.end > span.start for span in spans)
    assert [step_of(step) for _ in range(4)] == [[]] * 4


@on_cpu
@needs_emulation
def test_churn_computes_and_counts_the_libraries_that_mlx_compiled_and_takes_them_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    step = prepare("churn", size=64)
    assert os.environ["TMPDIR"] == str(tmp_path)
    added = np.array(step.submit()) - np.exp(-np.array(DATA))
    assert 0 < added[0] < 900_000
    np.testing.assert_allclose(added, np.round(added[0]), atol=0.1)
    [library] = tmp_path.rglob("lib*.so")
    assert step.specializations() == {library.stem.removeprefix("lib")}
    assert library.relative_to(tmp_path).parts[0].startswith("tracekit-churn-")
    del step
    assert not list(tmp_path.rglob("lib*.so"))


@on_cpu
@needs_emulation
def test_churn_reports_that_nothing_was_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    mx.disable_compile()
    try:
        with pytest.raises(ToolError, match="MLX compiled nothing here"):
            prepare("churn", size=64)
    finally:
        mx.enable_compile()
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(ToolError, match=r"with g\+\+, and there is none here"):
        prepare("churn", size=64)


@needs_emulation
def test_on_metal_each_pipeline_is_a_template_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """The very source that MLX generates, run on this CPU; names are those in a trace."""
    monkeypatch.setattr(mx, "default_device", lambda: mx.Device(mx.gpu))
    monkeypatch.setattr(mx.metal, "is_available", lambda: True)
    with emulation() as log:
        step = prepare("churn", every=2, size=64)
        step.begin()
        steps = [step_of(step) for _ in range(4)]
        output = np.array(step.submit())
    assert [len(spans) for spans in steps] == [0, 1, 0, 1]
    assert len(step.specializations()) == 3
    assert {launch.kernel.function for launch in log} == step.specializations()
    last_number = max(int(name.split("__")[1].split("_")[0]) for name in step.specializations())
    np.testing.assert_allclose(output, np.exp(-np.array(DATA)) + last_number, rtol=1e-6)


@pytest.mark.parametrize("cause", ["sleep", "readback"])
def test_bubbles_are_a_known_share(cause: str) -> None:
    empty = prepare("bubbles", size=32)
    empty.begin()
    idle_share = normalize_results(empty.finish())["idle_on_purpose"]
    assert idle_share.reason == "there was no steady step"
    step = prepare("bubbles", idle=0.5, cause=cause, size=256)
    step_of(step)
    step.begin()
    start_time = time.monotonic_ns()
    spans = [span for _ in range(12) for span in step_of(step)]
    lasted = time.monotonic_ns() - start_time
    assert [span.name for span in spans] == [cause] * 12
    paused = sum(span.end - span.start for span in spans)
    assert 0 < paused / lasted <= normalize_results(step.finish())["idle_on_purpose"].value < 1


@pytest.mark.parametrize(("idle", "least"), [(0.5, 20_000_000), (0.2, 5_000_000)])
@pytest.mark.parametrize("cause", ["sleep", "readback"])
def test_a_pause_follows_from_the_step_before(cause: str, idle: float, least: int) -> None:
    step = prepare("bubbles", idle=idle, cause=cause, size=32)
    step.submit.__self__.worked = 20_000_000
    [span] = step_of(step)
    assert span.end - span.start >= least


def test_zero_idle_time_is_not_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("time.sleep")
    step = prepare("bubbles", idle=0.0, size=32)
    step.begin()
    assert len([span for _ in range(3) for span in step_of(step)]) == 3
    assert step.flops == 2 * 32**3


Run = Callable[..., Any]


def capture_finding(
    tracekit: Run, folder: Path, rule: str, workload: str, *options: str
) -> tuple[Finding, WorkloadReport, Phase]:
    """Capture a workload; return a rule's finding, the journal, and the steady phase in it."""
    how = "--recorder host --warmup 1 --time-limit 60s --workload".split()
    result = tracekit("capture", *how, workload, *options, "--output", folder)
    assert result.code == 0, result.err
    [finding] = [
        rule_finding
        for rule_finding in open_run(folder).result.findings
        if rule_finding.rule == rule
    ]
    report = fold(folder / "workload.jsonl")
    return finding, report, next(phase for phase in report.phases if phase.name == "steady")


def own_spans(report: WorkloadReport, steady: Phase) -> list[Span]:
    """Return what the workload said of the phase: the worker says when it timed reference work."""
    steady_spans = [span for span in report.spans if steady.start <= span.start < steady.end]
    return [span for span in steady_spans if span.name != REFERENCE]


@on_cpu
@pytest.mark.processes
def test_churn_is_found(tracekit: Run, tmp_path: Path) -> None:
    churn = ("churn", "--every", "4", "--size", "64", "--repeats", "9")
    finding, report, steady = capture_finding(tracekit, tmp_path / "run", "pipeline-churn", *churn)
    assert finding.fact("pipelines") == 2
    compiled = own_spans(report, steady)
    assert [span.name for span in compiled] == ["compile", "compile"]
    assert finding.saving == sum(span.end - span.start for span in compiled)
    assert report.results["pipelines_made"].value == 2


def begun_in_submit(step: StepMark, slept: list[Span]) -> int:
    """Return for how long a step may have worked before it was handed over."""
    host = step.measure_spans_in_submit(slept)
    if step.is_undivided(host):
        return step.submitted - step.start - host
    return step.worked_in_submit(host)


@on_cpu
@pytest.mark.processes
def test_bubbles_are_found_as_large_as_they_are(tracekit: Run, tmp_path: Path) -> None:
    bubbles = ("bubbles", "--idle", "0.5", "--size", "256", "--repeats", "20")
    finding, report, steady = capture_finding(tracekit, tmp_path / "run", "bubbles", *bubbles)
    steps = [step for step in report.steps if step.phase == "steady"]
    lasted = steady.end - steady.start
    slept = own_spans(report, steady)
    # MLX's CPU backend begins while it is being handed work, and holds up the host meanwhile; on a
    # busy machine it may be through by then.
    worked = sum(step.completed - step.submitted + begun_in_submit(step, slept) for step in steps)
    steady_spans = [span for span in report.spans if steady.start <= span.start < steady.end]
    worked += sum(span.end - span.start for span in steady_spans if span.name == REFERENCE)
    truth = 1 - worked / lasted
    assert finding.saving / lasted == pytest.approx(truth, abs=0.02)
    assert {span.name for span in slept} == {"sleep"}
    assert finding.saving >= 0.95 * sum(span.end - span.start for span in slept)
    assert report.results["idle_on_purpose"].value <= truth + 0.02
