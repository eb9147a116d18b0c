"""All panels, in the order in which the page shows them."""

from tracekit.report.panel import Panel
from tracekit.report.panels.checks import checks
from tracekit.report.panels.findings import findings
from tracekit.report.panels.health import health
from tracekit.report.panels.memory import memory
from tracekit.report.panels.metrics import metrics
from tracekit.report.panels.reproduce import reproduce
from tracekit.report.panels.requests import requests
from tracekit.report.panels.telemetry import telemetry
from tracekit.report.panels.timeline import timeline
from tracekit.report.panels.verdict import verdict
from tracekit.report.panels.work import work

PANELS: tuple[Panel, ...] = (
    verdict,
    findings,
    requests,
    timeline,
    work,
    memory,
    telemetry,
    metrics,
    checks,
    health,
    reproduce,
)
