"""`shared-queue`: who waits behind whom in one process, by a small machine of queues and threads.

Each thread of the machine commits bursts of command buffers, waits for their report, and rests.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysed import given, judge_tables, make_named_table
from tracekit.analysis.queueing import thread_names
from tracekit.analysis.rule import Finding
from tracekit.analysis.wording import sentence_of

US = 1_000
MS = 1_000_000
START = 20 * US


@dataclass(frozen=True)
class Worker:
    """A thread that hands over bursts of `parts` buffers, `length` ns in all, then rests."""

    length: int
    parts: int = 1
    pause: int = 50 * US
    period: int = 0
    queue: str = ""
    in_flight: int = 1
    """How many bursts it keeps in flight; 1: it waits for each."""


def play(workers: Sequence[Worker], until: int, seed: int = 1) -> dict[str, Any]:
    """Run the threads, and return the tables that a trace of them has."""
    random = np.random.default_rng(seed)
    free_times: dict[str, int] = {}
    rows: list[tuple[int, int, int, int, int, int]] = []
    reports: list[list[int]] = [[] for _ in workers]
    waiting = [((place + 1) * MS, place) for place in range(len(workers))]
    heapq.heapify(waiting)
    while waiting and waiting[0][0] < until:
        time, place = heapq.heappop(waiting)
        worker = workers[place]
        done = time
        for part in range(worker.parts):
            commit = time + part * 90 * US
            start = max(commit + START, free_times.get(worker.queue, 0))
            end = start + round(worker.length / worker.parts * random.uniform(0.9, 1.1))
            free_times[worker.queue] = end
            done = end + 30 * US
            rows.append((place, commit, start, end, done, len(rows)))
        reports[place].append(done)
        awaited = (
            reports[place][-worker.in_flight :][0]
            if len(reports[place]) >= worker.in_flight
            else time
        )
        again = max(time + worker.parts * 90 * US, awaited) + worker.pause
        if worker.period:
            again = max(again, time + round(worker.period * random.uniform(0.9, 1.1)))
        heapq.heappush(waiting, (again, place))
    return tables(rows)


def tables(rows: list[tuple[int, int, int, int, int, int]]) -> dict[str, Any]:
    thread, commit, start, end, done, number = (
        np.array(column, np.int64) for column in zip(*rows, strict=True)
    )
    ids = pd.array(number + 100, dtype="UInt64")
    buffer_cells = {"target": True, "command_buffer": ids, "clock": "gpu", "tid": thread + 1}
    intervals = pd.DataFrame({"start": start, **buffer_cells, "channel": "Compute", "label": ""})
    intervals["duration"] = pd.array(end - start, dtype="Int64")
    intervals["start_latency"] = pd.array(start - commit, dtype="Int64")
    submissions = pd.DataFrame({"start": commit - 10 * US, "event": "", **buffer_cells})
    submissions["duration"] = pd.array([10 * US] * len(rows), dtype="Int64")
    completions = pd.DataFrame({"time": done, "command_buffer": ids, "clock": "gpu"})
    return {"gpu_intervals": intervals, "submissions": submissions, "completions": completions}


def judge_queue(
    workers: Sequence[Worker], until: int = 12_000 * MS, seed: int = 1
) -> list[Finding]:
    return judge_tables("shared-queue", **play(workers, until, seed))


DECODE = Worker(50 * MS, parts=10)
SPEECH = Worker(350 * MS, parts=3, period=700 * MS)


def test_steps_that_wait_behind_another_threads_work_are_found_with_both_threads() -> None:
    [finding] = judge_queue([DECODE, SPEECH])
    assert (finding.fact("thread"), finding.fact("blocker")) == ("0x1", "0x2")
    assert finding.fact("wait") == pytest.approx(350 * MS, rel=0.1)
    assert finding.fact("length") == pytest.approx(50 * MS, rel=0.1)
    assert finding.fact("usual") == pytest.approx(START, abs=5 * US)
    assert finding.saving is not None


@pytest.mark.parametrize("seed", range(6))
def test_waiting_work_equals_the_simulated_count(seed: int) -> None:
    """Invented mixes: short work of 4 to 30 ms behind long work of 100 to 900 ms."""
    random = np.random.default_rng([seed, 5])
    short = Worker(int(random.integers(4, 30)) * MS, parts=int(random.integers(2, 9)))
    long = int(random.integers(100, 900)) * MS
    late = Worker(long, parts=int(random.integers(1, 6)), period=3 * long)
    end = 20 * long + 5_000 * MS
    played_tables = play([short, late], end, seed)
    [finding] = judge_tables(
        "shared-queue",
        phases=make_named_table(("steady", 0, end + 3 * long), unit=1),
        **played_tables,
    )
    work = played_tables["gpu_intervals"]
    short_work = work[work["tid"] == 1].sort_values("command_buffer")
    burst = np.arange(len(short_work)) // short.parts
    commits = (short_work["start"] - short_work["start_latency"]).groupby(burst).min()
    lasted = (short_work["start"] + short_work["duration"]).groupby(burst).max() - commits
    waited = int((lasted > 2 * short.length).sum())
    assert finding.fact("waiting") == pytest.approx(waited, abs=1)
    assert finding.fact("one_in") == round(
        int(str(finding.fact("bursts"))) / int(str(finding.fact("waiting")))
    )


def test_need_of_an_awaited_result_is_unknown() -> None:
    saturated = judge_queue([DECODE, Worker(350 * MS, parts=3)])
    assert [(finding.fact("sure"), finding.severity.value) for finding in saturated] == [
        (False, "note")
    ]
    assert "is not known" in sentence_of(saturated[0])
    [finding] = judge_queue([DECODE, SPEECH])
    assert (finding.fact("sure"), finding.severity.value) == (True, "warning")


@pytest.mark.parametrize("seed", range(4))
def test_each_short_thread_behind_a_long_one_is_found_however_many_there_are(seed: int) -> None:
    random = np.random.default_rng([seed, 9])
    short = [
        Worker(int(random.integers(5, 25)) * MS, parts=int(random.integers(1, 6)), pause=40 * MS)
        for _ in range(int(random.integers(1, 4)))
    ]
    long = Worker(int(random.integers(400, 800)) * MS, parts=4, period=2_000 * MS)
    findings = judge_queue([*short, long], 30_000 * MS, seed)
    behind = {(finding.fact("thread"), finding.fact("blocker")) for finding in findings}
    last_thread = f"{len(short) + 1:#x}"
    assert behind == {(f"{place + 1:#x}", last_thread) for place in range(len(short))}


@pytest.mark.parametrize(
    "workers",
    [
        pytest.param([DECODE], id="one thread"),
        pytest.param([DECODE, Worker(350 * MS, 3, period=700 * MS, queue="b")], id="two queues"),
        pytest.param([DECODE, Worker(60 * MS, 10)], id="two that take as long"),
        pytest.param([DECODE, Worker(350 * MS, 3, period=30_000 * MS)], id="once in a while"),
        pytest.param([Worker(5 * MS, in_flight=3), Worker(6 * MS, in_flight=3)], id="short bursts"),
    ],
)
def test_others_do_not_wait_for_long(workers: list[Worker]) -> None:
    assert not judge_queue(workers)


@pytest.mark.parametrize("short_first", [True, False])
@pytest.mark.parametrize("pool", [1, 2, 5])
def test_threads_that_encode_parts_of_one_graph_share_no_queue(
    pool: int, short_first: bool
) -> None:
    """Each graph has a short part of the main thread and a long one of a pool; two in flight."""
    random = np.random.default_rng(pool)
    rows: list[tuple[int, int, int, int, int, int]] = []
    time, free_time = MS, 0
    ends = [0, 0]
    for _ in range(300):
        parts = [(0, 2 * MS), (1 + int(random.integers(pool)), 20 * MS)]
        for place, (thread, length) in enumerate(parts if short_first else parts[::-1]):
            commit = time + place * 400 * US
            start = max(commit + START, free_time)
            free_time = start + round(length * random.uniform(0.9, 1.1))
            rows.append((thread, commit, start, free_time, free_time + 30 * US, len(rows)))
        ends.append(free_time)
        time = max(time + 700 * US, ends[-2] + 60 * US)
    assert not judge_tables("shared-queue", **tables(rows))


def test_workers_of_a_pool_that_take_turns_in_committing_share_no_queue() -> None:
    random = np.random.default_rng(3)
    rows: list[tuple[int, int, int, int, int, int]] = []
    time, free_time = MS, 0
    ends = [0, 0, 0]
    for _ in range(400):
        start = max(time + START, free_time)
        free_time = start + (20 * MS if random.random() < 0.15 else 2 * MS)
        rows.append(
            (int(random.integers(3)), time, start, free_time, free_time + 30 * US, len(rows))
        )
        ends.append(free_time)
        time = max(time + 300 * US, ends[-3] + 30 * US)
    assert not judge_tables("shared-queue", **tables(rows))


def test_threads_are_called_by_their_names() -> None:
    threads = pd.DataFrame({"tid": [1], "name": ["decode"], "target": [True]})
    cells = [None, "com.speech 0x2 (omni, pid: 77)", "Main Thread 0x3 (a (b), pid: 7)", None]
    submissions = pd.DataFrame({"tid": [2, 2, 3, 4], "thread": cells, "target": True})
    names = thread_names(threads, submissions, None)
    assert names == {1: "“decode” (0x1)", 2: "“com.speech” (0x2)", 3: "“Main Thread” (0x3)"}


def test_bursts_begin_when_all_before_them_is_reported() -> None:
    bursts = given(**play([Worker(50 * MS, parts=10)], 1_000 * MS))["bursts"]
    assert set(bursts["buffers"]) == {10}
    assert bursts["committed"].is_monotonic_increasing
