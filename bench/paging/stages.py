"""The stages of a run as commands of several checkouts, in turns: their seconds and memory."""

import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

STAGES = ("analyze", "report")
_DECIDED = (0, 3, 4)  # exit codes of commands that did their work
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes
Costs = dict[str, list["Cost"]]
"""The costs of each stage, one a round."""


@dataclass(frozen=True)
class Cost:
    """The seconds of CPU of a command, and the most memory that it held, in bytes."""

    seconds: float
    memory: int


def measure_stages(
    run: Path, pythons: Mapping[str, Path], rounds: int, scratch: Path
) -> dict[str, Costs]:
    """Run the stages of copies of a run that nothing has read, by each Python in turn."""
    costs: dict[str, Costs] = {name: {stage: [] for stage in STAGES} for name in pythons}
    for _ in range(rounds):
        for name, python in pythons.items():
            folder = scratch / "run"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(run, folder)
            for stage in STAGES:
                costs[name][stage].append(_run_stage(python, stage, folder))
    return costs


def _run_stage(python: Path, stage: str, folder: Path) -> Cost:
    process = subprocess.Popen(
        (python, "-m", "tracekit", stage, folder),
        cwd=folder.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in _DECIDED:
        sys.exit(f"{python} -m tracekit {stage}: exit code {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * _MAXRSS_UNIT)


def describe_costs(costs: Mapping[str, Costs]) -> Iterator[tuple[str, str]]:
    """Yield for each stage its medians, and their ratios to those of the last checkout."""
    *_, reference = costs.values()
    for name, of_stages in costs.items():
        for stage, rounds in of_stages.items():
            seconds = statistics.median(cost.seconds for cost in rounds)
            memory = statistics.median(cost.memory for cost in rounds)
            other_seconds = statistics.median(cost.seconds for cost in reference[stage])
            other_memory = statistics.median(cost.memory for cost in reference[stage])
            time = f"{seconds:.2f} s of CPU (x {seconds / other_seconds:.2f})"
            peak = f"{memory / 1e6:,.0f} MB (x {memory / other_memory:.2f})"
            yield f"{stage}, {name}", f"{time}, {peak}"
