"""A gate's findings as other tools read them: JUnit, SARIF, OpenMetrics, Markdown, GitHub."""

from tracekit.report.gate.annotations import annotations
from tracekit.report.gate.comparisons import of_comparison
from tracekit.report.gate.junit import junit
from tracekit.report.gate.markdown import markdown
from tracekit.report.gate.model import Case, GateReport, Suite
from tracekit.report.gate.nights import of_night, of_no_night
from tracekit.report.gate.openmetrics import openmetrics
from tracekit.report.gate.sarif import sarif

__all__ = [
    "Case",
    "GateReport",
    "Suite",
    "annotations",
    "junit",
    "markdown",
    "of_comparison",
    "of_night",
    "of_no_night",
    "openmetrics",
    "sarif",
]
