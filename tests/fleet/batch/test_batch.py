"""`tracekit batch`: from the command line to the data set and the page; how far it is."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import fsspec
import psutil
import pytest

from command_line import assert_error, join_stderr
from many_recordings import GPU, exports, many, run, workers
from odd_filesystems import DeadlyFileSystem, EndlessFileSystem
from tracekit.base.errors import RecordingError, ToolError, UsageError
from tracekit.base.files import legible
from tracekit.base.locks import open_lock_file, take_lock
from tracekit.base.processes import kill_group
from tracekit.fleet.batch import parts
from tracekit.fleet.batch.batch import BatchPlan, Tally, run_batch
from tracekit.fleet.batch.results import BatchRow, Results

# As Python calls a file whose name is not UTF-8; a Mac has none.
NO_TEXT = "bad\udcff" if sys.platform != "darwin" else "bad"


def rows_of(output: Path, column: str = "state") -> dict[str, str]:
    rows = Results(output / "results").rows(column)
    return {Path(row.recording).name: getattr(row, column) for row in rows}


@pytest.mark.processes
def test_a_batch_continues_after_its_end(tracekit: Any, tmp_path: Path) -> None:
    """One start of workers after the other takes seconds, so this is one long story."""
    folder, output = tmp_path / "traces", tmp_path / "out"
    for seed in (1, 2):
        run(folder / f"r{seed}", seed, {GPU})
    (folder / NO_TEXT).mkdir()
    (folder / NO_TEXT / "recording.json").write_text("{")
    words = ("batch", folder, "--output", output, "--workers", "2")

    outcome = tracekit(*words, "--tables", "gpu_intervals")
    assert outcome.code == 3
    assert outcome.out.splitlines() == [str(output / "index.html")]
    assert "3 sources: 2 analysed, 1 failed." in outcome.err
    assert "recording.json cannot be read" in outcome.err
    assert "1 of 3 sources could not be analysed." in outcome.err
    assert rows_of(output) == {"r1": "ok", "r2": "ok", legible(NO_TEXT): "failed"}
    assert len(list((output / "tables" / "gpu_intervals").iterdir())) == 2
    assert {path.name for path in output.iterdir()} == {".lock", "index.html", "results", "tables"}
    first_times = rows_of(output, "finished")

    again = tracekit(*words, "--tables", "gpu_intervals")
    assert_error(again, 3, "3 sources: 0 analysed, 2 done before, 1 failed before.")
    assert rows_of(output, "finished") == first_times

    (folder / "r1" / "exports" / "more.xml").write_text("<trace-toc/>")
    export = folder / "r2" / "exports" / "metal-gpu-intervals.xml"
    export.write_bytes(export.read_bytes()[:300])
    changed = tracekit(*words, "--tables", "gpu_intervals", "--retry-failed")
    assert "3 sources: " in changed.err
    assert " before" not in changed.err.splitlines()[0]
    assert all(
        finish_time != first_times[name]
        for name, finish_time in rows_of(output, "finished").items()
    )
    assert len(list((output / "tables" / "gpu_intervals").iterdir())) < 2


@pytest.mark.processes
def test_small_files_are_joined_and_a_changed_recording_is_there_once(
    tracekit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "_FEWEST", 2)
    folder, output = tmp_path / "traces", tmp_path / "out"
    for seed in (1, 2, 3):
        run(folder / f"r{seed}", seed, {GPU})
    words = ("batch", folder, "--output", output, "--workers", "1", "--tables", "gpu_intervals")
    assert tracekit(*words).code == 0
    rows = "select parse_filename(run) as run, count(*) as rows from gpu_intervals group by all"
    question = ("query", f"from ({rows}) order by run", output, "--json")
    for data_set in (output / "results", output / "tables" / "gpu_intervals"):
        [part] = data_set.iterdir()
        assert len(parts.names_in(part)) == 3, data_set
    first_answer = tracekit(*question)
    assert [row["run"] for row in json.loads(first_answer.out)["rows"]] == ["r1", "r2", "r3"]
    first_times = rows_of(output, "finished")

    shutil.rmtree(folder / "r2")
    run(folder / "r2", 20, {GPU})
    assert tracekit(*words).code == 0
    second_times = rows_of(output, "finished")
    changed_names = {name for name in first_times if first_times[name] != second_times[name]}
    assert changed_names == {"r2"}
    (output / "results").rename(output / ".results.old")  # as a killed batch may leave it
    second_answer = tracekit(*question)
    rows_before = json.loads(first_answer.out)["rows"]
    rows_after = json.loads(second_answer.out)["rows"]
    assert [row["run"] for row in rows_after] == ["r1", "r2", "r3"]
    assert rows_after[0] == rows_before[0]
    assert tracekit(*words).code == 0
    assert rows_of(output, "finished") == second_times
    assert not (output / ".results.old").exists()

    [part] = (output / "results").iterdir()
    part.write_bytes(part.read_bytes()[:-1])
    damaged = tracekit(*question)
    assert damaged.code == 3
    assert f"{part.name} is damaged, so its rows are left out" in join_stderr(damaged)
    repeated = tracekit(*words)
    assert (repeated.code, "3 sources: 3 analysed" in repeated.err) == (0, True), repeated.err
    assert f"{part.name}.damaged is damaged; its recordings are analysed" in join_stderr(repeated)
    assert json.loads(tracekit(*question).out)["rows"] == rows_after


@pytest.mark.processes
def test_recordings_that_kill_workers_or_never_end_are_failed_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsspec.register_implementation("deadly", DeadlyFileSystem, clobber=True)
    fsspec.register_implementation("endless", EndlessFileSystem, clobber=True)
    marks = tmp_path / "marks"
    monkeypatch.setenv("DEADLY_MARKS", str(marks))
    good = exports(tmp_path / "good", 1, {GPU})
    deadly = exports(tmp_path / "evil", 4, {GPU})
    words = (f"deadly://{deadly}", str(good))
    tally, _ = run_batch(BatchPlan(words, tmp_path / "out", workers=1))
    assert (tally.done, tally.failed) == (1, 1)
    [(_, died, larger)] = tally.failures
    assert died == "The process that analysed it died: somebody killed it, or it crashed."
    assert "--workers 1 --retry-failed" in larger
    assert len(marks.read_text().split()) == 1
    words = (f"endless://{deadly}",)
    tally, _ = run_batch(BatchPlan(words, tmp_path / "out", workers=1, seconds=2.0))
    [(_, late, more)] = tally.failures
    assert late == "It took longer than 2 s."
    assert "--time-limit, and --retry-failed" in more
    assert not list((tmp_path / "out").glob(".work-*"))


INTERRUPTED = """
import os, signal, sys
from pathlib import Path
from tracekit.fleet.batch.batch import BatchPlan, run_batch
from tracekit.base.errors import InterruptedRunError

def progress(text):
    if text.startswith("5 of"):
        os.killpg(0, signal.SIGINT)  # as a terminal does: to all processes

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run_batch(BatchPlan((sys.argv[1],), Path(sys.argv[2]), workers=1), progress)
    except InterruptedRunError as stop:
        sys.exit(f"{stop.exit_code}: {stop.message} {stop.hint}")
"""


@pytest.mark.processes
def test_an_interrupt_keeps_finished_recordings(tmp_path: Path) -> None:
    for seed in range(8):
        run(tmp_path / "traces" / f"{seed}", seed, {GPU})
    (tmp_path / "program.py").write_text(INTERRUPTED)
    argv = [sys.executable, tmp_path / "program.py", tmp_path / "traces", tmp_path / "out"]
    run_options = {"capture_output": True, "text": True, "start_new_session": True}
    outcome = subprocess.run(argv, check=False, **run_options)
    assert outcome.stderr.startswith("130: Interrupted: 5 of 8")
    message = "index.html shows the results so far. The same command goes on from there."
    assert message in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert list(rows_of(tmp_path / "out").values()) == ["ok"] * 5
    assert (tmp_path / "out" / "index.html").exists()
    assert not list((tmp_path / "out").glob(".work-*"))


# A worker that never comes up, as far as a batch can wait for it: it tells its number, and sleeps.
SLOW_START = """
import os, sys, time
if any("import serve" in word for word in sys.orig_argv):
    with open(os.environ["STARTING"], "a") as file:
        file.write(f"{os.getpid()}\\n")
    time.sleep(600)
"""


@pytest.mark.processes
def test_a_batch_whose_workers_still_start_is_ended_at_once(tmp_path: Path) -> None:
    run(tmp_path / "traces" / "1", 1, {GPU})
    output, starting = tmp_path / "out", tmp_path / "starting"
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(SLOW_START)
    paths = (str(tmp_path / "site"), *filter(None, [os.environ.get("PYTHONPATH")]))
    slow = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "STARTING": str(starting)}
    argv = (sys.executable, "-m", "tracekit", "batch", str(tmp_path / "traces"), "--output")
    argv = (*argv, str(output), "--workers", "2")
    with subprocess.Popen(
        argv, env=slow, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as batch:
        try:
            while not starting.exists() or not starting.read_text().endswith("\n"):
                assert batch.poll() is None, batch.stderr
                time.sleep(0.02)
            batch.terminate()
            _, reported = batch.communicate(timeout=30)
        finally:
            kill_group(batch)
    assert batch.returncode == 130, reported
    assert reported.startswith("error: Interrupted: 0 of 1")
    assert "Traceback" not in reported
    assert not any(psutil.pid_exists(int(number)) for number in starting.read_text().split())
    assert sorted(path.name for path in output.iterdir()) == [".lock", "index.html"]
    again = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (again.returncode, rows_of(output)) == (0, {"1": "ok"}), again.stderr


def test_foreign_and_other_batches_places_are_left_alone(tmp_path: Path) -> None:
    run(tmp_path / "run", 1, {GPU})
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine").write_text("mine")
    for place in (tmp_path / "folder", tmp_path / "folder" / "mine"):
        with pytest.raises(UsageError, match="is not the folder of a batch"):
            run_batch(BatchPlan((str(tmp_path / "run"),), place))
    lock = tmp_path / "out" / ".lock"
    with open_lock_file(lock, "") as handle:
        take_lock(handle, lock)
        with pytest.raises(RecordingError, match="Another batch writes into"):
            run_batch(BatchPlan((str(tmp_path / "run"),), tmp_path / "out"))


def test_a_wrong_call_is_said(tracekit: Any, tmp_path: Path) -> None:
    scheduler_options = ("--scheduler", "tcp://127.0.0.1:1", "--workers", "2")
    outcome = tracekit("batch", tmp_path, "--output", tmp_path / "out", *scheduler_options)
    assert_error(outcome, 2, "Give one of them.")
    outcome = tracekit("batch", tmp_path / "gone", "--output", tmp_path / "out")
    assert_error(outcome, 2, "gone does not exist")
    outcome = tracekit("batch", tmp_path, "--output", tmp_path / "out")
    assert_error(outcome, 3, "There is no recording in")
    assert not (tmp_path / "out").exists()


def test_a_missing_scheduler_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path / "run", 1, {GPU})
    monkeypatch.setattr("tracekit.fleet.batch.workers._PATIENCE", 0.2)
    (tmp_path / "out" / ".work-of-a-killed-one" / "run").mkdir(parents=True)
    (tmp_path / "out" / ".lock").touch()
    plan = BatchPlan((str(tmp_path / "run"),), tmp_path / "out", scheduler="tcp://127.0.0.1:9")
    with pytest.raises(ToolError, match=r"No scheduler answers at tcp://127\.0\.0\.1:9"):
        run_batch(plan)
    with pytest.raises(UsageError, match="nonsense"):
        run_batch(replace(plan, scheduler="nonsense"))
    assert os.listdir(tmp_path / "out") == [".lock"]  # noqa: PTH208


NUMBER = 1_000


@pytest.mark.campaign
def test_a_thousand_recordings_are_there_once_though_a_worker_is_killed(tmp_path: Path) -> None:
    recording_paths = many(tmp_path / "recordings", NUMBER)
    killed: list[int] = []
    with workers(2, tmp_path / "scratch", processes=True) as cluster:

        def kill_midway(text: str) -> None:
            if text.startswith("400 of") and not killed:
                killed.append(cluster.workers[0].pid)
                os.kill(killed[0], signal.SIGKILL)

        words, address = (str(tmp_path / "recordings"),), cluster.scheduler_address
        tally, _ = run_batch(BatchPlan(words, tmp_path / "out", scheduler=address), kill_midway)
        assert killed
        assert cluster.workers[0].pid not in killed  # another took its place

    assert (tally.done, tally.failed) == (NUMBER, 0)
    rows = Results(tmp_path / "out" / "results").rows("metrics")
    assert Counter(row.recording for row in rows) == Counter(map(str, recording_paths))
    assert {row.state for row in rows} == {"ok"}
    busy = [row.metrics["gpu_busy"] for row in rows if "gpu_busy" in row.metrics]
    assert len(busy) == NUMBER / 20
    assert len(set(busy)) > NUMBER / 40


GOOD = BatchRow("a", "a", "a", "", "run", "ok")
BAD = BatchRow("b", "b", "b", "", "run", "failed", error="No.", hint="Do.")


def test_a_known_pace_says_how_long_it_will_take(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Tally(1_200, done_before=1_000, failed_before=1).words() == "1,001 of 1,200 · 1 failed"
    tally = Tally(15, done_before=2, failed_before=1, start_time=100.0)
    for rows in ((GOOD,), (GOOD, GOOD), (BAD,), (GOOD,)):
        tally.add(rows)
    monkeypatch.setattr(time, "monotonic", lambda: 101.0)
    assert tally.words() == "7 of 15 · 2 failed · 4 per s · 2 s left"
    monkeypatch.setattr(time, "monotonic", lambda: 180.0)
    assert tally.words() == "7 of 15 · 2 failed · 20 s each · 3 min left"


def test_only_the_first_failures_are_kept() -> None:
    tally = Tally(100)
    for number in range(50):
        tally.add((replace(BAD, recording=f"b{number}"),))
    assert tally.failures == [(f"b{number}", "No.", "Do.") for number in range(10)]
    assert (tally.failed, tally.all_failed, tally.done) == (50, 50, 0)
