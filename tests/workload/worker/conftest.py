import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tracekit.workload.journal import WorkloadReport, fold
from tracekit.workload.worker.spec import Spec, command

NAPS = '''
import time

from tracekit.workload import Step, workload


@workload
def naps(seconds: float = 0.002) -> Step:
    """Sleep a little in each step."""
    return Step(
        submit=lambda: None,
        wait=lambda _: time.sleep(seconds),
        backend="cpu",
        tokens=3,
        flops=7,
        results={"depth": 0.25},
    )
'''

MakeSpec = Callable[..., Spec]


@pytest.fixture
def make_spec(tmp_path: Path) -> MakeSpec:
    """Make a spec for a workload's text in a fresh folder."""

    def make(text: str = NAPS, **values: Any) -> Spec:
        file = tmp_path / "naps.py"
        file.write_text(text)
        defaults: dict[str, Any] = {"warmup": 2, "repeats": 5}
        spec = Spec(
            file=file,
            name="naps",
            journal=tmp_path / "workload.jsonl",
            report=tmp_path / "workload.json",
            **{**defaults, **values},
        )
        spec.save(tmp_path / "worker.json")
        return spec

    return make


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Start the worker of the spec that was made; none outlives the test."""
    started: list[subprocess.Popen[str]] = []

    def begin() -> subprocess.Popen[str]:
        argv = command(tmp_path / "worker.json")
        started.append(subprocess.Popen(argv, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield begin
    for process in started:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)


@pytest.fixture
def finish(start: Callable[[], subprocess.Popen[str]]) -> Callable[[], tuple[int, str]]:
    """Run the worker to its end; return its exit code and what it wrote to stderr."""

    def run() -> tuple[int, str]:
        process = start()
        _, complaint = process.communicate(timeout=60)
        return process.returncode, complaint

    return run


@pytest.fixture
def when(tmp_path: Path) -> Callable[[Callable[[WorkloadReport], bool]], WorkloadReport]:
    """Wait until the journal says something."""

    def until(said: Callable[[WorkloadReport], bool]) -> WorkloadReport:
        for _ in range(3000):
            report = fold(tmp_path / "workload.jsonl")
            if said(report):
                return report
            time.sleep(0.01)
        pytest.fail(f"the journal never said so: {fold(tmp_path / 'workload.jsonl')}")

    return until
