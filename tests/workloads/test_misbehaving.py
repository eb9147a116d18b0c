"""The workloads that misbehave on purpose: `churn` and `bubbles`."""

import os
import time
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest

from prepared_steps import prepared as prepare
from tracekit.base.errors import ToolError
from tracekit.lab.msl.emulation import emulation
from tracekit.workload.workload import Span, Step, measured

on_cpu = pytest.mark.skipif(mx.metal.is_available(), reason="here is Metal")


def step_of(step: Step) -> list[Span]:
    step.wait(step.submit())
    return list(step.tell().spans)


@on_cpu
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
    said = measured(step.finish())
    assert said["pipelines_made"].value == 2
    spans = [span for made in steps for span in made]
    assert said["compile_time"].value == sum(span.end - span.start for span in spans)
    assert all(span.end > span.start for span in spans)
    assert [step_of(step) for _ in range(4)] == [[]] * 4


@on_cpu
def test_churn_counts_the_libraries_that_mlx_compiled_and_takes_them_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    step = prepare("churn", size=64)
    assert os.environ["TMPDIR"] == str(tmp_path)
    [library] = tmp_path.rglob("lib*.so")
    assert step.specializations() == {library.stem.removeprefix("lib")}
    assert library.relative_to(tmp_path).parts[0].startswith("tracekit-churn-")
    del step
    assert not list(tmp_path.rglob("lib*.so"))


@on_cpu
def test_churn_computes_what_it_says() -> None:
    step = prepare("churn", size=8)
    out = step.submit()
    step.wait(out)
    data = np.array(mx.random.normal((8,), key=mx.random.key(0)))
    added = np.array(out) - np.exp(-data)
    assert 0 < added[0] < 900_000
    np.testing.assert_allclose(added, np.round(added[0]), atol=0.1)


@on_cpu
def test_where_nothing_is_compiled_churn_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    mx.disable_compile()
    try:
        with pytest.raises(ToolError, match="MLX compiled nothing here"):
            prepare("churn", size=64)
    finally:
        mx.enable_compile()
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(ToolError, match=r"with g\+\+, and there is none here"):
        prepare("churn", size=64)


@pytest.mark.usefixtures("compiled_kernels")
def test_on_metal_each_pipeline_is_a_template_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """The very source that MLX generates, run on this CPU; names are those in a trace."""
    monkeypatch.setattr(mx, "default_device", lambda: mx.Device(mx.gpu))
    monkeypatch.setattr(mx.metal, "is_available", lambda: True)
    with emulation() as log:
        step = prepare("churn", every=2, size=64)
        step.begin()
        steps = [step_of(step) for _ in range(4)]
        out = np.array(step.submit())
    assert [len(spans) for spans in steps] == [0, 1, 0, 1]
    assert len(step.specializations()) == 3
    assert {launch.kernel.function for launch in log} == step.specializations()
    data = np.array(mx.random.normal((64,), key=mx.random.key(0)))
    last = max(int(name.split("__")[1].split("_")[0]) for name in step.specializations())
    np.testing.assert_allclose(out, np.exp(-data) + last, rtol=1e-6)


@pytest.mark.parametrize("cause", ["sleep", "readback"])
def test_bubbles_are_a_known_share(cause: str) -> None:
    empty = prepare("bubbles", size=32)
    empty.begin()
    said = measured(empty.finish())["idle_on_purpose"]
    assert said.reason == "there was no steady step"
    step = prepare("bubbles", idle=0.5, cause=cause, size=256)
    step_of(step)
    step.begin()
    begun = time.monotonic_ns()
    spans = [span for _ in range(12) for span in step_of(step)]
    lasted = time.monotonic_ns() - begun
    said = measured(step.finish())["idle_on_purpose"].value
    assert {span.name for span in spans} == {cause}
    assert len(spans) == 12
    paused = sum(span.end - span.start for span in spans)
    assert said >= paused / lasted
    assert 0 < said < 1


@pytest.mark.parametrize(("idle", "least"), [(0.5, 20_000_000), (0.2, 5_000_000)])
@pytest.mark.parametrize("cause", ["sleep", "readback"])
def test_a_pause_follows_from_the_step_before(cause: str, idle: float, least: int) -> None:
    step = prepare("bubbles", idle=idle, cause=cause, size=32)
    step.submit.__self__.worked = 20_000_000
    [span] = step_of(step)
    assert span.end - span.start >= least


def test_no_idle_time_is_no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_: float) -> None:
        raise AssertionError

    monkeypatch.setattr("time.sleep", never)
    step = prepare("bubbles", idle=0.0, size=32)
    step.begin()
    assert len([span for _ in range(3) for span in step_of(step)]) == 3
    assert step.flops == 2 * 32**3
