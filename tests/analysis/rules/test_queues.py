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

from analysed import given, judged, named
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
    rest: int = 50 * US
    every: int = 0
    queue: str = ""
    ahead: int = 1
    """How many bursts it keeps in flight; 1: it waits for each."""


def play(workers: Sequence[Worker], until: int, seed: int = 1) -> dict[str, Any]:
    """Run the threads, and return the tables that a trace of them has."""
    random = np.random.default_rng(seed)
    free: dict[str, int] = {}
    rows: list[tuple[int, int, int, int, int, int]] = []
    reports: list[list[int]] = [[] for _ in workers]
    waiting = [((place + 1) * MS, place) for place in range(len(workers))]
    heapq.heapify(waiting)
    while waiting and waiting[0][0] < until:
        at, place = heapq.heappop(waiting)
        worker = workers[place]
        done = at
        for part in range(worker.parts):
            commit = at + part * 90 * US
            start = max(commit + START, free.get(worker.queue, 0))
            end = start + round(worker.length / worker.parts * random.uniform(0.9, 1.1))
            free[worker.queue] = end
            done = end + 30 * US
            rows.append((place, commit, start, end, done, len(rows)))
        reports[place].append(done)
        awaited = reports[place][-worker.ahead :][0] if len(reports[place]) >= worker.ahead else at
        again = max(at + worker.parts * 90 * US, awaited) + worker.rest
        if worker.every:
            again = max(again, at + round(worker.every * random.uniform(0.9, 1.1)))
        heapq.heappush(waiting, (again, place))
    return tables(rows)


def tables(rows: list[tuple[int, int, int, int, int, int]]) -> dict[str, Any]:
    thread, commit, start, end, done, number = (
        np.array(column, np.int64) for column in zip(*rows, strict=True)
    )
    ids = pd.array(number + 100, dtype="UInt64")
    own = {"target": True, "command_buffer": ids, "clock": "gpu", "tid": thread + 1}
    intervals = pd.DataFrame({"start": start, **own, "channel": "Compute", "label": ""})
    intervals["duration"] = pd.array(end - start, dtype="Int64")
    intervals["start_latency"] = pd.array(start - commit, dtype="Int64")
    submissions = pd.DataFrame({"start": commit - 10 * US, "event": "", **own})
    submissions["duration"] = pd.array([10 * US] * len(rows), dtype="Int64")
    completions = pd.DataFrame({"time": done, "command_buffer": ids, "clock": "gpu"})
    return {"gpu_intervals": intervals, "submissions": submissions, "completions": completions}


def found(workers: Sequence[Worker], until: int = 12_000 * MS, seed: int = 1) -> list[Finding]:
    return judged("shared-queue", **play(workers, until, seed))


DECODE = Worker(50 * MS, parts=10)
SPEECH = Worker(350 * MS, parts=3, every=700 * MS)


def test_steps_that_wait_behind_another_threads_work_are_found_with_both_threads() -> None:
    [one] = found([DECODE, SPEECH])
    assert (one.fact("thread"), one.fact("blocker")) == ("0x1", "0x2")
    assert one.fact("wait") == pytest.approx(350 * MS, rel=0.1)
    assert one.fact("length") == pytest.approx(50 * MS, rel=0.1)
    assert one.fact("usual") == pytest.approx(START, abs=5 * US)
    assert one.saving is not None


@pytest.mark.parametrize("seed", range(6))
def test_how_many_wait_is_what_the_machine_counts(seed: int) -> None:
    """Invented mixes: short work of 4 to 30 ms behind long work of 100 to 900 ms."""
    random = np.random.default_rng([seed, 5])
    short = Worker(int(random.integers(4, 30)) * MS, parts=int(random.integers(2, 9)))
    long = int(random.integers(100, 900)) * MS
    late = Worker(long, parts=int(random.integers(1, 6)), every=3 * long)
    end = 20 * long + 5_000 * MS
    made = play([short, late], end, seed)
    [one] = judged("shared-queue", phases=named(("steady", 0, end + 3 * long), unit=1), **made)
    work = made["gpu_intervals"]
    own = work[work["tid"] == 1].sort_values("command_buffer")
    burst = np.arange(len(own)) // short.parts
    commits = (own["start"] - own["start_latency"]).groupby(burst).min()
    lasted = (own["start"] + own["duration"]).groupby(burst).max() - commits
    waited = int((lasted > 2 * short.length).sum())
    assert one.fact("waiting") == pytest.approx(waited, abs=1)
    assert one.fact("one_in") == round(int(str(one.fact("bursts"))) / int(str(one.fact("waiting"))))


def test_whether_a_thread_needs_what_it_always_waits_for_is_not_known() -> None:
    saturated = found([DECODE, Worker(350 * MS, parts=3)])
    assert [(one.fact("sure"), one.severity.value) for one in saturated] == [(False, "note")]
    assert "is not known" in sentence_of(saturated[0])
    [one] = found([DECODE, SPEECH])
    assert (one.fact("sure"), one.severity.value) == (True, "warning")


@pytest.mark.parametrize("seed", range(4))
def test_each_short_thread_behind_a_long_one_is_found_however_many_there_are(seed: int) -> None:
    random = np.random.default_rng([seed, 9])
    short = [
        Worker(int(random.integers(5, 25)) * MS, parts=int(random.integers(1, 6)), rest=40 * MS)
        for _ in range(int(random.integers(1, 4)))
    ]
    long = Worker(int(random.integers(400, 800)) * MS, parts=4, every=2_000 * MS)
    findings = found([*short, long], 30_000 * MS, seed)
    behind = {(one.fact("thread"), one.fact("blocker")) for one in findings}
    last = f"{len(short) + 1:#x}"
    assert behind == {(f"{place + 1:#x}", last) for place in range(len(short))}


@pytest.mark.parametrize(
    "workers",
    [
        pytest.param([DECODE], id="one thread"),
        pytest.param([DECODE, Worker(350 * MS, 3, every=700 * MS, queue="b")], id="two queues"),
        pytest.param([DECODE, Worker(60 * MS, 10)], id="two that take as long"),
        pytest.param([DECODE, Worker(350 * MS, 3, every=30_000 * MS)], id="once in a while"),
        pytest.param([Worker(5 * MS, ahead=3), Worker(6 * MS, ahead=3)], id="short bursts"),
    ],
)
def test_others_do_not_wait_for_long(workers: list[Worker]) -> None:
    assert not found(workers)


@pytest.mark.parametrize("short_first", [True, False])
@pytest.mark.parametrize("pool", [1, 2, 5])
def test_threads_that_encode_parts_of_one_graph_share_no_queue(
    pool: int, short_first: bool
) -> None:
    """Each graph has a short part of the main thread and a long one of a pool; two in flight."""
    random = np.random.default_rng(pool)
    rows: list[tuple[int, int, int, int, int, int]] = []
    at, free = MS, 0
    ends = [0, 0]
    for _ in range(300):
        parts = [(0, 2 * MS), (1 + int(random.integers(pool)), 20 * MS)]
        for place, (thread, length) in enumerate(parts if short_first else parts[::-1]):
            commit = at + place * 400 * US
            start = max(commit + START, free)
            free = start + round(length * random.uniform(0.9, 1.1))
            rows.append((thread, commit, start, free, free + 30 * US, len(rows)))
        ends.append(free)
        at = max(at + 700 * US, ends[-2] + 60 * US)
    assert not judged("shared-queue", **tables(rows))


def test_workers_of_a_pool_that_take_turns_in_committing_share_no_queue() -> None:
    random = np.random.default_rng(3)
    rows: list[tuple[int, int, int, int, int, int]] = []
    at, free = MS, 0
    ends = [0, 0, 0]
    for _ in range(400):
        start = max(at + START, free)
        free = start + (20 * MS if random.random() < 0.15 else 2 * MS)
        rows.append((int(random.integers(3)), at, start, free, free + 30 * US, len(rows)))
        ends.append(free)
        at = max(at + 300 * US, ends[-3] + 30 * US)
    assert not judged("shared-queue", **tables(rows))


def test_threads_are_called_by_their_names() -> None:
    threads = pd.DataFrame({"tid": [1], "name": ["decode"], "target": [True]})
    cells = ["com.speech 0x2 (omni, pid: 77)", "Main Thread 0x3 (a (b), pid: 7)", None]
    submissions = pd.DataFrame({"tid": [2, 3, 4], "thread": cells, "target": True})
    names = thread_names(threads, submissions, None)
    assert names == {1: "“decode” (0x1)", 2: "“com.speech” (0x2)", 3: "“Main Thread” (0x3)"}


def test_bursts_begin_when_all_before_them_is_reported() -> None:
    bursts = given(**play([Worker(50 * MS, parts=10)], 1_000 * MS))["bursts"]
    assert set(bursts["buffers"]) == {10}
    assert bursts["committed"].is_monotonic_increasing
