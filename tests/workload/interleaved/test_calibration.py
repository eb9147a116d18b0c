import importlib.util

import pytest

from tracekit.base.errors import ToolError
from tracekit.workload.interleaved.protocol import Calibrate
from tracekit.workload.interleaved.resident import calibrate, work_of


def test_the_pace_is_the_median_of_the_work() -> None:
    found = calibrate(work_of(Calibrate()), Calibrate(seconds=0.02, wake=0.0))
    assert found.times >= 5
    assert 1e4 < found.nanoseconds < 1e8


def test_slow_work_is_done_five_times() -> None:
    done: list[int] = []
    found = calibrate(lambda: done.append(1), Calibrate(seconds=0.0, wake=0.0))
    assert found.times == 5
    assert len(done) == 6


@pytest.mark.skipif(importlib.util.find_spec("mlx") is None, reason="no MLX is installed")
def test_mlx_does_it_where_the_workload_uses_mlx() -> None:
    found = calibrate(work_of(Calibrate(mlx=True)), Calibrate(seconds=0.0, wake=0.0))
    assert found.nanoseconds > 0


def test_a_device_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "mlx.core", None)
    with pytest.raises(ToolError, match=r"^The machine's pace cannot be measured by MLX"):
        work_of(Calibrate("gpu"))
