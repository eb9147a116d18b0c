"""A virtual Mac is recorded as one, and nothing is claimed of its GPU."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from step_samples import sample_of
from tracekit import pipeline
from tracekit.base.errors import ToolError
from tracekit.comparison.compare import compare
from tracekit.lab.bench.inputs import Shape
from tracekit.lab.bench.measure import Effort
from tracekit.lab.bench.tune import tune
from tracekit.machine.machine import Machine
from tracekit.workload.plan import Plan
from tracekit.workload.workload import load

_WORKLOAD = """
import time

import mlx.core as mx
from tracekit.workload import Step, workload

mx.device_info = lambda: {"device_name": "Apple Paravirtual device"}


@workload
def paravirtual() -> Step:
    return Step(submit=lambda: None, wait=lambda _: time.sleep(0.01), backend="BACKEND")
"""


@pytest.mark.processes
@pytest.mark.parametrize(("backend", "virtual"), [("metal", True), ("cpu", None)])
def test_a_virtual_gpu_is_kept_with_the_machine_and_shown(
    backend: str, virtual: bool | None, tmp_path: Path
) -> None:
    file = tmp_path / "paravirtual.py"
    file.write_text(_WORKLOAD.replace("BACKEND", backend))
    plan = Plan(
        workload=load(file),
        recorder="host",
        time_limit=20.0,
        warmup=2,
        repeats=3,
        output=tmp_path / "run",
    )
    recording, result = pipeline.capture(plan)
    assert recording.provenance().machine.get("virtual") is virtual
    has_warning = any("a virtual machine" in text for text in result.provenance.warnings)
    assert has_warning is bool(virtual)
    page = recording.report_file.read_text()
    assert ("This Mac is a virtual machine: figures" in page) is has_warning


def test_a_virtual_machine_is_not_tuned() -> None:
    virtual = Machine("Darwin", answer=lambda *_: b"Apple M1 (Virtual)")
    with pytest.raises(ToolError, match="A sweep of launches needs the GPU of a chip"):
        tune(Shape(), Effort(1, 6, 1000), machine=virtual)


def test_an_imported_trace_of_a_virtual_mac_says_so(
    toc_xml: Callable[..., str],
    intervals_xml: Callable[..., str],
    tracekit: Any,
    tmp_path: Path,
) -> None:
    for model, virtual in (("VirtualMac2,1", True), ("MacBook Air", None)):
        folder = tmp_path / model
        folder.mkdir()
        (folder / "toc.xml").write_text(toc_xml().replace("MacBook Air", model))
        (folder / "intervals.xml").write_text(intervals_xml([(0, 10, 4711, "python3")]))
        run = tmp_path / f"{model}-run"
        assert tracekit("import", folder, "--output", run).code == 0, model
        machine = pipeline.Recording(run).provenance().machine
        assert machine.get("virtual") is virtual, model


def test_a_virtual_machine_voids_a_comparison_with_another() -> None:
    machines: tuple[dict[str, Any], ...] = ({"virtual": True}, {"virtual": False}, {})
    virtual, real, unknown = (sample_of([1000] * 40, machine=machine) for machine in machines)
    compared = compare([virtual], [real])
    assert [difference.what for difference in compared.void] == ["virtual machine"]
    assert compare([virtual], [virtual]).void == compare([virtual], [unknown]).void == ()
