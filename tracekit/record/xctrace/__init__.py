"""All that tracekit knows of Apple's command line; nothing else starts it."""

from tracekit.record.xctrace.recorder import XctraceRecorder
from tracekit.record.xctrace.tool import Version, Xctrace, find_xctrace, locate

__all__ = ["Version", "Xctrace", "XctraceRecorder", "find_xctrace", "locate"]
