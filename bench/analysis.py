"""How fast a recording of many intervals is analysed, here and in another checkout, in turns.

uv run python bench/analysis.py                              # 200,000 intervals, this checkout
uv run python bench/analysis.py 1000000 --against ../before  # beside another, whose .venv is used

Printed are the least CPU seconds of `analyze` in three processes each.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

PER_BUFFER = 10
_ROUNDS = 3
_BEGIN = 1_000_000


def tables(number: int) -> dict[str, pd.DataFrame]:
    """Make the tables of a loop whose command buffers are committed one ahead; times in ns."""
    buffers, random = number // PER_BUFFER, np.random.default_rng(0)
    count = buffers * PER_BUFFER
    work, gaps = random.integers(20_000, 60_000, count), np.full(count, 1_000)
    gaps[::PER_BUFFER] = 20_000
    start = _BEGIN + np.cumsum(work + gaps) - work
    last = (start + work)[PER_BUFFER - 1 :: PER_BUFFER]
    commits = np.concatenate(([_BEGIN, _BEGIN], last[:-2])) - 100_000
    ids, each = np.arange(buffers) + 100, np.repeat(np.arange(buffers), PER_BUFFER)
    begun = commits[each] - 40_000 + np.tile(np.arange(PER_BUFFER) * 3_000, buffers)
    labels = [f"Command Buffer 0:kernel_{place % 7}" for place in range(count)]
    nothing = {"start": [], "duration": []}
    made = {
        "gpu_intervals": {
            "start": start,
            "duration": work,
            "channel": "Compute",
            "label": labels,
            "command_buffer": ids[each],
            "encoder": np.arange(count) + 1,
            "start_latency": start - commits[each],
            "state": "Active",
        },
        "submissions": {
            "start": commits - 40_000,
            "duration": 40_000,
            "event": "CommandBufferSubmission",
            "label": "Committed",
            "command_buffer": ids,
            "encoders": PER_BUFFER,
            "encoder_time": 30_000,
            "tid": 1,
        },
        "completions": {"time": last + 30_000, "command_buffer": ids},
        "encoders": {
            "start": begun,
            "duration": 2_900,
            "command_buffer": ids[each],
            "encoder": np.arange(count) + 1,
            "label": "Compute Command",
        },
        "driver_intervals": {
            "start": commits + 1_000,
            "duration": 8_000,
            "event": "Command Buffer",
            "label": "Command Buffer 0",
            "depth": 0,
            "command_buffer": ids,
        },
        "driver_events": {**nothing, "event": [], "label": []},
        "compiler_activity": {**nothing, "compiler": [], "program": []},
        "gpu_performance_states": {
            "start": [0],
            "duration": [int(last[-1])],
            "state": "Maximum",
            "induced": True,
            "label": "",
        },
    }
    own = {"process": "python3", "pid": 4711, "target": True, "clock": "gpu", "device": "M1"}
    return {name: _typed(pd.DataFrame({**cells, **own})) for name, cells in made.items()}


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    whole = dict.fromkeys(
        ("duration", "start_latency", "encoders", "encoder_time", "depth"), "Int64"
    )
    texts = dict.fromkeys(("channel", "label", "event", "process", "clock", "state"), "string")
    types = whole | texts | dict.fromkeys(("command_buffer", "encoder"), "UInt64")
    types |= {"start": "int64", "time": "int64", "target": "bool"}
    return frame.astype({name: kind for name, kind in types.items() if name in frame})


def seconds(number: int) -> float:
    """Return the CPU seconds of the second of two analyses: the first one loads what it needs."""
    from tracekit.analysis import analyze  # noqa: PLC0415  of the checkout that runs this
    from tracekit.base import Process, Provenance  # noqa: PLC0415

    made = tables(number)
    known = Provenance(recorder="xctrace", targets=(Process(4711, "python3"),))
    taken = 0.0
    for _ in range(2):
        begun = time.process_time()
        analyze(made, known)
        taken = time.process_time() - begun
    return taken


def main(arguments: Sequence[str] | None = None) -> int:
    """Time the analysis; return 0."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("intervals", type=int, nargs="?", default=200_000)
    parser.add_argument("--against", type=Path, help="another checkout, with its environment")
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.once:
        print(seconds(options.intervals))
        return 0
    pythons = {"here": Path(sys.executable)}
    if options.against:
        pythons["there"] = options.against / ".venv" / "bin" / "python"
    command = [str(Path(__file__).resolve()), str(options.intervals), "--once"]
    taken: dict[str, list[float]] = {name: [] for name in pythons}
    for _ in range(_ROUNDS):
        for name, python in pythons.items():
            ran = subprocess.run([python, *command], check=True, capture_output=True, text=True)
            taken[name].append(float(ran.stdout.split()[-1]))
    for name, each in taken.items():
        print(f"{name}: {min(each):.2f} s of CPU, least of {_ROUNDS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
