"""The GPU of the fake: processes that use it leave marks of their jobs, and traces have those rows.

A process marks a job by a line of its start and its end, in ns of the monotonic clock, in the file
`fake-gpu/PID` of the folder for temporary files: `tests/harness/gpu_jobs.py` writes such programs.
A process that never ran has left none, so no trace has rows of it.
"""

import tempfile
from pathlib import Path
from typing import Any

_STEP = 5_000_000  # ns from job to job, by the clock
_LENGTH = 3_000_000
_FIRST = 1_000_000  # ns until the first one
_NAMED: dict[str, dict[str, Any]] = {
    "none": {"empty": True},  # every table is empty
    "few": {"most": 87},
    "thinned": {"share": 0.6},
    "others": {"most": 0},  # only work of other processes is there
}

Job = list[int]


def choose_rows(keys: Any, way: str) -> dict[str, Any]:
    """Return what a scenario's key `rows` says of a way to record: `launch` or `attach`."""
    if isinstance(keys, dict):
        keys = keys.get(way, keys)
    return _NAMED[keys] if isinstance(keys, str) else keys or {}


def read_jobs(origin: int, end: int, *, rows: dict[str, Any]) -> dict[int, list[Job]]:
    """Return the marked jobs of each process, in ns of the trace, as far as it has them as rows.

    The trace begins at `origin` and ends at `end`, both in ns of the monotonic clock.
    """
    if rows.get("empty"):
        return {}
    jobs: dict[int, list[Job]] = {}
    folder = Path(tempfile.gettempdir()) / "fake-gpu"
    for file in sorted(folder.glob("*")):
        marks = [line.split() for line in file.read_text().splitlines()]
        pairs = [[int(mark[0]) - origin, int(mark[1]) - origin] for mark in marks if len(mark) == 2]
        within = [pair for pair in pairs if pair[0] >= 0 and pair[1] <= end - origin]
        jobs[int(file.name)] = thin_out(within, rows)
    return jobs


def thin_out(jobs: list[Job], rows: dict[str, Any]) -> list[Job]:
    """Return the jobs that are left if a share of them is kept, or so many at most."""
    share = rows.get("share", 1)
    kept = [job for at, job in enumerate(jobs) if int((at + 1) * share) > int(at * share)]
    return kept[: rows.get("most", len(kept))]


def make_jobs(duration: float) -> list[Job]:
    """Return the jobs of a process that has one every 5 ms."""
    starts = range(_FIRST, max(int(duration * 1e9), _FIRST + 1), _STEP)
    return [[start, start + _LENGTH + number % 7 * 1000] for number, start in enumerate(starts)]
