"""All series of a history on one page: what became of them, night after night."""

from tracekit.nightly.trend.page import render_trend
from tracekit.nightly.trend.reports import links_from

__all__ = ["links_from", "render_trend"]
