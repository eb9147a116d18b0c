"""What makes nights comparable: a digest of the work, of what it is held against and how."""

import hashlib
from pathlib import Path

import msgspec

from tracekit.nightplan import Capture


def work_of(capture: Capture, folder: Path) -> str:
    """Return a digest of what a capture measures, and how: nights that share it are one series.

    How often it is measured, what is decided by and what is checked first are left out: a plan
    may change them, and its nights can still be compared. Paths in `folder`, the plan's, count
    relative to it.
    """
    reference = capture.reference
    what = {
        "workload": capture.workload,
        "parameters": capture.parameters,
        "reference": None
        if reference is None
        else {
            "workload": reference.workload,
            "parameters": reference.parameters,
            "python": _relative(reference.python, folder),
            "revision": reference.revision,
        },
        "together": capture.together,
        "recorder": capture.recorder,
        "templates": capture.templates,
        "counters": capture.counters,
    }
    encoded = msgspec.json.encode(what, enc_hook=str, order="sorted")
    return hashlib.sha256(encoded).hexdigest()[:12]


def _relative(path: Path | None, folder: Path) -> Path | None:
    return path.relative_to(folder) if path and path.is_relative_to(folder) else path
