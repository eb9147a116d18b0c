import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tracekit.workload.interleaved import resident_command
from tracekit.workload.interleaved.protocol import Answer, ChildRequest, answer_of, line_of

NAPS = '''
import sys
import time

from tracekit.workload import IDLE, StepReport
from tracekit.workload import Step, workload

names = set()
counted = {"steps": 0, "begun": 0}


@workload
def naps(seconds: float = 0.001, trick: str = "") -> Step:
    """Sleep a little in each step."""
    counted.update(steps=0, begun=0)
    names.clear()
    print("prepared")

    def wait(_):
        counted["steps"] += 1
        if trick == "compile" and counted["steps"] in (1, 2, 20):
            names.add(f"kernel-{counted['steps']}")
        if trick == "churn":
            names.add(f"kernel-{counted['steps']}")
        if trick == "read":
            assert sys.stdin.read() == ""
        if trick == "fail" and counted["steps"] > 5:
            raise RuntimeError()
        time.sleep(seconds)

    def tell():
        idle = counted["steps"] % 2 == 0
        return StepReport(variant=IDLE) if idle else StepReport(tokens=counted["steps"])

    def begin():
        counted["begun"] += 1

    return Step(
        submit=lambda: None,
        wait=wait,
        backend="cpu",
        tokens=3,
        specializations=lambda: frozenset(names),
        results={"depth": 0.25},
        begin=begin,
        tell=tell if trick == "idle" else None,
        exhausted=lambda: trick == "exhausted" and counted["steps"] >= 7,
        finish=lambda: dict(counted),
    )
'''


@pytest.fixture
def workloads(tmp_path: Path) -> Path:
    """A folder with one workload, which sleeps."""
    folder = tmp_path / "workloads"
    folder.mkdir()
    (folder / "naps.py").write_text(NAPS)
    return folder


class Line:
    """A child, and both ends of the line to it."""

    def __init__(self, **options: Any) -> None:
        self.process = subprocess.Popen(
            resident_command(Path(sys.executable)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )

    def send(self, request: ChildRequest | bytes) -> None:
        """Ask, and do not wait."""
        assert self.process.stdin is not None
        line = request if isinstance(request, bytes) else line_of(request)
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def hear(self) -> Answer:
        """Wait for an answer."""
        assert self.process.stdout is not None
        return answer_of(self.process.stdout.readline())

    def ask(self, request: ChildRequest | bytes) -> Answer:
        """Ask, and wait for the answer."""
        self.send(request)
        return self.hear()

    def end(self) -> tuple[int, str]:
        """Close its input and wait; return its exit code and what it wrote to stderr."""
        out, err = self.process.communicate(timeout=20)
        assert out == b""
        return self.process.returncode, err.decode()


@pytest.fixture
def line() -> Iterator[Callable[..., Line]]:
    """Start a child; none outlives the test."""
    started: list[Line] = []

    def start(**options: Any) -> Line:
        started.append(Line(**options))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()
        for pipe in (one.process.stdin, one.process.stdout, one.process.stderr):
            assert pipe is not None
            try:
                pipe.close()
            except OSError:
                os.close(pipe.fileno())
