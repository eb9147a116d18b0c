"""A thousand recordings on two worker processes of a real cluster, of which one is killed."""

import os
import signal
from collections import Counter
from pathlib import Path

import pytest
from distributed import LocalCluster

from many_recordings import many
from tracekit.fleet.batch.batch import BatchPlan, run_batch
from tracekit.fleet.batch.results import Results

pytestmark = pytest.mark.campaign

NUMBER = 1_000


def test_a_thousand_recordings_are_there_once_though_a_worker_is_killed(tmp_path: Path) -> None:
    made = many(tmp_path / "recordings", NUMBER)
    killed: list[int] = []
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        local_directory=str(tmp_path / "scratch"),
    ) as cluster:

        def kill_midway(text: str) -> None:
            if text.startswith("400 of") and not killed:
                killed.append(cluster.workers[0].pid)
                os.kill(killed[0], signal.SIGKILL)

        words = (str(tmp_path / "recordings"),)
        plan = BatchPlan(words, tmp_path / "out", scheduler=cluster.scheduler_address)
        tally, _ = run_batch(plan, kill_midway)
        assert killed
        assert cluster.workers[0].pid not in killed  # another took its place

    assert (tally.done, tally.failed) == (NUMBER, 0)
    rows = Results(tmp_path / "out" / "results").rows("metrics")
    assert Counter(row.recording for row in rows) == Counter(map(str, made))
    assert {row.state for row in rows} == {"ok"}
    busy = [row.metrics["gpu_busy"] for row in rows if "gpu_busy" in row.metrics]
    assert len(busy) == NUMBER / 20
    assert len(set(busy)) > NUMBER / 40
