"""Open a GPU frame capture once, and again if a file of it changes."""

from functools import lru_cache
from pathlib import Path

from tracekit.base import InputError
from tracekit.base.stamps import Stamp
from tracekit.tables.captures.capture import FrameCapture
from tracekit.tables.captures.place import stamp_capture


def open_capture(bundle: Path) -> FrameCapture:
    """Open a capture, or return the open one as long as its files are the same.

    Raise BundleError if its index is missing or damaged.
    """
    try:
        mark = stamp_capture(bundle)
    except OSError as error:
        raise InputError(f"{bundle} cannot be read: {error.strerror}.") from error
    return _open_cached(bundle, mark)


@lru_cache(maxsize=2)
def _open_cached(bundle: Path, mark: Stamp) -> FrameCapture:  # noqa: ARG001  a key
    return FrameCapture(bundle)
