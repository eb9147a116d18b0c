from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit.workload.journal import WorkloadReport, fold
from tracekit.workload.worker.spec import Spec
from worker_naps import naps_that


@pytest.fixture
def report(tmp_path: Path) -> Callable[[], WorkloadReport]:
    return lambda: fold(tmp_path / "workload.jsonl")


@pytest.fixture
def make_spec(tmp_path: Path) -> Callable[..., Spec]:
    def make(text: str = "", **values: Any) -> Spec:
        file = tmp_path / "naps.py"
        file.write_text(text or naps_that())
        files = {"journal": tmp_path / "workload.jsonl", "report": tmp_path / "workload.json"}
        spec = Spec(file=file, name="naps", **files, **{"warmup": 2, "repeats": 5, **values})
        spec.save(tmp_path / "worker.json")
        return spec

    return make
