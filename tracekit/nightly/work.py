"""What makes nights comparable: a digest of the work, of what it is held against and how."""

from pathlib import Path

from tracekit.nightly.plan.digest import digest_of, relative
from tracekit.nightly.plan.plan import Capture

_LENGTH = 12  # hexadecimal digits


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
            "python": relative(reference.python, folder),
            "revision": reference.revision,
        },
        "together": capture.together,
        "recorder": capture.recorder,
        "templates": capture.templates,
        "counters": capture.counters,
    }
    return digest_of(what, _LENGTH)
