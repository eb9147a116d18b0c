"""The recorder for machines without xctrace, and the writer of exports."""

from tracekit.host.marks import export_marks
from tracekit.host.recorder import HostRecorder

__all__ = ["HostRecorder", "export_marks"]
