"""A night: its plan carried out, judged, written down and told."""

from tracekit.nightly.run import run_night

__all__ = ["run_night"]
