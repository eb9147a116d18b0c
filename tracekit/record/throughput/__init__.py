"""What other programs print of their own speed, so that it stands beside the trace."""

from tracekit.record.throughput.output import keep_output, read_output, recognised

__all__ = ["keep_output", "read_output", "recognised"]
