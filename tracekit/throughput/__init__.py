"""What other programs print of their own speed, so that it stands beside the trace."""

from tracekit.throughput.output import read_output, recognised

__all__ = ["read_output", "recognised"]
