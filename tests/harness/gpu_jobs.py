"""Programs that play a GPU: their jobs only take time, and the fake xctrace has them as rows."""

import sys
from pathlib import Path

_TEXT = '''
import os
import tempfile
import time
from pathlib import Path

from tracekit.workload import Step, workload


@workload
def jobs(
    length: float = 0.002, each: int = 1, prepare: float = 0.0, die: bool = False, hang: int = 0
) -> Step:
    """Do jobs that take `length` s, `each` of them a step."""
    time.sleep(prepare)
    if die:
        os._exit(0)
    folder = Path(tempfile.gettempdir(), "fake-gpu")
    folder.mkdir(exist_ok=True)
    marks = (folder / str(os.getpid())).open("w", buffering=1)
    made = 0

    def wait(_):
        nonlocal made
        made += 1
        for _ in range(each):
            start = time.monotonic_ns()
            time.sleep(length if made != hang else 3600)
            marks.write(f"{start} {time.monotonic_ns()}\\n")

    return Step(submit=lambda: None, wait=wait, backend="metal", tokens=1, dispatches=each)
'''

_PROGRAM = """
import os, sys, tempfile, time
folder = os.path.join(tempfile.gettempdir(), "fake-gpu")
os.makedirs(folder, exist_ok=True)
with open(os.path.join(folder, str(os.getpid())), "w", buffering=1) as marks:
    for _ in range(int(sys.argv[1])):
        start = time.monotonic_ns()
        time.sleep(0.001)
        print(start, time.monotonic_ns(), file=marks)
"""


def program_of(jobs: int) -> tuple[str, ...]:
    """Return the command line of a program that does so many jobs of a millisecond, and ends."""
    return (sys.executable, "-I", "-S", "-c", _PROGRAM, str(jobs))


def write_jobs(folder: Path) -> tuple[str, ...]:
    """Write the workload into a folder; return the options that name it."""
    folder.mkdir(exist_ok=True)
    (folder / "jobs.py").write_text(_TEXT)
    return ("--workloads", str(folder), "--workload", "jobs")
