"""Many small recordings of the simulator, no two of which are alike, and workers for them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

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


def exports(folder: Path, seed: int, schemas: set[str] | None = None) -> Path:
    """Make a folder of exports; `seed` says how many steps it has and what happens in them."""
    recording = write(_simulate_world(seed), folder / "run", schemas)
    recording.exports.rename(folder / "exports")
    recording.provenance_file.unlink()
    recording.folder.rmdir()
    return folder / "exports"


def run(folder: Path, seed: int, schemas: set[str] | None = None) -> Path:
    """Make a run's folder, as a capture leaves it before it is analysed."""
    return write(_simulate_world(seed), folder, schemas).folder


def _simulate_world(seed: int) -> World:
    steps, pieces = 2 + seed % 3, SETUP.pieces[:2]
    return simulate(replace(SETUP, seed=seed, steps=steps, warm_up=1, pieces=pieces, marks=False))


def workers(number: int, scratch: Path, *, processes: bool) -> Any:
    """Start a cluster on loopback, whose workers are threads of this process or processes."""
    from distributed import LocalCluster  # noqa: PLC0415  half a second, which few tests need

    return LocalCluster(
        n_workers=number, threads_per_worker=1, processes=processes, protocol="tcp",
        host="127.0.0.1", dashboard_address="127.0.0.1:0", local_directory=str(scratch),
    )  # fmt: skip


def many(folder: Path, number: int) -> list[Path]:
    """Make recordings in all forms; every twentieth has GPU intervals, the others are sparse."""
    paths: list[Path] = []
    for seed in range(number):
        schemas = {GPU} if seed % 20 == 0 else {_SPARSE[seed % len(_SPARSE)]}
        make = exports if seed % 3 == 0 else run
        paths.append(make(folder / f"{seed:04d}", seed, schemas))
    return paths
