"""The workers of a batch, in this process where that will do."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from many_recordings import GPU, exports, run, workers
from tracekit.base.errors import ToolError, UsageError
from tracekit.fleet.batch.batch import BatchPlan, run_batch
from tracekit.fleet.batch.sources import sources_of
from tracekit.fleet.batch.tasks import Choices, Task
from tracekit.fleet.batch.workers import Analyst, find_memory, workers_of


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Any]:
    with workers(1, tmp_path / "scratch", processes=False) as local_cluster:
        yield local_cluster


def task_of(folder: Path) -> Task:
    [source] = sources_of([str(folder)])
    return Task(source, folder.name, "stamp", Choices())


def test_the_memory_is_that_of_the_machine_or_of_its_container(tmp_path: Path) -> None:
    machine_memory = psutil.virtual_memory().total
    assert find_memory(tmp_path) == machine_memory
    (tmp_path / "memory.max").write_text("max\n")
    assert find_memory(tmp_path) == machine_memory
    (tmp_path / "memory.high").write_text("4096\n")
    assert find_memory(tmp_path) == 4096
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("2048\n")
    assert find_memory(tmp_path) == 2048


@pytest.mark.processes
def test_one_that_takes_too_much_memory_is_ended_and_started_again(tmp_path: Path) -> None:
    task = task_of(exports(tmp_path, 1, {GPU}))
    small = Analyst(str(tmp_path), memory=1.0)
    [row] = small.analyse(task, 60.0)
    assert row.state == "failed"
    assert row.error.endswith(" of memory; its share is 1 B.")
    assert "--workers 1 --retry-failed" in row.hint
    small._memory = 1e12
    [row] = small.analyse(task, 60.0)
    assert (row.state, row.form) == ("ok", "exports")
    small.close()
    [row] = small.analyse(task, 60.0)  # for good
    assert "died" in row.error
    assert [path.name for path in tmp_path.iterdir()] == ["exports"]


def test_workers_of_another_version_are_refused(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracekit.fleet.batch.workers.own_version", lambda: "9.9")
    unlike = pytest.raises(ToolError, match=r"has tracekit .*; this machine has 9\.9")
    with unlike as raised, workers_of(cluster.scheduler_address, 1.0, None):
        pass
    assert raised.value.hint == "Install tracekit 9.9 where workers run."


def test_workers_that_cannot_keep_tables_are_refused(cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "seen").touch()
    with workers_of(cluster.scheduler_address, 1.0, tmp_path / "seen"):
        pass
    unseen = workers_of(cluster.scheduler_address, 1.0, tmp_path / "elsewhere" / "unseen")
    with pytest.raises(UsageError, match="cannot keep tables"), unseen:
        pass


@pytest.mark.processes
def test_a_cluster_analyses_files_that_its_workers_see(cluster: Any, tmp_path: Path) -> None:
    for seed in range(3):
        run(tmp_path / "traces" / f"{seed}", seed, {GPU})
    words, output = (str(tmp_path / "traces"),), tmp_path / "out"
    plan = BatchPlan(words, output, scheduler=cluster.scheduler_address)
    tally, _ = run_batch(replace(plan, choices=Choices(tables=("gpu_intervals",))))
    assert (tally.done, tally.failed) == (3, 0)
    assert len(list((output / "tables" / "gpu_intervals").iterdir())) == 3


@pytest.mark.processes
def test_a_lost_scheduler_ends_the_batch_in_words(cluster: Any, tmp_path: Path) -> None:
    for seed in range(4):
        run(tmp_path / "traces" / f"{seed}", seed, {GPU})

    def leave(text: str) -> None:
        if text.startswith("1 of"):
            cluster.close()

    words, address = (str(tmp_path / "traces"),), cluster.scheduler_address
    plan = BatchPlan(words, tmp_path / "out", scheduler=address)
    with pytest.raises(ToolError, match="The scheduler is gone") as raised:
        run_batch(plan, leave)
    assert "the same command goes on from there" in raised.value.hint
    assert len(list((tmp_path / "out" / "results").iterdir())) == 1
