"""A gate's findings as other tools read them: JUnit, SARIF, OpenMetrics, Markdown, GitHub."""

from tracekit.nightly.gate.report.annotations import annotations
from tracekit.nightly.gate.report.comparisons import of_comparison
from tracekit.nightly.gate.report.junit import junit
from tracekit.nightly.gate.report.markdown import markdown
from tracekit.nightly.gate.report.model import Case, GateReport, Suite
from tracekit.nightly.gate.report.nights import of_night, of_no_night
from tracekit.nightly.gate.report.openmetrics import openmetrics
from tracekit.nightly.gate.report.sarif import sarif

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
