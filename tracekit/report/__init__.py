"""A result in, one page out."""

from tracekit.report.render import render

__all__ = ["render"]
