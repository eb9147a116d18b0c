"""Reference work between steps: when it is done, how it is told, and when it is left out."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tracekit.workload.journal import WorkloadReport, fold
from tracekit.workload.worker.loop import Loop, Reference, Stop, reference
from tracekit.workload.worker.spec import Account, Spec
from tracekit.workload.workload import REFERENCE, Gauge, Step, StepReport

NEVER = 2**63 - 1
MS = 1_000_000
PACED = '''
import time
from tracekit.workload import Gauge, StepReport
from tracekit.workload import Step, workload

def tell():
    return StepReport(gauges=(Gauge("reference", 5.0, time.monotonic_ns(), "ns"),))

@workload
def naps() -> Step:
    """Sleep a little in each step."""
    return Step(
        submit=lambda: None,
        wait=lambda _: time.sleep(0.002),
        backend="{backend}",
        tell={tell},
    )
'''


@pytest.fixture
def report(tmp_path: Path) -> Callable[[], WorkloadReport]:
    return lambda: fold(tmp_path / "workload.jsonl")


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Loop]:
    account = Account(tmp_path / "workload.jsonl", tmp_path / "workload.json")
    yield Loop(Step(lambda: None, lambda _: None, "cpu"), account, Stop())
    account.end("done")


def test_it_is_told_as_a_gauge_and_a_span_of_the_same_time(
    loop: Loop, report: Callable[[], WorkloadReport]
) -> None:
    done: list[int] = []
    Reference(lambda: done.append(1), "MLX").take(loop)
    [gauge], [span] = report().gauges, report().spans
    assert done == [1]
    assert (gauge.name, gauge.unit, gauge.source) == (REFERENCE, "ns", "tracekit (MLX)")
    assert (span.name, span.start) == (REFERENCE, gauge.at)
    assert span.end - span.start == gauge.value


def test_it_rests_far_longer_than_it_took(loop: Loop) -> None:
    done: list[int] = []
    one = Reference(lambda: done.append(1), "Python")
    for _ in range(3):
        one.take(loop)
    assert len(done) == 1
    before = one.due
    one.due = 0
    one.take(loop)
    assert len(done) == 2
    assert one.due >= before


def test_the_workloads_own_reference_goes_first(
    loop: Loop, report: Callable[[], WorkloadReport]
) -> None:
    loop.mark_report(StepReport(gauges=(Gauge("used", 1.0, 5),)))
    assert not loop.referenced
    loop.mark_report(StepReport(gauges=(Gauge(REFERENCE, 7.0, 5, "ns"),)))
    Reference(lambda: None, "Python").take(loop)
    assert [one.source for one in report().gauges] == ["workload", "workload"]


def test_it_lies_before_a_step_and_not_in_it(
    loop: Loop, report: Callable[[], WorkloadReport]
) -> None:
    one = reference()
    loop.between = one.take
    loop.run("steady", 1, NEVER)
    [span], [step] = report().spans, report().steps
    assert span.start < span.end <= step.start


@pytest.mark.processes
def test_work_of_python_serves_where_mlx_is_not_loaded() -> None:
    program = (
        "import sys; from tracekit.workload.worker.loop import reference; "
        "print(reference().tool, 'mlx.core' in sys.modules)"
    )
    argv = [sys.executable, "-c", program]
    assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout == (
        "Python False\n"
    )


@pytest.mark.processes
@pytest.mark.parametrize(
    ("case", "sources"),
    [
        ((True, "cpu", "None"), {"tracekit (Python)"}),
        ((True, "cpu", "tell"), {"workload"}),
        ((True, "metal", "None"), set[str]()),
        ((False, "cpu", "None"), set[str]()),
    ],
    ids=["on a CPU", "told by the workload", "on a GPU", "not wanted"],
)
def test_a_worker_does_it_in_steady_steps_only(
    make_spec: Callable[..., Spec],
    finish: Callable[[], tuple[int, str]],
    case: tuple[bool, str, str],
    sources: set[str],
) -> None:
    wanted, backend, tell = case
    spec = make_spec(PACED.format(backend=backend, tell=tell), reference=wanted, repeats=8)
    assert finish() == (0, "")
    told = fold(spec.journal)
    readings = [one for one in told.gauges if one.name == REFERENCE]
    assert {one.source for one in readings} == sources
    steady = next(one for one in told.phases if one.name == "steady")
    own = [one for one in told.spans if one.name == REFERENCE]
    assert bool(own) == (sources == {"tracekit (Python)"})
    assert all(steady.start <= one.start < one.end for one in own)
    assert not any(
        step.start < one.end and one.start < step.completed for one in own for step in told.steps
    )
