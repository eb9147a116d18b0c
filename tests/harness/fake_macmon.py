"""A macmon that is none: it prints lines of JSON as the real one does."""

import json
import sys
from pathlib import Path

SAMPLE = {
    "temp": {"cpu_temp_avg": 43.5, "gpu_temp_avg": 36.25},
    "gpu_freq_mhz": 1398,
    "gpu_active_ratio": 0.875,
    "cpu_power": 2.5,
    "gpu_power": 17.25,
    "sys_power": 31.5,
    "ram_power": 1.25,
}

_HEAD = f"""#!{sys.executable}
import os, pathlib, signal, sys, time
here = pathlib.Path(__file__).parent
(here / "arguments").write_text(" ".join(sys.argv[1:]))
(here / "pid").write_text(str(os.getpid()))
line = {json.dumps(SAMPLE)!r}
def say(text):
    sys.stdout.write(text + "\\n")
    sys.stdout.flush()
"""
FOREVER = "while True:\n    say(line)\n    time.sleep(0.01)\n"


def install_macmon(folder: Path, lines: str = FOREVER) -> Path:
    """Put a macmon that runs these lines of Python into the folder; return it.

    It leaves its arguments and its process id in files beside it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "macmon"
    program.write_text(_HEAD + lines)
    program.chmod(0o755)
    return program
