"""`gpucapture start` of Xcode 27, by its manual page; no refusal of it is on record."""

import shutil
import sys
from pathlib import Path

from scenario import Scenario

_OPTIONS = {"--pid", "-p", "--boundary", "-b", "--label", "-l", "--count", "-c", "--output", "-o"}


def gpucapture(arguments: list[str], scenario: Scenario) -> int:
    command, *rest = arguments or [""]
    options = dict(zip(rest[::2], rest[1::2], strict=False))
    if command != "start" or len(rest) % 2 or not options.keys() <= _OPTIONS:
        return refuse("usage: gpucapture start [--pid <PID>] [--count <BOUNDARY_COUNT>]")
    pid = options.get("--pid", options.get("-p", ""))
    # The user launches the target with the switch; without it nothing connects.
    environment = Path("/proc") / pid / "environ"
    if not pid or b"MTL_CAPTURE_ENABLED=1" not in environment.read_bytes().split(b"\0"):
        return refuse(f"no capturable process {pid}")
    output = Path(options.get("--output", options.get("-o", ".")))
    if output.suffix != ".gputrace" and not output.is_dir():
        return refuse("the output must be a directory, or a filepath ending in .gputrace")
    if scenario.get("gputrace"):
        shutil.copytree(scenario.get("gputrace"), output)
    return 0


def refuse(text: str) -> int:
    sys.stderr.write(f"{text}\n")
    return 1
