import gc
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tracekit.workload.journal import WorkloadReport, fold
from tracekit.workload.worker.phases import run
from tracekit.workload.worker.spec import Account, Spec, command
from tracekit.workload.worker.stopping import Stop
from worker_naps import naps_that

MakeSpec = Callable[..., Spec]


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    made = Account(tmp_path / "workload.jsonl", tmp_path / "workload.json")
    yield made
    made.end("done")


@pytest.fixture
def report(tmp_path: Path) -> Callable[[], WorkloadReport]:
    return lambda: fold(tmp_path / "workload.jsonl")


@pytest.fixture
def make_spec(tmp_path: Path) -> MakeSpec:
    """Make a spec for a workload's text in a fresh folder."""

    def make(text: str = "", **values: Any) -> Spec:
        file = tmp_path / "naps.py"
        file.write_text(text or naps_that())
        files = {"journal": tmp_path / "workload.jsonl", "report": tmp_path / "workload.json"}
        spec = Spec(file=file, name="naps", **files, **{"warmup": 2, "repeats": 5, **values})
        spec.save(tmp_path / "worker.json")
        return spec

    return make


@pytest.fixture
def lived(
    make_spec: MakeSpec, account: Account, report: Callable[[], WorkloadReport]
) -> Iterator[Callable[..., WorkloadReport]]:
    """Live a worker's life in this process; return its report."""

    def live(text: str = "", **values: Any) -> WorkloadReport:
        run(make_spec(text, **values), account, Stop())
        return report()

    yield live
    gc.unfreeze()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the worker of the spec that was made; none outlives the test."""
    started: list[subprocess.Popen[str]] = []

    def begin(**options: Any) -> subprocess.Popen[str]:
        argv = command(tmp_path / "worker.json")
        started.append(subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, **options))
        return started[-1]

    yield begin
    for process in started:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)


@pytest.fixture
def finish(start: Callable[[], subprocess.Popen[str]]) -> Callable[[], tuple[int, str]]:
    """Run the worker to its end; return its exit code and what it wrote to stderr."""

    def run_to_end() -> tuple[int, str]:
        process = start()
        _, complaint = process.communicate(timeout=60)
        return process.returncode, complaint

    return run_to_end


@pytest.fixture
def when(report: Callable[[], WorkloadReport]) -> Callable[..., WorkloadReport]:
    """Wait until the journal says something."""

    def until(said: Callable[[WorkloadReport], bool]) -> WorkloadReport:
        for _ in range(3000):
            if said(report()):
                return report()
            time.sleep(0.01)
        pytest.fail(f"the journal never said so: {report()}")

    return until
