"""A folder of small recordings for the server for agents."""

from pathlib import Path

from bundle_writer import RunInfo, write_bundle
from command_line import run
from small_bundle import PYTHON, SERVER, intervals, ticks


def write_recordings(folder: Path) -> Path:
    """Write a bundle, and an analyzed run of it, into a folder that is made."""
    folder.mkdir(parents=True)
    rows = intervals((0, 10, PYTHON), (50, 10, PYTHON), (65, 10, PYTHON), (70, 10, SERVER))
    bundle = write_bundle(folder / "small.trace", [ticks([1]), rows], info=RunInfo())
    assert run("import", bundle, "--output", folder / "run") == 0
    assert run("analyze", folder / "run") == 0
    return folder
