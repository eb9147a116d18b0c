"""Many small recordings of the simulator, no two of which are alike."""

from dataclasses import replace
from pathlib import Path

from labelled.folder import write
from labelled.program import simulate
from labelled.world import World
from small_trace import SETUP

# What a recording holds: all that the work of the target leaves on the GPU, or one thing of it.
GPU = "metal-gpu-intervals"
_SPARSE = (
    "metal-gpu-state-intervals",
    "metal-gpu-submission-to-command-buffer-id",
    "gpu-performance-device-state-intervals",
    "device-thermal-state-intervals",
    "metal-application-intervals",
)


def exports(folder: Path, seed: int, only: set[str] | None = None) -> Path:
    """Make a folder of exports; `seed` says how many steps it has and what happens in them."""
    recording = write(_simulated(seed), folder / "run", only)
    recording.exports.rename(folder / "exports")
    recording.provenance_file.unlink()
    recording.folder.rmdir()
    return folder / "exports"


def run(folder: Path, seed: int, only: set[str] | None = None) -> Path:
    """Make a run's folder, as a capture leaves it before it is analysed."""
    return write(_simulated(seed), folder, only).folder


def _simulated(seed: int) -> World:
    steps, pieces = 2 + seed % 3, SETUP.pieces[:2]
    return simulate(replace(SETUP, seed=seed, steps=steps, warm_up=1, pieces=pieces, marks=False))


def many(folder: Path, number: int) -> list[Path]:
    """Make recordings in all forms; every twentieth has GPU intervals, the others are sparse."""
    made: list[Path] = []
    for seed in range(number):
        only = {GPU} if seed % 20 == 0 else {_SPARSE[seed % len(_SPARSE)]}
        make = exports if seed % 3 == 0 else run
        made.append(make(folder / f"{seed:04d}", seed, only))
    return made
