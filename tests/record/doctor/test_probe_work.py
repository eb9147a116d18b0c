"""The probe's workload: a known number of dispatches, then rest."""

from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from tracekit.record.doctor import probe_work
from tracekit.workload.workload import all_workloads, load

WORK = load(Path(probe_work.__file__))


def test_it_works_so_many_times_and_then_rests() -> None:
    step = WORK.prepare(dispatches=3, pause=0.0)
    made: list[Any] = [step.submit() for _ in range(5)]
    assert [work is not None for work in made] == [True, True, True, False, False]
    for work in made:
        step.wait(work)
    assert made[0].shape == (4096,)
    on_metal = mx.metal.is_available()  # dispatches count only where there is a GPU
    assert step.backend == ("metal" if on_metal else "cpu")
    assert step.dispatches == (1 if on_metal else None)


def test_it_is_not_among_the_workloads_of_users() -> None:
    assert WORK.name == "probe"
    assert "probe" not in {workload.name for workload in all_workloads()}


def test_its_kernel_is_generated_over_floats(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Exporting traces the kernel, with the checks that MLX makes, and needs no GPU."""
    mx.export_function(str(tmp_path / "probe.mlxfn"), probe_work.launch, mx.array([0.5] * 4096))
    assert (tmp_path / "probe.mlxfn").stat().st_size > 0
    assert capfd.readouterr().err == ""
