"""The command line, run in the process of the tests."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tracekit.cli.main import application, main
from tracekit.cli.tree import LazyCommand


def run(*arguments: str | Path) -> int:
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def iterate_commands(group: Any = None, head: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all commands and groups of commands, each with its whole name."""
    if group is None:
        group = application([])
    for name, entry in group.commands.items():
        command = entry.load() if isinstance(entry, LazyCommand) else entry
        yield f"{head}{name}", command
        if hasattr(command, "commands"):
            yield from iterate_commands(command, f"{head}{name} ")


def join_stderr(outcome: Any) -> str:
    """Return what a command that ran wrote to stderr, on one line."""
    return " ".join(outcome.err.split())


def assert_error(outcome: Any, code: int, *words: str) -> None:
    """Hold that a command ended with this exit code and these words, and is no bug of ours."""
    assert outcome.code == code, outcome.err
    assert "Traceback" not in outcome.err
    assert [word for word in words if word not in join_stderr(outcome)] == [], outcome.err


def small(repeats: int) -> list[str]:
    """Return the options of a paged-attention workload whose steps take next to no time."""
    return (
        "--batch 2 --q-heads 4 --kv-heads 2 --head-dim 64 --block-size 16 "
        "--max-blocks 4 --active-blocks 2 --dtype float32 --warmup 2 "
        f"--repeats {repeats}"
    ).split()
