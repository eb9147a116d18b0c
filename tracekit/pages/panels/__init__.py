"""All panels, in the order in which the page shows them."""

from tracekit.pages.panel import Panel
from tracekit.pages.panels.bubbles import bubbles
from tracekit.pages.panels.checks import checks
from tracekit.pages.panels.cpu_time import cpu_time
from tracekit.pages.panels.dispatches import dispatches
from tracekit.pages.panels.findings import findings
from tracekit.pages.panels.health import health
from tracekit.pages.panels.host_events import host_events
from tracekit.pages.panels.latencies import latencies
from tracekit.pages.panels.memory import memory
from tracekit.pages.panels.metrics import metrics
from tracekit.pages.panels.occupancy import occupancy
from tracekit.pages.panels.replay import replay
from tracekit.pages.panels.reproduce import reproduce
from tracekit.pages.panels.requests import requests
from tracekit.pages.panels.roofline import roofline
from tracekit.pages.panels.telemetry import telemetry
from tracekit.pages.panels.throughput import throughput
from tracekit.pages.panels.timeline import timeline
from tracekit.pages.panels.verdict import verdict
from tracekit.pages.panels.work import work

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
