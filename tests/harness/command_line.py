"""The command line, run in the process of the tests."""

from pathlib import Path

from tracekit.cli.main import main


def run(*arguments: str | Path) -> int:
    try:
        main([str(one) for one in arguments])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def small(repeats: int) -> list[str]:
    """Return the options of a paged-attention workload whose steps take next to no time."""
    return (
        "--batch 2 --q-heads 4 --kv-heads 2 --head-dim 64 --block-size 16 "
        "--max-blocks 4 --active-blocks 2 --dtype float32 --warmup 2 "
        f"--repeats {repeats}"
    ).split()
