"""All panels, in the order in which the page shows them."""

from tracekit.report.panel import Panel
from tracekit.report.panels.bubbles import bubbles
from tracekit.report.panels.checks import checks
from tracekit.report.panels.cpu_time import cpu_time
from tracekit.report.panels.dispatches import dispatches
from tracekit.report.panels.findings import findings
from tracekit.report.panels.health import health
from tracekit.report.panels.host_events import host_events
from tracekit.report.panels.latencies import latencies
from tracekit.report.panels.memory import memory
from tracekit.report.panels.metrics import metrics
from tracekit.report.panels.occupancy import occupancy
from tracekit.report.panels.replay import replay
from tracekit.report.panels.reproduce import reproduce
from tracekit.report.panels.requests import requests
from tracekit.report.panels.roofline import roofline
from tracekit.report.panels.telemetry import telemetry
from tracekit.report.panels.throughput import throughput
from tracekit.report.panels.timeline import timeline
from tracekit.report.panels.verdict import verdict
from tracekit.report.panels.work import work

PANELS: tuple[Panel, ...] = (
    verdict,
    timeline,
    findings,
    dispatches,
    bubbles,
    throughput,
    requests,
    work,
    latencies,
    occupancy,
    replay,
    roofline,
    cpu_time,
    host_events,
    memory,
    telemetry,
    checks,
    metrics,
    health,
    reproduce,
)
