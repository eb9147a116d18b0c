"""`--workload command` and `--telemetry`: from a command line to a plan."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.errors import UsageError
from tracekit.cli.options import named_workload, plan_of

Run = Callable[..., Any]


def test_the_workload_command_is_the_program_after_the_dashes() -> None:
    plan = plan_of(workload="command", command=["llama-bench", "-o", "json"])
    assert plan.workload is None
    assert plan.command == ("llama-bench", "-o", "json")
    assert plan == plan_of(command=["llama-bench", "-o", "json"])


def test_the_last_workload_that_is_named_before_the_dashes_counts() -> None:
    words = ["--workload", "sdpa", "--workload=paged", "--", "--workload", "gemm"]
    named = named_workload(words)
    assert named is not None
    assert named.name == "paged"


def test_without_a_program_it_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="--workload command needs the program") as raised:
        plan_of(workload="command")
    assert raised.value.hint == "tracekit capture --workload command -- PROGRAM ARGS"


@pytest.mark.processes
def test_a_program_is_recorded_with_it(tracekit: Run, tmp_path: Path) -> None:
    program = ["--", sys.executable, "-c", "print('Generation: 9 tokens, 3.5 tokens-per-sec')"]
    options = ["--recorder", "host", "--telemetry", "off", "--output", tmp_path / "run"]
    ran = tracekit("capture", "--workload", "command", *options, *program)
    assert "generation_tokens_per_second" in ran.out
    assert "3.50 tokens/s" in ran.out
    assert (tmp_path / "run" / "output.txt").read_text().startswith("Generation: 9 tokens")
    page = (tmp_path / "run" / "report.html").read_text()
    assert "--telemetry off" in page


@pytest.mark.parametrize("command", ["capture", "record"])
def test_a_workload_says_itself_what_it_does(tracekit: Run, tmp_path: Path, command: str) -> None:
    (tmp_path / "gemm.py").write_text(
        "from tracekit.workload import Step, workload\n\n"
        "@workload\n"
        "def gemm(size: int = 4) -> Step:\n"
        '    """Multiply two matrices.\n\n'
        "    They are square.\n\n"
        "    Args:\n"
        '        size: Rows.\n    """\n'
    )
    ran = tracekit(command, "--workloads", tmp_path, "--workload", "gemm", "--help")
    assert "The workload gemm: Multiply two matrices.\n\n  They are square.\n\nArg" in ran.out
    assert "--size" in ran.out
    assert "Args:" not in ran.out
    assert "The workload" not in tracekit(command, "--help").out
