"""The recorder for machines without xctrace, and the writer of exports."""

from tracekit.record.host.marks import export_marks
from tracekit.record.host.recorder import HostRecorder

__all__ = ["HostRecorder", "export_marks"]
