"""GPU frame captures (`.gputrace`), read from their own bytes, without Apple's tools.

`open_capture` returns a `FrameCapture`: calls, objects, compiled code and contents. The tables of a
run or a bundle are made of it. Layout: docs/explanation/gpu-frame-captures.md.
"""

from tracekit.tables.captures.capture import FrameCapture
from tracekit.tables.captures.opening import SUFFIX, is_capture, open_capture
from tracekit.tables.captures.redact import RedactedCapture, redact_capture
from tracekit.tables.captures.rows import INCLUDABLE

__all__ = [
    "INCLUDABLE",
    "SUFFIX",
    "FrameCapture",
    "RedactedCapture",
    "is_capture",
    "open_capture",
    "redact_capture",
]
