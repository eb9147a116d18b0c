"""All series of a history on one page: what became of them, night after night."""

from tracekit.report.trend.page import render_trend
from tracekit.report.trend.reports import links_from

__all__ = ["links_from", "render_trend"]
