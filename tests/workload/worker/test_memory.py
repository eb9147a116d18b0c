"""What is noted of memory, by this process of itself."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import mlx.core as mx
import pytest

from tracekit.machine import sampler
from tracekit.workload.journal import fold
from tracekit.workload.worker.phases import Level, levels, note
from tracekit.workload.worker.spec import Account, Spec
from tracekit.workload.workload import Memory

SUMMARY = """Process:         python3.11 [4711]
Physical footprint:         1.5G
Physical footprint (peak):  2.0G
----

                             VIRTUAL RESIDENT    DIRTY  SWAPPED   REGION
REGION TYPE                     SIZE     SIZE     SIZE     SIZE    COUNT (non-coalesced)
===========                  ======= ========    =====  =======  =======
IOAccelerator                   1.2G     1.0G     1.0G       0K       12
IOAccelerator (graphics)      512.0K   256.0K   256.0K       0K        3
MALLOC_LARGE                   24.0M    16.0M    16.0M       0K        7
"""


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
    assert (baseline["mlx_active"].bytes, baseline["mlx_active"].reason) == (
        None,
        "MLX is not loaded",
    )
    assert baseline["resident"].bytes is not None


def test_the_regions_of_the_gpu_are_summed() -> None:
    assert levels(sampler.read_vmmap(SUMMARY)) == {
        "footprint": Level(3 << 29),
        "accelerator": Level((1 << 30) + (256 << 10)),
    }


def test_what_a_summary_lacks_is_told() -> None:
    found = levels(sampler.read_vmmap("Physical footprint:  12.0M\n"))
    assert found["footprint"] == Level(12 << 20)
    assert found["accelerator"].bytes is None
    assert "no table of regions" in found["accelerator"].reason
    nothing = levels(
        sampler.read_vmmap(SUMMARY.replace("Physical", "Other").replace("IOAcc", "Acc"))
    )
    assert nothing["footprint"].reason == "vmmap names no physical footprint"
    assert nothing["accelerator"].reason == "vmmap names no such regions"


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
    assert {one.reason for one in report.memory if one.what == "mlx_active"} == {
        "MLX is not loaded"
    }
    steady = report.phases[-1]
    assert resident[-1].at >= steady.end
    assert all(step.completed <= steady.end for step in report.steps)
