"""The workers of a batch, in this process where that will do."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import LocalCluster

from many_recordings import GPU, run
from tracekit.base.errors import ToolError, UsageError
from tracekit.fleet.batch import workers as workers_module
from tracekit.fleet.batch.analysing import Choices
from tracekit.fleet.batch.batch import BatchPlan, run_batch
from tracekit.fleet.batch.workers import fitting, local_workers, workers_of


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    """A cluster with one worker, a thread of this process."""
    with LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        local_directory=str(tmp_path / "scratch"),
    ) as made:
        yield made


def test_as_many_processes_start_as_there_is_work_and_room_for() -> None:
    assert fitting(1) == 1
    assert 1 <= fitting(10_000) <= workers_module.CPU_COUNT


@pytest.mark.processes
def test_a_worker_that_nobody_starts_again_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers_module, "_LOST", 0.1)
    with local_workers(1, tmp_path) as workers:
        client = workers.client
        before = set(client.nthreads())
        deadline = time.monotonic() + 60
        while not client.cluster.workers and time.monotonic() < deadline:
            time.sleep(0.05)  # with so short a time a worker can count as lost while it starts
        (nanny,) = client.cluster.workers.values()
        client.sync(nanny.close)
        while not set(client.nthreads()) - before and time.monotonic() < deadline:
            workers.refill()
            time.sleep(0.05)
        assert client.submit(len, "done").result(timeout=60) == 4


def test_a_cluster_is_asked_what_it_has_and_sees(cluster: LocalCluster, tmp_path: Path) -> None:
    with workers_of(cluster.scheduler_address) as workers:
        assert ([*workers.addresses.values()], workers.processes) == ([1], None)
        assert workers.see([tmp_path])
        assert not workers.see([tmp_path, tmp_path / "nothing"])


def test_workers_with_another_version_are_refused(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers_module, "version", lambda _: "9.9")
    with (
        pytest.raises(
            ToolError, match=r"1 of 1 workers, such as .*; this machine has 9\.9"
        ) as raised,
        workers_of(cluster.scheduler_address),
    ):
        pass
    assert raised.value.hint == "Install tracekit 9.9 where they run."


def test_a_cluster_without_workers_is_refused(cluster: LocalCluster) -> None:
    cluster.scale(0)
    deadline = time.monotonic() + 20
    while cluster.scheduler.workers and time.monotonic() < deadline:
        time.sleep(0.01)
    with (
        pytest.raises(ToolError, match="has no worker") as raised,
        workers_of(cluster.scheduler_address),
    ):
        pass
    assert raised.value.hint.startswith("Start some: dask worker tcp://")


def test_a_scheduler_that_goes_away_ends_the_batch_in_words(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    for seed in range(4):
        run(tmp_path / "traces" / f"{seed}", seed, {GPU})

    def leave(text: str) -> None:
        if text.startswith("1 of"):
            cluster.close()

    plan = BatchPlan(
        (str(tmp_path / "traces"),), tmp_path / "out", scheduler=cluster.scheduler_address
    )
    with pytest.raises(ToolError, match="The scheduler is gone") as raised:
        run_batch(plan, leave)
    assert "the same command goes on from there" in raised.value.hint
    assert len(list((tmp_path / "out" / "results").iterdir())) == 1


def test_what_workers_elsewhere_do_not_see_is_said(
    cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path / "run", 1, {GPU})
    monkeypatch.setattr(workers_module.Workers, "see", lambda *_: False)
    words, address = (str(tmp_path / "run"),), cluster.scheduler_address
    outcome = run_batch(BatchPlan(words, tmp_path / "out", scheduler=address))
    assert "Not all workers of" in outcome.warnings[0]
    kept = Choices(tables=("all",))
    with pytest.raises(UsageError, match="they cannot keep tables"):
        run_batch(BatchPlan(words, tmp_path / "other", scheduler=address, choices=kept))
