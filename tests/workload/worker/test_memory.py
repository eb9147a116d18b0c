"""What is noted of memory, by this process of itself."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import mlx.core as mx
import pytest

from tracekit.workload.journal import fold
from tracekit.workload.worker.phases import note
from tracekit.workload.worker.spec import Account, Spec
from tracekit.workload.workload import Memory


@pytest.fixture
def noted(tmp_path: Path) -> Iterator[Callable[..., dict[str, Memory]]]:
    account = Account(tmp_path / "workload.jsonl", tmp_path / "workload.json")

    def make(phase: str, **options: bool) -> dict[str, Memory]:
        note(account, phase, **options)
        report = fold(tmp_path / "workload.jsonl")
        return {one.what: one for one in report.memory if one.phase == phase}

    yield make
    account.end("done")


def test_peaks_of_mlx_count_from_note_to_note(
    noted: Callable[..., dict[str, Memory]],
) -> None:
    noted("before")
    mx.eval(mx.zeros(4_000_000, mx.uint8) + 1)
    busy = noted("busy")
    calm = noted("calm")
    assert busy["mlx_peak"].bytes - busy["mlx_active"].bytes >= 4_000_000
    assert calm["mlx_peak"].bytes - calm["mlx_active"].bytes < 4_000_000
    assert busy["resident"].bytes > 1_000_000
    assert busy["mlx_cache"].bytes >= 0
    assert busy["resident"].at <= calm["resident"].at


def test_what_is_not_loaded_is_not_measured(
    noted: Callable[..., dict[str, Memory]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "mlx.core")
    baseline = noted("baseline")
    active = baseline["mlx_active"]
    assert (active.bytes, active.reason) == (None, "MLX is not loaded")
    assert baseline["resident"].bytes is not None


@pytest.mark.processes
def test_a_worker_notes_its_memory_phase_by_phase(
    make_spec: Callable[..., Spec], finish: Callable[[], tuple[int, str]]
) -> None:
    spec = make_spec()
    assert finish() == (0, "")
    report = fold(spec.journal)
    resident = [one for one in report.memory if one.what == "resident"]
    assert [one.phase for one in resident] == ["baseline", "prepare", "warm-up", "steady"]
    assert all(one.bytes for one in resident)
    # The workload of this test has no MLX.
    reasons = {one.reason for one in report.memory if one.what == "mlx_active"}
    assert reasons == {"MLX is not loaded"}
    steady = report.phases[-1]
    assert resident[-1].at >= steady.end
    assert all(step.completed <= steady.end for step in report.steps)
