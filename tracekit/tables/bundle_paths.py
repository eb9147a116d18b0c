"""The paths that may be bundles, by their names alone.

Each reading command asks whether a path is a bundle, so nothing here imports their readers.
"""

from pathlib import Path

from tracekit.base import InputError, Recording
from tracekit.tables import captures

SUFFIX = ".trace"
PACKED = ".zip"


def is_bundle(path: Path) -> bool:
    """Return whether a path is a folder with the suffix of a trace or a GPU frame capture.

    Letters of either case count.

    A folder with a `recording.json` is that of a run, whatever its name.
    """
    is_trace_folder = path.suffix.lower() in {SUFFIX, captures.SUFFIX} and path.is_dir()
    return is_trace_folder and not Recording(path).provenance_file.exists()


def require_unpacked(path: Path) -> None:
    """Raise InputError for a zip file: a bundle in it cannot be read until it is unpacked."""
    if path.suffix.lower() == PACKED and path.is_file():
        raise InputError(
            f"{path} is a zip file; a bundle has to be unpacked before it is read.",
            hint=f"`tracekit import {path}` unpacks the bundle in it into a run.",
        )
